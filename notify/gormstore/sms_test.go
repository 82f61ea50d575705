package gormstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

func TestReceive(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		text := reminder("a", 1)
		text.Channel = notify.SMS
		id, mail := one(t, db, text), one(t, db, reminder("b", 1))
		at := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		var version int64 = 1
		for _, c := range []struct {
			about string
			r     notify.Receipt
			want  notify.Reception
		}{
			{"an unknown notification", notify.Receipt{ID: 999, Version: 1, Reception: notify.Delivered, At: at}, notify.Unreported},
			{"a mail", notify.Receipt{ID: mail, Version: 1, Reception: notify.Delivered, At: at}, notify.Unreported},
			{"another delivery", notify.Receipt{ID: id, Version: 2, Reception: notify.Delivered, At: at}, notify.Unreported},
			{"a failure", notify.Receipt{ID: id, Version: 1, Reception: notify.Undelivered, At: at, Reason: "code 30003\x00"}, notify.Undelivered},
			{"a success after it", notify.Receipt{ID: id, Version: 1, Reception: notify.Delivered, At: at.Add(time.Minute)}, notify.Delivered},
			{"the same again", notify.Receipt{ID: id, Version: 1, Reception: notify.Delivered, At: at.Add(time.Hour)}, notify.Delivered},
			{"a late failure", notify.Receipt{ID: id, Version: 1, Reception: notify.Undelivered, At: at.Add(time.Hour)}, notify.Delivered},
		} {
			if err := l.Receive(t.Context(), []notify.Receipt{c.r}); err != nil {
				t.Fatalf("%s: %v", c.about, err)
			}
			n, err := l.Get(t.Context(), id)
			if err != nil || n.Reception != c.want || n.Version != version {
				t.Errorf("after %s: %q, %v, want %q", c.about, n.Reception, err, c.want)
			}
		}
		if n, _ := l.Get(t.Context(), id); !n.ReceptionAt.Equal(at.Add(time.Minute)) || n.ReceptionReason != "" {
			t.Errorf("delivered at %v because of %q", n.ReceptionAt, n.ReceptionReason)
		}
		if n, _ := l.Get(t.Context(), mail); n.Reception != notify.Unreported {
			t.Errorf("the mail is %q", n.Reception)
		}
		begin(t, l, notify.BeginRequest{ID: id, Version: 1}, due, time.Second)
		n, _ := l.Get(t.Context(), id)
		if _, err := l.Record(t.Context(), []notify.Outcome{{ID: id, Version: 1, State: notify.Sent, At: due, Begun: n.SendingAt}}); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Resend(t.Context(), id, due); err != nil || n.Reception != notify.Unreported || !n.ReceptionAt.IsZero() {
			t.Errorf("after a resend: %q at %v, %v", n.Reception, n.ReceptionAt, err)
		}
	})
}

// Processes share the segments of a day. The limit is never exceeded, and admins are told once.
func TestSegmentsOfADay(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		const day, limit = "2027-02-10", 10
		var reserved, told atomic.Int64
		var running sync.WaitGroup
		for i := range 8 {
			running.Go(func() {
				ok, err := l.ReserveSegments(t.Context(), day, 3, limit)
				if err != nil {
					t.Error(err)
				}
				if ok {
					reserved.Add(3)
					return
				}
				n := reminder("limit", int64(i))
				n.DedupeKey = n.DedupeKey + string(rune('a'+i))
				ns := []notify.Notification{n}
				if err := l.NotifySMSLimit(t.Context(), day, ns); err != nil {
					t.Error(err)
				}
				if ns[0].ID != 0 {
					told.Add(1)
				}
			})
		}
		running.Wait()
		if reserved.Load() != 9 || told.Load() != 1 {
			t.Errorf("%d segments of %d, told %d times", reserved.Load(), limit, told.Load())
		}
		reserve := func(day string, segments, limit int) bool {
			t.Helper()
			ok, err := l.ReserveSegments(t.Context(), day, segments, limit)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if reserve(day, 2, limit) || !reserve(day, 1, limit) || reserve(day, 1, limit) || !reserve(day, 5, 0) {
			t.Error("the rest of the day is wrong")
		}
		if err := l.ReleaseSegments(t.Context(), day, 6); err != nil {
			t.Fatal(err)
		}
		if !reserve(day, 1, limit) || !reserve("2027-02-11", limit, limit) || reserve("2027-02-12", limit+1, limit) || !reserve("2027-02-12", limit, limit) {
			t.Error("after a release, or on other days")
		}
		if err := l.NotifySMSLimit(t.Context(), "2027-02-13", []notify.Notification{reminder("x", 1)}); err != nil {
			t.Error(err)
		}
	})
}
