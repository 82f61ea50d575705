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

// slots bound how many notifications are sent at once.
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

// use calls f when a slot is free, and reports whether it did: not if that takes long or ctx ends.
func (s *slots) use(ctx context.Context, f func()) bool {
	t := time.NewTimer(longWait)
	defer t.Stop()
	select {
	case s.sending <- struct{}{}:
	case <-t.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.took = max(s.took, longWait)
		return false
	case <-ctx.Done():
		return false
	}
	begun := time.Now()
	defer func() { // f may panic
		<-s.sending
		s.mu.Lock()
		defer s.mu.Unlock()
		s.took = (7*s.took + time.Since(begun)) / 8
	}()
	f()
	return true
}
