package gormstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

func TestList_search(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		ns := []notify.Notification{
			{DedupeKey: "1", Kind: notify.Reminder, Channel: notify.Email, To: notify.Recipient{Name: "Ada", Address: "Ada@example.org"}, Facts: notify.Facts{Title: "100% sure"}},
			{DedupeKey: "2", Kind: notify.Invitation, Channel: notify.Email, To: notify.Recipient{Name: "Bob", Address: "bob@example.org"}, Facts: notify.Facts{Title: "Review"}},
			{DedupeKey: "3", Kind: notify.Reminder, Channel: notify.SMS, To: notify.Recipient{Name: "Ada", Address: "+4930123"}, Facts: notify.Facts{Title: "Review"}},
		}
		for i := range ns {
			ns[i].Due = time.Now()
		}
		begun := time.Now()
		if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) }); err != nil {
			t.Fatal(err)
		}
		if err := db.Gorm.WithContext(t.Context()).Exec(`UPDATE notifications SET last_error = ? WHERE dedupe_key = ?`, "550 No such Mailbox", "2").Error; err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			f    notify.Filter
			want []string
		}{
			{"all", notify.Filter{}, []string{"3", "2", "1"}},
			{"kind", notify.Filter{Kind: notify.Reminder}, []string{"3", "1"}},
			{"channel", notify.Filter{Channel: notify.Email}, []string{"2", "1"}},
			{"address", notify.Filter{Address: "ada@EXAMPLE.org"}, []string{"1"}},
			{"no part of an address", notify.Filter{Address: "ada"}, nil},
			{"a name", notify.Filter{Text: "aDA"}, []string{"3", "1"}},
			{"a part of an address", notify.Filter{Text: "bob@"}, []string{"2"}},
			{"a title", notify.Filter{Text: "revie"}, []string{"3", "2"}},
			{"an error", notify.Filter{Text: "no such mailbox"}, []string{"2"}},
			{"no wildcard", notify.Filter{Text: "100%_s"}, nil},
			{"a percent sign", notify.Filter{Text: "0% s"}, []string{"1"}},
			{"since then", notify.Filter{From: begun.Add(-time.Minute), To: time.Now().Add(time.Minute), Channel: notify.SMS}, []string{"3"}},
			{"before", notify.Filter{To: begun.Add(-time.Minute)}, nil},
		} {
			page, err := l.List(t.Context(), c.f)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, n := range page.Items {
				keys = append(keys, n.DedupeKey)
			}
			if d := cmp.Diff(c.want, keys); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
	})
}

// Each attempt that fails is remembered, beyond the last one and a resend.
func TestRecord_remembersFailures(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		ns := []notify.Notification{{DedupeKey: "1", Kind: notify.Reminder, Channel: notify.Email, To: notify.Recipient{Address: "ada@example.org"}, Due: time.Now()}}
		if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) }); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		for i, o := range []notify.Outcome{
			{State: notify.Pending, Error: "451 busy"}, {State: notify.Pending, Error: "the server is down", Uncharged: true},
			{State: notify.Pending, Error: `it's "odd"`}, {State: notify.Sent},
		} {
			n := begin(t, l, notify.BeginRequest{ID: ns[0].ID, Version: 1}, at, time.Second)
			o.ID, o.Version, o.At, o.Begun = n.ID, 1, at.Add(time.Duration(i)*time.Minute), n.SendingAt
			if _, err := l.Record(t.Context(), []notify.Outcome{o}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Resend(t.Context(), ns[0].ID, at); err != nil {
			t.Fatal(err)
		}
		n, err := l.Get(t.Context(), ns[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		want := []notify.Failure{{At: at, Attempt: 1, Error: "451 busy"}, {At: at.Add(2 * time.Minute), Attempt: 2, Error: `it's "odd"`}}
		if d := cmp.Diff(want, n.Failures); d != "" {
			t.Error(d)
		}
	})
}
