package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// scripted answers by the key of a notification, once each, and accepts what is left.
type scripted struct {
	mu      sync.Mutex
	answers map[string]error
	sent    []string
}

func (s *scripted) Send(_ context.Context, n notify.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err, ok := s.answers[n.DedupeKey]; ok {
		delete(s.answers, n.DedupeKey)
		return err
	}
	s.sent = append(s.sent, n.DedupeKey)
	return nil
}

// TestSuccessor: the handler that concludes a notification sends the next of its thread, which
// need not wait for its own message. That one finds nothing left to do.
func TestSuccessor(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		kinds   []notify.Kind // of one thread, the oldest first
		due     map[int]time.Time
		answers map[string]error
		rate    float64
		sent    string // keys, after the first one's message alone
		all     string // ... and after all messages
	}{
		"sent":                {kinds: []notify.Kind{"decision", "released", "declined"}, sent: "0 1 2", all: "0 1 2"},
		"refused":             {kinds: []notify.Kind{"decision", "released"}, answers: map[string]error{"0": notify.Permanent(errors.New("550"))}, sent: "1", all: "1"},
		"not concluded":       {kinds: []notify.Kind{"decision", "released"}, answers: map[string]error{"0": errors.New("451")}, sent: "", all: "0 1"},
		"itself not accepted": {kinds: []notify.Kind{"decision", "released"}, answers: map[string]error{"1": errors.New("451")}, sent: "0", all: "0 1"},
		"itself refused":      {kinds: []notify.Kind{"decision", "released"}, answers: map[string]error{"1": notify.Permanent(errors.New("550"))}, sent: "0", all: "0 1"},
		"limited by a rate":   {kinds: []notify.Kind{"decision", "released"}, rate: 1000, sent: "0", all: "0 1"},
		"not due":             {kinds: []notify.Kind{"decision", "reminder"}, due: map[int]time.Time{1: later}, sent: "0", all: "0 1"},
		"covered by another":  {kinds: []notify.Kind{"decision", "invitation", "cancellation"}, sent: "0 2", all: "0 2"},
		"after one too late":  {kinds: []notify.Kind{"reminder", "released"}, answers: map[string]error{"0": notify.Off("off")}, sent: "1", all: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db *database.DB) {
				l := gormstore.New(db.Gorm)
				sender := &scripted{answers: map[string]error{}}
				for k, err := range c.answers {
					sender.answers[k] = err
				}
				var ms []delayjob.Message
				for i, kind := range c.kinds {
					n := about(1, int64(i), kind, "ada@example.org")
					n.DedupeKey = fmt.Sprint(i)
					if due, ok := c.due[i]; ok {
						n.Due = due
					}
					n.ID, n.Version = one(t, db, n), 1
					m := n.Message()
					m.Attempt = 1
					ms = append(ms, m)
				}
				d := notify.NewDelivery(notify.Email, l, sender, notify.DeliveryOptions{})
				if c.rate > 0 {
					d = notify.NewDelivery(notify.Email, l, sender, notify.DeliveryOptions{Job: delayjob.Options{Rate: c.rate}})
				}
				_ = d.Execute(t.Context(), ms[0])
				if got := strings.Join(sender.sent, " "); got != c.sent {
					t.Errorf("one message sent %q, want %q", got, c.sent)
				}
				for _, m := range append(ms, ms...) {
					m.Attempt = 2
					_ = d.Execute(t.Context(), m)
				}
				if got := strings.Join(sender.sent, " "); got != c.all {
					t.Errorf("all messages sent %q, want %q", got, c.all)
				}
			})
		})
	}
}

// selective refuses to record several rows at once, and one row for a while.
type selective struct {
	notify.Ledger
	mu      sync.Mutex
	shared  int   // statements about several rows
	refused int64 // ID of the row
	times   int
}

func (l *selective) Record(ctx context.Context, os []notify.Outcome) (map[int64]notify.Point, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(os) > 1 {
		l.shared++
		return nil, errors.New("the statement is refused")
	}
	if l.shared == 0 {
		time.Sleep(30 * time.Millisecond) // so that others come meanwhile
	}
	if os[0].ID == l.refused && l.times > 0 {
		l.times--
		return nil, errors.New("the row is refused")
	}
	return l.Ledger.Record(ctx, os)
}

// atOnce lets go of what it sends when all of it is there.
type atOnce struct {
	all  sync.WaitGroup
	fail func(notify.Notification) error
}

func (s *atOnce) Send(_ context.Context, n notify.Notification) error {
	s.all.Done()
	s.all.Wait()
	return s.fail(n)
}

// TestRecord_sharedStatementFails: of attempts that are recorded together each is recorded as it
// ended, also if the database refuses the statement because of one of them.
func TestRecord_sharedStatementFails(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		const n = 12
		l := &selective{Ledger: gormstore.New(db.Gorm), times: 2}
		s := &atOnce{fail: func(n notify.Notification) error {
			if n.MeetingID%3 == 0 {
				return fmt.Errorf("451 later, %d", n.MeetingID)
			}
			return nil
		}}
		s.all.Add(n)
		d := notify.NewDelivery(notify.Email, l, s, notify.DeliveryOptions{})
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = one(t, db, about(int64(i), 1, notify.Change, "ada@example.org"))
		}
		l.refused = ids[5]
		var running sync.WaitGroup
		for i, id := range ids {
			running.Go(func() {
				err := d.Execute(t.Context(), notify.Notification{ID: id, Version: 1, Channel: notify.Email}.Message())
				if (err != nil) != (i%3 == 0) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		running.Wait()
		for i, id := range ids {
			got, err := l.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			state, failures := notify.Sent, 0
			if i%3 == 0 {
				state, failures = notify.Pending, 1
			}
			if got.State != state || got.Attempts != 1 || len(got.Failures) != failures || failures == 1 && got.LastError != fmt.Sprintf("451 later, %d", i) {
				t.Errorf("%d is %s after %d attempts, failures %v, %q", i, got.State, got.Attempts, got.Failures, got.LastError)
			}
		}
		if l.shared == 0 || l.times != 0 {
			t.Errorf("%d statements were shared, the row was refused %d times too few", l.shared, l.times)
		}
	})
}
