package gormstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/meeting/mailroom"
	"punctual/meeting/mailroom/gormstore"
	"punctual/tests/testenv/testdb"
)

var noon = time.Date(2027, 2, 10, 12, 0, 0, 0, time.UTC)

func mail(n int, state mailroom.State, uid string) *mailroom.Mail {
	at := noon.Add(time.Duration(n) * time.Second)
	return &mailroom.Mail{
		Source: mailroom.LMTP, Recipient: "turing@rooms.example.org", From: "ada@example.org", Subject: fmt.Sprint("100% Review_", n), Digest: fmt.Sprint("digest ", n),
		UID: uid, Verdict: mailroom.Trusted, State: state, Version: 1, Received: at, Due: at, Raw: []byte("raw\x00\xff"),
	}
}

func ids(t *testing.T, ms []*mailroom.Mail, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range ms {
		if m.Raw != nil || m.Size != 5 {
			t.Errorf("mail %d: raw %q, %d bytes", m.ID, m.Raw, m.Size)
		}
		all = append(all, fmt.Sprint(m.ID))
	}
	return strings.Join(all, " ")
}

// TestStore: mails are stored once, found, listed, loaded, buried and deleted.
func TestStore(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s, ctx := gormstore.New(db.Gorm), t.Context()
		ms := []*mailroom.Mail{mail(1, mailroom.New, "a"), mail(2, mailroom.New, "a"), mail(3, mailroom.Quarantined, "uid-b"), mail(4, mailroom.Done, "c")}
		again := append(ms, mail(1, mailroom.New, "a"))
		if err := s.Put(ctx, again); err != nil {
			t.Fatal(err)
		}
		if again[4].ID != 0 || ms[0].ID == 0 || ms[3].ID == 0 {
			t.Fatalf("IDs %d to %d, and %d of a repetition", ms[0].ID, ms[3].ID, again[4].ID)
		}
		all := func(which ...int) string {
			var want []string
			for _, i := range which {
				want = append(want, fmt.Sprint(ms[i].ID))
			}
			return strings.Join(want, " ")
		}
		for name, c := range map[string]struct {
			filter mailroom.Filter
			want   string
		}{
			"all":          {mailroom.Filter{}, all(3, 2, 1, 0)},
			"by state":     {mailroom.Filter{State: mailroom.New}, all(1, 0)},
			"before":       {mailroom.Filter{Before: ms[2].ID}, all(1, 0)},
			"by text":      {mailroom.Filter{Text: "review_4"}, all(3)},
			"by wildcards": {mailroom.Filter{Text: "%_4%"}, ""},
			"by UID":       {mailroom.Filter{Text: "UID-B"}, all(2)},
		} {
			c.filter.Limit = 10
			found, err := s.List(ctx, c.filter)
			if got := ids(t, found, err); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		got, err := s.Mail(ctx, ms[2].ID)
		if err != nil || string(got.Raw) != "raw\x00\xff" || got.State != mailroom.Quarantined || !got.Received.Equal(ms[2].Received) || got.Size != 5 {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := s.Mail(ctx, 999); !errors.Is(err, mailroom.ErrNotFound) {
			t.Errorf("no such mail: %v", err)
		}

		window := delayjob.Window{To: noon.Add(time.Hour)}
		due, err := s.Due(ctx, window, nil, 1)
		if got := ids(t, due, err); got != all(0) {
			t.Errorf("due first: %s", got)
		}
		due, err = s.Due(ctx, window, due[0], 5)
		if got := ids(t, due, err); got != all(1) {
			t.Errorf("due then: %s", got)
		}
		for i, want := range []bool{false, true} {
			if ahead, err := s.Ahead(ctx, ms[i]); err != nil || ahead != want {
				t.Errorf("ahead of mail %d: %t, %v", i, ahead, err)
			}
		}
		fail := func(m *mailroom.Mail) error { m.LastError = "failed"; return nil }
		if _, err := s.Update(ctx, ms[0].ID, fail); err != nil {
			t.Fatal(err)
		}
		if ahead, err := s.Ahead(ctx, ms[1]); err != nil || ahead {
			t.Errorf("a mail that failed blocks others: %v", err)
		}
		if got, err := s.Mail(ctx, ms[0].ID); err != nil || string(got.Raw) != "raw\x00\xff" || got.LastError != "failed" {
			t.Errorf("after an update: %+v, %v", got, err)
		}

		// The message of the first is a dead letter.
		err = db.Gorm.Exec(`INSERT INTO job_failures (job, key, version, attempts, error, dead_at) VALUES (?, ?, 1, 8, 'e', ?)`,
			mailroom.Job, fmt.Sprint(ms[0].ID), noon).Error
		if err != nil {
			t.Fatal(err)
		}
		due, err = s.Due(ctx, window, nil, 5)
		if got := ids(t, due, err); got != all(1) {
			t.Errorf("due beside a dead letter: %s", got)
		}
		if err := s.Bury(ctx); err != nil {
			t.Fatal(err)
		}
		dead, err := s.List(ctx, mailroom.Filter{State: mailroom.Dead, Limit: 5})
		if got := ids(t, dead, err); got != all(0) {
			t.Errorf("dead: %s", got)
		}
		if n, err := s.Trim(ctx, noon.Add(4*time.Second), 10); err != nil || n != 2 {
			t.Errorf("deleted %d, %v", n, err)
		}
		left, err := s.List(ctx, mailroom.Filter{Limit: 5})
		if got := ids(t, left, err); got != all(3, 1) {
			t.Errorf("left: %s", got)
		}
	})
}

// TestKnown: which local parts are addresses.
func TestKnown(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		err := db.Gorm.Exec("INSERT INTO sites (id, name, address, created_at, updated_at, version) VALUES (1, 'Berlin', 'berlin', ?, ?, 1)", noon, noon).Error
		if err == nil {
			err = db.Gorm.Exec("INSERT INTO mail_addresses (address, site_id) VALUES ('berlin', 1)").Error
		}
		if err == nil {
			err = db.Gorm.Exec("INSERT INTO users (id, email, name, role, created_at, updated_at, version) VALUES (1, 'ada@example.org', 'Ada', 'member', ?, ?, 1)", noon, noon).Error
		}
		for id, domain := range []string{"", "rooms.example.org", "rooms.example.org"} {
			if err == nil {
				err = db.Gorm.Exec(`INSERT INTO meetings (id, title, description, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at, reply_domain)
					VALUES (?, '', '', ?, ?, 'UTC', 1, 'confirmed', 'public', ?, ?, ?)`, id+1, noon, noon.Add(time.Hour), noon, noon, domain).Error
			}
			if err == nil {
				err = db.Gorm.Exec(`INSERT INTO series (id, organizer_id, title, description, timezone, starts, ends, rrule, exdates, rdates, room_ids, attendees, reminders, visibility,
					created_at, updated_at, first_meeting_id, reply_domain) VALUES (?, 1, '', '', 'UTC', '', '', '', '[]', '[]', '[]', '[]', '[]', 'public', ?, ?, ?, ?)`, id+1, noon, noon, id+10, domain).Error
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for local, want := range map[string]bool{
			"berlin": true, "berlin+video+tv": true, "turing+video": false, "": false, "turing": false, "meeting-1": false, "meeting-2": true, "meeting-x": false, "meeting-10": false, "meeting-11": true,
			"series-1": false, "series-2": true, "series-4": false,
		} {
			if got, err := s.Known(t.Context(), local); err != nil || got != want {
				t.Errorf("%q: %t, %v", local, got, err)
			}
		}
	})
}
