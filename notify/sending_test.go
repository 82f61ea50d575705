package notify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/notify"
)

// hangingSender takes its time to accept.
type hangingSender struct {
	takes    time.Duration
	under    chan struct{} // gets a value when a Send begins
	accepted atomic.Int64
}

func (s *hangingSender) Send(ctx context.Context, _ notify.Notification) error {
	s.under <- struct{}{}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.takes):
		s.accepted.Add(1)
		return nil
	}
}

// keptLedger counts what it is asked to keep, and loses it while it is deaf.
type keptLedger struct {
	notify.Ledger
	mu    sync.Mutex
	calls []int // rows of each
	deaf  atomic.Bool
}

func (l *keptLedger) Keep(ctx context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (map[int64]bool, error) {
	l.mu.Lock()
	l.calls = append(l.calls, len(begun))
	l.mu.Unlock()
	if l.deaf.Load() {
		return nil, errors.New("the database is away")
	}
	return l.Ledger.Keep(ctx, begun, now, lease)
}

func (l *keptLedger) seen() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int(nil), l.calls...)
}

// process is a delivery on a ledger that others use as well.
func (b *bench) process(l notify.Ledger, s notify.Sender) *notify.Delivery {
	return notify.NewDelivery(notify.Email, l, s, notify.DeliveryOptions{Now: time.Now})
}

func hanging(takes time.Duration) *hangingSender {
	return &hangingSender{takes: takes, under: make(chan struct{}, 10)}
}

// snoozed reports whether Execute asks for the message again, uncharged.
func snoozed(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), strings.TrimSuffix(delayjob.Snooze(0).Error(), "0s"))
}

// TestSending_keptWhileItTakes: two processes hold the message of a notification whose provider
// is slow. It is sent by one, and the other comes again. One statement a second keeps all of
// them, and none what is sent within a second.
func TestSending_keptWhileItTakes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Now().UTC()
	l := &keptLedger{Ledger: b.ledger}
	slow, quick := hanging(4200*time.Millisecond), hanging(500*time.Millisecond)
	first, second := b.process(l, slow), b.process(l, quick)

	n := b.insert("quick")
	begin := time.Now()
	if err := second.Execute(t.Context(), delivered(n, 1)); err != nil {
		t.Fatal(err)
	}
	if calls, took := l.seen(), time.Since(begin); len(calls) != 0 && took < time.Second {
		t.Errorf("%d statements for what was sent in %v", len(calls), took)
	}
	before := len(l.seen())

	var wg sync.WaitGroup
	rows := []notify.Notification{b.insert("a"), b.insert("b"), b.insert("c")}
	begin = time.Now()
	for _, n := range rows {
		wg.Go(func() {
			if err := first.Execute(t.Context(), delivered(n, 1)); err != nil {
				t.Errorf("%s: %v", n.DedupeKey, err)
			}
		})
	}
	for range rows {
		<-slow.under
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	tries := 0
	for over := false; !over; tries++ {
		if got := b.get(rows[0].ID); got.State == notify.Sent {
			break
		}
		if err := second.Execute(t.Context(), delivered(rows[0], 1)); !snoozed(err) && b.get(rows[0].ID).State != notify.Sent {
			t.Fatalf("the other process: %v, want a snooze", err)
		}
		select {
		case <-done:
			over = true
		case <-time.After(200 * time.Millisecond):
		}
	}
	<-done
	if slow.accepted.Load() != 3 || quick.accepted.Load() != 1 || tries < 5 {
		t.Errorf("sent %d by the first, %d by the second process, which tried %d times", slow.accepted.Load(), quick.accepted.Load(), tries)
	}
	for _, n := range rows {
		if got := b.get(n.ID); got.State != notify.Sent || got.Attempts != 1 {
			t.Errorf("%s is %s after %d attempts", n.DedupeKey, got.State, got.Attempts)
		}
	}
	calls, took := l.seen()[before:], time.Since(begin)
	if len(calls) < 2 || len(calls) > int(took/time.Second)+1 {
		t.Errorf("%d statements in %v, want one a second", len(calls), took)
	}
	if !slices.Contains(calls, 3) { // the first and the last may keep less, where they do not begin or end together
		t.Errorf("statements kept %v rows, want 3", calls)
	}
}

// TestSending_takenOver: a process that cannot keep its lease is fenced. Another sends instead,
// and the first one lets go when it learns of it; what it says is not believed.
func TestSending_takenOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Now().UTC()
	n := b.insert("a")
	l := &keptLedger{Ledger: b.ledger}
	l.deaf.Store(true)
	stalled, healthy := hanging(time.Minute), hanging(2*time.Second)
	result := make(chan error, 1)
	begin := time.Now()
	go func() { result <- b.process(l, stalled).Execute(t.Context(), delivered(n, 1)) }()
	<-stalled.under

	other := b.process(b.ledger, healthy)
	taken := make(chan error, 1)
	go func() {
		for {
			err := other.Execute(t.Context(), delivered(n, 1))
			if !snoozed(err) {
				taken <- err
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	<-healthy.under
	if after := time.Since(begin); after < 2*time.Second {
		t.Errorf("taken over after %v, while the lease was in force", after)
	}
	l.deaf.Store(false)
	if err := <-result; !snoozed(err) {
		t.Errorf("the first process: %v, want a snooze", err)
	}
	if got := b.get(n.ID); got.State != notify.Sending && got.State != notify.Sent {
		t.Errorf("the first process made it %s", got.State)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
	if got := b.get(n.ID); got.State != notify.Sent || healthy.accepted.Load() != 1 || stalled.accepted.Load() != 0 {
		t.Errorf("%s, sent %d and %d times", got.State, stalled.accepted.Load(), healthy.accepted.Load())
	}
	if err := b.process(b.ledger, healthy).Execute(t.Context(), delivered(n, 1)); err == nil || snoozed(err) {
		t.Errorf("sent already: %v, want it dropped", err)
	}
}

// TestSending_goesOn: what is being sent is not broken off because the queue gave the message to
// somebody else, but it is when the process stops.
func TestSending_goesOn(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]notify.State{delayjob.ErrLeaseLost: notify.Sent, context.Canceled: notify.Pending} {
		b := newBench(t)
		b.now = time.Now().UTC()
		n, s := b.insert("a"), hanging(300*time.Millisecond)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-s.under
			cancel(cause)
		}()
		_ = b.process(b.ledger, s).Execute(ctx, delivered(n, 1))
		if got := b.get(n.ID); got.State != want {
			t.Errorf("%v: it is %s, want %s", cause, got.State, want)
		}
	}
}
