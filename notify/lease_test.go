package notify_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/notify"
)

// leaseLedger holds rows in memory and leases them by the clock of the test.
type leaseLedger struct {
	notify.Ledger
	mu   sync.Mutex
	rows map[int64]*leasedRow
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

func (l *leaseLedger) Begin(_ context.Context, asks []notify.Ask, now time.Time, lease time.Duration, _ notify.Screen) ([]notify.Begun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := make([]notify.Begun, len(asks))
	for i, a := range asks {
		r := l.rows[a.ID]
		switch {
		case r.State == notify.Pending, r.State == notify.Sending && !now.Before(r.until):
			r.State, r.SendingAt, r.until = notify.Sending, now, now.Add(lease)
			r.Attempts++
			begun[i].Notification = r.Notification
		default:
			begun[i] = notify.Begun{Notification: r.Notification, Wait: r.until.Sub(now)}
		}
	}
	return begun, nil
}

func (l *leaseLedger) Keep(_ context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (map[int64]bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

func (l *leaseLedger) state(id int64) notify.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[id].State
}

// stalledLedger is a process's slow way to a ledger.
type stalledLedger struct {
	notify.Ledger
	begin  time.Duration // how long its answer to Begin takes
	record time.Duration // how long it refuses to record
	until  time.Time
}

func (l *stalledLedger) Begin(ctx context.Context, asks []notify.Ask, now time.Time, lease time.Duration, screen notify.Screen) ([]notify.Begun, error) {
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
					other := notify.NewDelivery(notify.Email, l, quick, notify.DeliveryOptions{})
					ahead, m := delivered(l.rows[1].Notification, 1), delivered(l.rows[2].Notification, 1)
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
					for l.state(2) != notify.Sent {
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
