package gormstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// due is a time with more digits than the databases keep.
var due = time.Date(2027, 2, 10, 9, 45, 0, 123456789, time.FixedZone("", 3600))

func reminder(key string, meeting int64) notify.Notification {
	return notify.Notification{
		DedupeKey: key, Kind: notify.Reminder, Channel: notify.Email, MeetingID: meeting,
		To:  notify.Recipient{UserID: 7, Name: "Zoë", Address: "zoe@example.org", Locale: "de", Timezone: "Europe/Berlin"},
		Due: due, Expires: due.Add(5 * time.Minute),
		Facts: notify.Facts{
			MeetingID: meeting, Title: `Übersicht "quoted" \ 开会`, Start: due.Add(15 * time.Minute), End: due.Add(time.Hour),
			Rooms: []string{"Turing"}, Before: "start", Offset: 900, Deadline: new(due),
		},
	}
}

func insert(t *testing.T, db *database.DB, ns []notify.Notification) {
	t.Helper()
	l := gormstore.New(db.Gorm)
	err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) })
	if err != nil {
		t.Fatal(err)
	}
}

func one(t *testing.T, db *database.DB, n notify.Notification) int64 {
	t.Helper()
	ns := []notify.Notification{n}
	insert(t, db, ns)
	if ns[0].ID == 0 {
		t.Fatalf("%s was not recorded", n.DedupeKey)
	}
	return ns[0].ID
}

// begin asks for an attempt at one row.
func begin(t *testing.T, l *gormstore.Ledger, a notify.BeginRequest, now time.Time, lease time.Duration) notify.BeginResult {
	t.Helper()
	bs, err := l.Begin(t.Context(), []notify.BeginRequest{a}, now, lease, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bs[0]
}

func TestRoundTrip(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		want := reminder("a", 42)
		want.ID = one(t, db, want)
		got, err := l.Get(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.CreatedAt.IsZero() || got.Due.Location() != time.UTC {
			t.Errorf("created %v, due %v", got.CreatedAt, got.Due)
		}
		want.State, want.Version, want.CreatedAt, want.UpdatedAt = notify.Pending, 1, got.CreatedAt, got.UpdatedAt
		want.Due, want.Expires = want.Due.UTC().Truncate(time.Microsecond), want.Expires.UTC().Truncate(time.Microsecond)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}

		bare := one(t, db, notify.Notification{DedupeKey: "bare", Kind: notify.Released, Channel: notify.SMS, Due: due})
		got, err = l.Get(t.Context(), bare)
		if err != nil || got.MeetingID != 0 || got.To.UserID != 0 || !got.Expires.IsZero() || !got.SentAt.IsZero() {
			t.Errorf("zero values came back as %+v, %v", got, err)
		}
		if _, err := l.Get(t.Context(), 999); !errors.Is(err, notify.ErrNotFound) {
			t.Errorf("a row that is not there: %v", err)
		}
	})
}

func TestInsertIgnoresWhatWasRecorded(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		first := one(t, db, reminder("b", 1))
		late := reminder("c", 1)
		late.State, late.LastError = notify.SkippedLate, "too late"
		ns := []notify.Notification{reminder("d", 1), reminder("b", 2), late, reminder("a", 1), reminder("d", 3)}
		insert(t, db, ns)
		if ns[1].ID != 0 || ns[4].ID != 0 {
			t.Errorf("a repeated key got IDs %d and %d", ns[1].ID, ns[4].ID)
		}
		l := gormstore.New(db.Gorm)
		for _, i := range []int{0, 2, 3} {
			n, err := l.Get(t.Context(), ns[i].ID)
			if err != nil || n.DedupeKey != ns[i].DedupeKey || n.MeetingID != 1 {
				t.Errorf("%q has ID %d, which is %+v, %v", ns[i].DedupeKey, ns[i].ID, n, err)
			}
		}
		if n, _ := l.Get(t.Context(), ns[2].ID); n.State != notify.SkippedLate || n.LastError != "too late" {
			t.Errorf("the late one is %+v", n)
		}
		if n, _ := l.Get(t.Context(), first); n.MeetingID != 1 {
			t.Errorf("the recorded one was changed: %+v", n)
		}
	})
}

func TestInsertIsPartOfTheTransaction(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		sorry := errors.New("sorry")
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			if err := l.Insert(tx, []notify.Notification{reminder("a", 1)}); err != nil {
				return err
			}
			return sorry
		})
		if !errors.Is(err, sorry) {
			t.Fatal(err)
		}
		if page, err := l.List(t.Context(), notify.Filter{}); err != nil || len(page.Items) != 0 {
			t.Errorf("%d rows after a rollback, %v", len(page.Items), err)
		}
	})
}

