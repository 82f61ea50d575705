package topics

import "sync"

// A gatherer makes one call for all questions that came while the last call was on its way, so
// that batches grow with the load and a single question waits for nothing.
type gatherer[Q, A any] struct {
	do func(qs []Q) []A // answers[i] belongs to qs[i]

	mu      sync.Mutex
	busy    bool
	waiting []*question[Q, A]
}

type question[Q, A any] struct {
	q      Q
	answer chan A
	lead   chan struct{} // closed: make the next call, for all
}

// ask returns the answer.
func (g *gatherer[Q, A]) ask(q Q) A {
	me := &question[Q, A]{q, make(chan A, 1), make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, me)
	lead := !g.busy
	g.busy = true
	g.mu.Unlock()
	if !lead {
		select {
		case a := <-me.answer:
			return a
		case <-me.lead:
		}
	}
	g.call()
	return <-me.answer
}

// call answers all that wait, and passes on to one of those that came meanwhile.
func (g *gatherer[Q, A]) call() {
	g.mu.Lock()
	all := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	qs := make([]Q, len(all))
	for i, w := range all {
		qs[i] = w.q
	}
	for i, a := range g.do(qs) {
		all[i].answer <- a
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		close(g.waiting[0].lead)
		return
	}
	g.busy = false
}
