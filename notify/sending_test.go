package notify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

func hanging(takes time.Duration) *hangingSender {
	return &hangingSender{takes: takes, under: make(chan struct{}, 10)}
}

// snoozed reports whether Execute asks for the message again, uncharged.
func snoozed(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), strings.TrimSuffix(delayjob.Snooze(0).Error(), "0s"))
}

// leaseLedger holds rows in memory and leases them by the clock of the test.
type leaseLedger struct {
	notify.Ledger
	mu   sync.Mutex
	rows map[int64]*leasedRow
	kept []int       // rows of each call of Keep
	deaf atomic.Bool // Keep fails
}

type leasedRow struct {
	notify.Notification
	until time.Time
}

func newLeaseLedger(ids ...int64) *leaseLedger {
	l := &leaseLedger{rows: map[int64]*leasedRow{}}
	for _, id := range ids {
		l.rows[id] = &leasedRow{Notification: notify.Notification{ID: id, Version: 1, State: notify.Pending}}
	}
	return l
}

func (l *leaseLedger) Begin(_ context.Context, asks []notify.BeginRequest, now time.Time, lease time.Duration, _ notify.Screen) ([]notify.BeginResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := make([]notify.BeginResult, len(asks))
	for i, a := range asks {
		r := l.rows[a.ID]
		switch {
		case r.State == notify.Pending, r.State == notify.Sending && !now.Before(r.until):
			r.State, r.SendingAt, r.until = notify.Sending, now, now.Add(lease)
			r.Attempts++
			begun[i].Notification = r.Notification
		default:
			begun[i] = notify.BeginResult{Notification: r.Notification, Wait: r.until.Sub(now)}
		}
	}
	return begun, nil
}

func (l *leaseLedger) Keep(_ context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (map[int64]bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, len(begun))
	if l.deaf.Load() {
		return nil, errors.New("the database is unavailable")
	}
	kept := map[int64]bool{}
	for id, at := range begun {
		if r := l.rows[id]; r.State == notify.Sending && r.SendingAt.Equal(at) {
			r.until, kept[id] = now.Add(lease), true
		}
	}
	return kept, nil
}

func (l *leaseLedger) Record(_ context.Context, os []notify.Outcome) (map[int64]notify.Point, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range os {
		if r := l.rows[o.ID]; o.State == notify.Sent || r.State == notify.Sending && r.SendingAt.Equal(o.Begun) {
			r.State = o.State
		}
	}
	return nil, nil
}

func (l *leaseLedger) row(id int64) notify.Notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[id].Notification
}

// process is a delivery of its own on the ledger.
func (l *leaseLedger) process(s notify.Sender) *notify.Delivery {
	return notify.NewDelivery(notify.Email, l, s, notify.DeliveryOptions{})
}

// stalledLedger is a process's slow way to a ledger.
type stalledLedger struct {
	notify.Ledger
	begin  time.Duration // how long its answer to Begin takes
	record time.Duration // how long it refuses to record
	until  time.Time
}

func (l *stalledLedger) Begin(ctx context.Context, asks []notify.BeginRequest, now time.Time, lease time.Duration, screen notify.Screen) ([]notify.BeginResult, error) {
	begun, err := l.Ledger.Begin(ctx, asks, now, lease, screen)
	time.Sleep(l.begin)
	return begun, err
}

func (l *stalledLedger) Record(ctx context.Context, os []notify.Outcome) (map[int64]notify.Point, error) {
	if l.until.IsZero() {
		l.until = time.Now().Add(l.record)
	}
	if time.Now().Before(l.until) {
		return nil, errors.New("cannot write")
	}
	return l.Ledger.Record(ctx, os)
}

// A process keeps a notification's lease from the start of the attempt until the outcome is
// recorded. If it loses the lease before it calls the provider, it does not send.
func TestSending_stallsSendNothingTwice(t *testing.T) {
	for name, stalled := range map[string]*stalledLedger{
		"none":                         {},
		"Begin answers within a lease": {begin: 2500 * time.Millisecond},
		"Begin answers after a lease":  {begin: 4 * time.Second},
		"Record fails for some time":   {record: 8 * time.Second},
	} {
		for _, wait := range []time.Duration{0, 900 * time.Millisecond, 2 * time.Second} { // for a slot; 2s: in vain
			t.Run(name+", the slot is free after "+wait.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLeaseLedger(1, 2)
					stalled := *stalled
					stalled.Ledger = l
					slow, quick := hanging(stalled.begin+wait), hanging(0)
					mine := notify.NewDelivery(notify.Email, &stalled, byRow{1: slow, 2: quick}, notify.DeliveryOptions{Job: delayjob.Options{Concurrency: 1}})
					other := l.process(quick)
					ahead, m := delivered(l.row(1), 1), delivered(l.row(2), 1)
					var wg sync.WaitGroup
					if wait > 0 { // the only slot is taken meanwhile
						takes := stalled.begin
						stalled.begin = 0
						wg.Go(func() { _ = mine.Execute(t.Context(), ahead) })
						<-slow.under
						stalled.begin = takes
					}
					wg.Go(func() { _ = mine.Execute(t.Context(), m) })
					time.Sleep(20 * time.Millisecond)
					for l.row(2).State != notify.Sent {
						_ = other.Execute(t.Context(), m)
						time.Sleep(100 * time.Millisecond)
					}
					wg.Wait()
					if n := quick.accepted.Load(); n != 1 {
						t.Errorf("sent %d times", n)
					}
				})
			})
		}
	}
}