// Two transactions that record the same things in opposite order must not deadlock.
func TestInsertsThatOverlap(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		var wg sync.WaitGroup
		var mu sync.Mutex
		recorded := 0
		for i := range 8 {
			wg.Go(func() {
				ns := make([]notify.Notification, 300)
				for j := range ns {
					ns[j] = reminder(fmt.Sprint("k", j), 1)
				}
				if i%2 == 1 {
					slices.Reverse(ns)
				}
				if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) }); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, n := range ns {
					if n.ID != 0 {
						recorded++
					}
				}
			})
		}
		wg.Wait()
		if recorded != 300 {
			t.Errorf("%d recorded, want 300", recorded)
		}
	})
}

func TestInsertMany(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ns := make([]notify.Notification, 20_000)
		for i := range ns {
			ns[i] = reminder(fmt.Sprint("reminder:42:", i), int64(i/6))
		}
		began := time.Now()
		insert(t, db, ns)
		t.Logf("%.0f rows a second", float64(len(ns))/time.Since(began).Seconds())
		seen := map[int64]bool{}
		for _, n := range ns {
			if n.ID == 0 || seen[n.ID] {
				t.Fatalf("%s has ID %d", n.DedupeKey, n.ID)
			}
			seen[n.ID] = true
		}
	})
}

func TestWithdraw(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		mine, other := one(t, db, reminder("a", 1)), one(t, db, reminder("b", 2))
		n := reminder("c", 1)
		n.Kind = notify.Invitation
		invitation := one(t, db, n)
		begun := one(t, db, reminder("d", 4))
		begin(t, l, notify.BeginRequest{ID: begun, Version: 1}, due, time.Second)
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			return errors.Join(l.Withdraw(tx, nil), l.Withdraw(tx, []int64{1, 3}))
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]notify.State{
			mine: notify.Cancelled, other: notify.Pending, invitation: notify.Pending, begun: notify.Sending,
		} {
			if n, err := l.Get(t.Context(), id); err != nil || n.State != want {
				t.Errorf("%s is %s, want %s (%v)", n.DedupeKey, n.State, want, err)
			}
		}
		// What was withdrawn is not sent, not even by a message that is under way.
		if n := begin(t, l, notify.BeginRequest{ID: mine, Version: 1}, due, time.Second); n.State != notify.Cancelled {
			t.Errorf("begun: %s", n.State)
		}
		if _, err := l.Resend(t.Context(), mine, due); !isState(err, notify.Cancelled) {
			t.Errorf("resend: %v", err)
		}
	})
}

func isState(err error, want notify.State) bool {
	e, ok := errors.AsType[*notify.StateError](err)
	return ok && e.State == want
}

func TestAttempts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		l := gormstore.New(db.Gorm)
		id := one(t, db, reminder("a", 1))
		must := func(n notify.Notification, err error) notify.Notification {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		attempt := func(id, version int64, now time.Time, revive bool) notify.Notification {
			t.Helper()
			return begin(t, l, notify.BeginRequest{ID: id, Version: version, Revive: revive}, now, 0).Notification // a lease that has run out at once
		}
		record := func(version int64, o notify.Outcome) notify.Notification {
			t.Helper()
			o.ID, o.Version = id, version
			if _, err := l.Record(ctx, []notify.Outcome{o}); err != nil {
				t.Fatal(err)
			}
			return must(l.Get(ctx, id))
		}

		if n := attempt(id, 1, due, false); n.State != notify.Sending || n.Attempts != 1 || !n.SendingAt.Equal(due.Truncate(time.Microsecond)) {
			t.Errorf("begun: %+v", n)
		}
		if n := attempt(id, 1, due, false); n.State != notify.Sending || n.Attempts != 2 {
			t.Errorf("begun again after a crash: %s, %d attempts", n.State, n.Attempts)
		}
		n := record(1, notify.Outcome{State: notify.Pending, At: due, MessageID: "<m>", Error: "server \x00 down \xff", Uncharged: true})
		if n.State != notify.Pending || n.Attempts != 1 || n.MessageID != "<m>" || !strings.HasPrefix(n.LastError, "server  down ") {
			t.Errorf("uncharged: %+v", n)
		}
		if n := attempt(id, 1, due.Add(time.Hour), false); n.State != notify.Pending || n.Attempts != 1 {
			t.Errorf("begun when it had expired: %s, %d attempts", n.State, n.Attempts)
		}
		attempt(id, 1, due, false)
		n = record(1, notify.Outcome{State: notify.Failed, At: due, Error: "no such mailbox"})
		if n.State != notify.Failed || n.LastError != "no such mailbox" || n.MessageID != "<m>" {
			t.Errorf("failed: %+v", n)
		}
		if n := attempt(id, 1, due, false); n.State != notify.Failed {
			t.Errorf("a failed one was begun: %s", n.State)
		}
		if n := attempt(id, 1, due, true); n.State != notify.Sending {
			t.Errorf("a failed one was not revived: %s", n.State)
		}
		n = record(1, notify.Outcome{State: notify.Sent, At: due.Add(time.Second)})
		if n.State != notify.Sent || n.LastError != "" || !n.SentAt.Equal(due.Add(time.Second).Truncate(time.Microsecond)) {
			t.Errorf("sent: %+v", n)
		}
		if n := record(1, notify.Outcome{State: notify.Failed, At: due, Error: "a slow copy"}); n.State != notify.Sent {
			t.Errorf("sent became %s", n.State)
		}

		n = must(l.Resend(ctx, id, due.Add(24*time.Hour)))
		if n.State != notify.Pending || n.Version != 2 || !n.Expires.IsZero() || !n.Due.Equal(due.Add(24*time.Hour).Truncate(time.Microsecond)) || n.MessageID != "<m>" {
			t.Errorf("again: %+v", n)
		}
		if _, err := l.Resend(ctx, id, due); !isState(err, notify.Pending) {
			t.Errorf("again, twice: %v", err)
		}
		if n := attempt(id, 1, due, false); n.State != notify.Pending || n.Version != 2 {
			t.Errorf("begun by an old message: %+v", n)
		}
		if n := record(1, notify.Outcome{State: notify.Sent, At: due}); n.State != notify.Pending {
			t.Errorf("recorded by an old message: %s", n.State)
		}
		if n := attempt(id, 2, due.Add(48*time.Hour), false); n.State != notify.Sending || n.Attempts != 4 {
			t.Errorf("begun: %s, %d attempts", n.State, n.Attempts)
		}
		if _, err := l.Resend(ctx, 999, due); !errors.Is(err, notify.ErrNotFound) {
			t.Errorf("again, what is not there: %v", err)
		}
		if n := begin(t, l, notify.BeginRequest{ID: 999, Version: 1}, due, 0); n.ID != 0 {
			t.Errorf("begun, what is not there: %+v", n)
		}
	})
}

