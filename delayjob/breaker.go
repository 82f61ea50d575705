package delayjob

import (
	"sync"
	"time"
)

// A breaker stops a job from working through its backlog while a dependency is down. An Unavailable
// result opens it. Then single messages are claimed as probes after 1, 2, 3, 3 ... seconds. The
// first success closes it.
type breaker struct {
	mu      sync.Mutex
	open    bool
	wait    time.Duration
	probeAt time.Time

	healthy uint64            // successes so far
	reports map[string]report // by ID: messages that returned Unavailable
}

type report struct {
	times int    // results with other messages succeeding in between
	seen  uint64 // healthy at the last result
}

const (
	probeFirst = time.Second
	probeCap   = 3 * time.Second
	// After more reports than this, with other messages succeeding in between, the fault lies with
	// the message, and attempts are charged.
	maxReports  = 8
	reportsKept = 10_000
)

func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.open
}

func (b *breaker) probing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open && !time.Now().Before(b.probeAt)
}

// failed opens the breaker or, after a failed probe, doubles its wait. It reports whether it
// opened.
func (b *breaker) failed() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case !b.open:
		b.open, b.wait, opened = true, probeFirst, true
	case now.Before(b.probeAt): // from the batch that opened it
		return false
	default:
		b.wait = min(2*b.wait, probeCap)
	}
	b.probeAt = now.Add(b.wait)
	return opened
}

func (b *breaker) succeeded(id string) (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.healthy++
	delete(b.reports, id)
	closed = b.open
	b.open = false
	return closed
}

// charge records an Unavailable result and reports whether the fault lies with the message.
func (b *breaker) charge(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reports == nil || len(b.reports) > reportsKept {
		b.reports = map[string]report{}
	}
	s, known := b.reports[id]
	if !known || b.healthy > s.seen {
		s.times++
	}
	s.seen = b.healthy
	b.reports[id] = s
	return s.times > maxReports
}
