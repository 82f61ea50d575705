package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/delayjob"
	meetings "punctual/meeting"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// mailbox is a provider that refuses at random for now, or takes its time, and keeps what each
// recipient reads.
type mailbox struct {
	refuses float64 // how often it does not accept
	mu      sync.Mutex
	read    map[string][]notify.Notification
}

func (b *mailbox) Send(_ context.Context, n notify.Notification) error {
	time.Sleep(rand.N(15 * time.Millisecond))
	if rand.Float64() < b.refuses {
		return errors.New("451 try again")
	}
	time.Sleep(rand.N(15 * time.Millisecond))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read[n.Thread()] = append(b.read[n.Thread()], n)
	return nil
}

// deliver runs messages, by one of the processes at a time, until each row is concluded. They are
// begun in a random order, as by a queue of several shards.
func deliver(t *testing.T, l *gormstore.Ledger, processes []*notify.Delivery, ids []int64) {
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			for attempt := 1; ; attempt++ {
				n, err := l.Get(t.Context(), id)
				if err != nil {
					t.Error(err)
					return
				}
				if n.State != notify.Pending && n.State != notify.Sending {
					return
				}
				m := n.Message()
				m.Attempt = 2
				err = processes[rand.IntN(len(processes))].Execute(t.Context(), m)
				if attempt > 2000 {
					t.Errorf("notification %d is %s after %d tries: %v", id, n.State, attempt, err)
					return
				}
				time.Sleep(rand.N(20 * time.Millisecond))
			}
		})
	}
	all.Wait()
}

func about(meeting, sequence int64, kind notify.Kind, to string) notify.Notification {
	return notify.Notification{
		DedupeKey: fmt.Sprintf("%d:%d:%s:%s", meeting, sequence, kind, to), Kind: kind, Channel: notify.Email, MeetingID: meeting,
		To: notify.Recipient{Address: to}, Due: time.Now(), Facts: notify.Facts{MeetingID: meeting, Sequence: sequence},
	}
}

// answered is a reply of a room about an event, or about a date of it.
func answered(meeting, sequence int64, room, date string) notify.Notification {
	n := about(meeting, sequence, notify.Reply, "ada@example.org")
	n.DedupeKey += room + date
	n.Facts.Reply = &meetings.Reply{From: room + "@rooms.example.org", Event: "42@example.org", Date: date}
	return n
}

// TestOrder: meetings are booked, moved and cancelled, and a room answers, while a provider refuses mails for now and
// two processes send at once. Nobody reads an older mail after a newer one, the last mail that
// each recipient reads is the last that was recorded, and what is not sent is superseded.
func TestOrder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		box := &mailbox{refuses: 0.5, read: map[string][]notify.Notification{}}
		var processes []*notify.Delivery
		for range 2 {
			processes = append(processes, notify.NewDelivery(notify.Email, l, box, notify.DeliveryOptions{Job: delayjob.Options{MaxAttempts: -1}}))
		}
		last := map[string]notify.Notification{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for meeting := range int64(12) {
			all.Go(func() {
				var sending sync.WaitGroup
				defer sending.Wait()
				for sequence := range int64(2 + rand.IntN(4)) {
					kind := []notify.Kind{notify.Invitation, notify.Change, notify.Reminder, notify.Change, notify.Cancellation}[sequence]
					ns := []notify.Notification{about(meeting+1, sequence, kind, "Ada@example.org"), about(meeting+1, sequence, kind, "bob@example.org")}
					if meeting == 0 { // an event of another calendar program, whose meeting is booked anew each time
						ns = []notify.Notification{answered(100+sequence, sequence, "turing", "")}
					}
					if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) }); err != nil {
						t.Error(err)
						return
					}
					var ids []int64
					mu.Lock()
					for _, n := range ns {
						last[n.Thread()] = n
						ids = append(ids, n.ID)
					}
					mu.Unlock()
					sending.Go(func() { deliver(t, l, processes, ids) })
					time.Sleep(rand.N(60 * time.Millisecond))
				}
			})
		}
		all.Wait()
		for thread, want := range last {
			read := box.read[thread]
			if !slices.IsSortedFunc(read, func(a, b notify.Notification) int { return int(a.Facts.Sequence - b.Facts.Sequence) }) || len(read) == 0 || read[len(read)-1].ID != want.ID {
				t.Errorf("%s: read %v, last recorded %d", thread, sequences(read), want.Facts.Sequence)
			}
		}
		page, err := l.List(t.Context(), notify.Filter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Items {
			sent := slices.ContainsFunc(box.read[n.Thread()], func(r notify.Notification) bool { return r.ID == n.ID })
			if sent != (n.State == notify.Sent) || !sent && (n.State != notify.Superseded || !strings.HasPrefix(n.LastError, "superseded by notification ")) {
				t.Errorf("%s %d is %s (%s), sent: %v", n.Kind, n.Facts.Sequence, n.State, n.LastError, sent)
			}
		}
	})
}

