package delayjob

import (
	"sync"
	"time"
)

// A breaker keeps a job from working through its backlog while a dependency is down. An
// Unavailable opens it; then shards may claim single messages as probes after 1, 2, 3, 3 ...
// seconds, and the first success closes it.
type breaker struct {
	mu      sync.Mutex
	open    bool
	wait    time.Duration
	probeAt time.Time

	healthy uint64            // successes so far
	reports map[string]report // by message: how often it reported Unavailable
}

type report struct {
	times int    // with other messages succeeding in between
	seen  uint64 // healthy at the last time
}

const (
	probeFirst = time.Second
	probeCap   = 3 * time.Second
	// A message that reports Unavailable more often, while other messages succeed in between, is
	// charged an attempt from then on: the fault is its own.
	maxReports  = 8
	reportsKept = 10_000
)

func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.open
}

// probing tells whether an open breaker lets a message through now.
func (b *breaker) probing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open && !time.Now().Before(b.probeAt)
}

// failed opens the breaker or, if a probe failed, lets it wait longer; it reports whether it opened.
func (b *breaker) failed() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case !b.open:
		b.open, b.wait, opened = true, probeFirst, true
	case now.Before(b.probeAt): // one more of the batch that opened it
		return false
	default:
		b.wait = min(2*b.wait, probeCap)
	}
	b.probeAt = now.Add(b.wait)
	return opened
}

// succeeded closes the breaker; it reports whether it was open.
func (b *breaker) succeeded(id string) (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.healthy++
	delete(b.reports, id)
	closed = b.open
	b.open = false
	return closed
}

// charge notes that a message reported Unavailable, and returns whether the fault is its own.
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
