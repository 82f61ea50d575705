package webhook

import (
	"context"
	"sync"
	"time"
)

const (
	inLinePatience = 50 * time.Millisecond // for a handler that could post for others meanwhile
	inLineTries    = 40
	inLineHere     = 8 // older events at most to wait for in this process
)

// lines lets deliveries wait in this process for the older events of their meetings. The zero
// value is ready.
type lines struct {
	mu   sync.Mutex
	next chan struct{} // closed when a delivery is concluded
}

// changed is closed by the next change.
func (l *lines) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = make(chan struct{})
	}
	return l.next
}

// change says that a delivery is concluded.
func (l *lines) change() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next != nil {
		close(l.next)
		l.next = nil
	}
}

// wait reports whether a change came in time.
func (l *lines) wait(ctx context.Context, changed <-chan struct{}, patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-changed:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}