func sequences(ns []notify.Notification) (all []int64) {
	for _, n := range ns {
		all = append(all, n.Facts.Sequence)
	}
	return all
}

// TestSuperseded: what a newer notification covers, and what it does not.
func TestSuperseded(t *testing.T) {
	single := about(1, 1, notify.Invitation, "ada@example.org")
	series := func(n notify.Notification, change func(*notify.Series)) notify.Notification {
		n.Facts.SeriesID, n.Facts.Series = 7, &notify.Series{ID: 7}
		change(n.Facts.Series)
		return n
	}
	whole := func(*notify.Series) {}
	some := func(s *notify.Series) { s.Cancelled = []notify.Occurrence{{}} }
	date := func(n notify.Notification) notify.Notification { n.Facts.SeriesID = 7; return n }
	sms := about(1, 2, notify.Change, "ada@example.org")
	sms.Channel = notify.SMS
	for _, c := range []struct {
		name       string
		old, newer notify.Notification
		superseded bool
		waits      bool
	}{
		{"change", single, about(1, 2, notify.Change, "ada@example.org"), true, false},
		{"cancellation, in another case", single, about(1, 2, notify.Cancellation, "ADA@example.org"), true, false},
		{"reminder", single, about(1, 2, notify.Reminder, "ada@example.org"), false, true},
		{"another person", single, about(1, 2, notify.Change, "bob@example.org"), false, false},
		{"another meeting", single, about(2, 2, notify.Change, "ada@example.org"), false, false},
		{"another channel", single, sms, false, false},
		{"an older reminder", about(1, 1, notify.Reminder, "ada@example.org"), about(1, 2, notify.Cancellation, "ada@example.org"), false, true},
		{"series by series", series(about(1, 1, notify.Invitation, "ada@example.org"), whole), series(about(2, 2, notify.Change, "ada@example.org"), whole), true, false},
		{"date by series", date(about(3, 1, notify.Change, "ada@example.org")), series(about(2, 2, notify.Change, "ada@example.org"), whole), true, false},
		{"dates by series", series(about(3, 1, notify.Cancellation, "ada@example.org"), some), series(about(2, 2, notify.Change, "ada@example.org"), whole), true, false},
		{"series by date", series(about(1, 1, notify.Invitation, "ada@example.org"), whole), date(about(3, 2, notify.Change, "ada@example.org")), false, true},
		{"series by dates", series(about(1, 1, notify.Invitation, "ada@example.org"), whole), series(about(2, 2, notify.Cancellation, "ada@example.org"), some), false, true},
		{"date by the same", date(about(3, 1, notify.Change, "ada@example.org")), date(about(3, 2, notify.Cancellation, "ada@example.org")), true, false},
		{"answer", answered(1, 1, "turing", ""), answered(2, 2, "Turing", ""), true, false},
		{"answer for a date", answered(1, 1, "turing", "20270210T090000Z"), answered(1, 2, "turing", "20270210T090000Z"), true, false},
		{"answer for everything", answered(1, 1, "turing", "20270210T090000Z"), answered(1, 2, "turing", ""), false, true},
		{"answer for another date", answered(1, 1, "turing", "20270210T090000Z"), answered(1, 2, "turing", "20270211T090000Z"), false, true},
		{"answer of another room", answered(1, 1, "turing", ""), answered(1, 2, "hopper", ""), false, true},
		{"answer by a change", answered(1, 1, "turing", ""), about(1, 2, notify.Change, "ada@example.org"), false, false},
		{"date by another", date(about(3, 1, notify.Change, "ada@example.org")), date(about(4, 2, notify.Cancellation, "ada@example.org")), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db *database.DB) {
				l := gormstore.New(db.Gorm)
				old, newer := one(t, db, c.old), one(t, db, c.newer)
				b := begin(t, l, notify.BeginRequest{ID: newer, Version: 1}, time.Now(), time.Hour)
				if (b.Wait > 0) != c.waits || (b.State == notify.Sending) == c.waits {
					t.Errorf("the newer one is %s and waits %v", b.State, b.Wait)
				}
				n, err := l.Get(t.Context(), old)
				if err != nil || (n.State == notify.Superseded) != c.superseded {
					t.Errorf("the older one is %s, %v", n.State, err)
				}
				if !c.waits {
					return
				}
				begin(t, l, notify.BeginRequest{ID: old, Version: 1}, time.Now(), time.Hour)
				if b := begin(t, l, notify.BeginRequest{ID: newer, Version: 1}, time.Now(), time.Hour); b.Wait <= 0 {
					t.Error("it is sent beside the older one")
				}
				if _, err := l.Record(t.Context(), []notify.Outcome{{ID: old, Version: 1, State: notify.Failed, At: time.Now(), Error: "no such mailbox"}}); err != nil {
					t.Fatal(err)
				}
				if b := begin(t, l, notify.BeginRequest{ID: newer, Version: 1}, time.Now(), time.Hour); b.State != notify.Sending || b.Wait > 0 {
					t.Errorf("once the older one has failed it is %s and waits %v", b.State, b.Wait)
				}
			})
		})
	}
}

