// Package gather combines concurrent calls into one round trip.
package gather

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// A Gatherer answers all questions that arrive during one call with the next call, so batches grow
// with the load. A single question does not wait. Its methods are safe for concurrent use.
type Gatherer[Q, A any] struct {
	// Do answers qs: answers[i] belongs to qs[i]. A panic reaches every caller of this batch.
	Do func(qs []Q) []A
	// Every is the least time between the starts of two calls, for calls that cost the same for one
	// question as for many. 0: none.
	Every time.Duration

	mu      sync.Mutex
	busy    bool
	waiting []*question[Q, A]
	begun   time.Time // start of the last call; used by its maker only
}

type question[Q, A any] struct {
	q      Q
	answer chan answer[A]
	lead   chan struct{} // closed: make the next call, for all
}

type answer[A any] struct {
	a     A
	panic any // not nil: the call panicked
}

// Ask returns the answer to q. It panics if the call panics.
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

// call answers all waiting questions, then passes the lead to one that arrived meanwhile.
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

// try makes the call. failure describes a panic, or a wrong number of answers.
func (g *Gatherer[Q, A]) try(qs []Q) (answers []A, failure any) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	if answers = g.Do(qs); len(answers) != len(qs) {
		return nil, fmt.Sprintf("gather: %d answers to %d questions", len(answers), len(qs))
	}
	return answers, nil
}