// byRow sends each row by a sender of its own.
type byRow map[int64]notify.Sender

func (s byRow) Send(ctx context.Context, n notify.Notification) error { return s[n.ID].Send(ctx, n) }

// Two processes hold the message of a notification whose provider is slow. One of them sends it, and
// the other tries again later. One statement a second extends all leases; a notification that is
// sent within a second needs none.
func TestSending_keptWhileItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeaseLedger(1, 2, 3, 4)
		slow, quick := hanging(4200*time.Millisecond), hanging(500*time.Millisecond)
		first, second := l.process(slow), l.process(quick)
		if err := second.Execute(t.Context(), delivered(l.row(4), 1)); err != nil || len(l.kept) != 0 {
			t.Errorf("%v, %d statements for what was sent in half a second", err, len(l.kept))
		}
		var wg sync.WaitGroup
		message := delivered(l.row(1), 1)
		for id := range int64(3) {
			m := delivered(l.row(id+1), 1)
			wg.Go(func() {
				if err := first.Execute(t.Context(), m); err != nil {
					t.Errorf("%s: %v", m.Key, err)
				}
			})
		}
		for range 3 {
			<-slow.under
		}
		for range 20 {
			if err := second.Execute(t.Context(), message); !snoozed(err) {
				t.Fatalf("the other process: %v, want a snooze", err)
			}
			time.Sleep(200 * time.Millisecond)
		}
		wg.Wait()
		if slow.accepted.Load() != 3 || quick.accepted.Load() != 1 {
			t.Errorf("sent %d by the first, %d by the second process", slow.accepted.Load(), quick.accepted.Load())
		}
		for id := range int64(3) {
			if got := l.row(id + 1); got.State != notify.Sent || got.Attempts != 1 {
				t.Errorf("%d is %s after %d attempts", got.ID, got.State, got.Attempts)
			}
		}
		if want := []int{3, 3, 3, 3}; !slices.Equal(l.kept, want) {
			t.Errorf("statements kept %v rows, want %v", l.kept, want)
		}
	})
}

// A process that cannot extend its lease is fenced. Another process sends instead, and the first one
// stops when it notices. The ledger ignores its outcome.
func TestSending_takenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeaseLedger(1)
		l.deaf.Store(true)
		stalled, healthy := hanging(time.Minute), hanging(2*time.Second)
		m := delivered(l.row(1), 1)
		result, taken := make(chan error, 1), make(chan error, 1)
		begin := time.Now()
		go func() { result <- l.process(stalled).Execute(t.Context(), m) }()
		<-stalled.under
		go func() {
			other := l.process(healthy)
			for {
				if err := other.Execute(t.Context(), m); !snoozed(err) {
					taken <- err
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
		<-healthy.under
		if after := time.Since(begin); after < 3*time.Second {
			t.Errorf("taken over after %v, while the lease was in force", after)
		}
		l.deaf.Store(false)
		if err := <-result; !snoozed(err) {
			t.Errorf("the first process: %v, want a snooze", err)
		}
		if got := l.row(1); got.State != notify.Sending {
			t.Errorf("the first process made it %s", got.State)
		}
		if err := <-taken; err != nil {
			t.Error(err)
		}
		if got := l.row(1); got.State != notify.Sent || healthy.accepted.Load() != 1 || stalled.accepted.Load() != 0 {
			t.Errorf("%s, sent %d and %d times", got.State, stalled.accepted.Load(), healthy.accepted.Load())
		}
		if err := l.process(healthy).Execute(t.Context(), m); err == nil || snoozed(err) {
			t.Errorf("sent already: %v, want it dropped", err)
		}
	})
}

// An attempt continues if the queue delivers the message again. It ends when the process stops.
func TestSending_goesOn(t *testing.T) {
	for cause, want := range map[error]notify.State{delayjob.ErrLeaseLost: notify.Sent, context.Canceled: notify.Pending} {
		synctest.Test(t, func(t *testing.T) {
			l, s := newLeaseLedger(1), hanging(300*time.Millisecond)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-s.under
				cancel(cause)
			}()
			_ = l.process(s).Execute(ctx, delivered(l.row(1), 1))
			if got := l.row(1); got.State != want {
				t.Errorf("%v: it is %s, want %s", cause, got.State, want)
			}
		})
	}
}
