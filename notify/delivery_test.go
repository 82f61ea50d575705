package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/migrations"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// fakeSender answers with errs in turn, then accepts.
type fakeSender struct {
	mu     sync.Mutex
	errs   []error
	during func() // called while it sends
	tried  []notify.Notification
	sent   []notify.Notification
}

func (s *fakeSender) Send(ctx context.Context, n notify.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = append(s.tried, n)
	if s.during != nil {
		s.during()
	}
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return err
	}
	s.sent = append(s.sent, n)
	return nil
}

func (s *fakeSender) counts() (tried, sent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tried), len(s.sent)
}

// flakyLedger fails to record so many times.
type flakyLedger struct {
	notify.Ledger
	failures int
}

func (l *flakyLedger) Record(ctx context.Context, os []notify.Outcome) (map[int64]notify.Point, error) {
	if l.failures > 0 {
		l.failures--
		return nil, errors.New("the database is away")
	}
	return l.Ledger.Record(ctx, os)
}

type bench struct {
	t      *testing.T
	db     *database.DB
	ledger *gormstore.Ledger
	sender *fakeSender
	now    time.Time
}

func newBench(t *testing.T) *bench {
	db := testdb.Open(t, migrations.SQLite)
	return &bench{
		t: t, db: db, ledger: gormstore.New(db.Gorm), sender: &fakeSender{},
		now: time.Date(2027, 2, 10, 9, 45, 0, 0, time.UTC),
	}
}

func (b *bench) delivery(o delayjob.Options) *notify.Delivery {
	return notify.NewDelivery(notify.Email, b.ledger, b.sender, notify.DeliveryOptions{
		Job: o, Host: "example.org", Now: func() time.Time { return b.now },
	})
}

func (b *bench) insert(key string) notify.Notification {
	b.t.Helper()
	ns := []notify.Notification{{
		DedupeKey: key, Kind: notify.Reminder, Channel: notify.Email, MeetingID: 1,
		To: notify.Recipient{Address: key + "@example.org"}, Due: b.now, Expires: b.now.Add(5 * time.Minute),
	}}
	if err := b.db.Gorm.WithContext(b.t.Context()).Transaction(func(tx *gorm.DB) error { return b.ledger.Insert(tx, ns) }); err != nil {
		b.t.Fatal(err)
	}
	return b.get(ns[0].ID)
}

func (b *bench) get(id int64) notify.Notification {
	b.t.Helper()
	n, err := b.ledger.Get(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func delivered(n notify.Notification, attempt int) delayjob.Message {
	m := n.Message()
	m.Attempt = attempt
	return m
}

func TestDelivery_sends(t *testing.T) {
	b := newBench(t)
	n := b.insert("a")
	if err := b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(n, 1)); err != nil {
		t.Fatal(err)
	}
	got := b.get(n.ID)
	if got.State != notify.Sent || got.Attempts != 1 || !got.SentAt.Equal(b.now) {
		t.Errorf("recorded %+v", got)
	}
	want := fmt.Sprintf("<punctual-notification-%d-", n.ID)
	if id := b.sender.sent[0].MessageID; !strings.HasPrefix(id, want) || !strings.HasSuffix(id, "@example.org>") || got.MessageID != id {
		t.Errorf("Message-ID %q, recorded %q", id, got.MessageID)
	}
	// The same message again, as after a lost acknowledgement.
	if err := b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(n, 2)); err == nil {
		t.Error("it was not told apart from a first delivery")
	}
	if _, sent := b.sender.counts(); sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}

func TestDelivery_outcomes(t *testing.T) {
	broken := errors.New("it broke")
	for _, c := range []struct {
		name     string
		err      error
		attempt  int
		state    notify.State
		attempts int
	}{
		{"temporary", broken, 1, notify.Pending, 1},
		{"temporary with a time", notify.After(time.Minute, broken), 1, notify.Pending, 1},
		{"temporary, the last time", broken, 12, notify.Failed, 1},
		{"temporary with a time, the last time", notify.After(time.Minute, broken), 12, notify.Failed, 1},
		{"permanent", notify.Permanent(broken), 1, notify.Failed, 1},
		{"unavailable", notify.Unavailable(broken), 12, notify.Pending, 0},
		{"later, the last time", notify.Later(time.Minute, broken), 12, notify.Pending, 0},
		{"off", notify.Off("it broke"), 1, notify.Skipped, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.sender.errs = []error{fmt.Errorf("send: %w", c.err)}
			n := b.insert("a")
			if err := b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(n, c.attempt)); err == nil {
				t.Error("no error")
			}
			got := b.get(n.ID)
			if got.State != c.state || got.Attempts != c.attempts || !strings.Contains(got.LastError, "it broke") {
				t.Errorf("recorded %s, %d attempts, %q", got.State, got.Attempts, got.LastError)
			}
			if got.MessageID == "" {
				t.Error("the Message-ID was not kept")
			}
		})
	}
}

