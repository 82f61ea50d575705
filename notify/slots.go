package notify

import (
	"context"
	"sync"
	"time"
)

const (
	// prepareAhead is how much work for the provider handlers prepare in advance. A slow provider
	// needs none, a fast one gets large batches.
	prepareAhead = 200 * time.Millisecond
	// spare limits the extra handlers for that, per notification sent at once, for at most widest
	// of these.
	spare  = 7
	widest = 20
	// longWait is how long a prepared notification waits for a slot. If none is free by then, the
	// provider has become slow.
	longWait = time.Second
)

// slots limits how many notifications are sent at once. A notification keeps its slot until its
// outcome is recorded, so a crash leaves at most that many outcomes unknown.
type slots struct {
	sending chan struct{} // one token per notification

	mu  sync.Mutex
	avg time.Duration // average duration of a send; 0: unknown
}

func newSlots(atOnce int) *slots { return &slots{sending: make(chan struct{}, atOnce)} }

func (s *slots) maxHandlers() int { return cap(s.sending) + spare*min(cap(s.sending), widest) }

// handlers returns the number of useful handlers now: those that send, and others that read and
// record meanwhile.
func (s *slots) handlers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.avg <= 0 {
		return cap(s.sending)
	}
	return min(s.maxHandlers(), cap(s.sending)+int(time.Duration(cap(s.sending))*prepareAhead/s.avg))
}

// take waits for a free slot. It returns false if that takes too long or ctx ends. The caller must
// call free.
func (s *slots) take(ctx context.Context) (free func(), ok bool) {
	t := time.NewTimer(longWait)
	defer t.Stop()
	select {
	case s.sending <- struct{}{}:
		return func() { <-s.sending }, true
	case <-t.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.avg = max(s.avg, longWait)
	case <-ctx.Done():
	}
	return nil, false
}

func (s *slots) observe(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.avg = (7*s.avg + took) / 8
}
