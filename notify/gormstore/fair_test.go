package gormstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/migrations"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// slowSink takes its time for each mail and notes by whom the mails are. After the first held it sends
// nothing until resume is closed.
type slowSink struct {
	resume chan struct{}
	mu     sync.Mutex
	sent   []string // organizers
}

const held = 20

func (s *slowSink) Send(ctx context.Context, n notify.Notification) error {
	time.Sleep(200 * time.Millisecond)
	s.mu.Lock()
	wait := len(s.sent) >= held
	s.mu.Unlock()
	if wait {
		select {
		case <-s.resume:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, n.Organizer())
	return nil
}

// count returns how many mails of others were sent, and how many of bulk before the last of them.
func (s *slowSink) count() (bulk, others int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, by := range s.sent {
		if by != "bulk@example.org" {
			others++
			bulk = i + 1 - others
		}
	}
	return bulk, others
}

func (s *slowSink) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent) >= held
}

// TestFairTurns: while one organizer's mails are in line for a slow server, those of others, and
// reminders, are sent within moments and not after the whole line.
func TestFairTurns(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, migrations.SQLite)
	l := gormstore.New(db.Gorm)
	sink := &slowSink{resume: make(chan struct{})}
	job := notify.NewDelivery(notify.Email, l, sink, notify.DeliveryOptions{Job: delayjob.Options{Concurrency: 4}})
	q := memqueue.New()
	t.Cleanup(func() { _ = q.Close() })
	add := func(ns ...notify.Notification) {
		t.Helper()
		if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) }); err != nil {
			t.Fatal(err)
		}
		for _, n := range ns {
			n.Version = 1
			if _, err := q.Add(t.Context(), n.Message()); err != nil {
				t.Fatal(err)
			}
		}
	}
	by := func(organizer string, i int, kind notify.Kind) notify.Notification {
		n := about(int64(i), 1, kind, fmt.Sprintf("guest-%d@example.org", i))
		n.Facts.Organizer.Email = organizer
		return n
	}
	const bulk, others = 500, 10
	var ns []notify.Notification
	for i := range bulk {
		ns = append(ns, by("Bulk@example.org", i+1, notify.Change))
	}
	add(ns...)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		_ = delayjob.NewConsumer(q, []delayjob.DelayJob{job}, delayjob.ConsumerOptions{Grace: time.Second}).Run(ctx)
	})
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	until("nothing is sent", sink.holds)
	for i := range others {
		add(by("ada@example.org", 1000+i, notify.Invitation))
	}
	reminder := by("bulk@example.org", 2000, notify.Reminder)
	add(reminder)
	close(sink.resume)
	until("the mails of others are not sent", func() bool { _, n := sink.count(); return n == others })
	until("the reminder is not sent", func() bool {
		page, err := l.List(t.Context(), notify.Filter{Kind: notify.Reminder, State: notify.Sent})
		return err == nil && len(page.Items) == 1
	})
	if n, _ := sink.count(); n > bulk/2 {
		t.Errorf("sent after %d of the %d in line", n, bulk)
	}
}
