package notify

import (
	"context"
	"sync"
	"time"
)

const (
	// prepared is for how long a provider has something to do with what handlers hold and it does
	// not send yet. A slow one finds nothing prepared, a fast one is given large batches of it.
	prepared = 200 * time.Millisecond
	// spare bounds the handlers for that, for each of up to widest notifications sent at once.
	spare  = 7
	widest = 20
	// longWait is how long a notification that has begun waits to be sent: the provider has become slow.
	longWait = time.Second
)

// slots bound how many notifications are sent at once. Each has its slot until its outcome is recorded:
// a crash leaves open whether so many were sent, and not more.
type slots struct {
	sending chan struct{} // holds a token for each

	mu   sync.Mutex
	took time.Duration // sending one, on average; 0: not known
}

func newSlots(atOnce int) *slots { return &slots{sending: make(chan struct{}, atOnce)} }

// most is how many handlers there may be.
func (s *slots) most() int { return cap(s.sending) + spare*min(cap(s.sending), widest) }

// handlers is how many there may be now: those that send, and others that read and record meanwhile.
func (s *slots) handlers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took <= 0 {
		return cap(s.sending)
	}
	return min(s.most(), cap(s.sending)+int(time.Duration(cap(s.sending))*prepared/s.took))
}

// take waits for a slot that is free, and reports whether there was one: not if that takes long or ctx
// ends. free gives it back.
func (s *slots) take(ctx context.Context) (free func(), ok bool) {
	t := time.NewTimer(longWait)
	defer t.Stop()
	select {
	case s.sending <- struct{}{}:
		return func() { <-s.sending }, true
	case <-t.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.took = max(s.took, longWait)
	case <-ctx.Done():
	}
	return nil, false
}

// note notes how long the provider took over one.
func (s *slots) note(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = (7*s.took + took) / 8
}