func TestDelivery_skipsWhatIsTooLate(t *testing.T) {
	b := newBench(t)
	waiting, stuck := b.insert("a"), b.insert("b")
	if _, err := b.ledger.Begin(t.Context(), []notify.BeginRequest{{ID: stuck.ID, Version: 1}}, b.now, time.Second, nil); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(6 * time.Minute)
	for _, n := range []notify.Notification{waiting, stuck} {
		if err := b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(n, 1)); err == nil {
			t.Error("no reason given")
		}
		if got := b.get(n.ID); got.State != notify.SkippedLate || got.LastError == "" {
			t.Errorf("recorded %s, %q", got.State, got.LastError)
		}
	}
	if tried, _ := b.sender.counts(); tried != 0 {
		t.Error("it was sent")
	}
}

func TestDelivery_crashBetweenAcceptAndRecord(t *testing.T) {
	b := newBench(t)
	n := b.insert("a")
	// The process dies once the provider has accepted: nothing behind Send happens.
	func() {
		defer func() { _ = recover() }()
		b.sender.during = func() { b.sender.during = nil; panic("killed") }
		_ = b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(n, 1))
	}()
	if got := b.get(n.ID); got.State != notify.Sending {
		t.Fatalf("the crash left it %s", got.State)
	}
	// The loader finds it, and it is sent once more under the same Message-ID when it is known
	// that nobody is sending it.
	d := b.delivery(delayjob.Options{})
	for m, err := range d.Load(t.Context(), delayjob.Window{To: b.now}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Execute(t.Context(), m); !snoozed(err) {
			t.Errorf("right after the crash: %v, want a snooze", err)
		}
		b.now = b.now.Add(4 * time.Second)
		for m.Attempt = 2; m.Attempt < 4; m.Attempt++ {
			_ = d.Execute(t.Context(), m)
		}
	}
	if got := b.get(n.ID); got.State != notify.Sent || got.Attempts != 2 {
		t.Errorf("recorded %s after %d attempts", got.State, got.Attempts)
	}
	tried := b.sender.tried
	if len(tried) != 2 || tried[0].MessageID != tried[1].MessageID || tried[0].MessageID == "" {
		t.Errorf("sent as %+v", tried)
	}
}

func TestDelivery_messageIDIsStable(t *testing.T) {
	b := newBench(t)
	n := b.insert("a")
	b.sender.errs = []error{errors.New("once"), errors.New("twice")}
	for attempt := range 3 {
		_ = b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(n, attempt+1))
	}
	ids := map[string]bool{}
	for _, n := range b.sender.tried {
		ids[n.MessageID] = true
	}
	if len(b.sender.tried) != 3 || len(ids) != 1 {
		t.Errorf("%d attempts with Message-IDs %v", len(b.sender.tried), ids)
	}
	if other := b.insert("b"); b.delivery(delayjob.Options{}).Execute(t.Context(), delivered(other, 1)) != nil || ids[b.get(other.ID).MessageID] {
		t.Error("two notifications share a Message-ID")
	}
}

func TestDelivery_recordsThroughAShortOutage(t *testing.T) {
	b := newBench(t)
	n := b.insert("a")
	d := notify.NewDelivery(notify.Email, &flakyLedger{b.ledger, 3}, b.sender, notify.DeliveryOptions{Now: func() time.Time { return b.now }})
	ctx, cancel := context.WithCancel(t.Context())
	b.sender.during = cancel // and while the process is being stopped
	if err := d.Execute(ctx, delivered(n, 1)); err != nil {
		t.Fatal(err)
	}
	if got := b.get(n.ID); got.State != notify.Sent {
		t.Errorf("recorded %s", got.State)
	}
}