// TestSendingLease: a process holds the row that it sends until the lease ends. Its outcome counts
// only if no other process has begun an attempt.
func TestSendingLease(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		l := gormstore.New(db.Gorm)
		ns := []notify.Notification{{DedupeKey: "a", Kind: notify.Reminder, Channel: notify.Email, To: notify.Recipient{Address: "a@example.org"}, Due: time.Now()}}
		insert(t, db, ns)
		id := ns[0].ID
		const over, long = -time.Hour, time.Hour // leases
		begin := func(lease time.Duration) (notify.Notification, time.Duration) {
			t.Helper()
			b := begin(t, l, notify.BeginRequest{ID: id, Version: 1}, time.Now(), lease)
			return b.Notification, b.Wait
		}
		keep := func(n notify.Notification, lease time.Duration) bool {
			t.Helper()
			kept, err := l.Keep(ctx, map[int64]time.Time{id: n.SendingAt, 999: n.SendingAt}, time.Now(), lease)
			if err != nil || kept[999] {
				t.Fatal(kept, err)
			}
			return kept[id]
		}
		state := func() notify.State {
			n, err := l.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return n.State
		}

		first, busy := begin(over)
		if first.State != notify.Sending || busy != 0 {
			t.Fatalf("begun: %s, busy for %v", first.State, busy)
		}
		if !keep(first, long) {
			t.Error("the holder could not extend the lease that nobody else took")
		}
		if n, busy := begin(long); n.State != notify.Sending || n.Attempts != 1 || busy <= 0 || busy > long {
			t.Errorf("begun by another process: %s, %d attempts, busy for %v", n.State, n.Attempts, busy)
		}
		if !keep(first, over) {
			t.Error("the holder could not set the end of its lease")
		}
		second, busy := begin(long)
		if second.State != notify.Sending || second.Attempts != 2 || busy != 0 {
			t.Fatalf("taken over: %s, %d attempts, busy for %v", second.State, second.Attempts, busy)
		}
		if keep(first, long) || !keep(second, long) {
			t.Error("the process that lost the lease can extend it")
		}

		record := func(n notify.Notification, s notify.State) {
			t.Helper()
			if _, err := l.Record(ctx, []notify.Outcome{{ID: id, Version: 1, State: s, At: time.Now(), Begun: n.SendingAt, Error: "x"}}); err != nil {
				t.Fatal(err)
			}
		}
		record(first, notify.Failed)
		if got := state(); got != notify.Sending {
			t.Errorf("who held it before made it %s", got)
		}
		record(second, notify.Pending)
		third, busy := begin(long) // at once: the lease ended with the attempt
		if third.State != notify.Sending || busy != 0 {
			t.Errorf("begun after a failure: %s, busy for %v", third.State, busy)
		}
		record(first, notify.Sent)
		if got := state(); got != notify.Sent {
			t.Errorf("%s, want sent: the provider accepted it", got)
		}
		if keep(third, long) {
			t.Error("what is sent can be kept")
		}
	})
}

