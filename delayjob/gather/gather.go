// Package gather lets concurrent calls share one round trip.
package gather

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// A Gatherer makes one call for all questions that came while the last call was on its way, so
// that batches grow with the load. A question that comes alone waits for nothing. Safe for concurrent use.
type Gatherer[Q, A any] struct {
	Do    func(qs []Q) []A // answers[i] belongs to qs[i]; a panic reaches every caller whose question was in qs
	Every time.Duration    // how far apart calls begin at least, for calls that cost as much for one question as for many; 0: any

	mu      sync.Mutex
	busy    bool
	waiting []*question[Q, A]
	begun   time.Time // the last call; its maker's alone
}

type question[Q, A any] struct {
	q      Q
	answer chan answer[A]
	lead   chan struct{} // closed: make the next call, for all
}

type answer[A any] struct {
	a     A
	panic any // not nil: there is none, for the call panicked
}

// Ask returns the answer.
func (g *Gatherer[Q, A]) Ask(q Q) A {
	me := &question[Q, A]{q, make(chan answer[A], 1), make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, me)
	lead := !g.busy
	g.busy = true
	g.mu.Unlock()
	if !lead {
		select {
		case a := <-me.answer:
			return a.must()
		case <-me.lead:
		}
	}
	g.call()
	a := <-me.answer
	return a.must()
}

func (a answer[A]) must() A {
	if a.panic != nil {
		panic(a.panic)
	}
	return a.a
}

// call answers all that wait, and passes on to one of those that came meanwhile.
func (g *Gatherer[Q, A]) call() {
	time.Sleep(time.Until(g.begun.Add(g.Every)))
	g.begun = time.Now()
	g.mu.Lock()
	all := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	qs := make([]Q, len(all))
	for i, w := range all {
		qs[i] = w.q
	}
	answers, failure := g.try(qs)
	for i, w := range all {
		if failure != nil {
			w.answer <- answer[A]{panic: failure}
		} else {
			w.answer <- answer[A]{a: answers[i]}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		close(g.waiting[0].lead)
		return
	}
	g.busy = false
}

// try makes the call. failure says how it panicked, or that it does not answer each question.
func (g *Gatherer[Q, A]) try(qs []Q) (answers []A, failure any) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	if answers = g.Do(qs); len(answers) != len(qs) {
		return nil, fmt.Sprintf("%d answers to %d questions", len(answers), len(qs))
	}
	return answers, nil
}