func TestDelivery_stoppingIsNoFailure(t *testing.T) {
	b := newBench(t)
	n := b.insert("a")
	ctx, cancel := context.WithCancel(t.Context())
	b.sender.during, b.sender.errs = cancel, []error{context.Canceled}
	if err := b.delivery(delayjob.Options{}).Execute(ctx, delivered(n, 12)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := b.get(n.ID); got.State != notify.Pending {
		t.Errorf("recorded %s", got.State)
	}
}

func TestDelivery_resend(t *testing.T) {
	b := newBench(t)
	b.sender.errs = []error{notify.Permanent(errors.New("no such mailbox"))}
	n := b.insert("a")
	d := b.delivery(delayjob.Options{})
	_ = d.Execute(t.Context(), delivered(n, 1))

	var scheduled scheduler
	svc := notify.NewService(b.ledger, &scheduled, func() time.Time { return b.now })
	b.now = b.now.Add(24 * time.Hour) // the reminder's own limit has long passed
	again, err := svc.Resend(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(scheduled) != 1 || scheduled[0].Version != 2 || !scheduled[0].Due.Equal(b.now) {
		t.Fatalf("scheduled %+v", scheduled)
	}
	// The old message, should it still be about, does not count.
	if err := d.Execute(t.Context(), delivered(n, 2)); err == nil {
		t.Error("an outdated message did something")
	}
	if err := d.Execute(t.Context(), delivered(again, 1)); err != nil {
		t.Fatal(err)
	}
	if got := b.get(n.ID); got.State != notify.Sent || got.Attempts != 2 {
		t.Errorf("recorded %s after %d attempts", got.State, got.Attempts)
	}
	if _, err := svc.Resend(t.Context(), n.ID); err != nil {
		t.Errorf("a sent one, again: %v", err)
	}
	if _, err := svc.Resend(t.Context(), n.ID); err == nil {
		t.Error("a pending one was made pending")
	}
}

type scheduler []delayjob.Message

func (s *scheduler) Schedule(_ context.Context, ms ...delayjob.Message) { *s = append(*s, ms...) }

func TestDelivery_revivesADeadLetter(t *testing.T) {
	b := newBench(t)
	b.sender.errs = []error{errors.New("busy")}
	n := b.insert("a")
	d := b.delivery(delayjob.Options{MaxAttempts: 3})
	_ = d.Execute(t.Context(), delivered(n, 3))
	if got := b.get(n.ID); got.State != notify.Failed {
		t.Fatalf("recorded %s", got.State)
	}
	_ = d.Execute(t.Context(), delivered(n, 3)) // a copy of the last delivery
	if _, sent := b.sender.counts(); sent != 0 {
		t.Fatal("a failed one was sent by a copy of its last message")
	}
	if err := d.Execute(t.Context(), delivered(n, 1)); err != nil { // put back by an operator
		t.Fatal(err)
	}
	if got := b.get(n.ID); got.State != notify.Sent {
		t.Errorf("recorded %s", got.State)
	}
}

func TestDelivery_nonsense(t *testing.T) {
	b := newBench(t)
	d := b.delivery(delayjob.Options{})
	for _, key := range []string{"x", "999", ""} {
		if err := d.Execute(t.Context(), delayjob.Message{Job: "notify.email", Key: key, Version: 1, Attempt: 1}); err == nil {
			t.Errorf("key %q did something", key)
		}
	}
}

func TestDelivery_loadsPageByPage(t *testing.T) {
	b := newBench(t)
	ns := make([]notify.Notification, 2500)
	for i := range ns {
		ns[i] = notify.Notification{DedupeKey: fmt.Sprint(i), Kind: notify.Released, Channel: notify.Email, Due: b.now.Add(time.Duration(i%7) * time.Second)}
	}
	if err := b.db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return b.ledger.Insert(tx, ns) }); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	last := time.Time{}
	for m, err := range b.delivery(delayjob.Options{}).Load(t.Context(), delayjob.Window{To: b.now.Add(time.Hour)}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Due.Before(last) || m.Job != "notify.email" || m.Version != 1 {
			t.Fatalf("message %+v after %v", m, last)
		}
		last = m.Due
		seen[m.Key] = true
	}
	if len(seen) != len(ns) {
		t.Errorf("%d messages, want %d", len(seen), len(ns))
	}
}

// The whole way: ledger, loader, queue, consumer, sender.
func TestDelivery_throughTheEngine(t *testing.T) {
	b := newBench(t)
	b.now = time.Now()
	b.sender.errs = []error{errors.New("451 later"), notify.Unavailable(errors.New("nobody answers")), errors.New("451 later")}
	var ids []int64
	for i := range 20 {
		ids = append(ids, b.insert(fmt.Sprint(i)).ID)
	}
	q := memqueue.New()
	jobs := []delayjob.DelayJob{notify.NewDelivery(notify.Email, b.ledger, b.sender, notify.DeliveryOptions{
		Job: delayjob.Options{Backoff: delayjob.Backoff{Base: time.Millisecond, Cap: 10 * time.Millisecond}},
	})}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = delayjob.NewLoader(q, jobs, delayjob.LoaderOptions{}).Run(ctx) })
	wg.Go(func() { _ = delayjob.NewConsumer(q, jobs, delayjob.ConsumerOptions{}).Run(ctx) })
	defer wg.Wait()
	defer cancel()
	deadline := time.Now().Add(time.Minute)
	for _, sent := b.sender.counts(); sent < len(ids); _, sent = b.sender.counts() {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d sent", sent, len(ids))
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // anything twice would come about now
	if _, sent := b.sender.counts(); sent != len(ids) {
		t.Errorf("%d sent, want %d", sent, len(ids))
	}
	for _, id := range ids {
		for n := b.get(id); n.State != notify.Sent; n = b.get(id) { // it is recorded after it is sent
			if time.Now().After(deadline) {
				t.Fatalf("%d is %s: %s", id, n.State, n.LastError)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}