// TestOutdate: an answer that is no longer asked for is not sent; others are.
func TestOutdate(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		whole, date, other := one(t, db, answered(1, 1, "turing", "")), one(t, db, answered(1, 1, "turing", "20270210T090000Z")), one(t, db, answered(1, 1, "hopper", ""))
		like := answered(0, 0, "turing", "")
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			return l.Outdate(tx, []notify.Notification{like}, "the room is no longer invited")
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]notify.State{whole: notify.Superseded, date: notify.Pending, other: notify.Pending} {
			if n, err := l.Get(t.Context(), id); err != nil || n.State != want {
				t.Errorf("%s of %s is %s, want %s (%v)", n.Facts.Reply.Date, n.Facts.Reply.From, n.State, want, err)
			}
		}
	})
}

// TestScreen: no attempt begins for what must not be sent, not even another one, and it can be
// recorded so.
func TestScreen(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		stale, fine := one(t, db, about(1, 1, notify.Reminder, "ada@example.org")), one(t, db, about(2, 1, notify.Reminder, "ada@example.org"))
		asks := []notify.BeginRequest{{ID: stale, Version: 1}, {ID: fine, Version: 1}, {ID: fine, Version: 1}}
		objection := notify.Objection{}
		screen := func(_ context.Context, ns []notify.Notification) (map[int64]notify.Objection, error) {
			return map[int64]notify.Objection{stale: objection}, nil
		}
		for range 2 {
			bs, err := l.Begin(t.Context(), asks, time.Now(), time.Minute, screen)
			if err != nil {
				t.Fatal(err)
			}
			if bs[1].State != notify.Sending || bs[1].Wait != 0 || bs[2].Wait <= 0 {
				t.Errorf("the other one is %s, waits %v and %v", bs[1].State, bs[1].Wait, bs[2].Wait)
			}
			o := notify.Outcome{ID: stale, Version: 1, State: notify.Pending, At: time.Now(), Begun: bs[0].SendingAt, Error: "451 later"}
			want := notify.Sending
			if objection.State != "" {
				o = notify.Outcome{ID: stale, Version: 1, State: objection.State, At: time.Now(), Error: objection.Reason}
				want = notify.Pending
			}
			if bs[0].State != want || bs[0].Objection != objection {
				t.Errorf("it is %s with %v, want %s with %v", bs[0].State, bs[0].Objection, want, objection)
			}
			again := notify.Outcome{ID: fine, Version: 1, State: notify.Pending, At: time.Now(), Begun: bs[1].SendingAt, Error: "451 later"}
			if _, err := l.Record(t.Context(), []notify.Outcome{o, again}); err != nil {
				t.Fatal(err)
			}
			objection = notify.Objection{State: notify.Superseded, Reason: "the meeting has ended"}
		}
		n, err := l.Get(t.Context(), stale)
		if err != nil || n.State != notify.Superseded || n.LastError != "the meeting has ended" || n.Attempts != 1 || len(n.Failures) != 1 {
			t.Errorf("recorded %s, %q, %d attempts, failures %v, %v", n.State, n.LastError, n.Attempts, n.Failures, err)
		}
	})
}