func TestDue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		l := gormstore.New(db.Gorm)
		at := func(key string, after time.Duration, channel notify.Channel) int64 {
			n := reminder(key, 1)
			n.To.Address = key + "@example.org" // each in a line of its own
			n.Due, n.Expires, n.Channel = due.Add(after), time.Time{}, channel
			return one(t, db, n)
		}
		var ids []int64
		for i, after := range []time.Duration{3, 1, 2, 2, 9} {
			ids = append(ids, at(fmt.Sprint(i), after*time.Minute, notify.Email))
		}
		at("sms", time.Minute, notify.SMS)
		sent := at("sent", time.Minute, notify.Email)
		stuck := at("stuck", time.Minute, notify.Email)
		for _, id := range []int64{sent, stuck} {
			begin(t, l, notify.BeginRequest{ID: id, Version: 1}, due, time.Second)
		}
		if _, err := l.Record(ctx, []notify.Outcome{{ID: sent, Version: 1, State: notify.Sent, At: due}}); err != nil {
			t.Fatal(err)
		}

		all := func(w delayjob.Window) (got []int64) {
			t.Helper()
			var after notify.Point
			for {
				page, err := l.Due(ctx, notify.Email, w, after, 2)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range page {
					got = append(got, p.ID)
				}
				if len(page) < 2 {
					return got
				}
				after = page[1]
			}
		}
		to := due.Add(5 * time.Minute)
		if got, want := all(delayjob.Window{To: to}), []int64{ids[1], stuck, ids[2], ids[3], ids[0]}; !slices.Equal(got, want) {
			t.Errorf("due are %v, want %v", got, want)
		}
		if got, want := all(delayjob.Window{From: due.Add(time.Minute), To: due.Add(2 * time.Minute)}), []int64{ids[2], ids[3]}; !slices.Equal(got, want) {
			t.Errorf("due in the window are %v, want %v", got, want)
		}

		dead := `INSERT INTO job_failures (job, key, version, attempts, error, dead_at) VALUES (?, ?, 1, 12, 'x', ?)`
		if err := db.Gorm.WithContext(ctx).Exec(dead, "notify.email", fmt.Sprint(stuck), due.UTC()).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Gorm.WithContext(ctx).Exec(dead, "notify.email", fmt.Sprint(sent), due.UTC()).Error; err != nil {
			t.Fatal(err)
		}
		if got := all(delayjob.Window{To: to}); slices.Contains(got, stuck) {
			t.Error("a dead letter is loaded again")
		}
		// Sending it again makes a new version, which the dead letter does not hold back.
		if _, err := l.Resend(ctx, sent, due); err != nil {
			t.Fatal(err)
		}
		if got := all(delayjob.Window{To: to}); !slices.Contains(got, sent) {
			t.Error("a resent one is not loaded")
		}
	})
}

func TestList(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		l := gormstore.New(db.Gorm)
		var ids []int64
		for i := range 5 {
			n := reminder(fmt.Sprint(i), int64(1+i%2))
			n.To.Address = n.DedupeKey + "@example.org" // each in a line of its own
			ids = append(ids, one(t, db, n))
		}
		begin(t, l, notify.BeginRequest{ID: ids[3], Version: 1}, due, time.Second)
		at := func(id int64) notify.Cursor {
			n, err := l.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return notify.Cursor{CreatedAt: n.CreatedAt, ID: id}
		}
		for _, c := range []struct {
			name string
			f    notify.Filter
			want []int64
		}{
			{"all", notify.Filter{}, []int64{ids[4], ids[3], ids[2], ids[1], ids[0]}},
			{"page", notify.Filter{Limit: 2, Cursor: at(ids[3])}, []int64{ids[2], ids[1]}},
			{"oldest first", notify.Filter{OldestFirst: true, Limit: 2, Cursor: at(ids[1])}, []int64{ids[2], ids[3]}},
			{"meeting", notify.Filter{MeetingID: 2}, []int64{ids[3], ids[1]}},
			{"state", notify.Filter{State: notify.Sending}, []int64{ids[3]}},
			{"both", notify.Filter{State: notify.Sending, MeetingID: 1}, nil},
		} {
			page, err := l.List(ctx, c.f)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, n := range page.Items {
				got = append(got, n.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	})
}

func TestStatesMatchTheSchema(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		for i, s := range notify.States() {
			n := reminder(fmt.Sprint(i), 1)
			n.State = s
			one(t, db, n)
		}
		n := reminder("x", 1)
		n.State = "lost"
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			return gormstore.New(db.Gorm).Insert(tx, []notify.Notification{n})
		})
		if err == nil {
			t.Error("an unknown state was recorded")
		}
	})
}
