package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/migrations"
	"punctual/notify/webhook"
	"punctual/notify/webhook/gormstore"
	"punctual/tests/testenv/testdb"
)

// long ago, with more digits than the databases keep.
var at = time.Date(2027, 2, 10, 9, 45, 0, 123456789, time.FixedZone("", 3600))

// hook adds a webhook that wants to hear of these events.
func hook(t *testing.T, s *gormstore.Store, active bool, events ...string) *webhook.Webhook {
	t.Helper()
	w := &webhook.Webhook{
		URL: "https://desk.example.org/in?key=1", Secret: "a very long secret", Events: events, Active: active, Version: 1, CreatedAt: at, UpdatedAt: at,
	}
	if err := s.CreateWebhook(t.Context(), w, 100); err != nil {
		t.Fatal(err)
	}
	return w
}

// aMeeting makes one of which there is no history yet.
func aMeeting(t *testing.T, db *database.DB, id int64) {
	t.Helper()
	tx := db.Gorm.WithContext(t.Context())
	err := errors.Join(
		tx.Exec(`INSERT INTO users (id, email, name, role, created_at, updated_at) VALUES (7, 'ada@example.org', 'Ada', 'admin', ?, ?) ON CONFLICT DO NOTHING`, at, at).Error,
		tx.Exec(`INSERT INTO meetings (id, title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			VALUES (?, 'Review', ?, ?, 'UTC', 7, 'confirmed', 'public', ?, ?)`, id, at, at.Add(time.Hour), at, at).Error)
	if err != nil {
		t.Fatal(err)
	}
}

// happen writes what happened to a meeting, as its store does.
func happen(tx *gorm.DB, meeting int64, actions ...string) error {
	rows := make([]map[string]any, len(actions))
	for i, a := range actions {
		rows[i] = map[string]any{"meeting_id": meeting, "at": at, "action": a, "actor_kind": "timer"}
	}
	return tx.Table("history").Create(rows).Error
}

func mustHappen(t *testing.T, db *database.DB, meeting int64, actions ...string) {
	t.Helper()
	if err := happen(db.Gorm.WithContext(t.Context()), meeting, actions...); err != nil {
		t.Fatal(err)
	}
}

// all that is pending.
func all(t *testing.T, s *gormstore.Store) []*webhook.Delivery {
	t.Helper()
	ds, err := s.Due(t.Context(), delayjob.Window{To: time.Now().Add(time.Minute)}, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// names are what is pending, as "webhook event".
func names(ds []*webhook.Delivery) string {
	var all []string
	for _, d := range ds {
		all = append(all, fmt.Sprintf("%d %s", d.WebhookID, strings.TrimPrefix(d.Event, "meeting.")))
	}
	return strings.Join(all, ", ")
}

func TestWebhook_roundTrip(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		want := hook(t, s, true, "meeting.started", "meeting.ended")
		got, err := s.Webhook(t.Context(), want.ID)
		want.CreatedAt, want.UpdatedAt = at.UTC().Truncate(time.Microsecond), at.UTC().Truncate(time.Microsecond)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		changed, err := s.UpdateWebhook(t.Context(), want.ID, func(w *webhook.Webhook) error {
			w.Events, w.Active, w.Stopped, w.Version = nil, false, "gone", 2
			return nil
		})
		if err != nil || changed.Version != 2 {
			t.Fatalf("%+v, %v", changed, err)
		}
		got, err = s.Webhook(t.Context(), want.ID)
		if err != nil || got.Active || got.Stopped != "gone" || got.Events == nil || len(got.Events) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		refusal := errors.New("no")
		if _, err := s.UpdateWebhook(t.Context(), want.ID, func(w *webhook.Webhook) error { w.URL = "x"; return refusal }); !errors.Is(err, refusal) {
			t.Error(err)
		}
		if err := s.DeleteWebhook(t.Context(), want.ID, func(*webhook.Webhook) error { return refusal }); !errors.Is(err, refusal) {
			t.Error(err)
		}
		if ws, err := s.Webhooks(t.Context()); err != nil || len(ws) != 1 || ws[0].URL != want.URL {
			t.Errorf("after two refusals: %+v, %v", ws, err)
		}
		if err := s.CreateWebhook(t.Context(), &webhook.Webhook{}, 1); !errors.Is(err, webhook.ErrTooMany) {
			t.Errorf("one more than most: %v", err)
		}
		_, missing := s.Webhook(t.Context(), 99)
		_, update := s.UpdateWebhook(t.Context(), 99, nil)
		_, _, delivery := s.Delivery(t.Context(), 99)
		_, again := s.UpdateDelivery(t.Context(), 99, nil)
		for _, err := range []error{missing, update, delivery, again, s.DeleteWebhook(t.Context(), 99, nil)} {
			if !errors.Is(err, webhook.ErrNotFound) {
				t.Errorf("what is not there: %v", err)
			}
		}
	})
}

// TestHistory_isTold: what happens is to be told in the transaction in which it happens, each event
// once, to those who want to hear it, for as long as the service has patience.
func TestHistory_isTold(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		hook(t, s, true)
		hook(t, s, true, "meeting.ended", "meeting.started")
		hook(t, s, false)
		hook(t, s, true, "meeting.start") // a beginning of a name is another name
		aMeeting(t, db, 1)
		begun := time.Now().Add(-time.Second)
		mustHappen(t, db, 1, "created", "started")
		sorry := errors.New("sorry")
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return errors.Join(happen(tx, 1, "ended"), sorry) })
		if !errors.Is(err, sorry) {
			t.Fatal(err)
		}
		hook(t, s, true)
		ds := all(t, s)
		if got := names(ds); got != "1 created, 1 started, 2 started" {
			t.Fatalf("told: %s", got)
		}
		var events []int64
		if err := db.Gorm.WithContext(t.Context()).Raw("SELECT id FROM history ORDER BY id").Scan(&events).Error; err != nil {
			t.Fatal(err)
		}
		for i, d := range ds {
			if d.EventID != events[min(i, 1)] || d.State != webhook.Pending || d.Attempts != 0 || d.Version != 1 {
				t.Errorf("%+v", d)
			}
			if d.Due.Before(begun) || d.Due.After(time.Now().Add(time.Second)) || d.Expires.Sub(d.Due).Round(time.Hour) != webhook.Patience {
				t.Errorf("due %s, given up %s", d.Due, d.Expires)
			}
			if d.CreatedAt.Before(begun) || d.UpdatedAt.Before(d.CreatedAt) {
				t.Errorf("created %s, updated %s", d.CreatedAt, d.UpdatedAt)
			}
		}
	})
}

func TestDelivery_roundTrip(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		w := hook(t, s, true)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created")
		id := all(t, s)[0].ID
		want, err := s.UpdateDelivery(t.Context(), id, func(d *webhook.Delivery) error {
			d.State, d.Attempts, d.Status, d.LastError, d.Version = webhook.Delivered, 3, 204, "", 2
			d.Due, d.Expires, d.DeliveredAt, d.UpdatedAt = at, at.Add(time.Hour), at, at
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*time.Time{&want.Due, &want.Expires, &want.DeliveredAt, &want.UpdatedAt} {
			*p = p.UTC().Truncate(time.Microsecond)
		}
		got, of, err := s.Delivery(t.Context(), id)
		if d := cmp.Diff(want, got); err != nil || d != "" || of.ID != w.ID || of.Secret != w.Secret {
			t.Errorf("of %+v, %v (-want +got):\n%s", of, err, d)
		}
		refusal := errors.New("no")
		if _, err := s.UpdateDelivery(t.Context(), id, func(d *webhook.Delivery) error { d.Version = 9; return refusal }); !errors.Is(err, refusal) {
			t.Error(err)
		}
		if got, _, err := s.Delivery(t.Context(), id); err != nil || got.Version != 2 {
			t.Errorf("after a refusal: %+v, %v", got, err)
		}
	})
}

// TestUpdateDelivery_oneAfterAnother: of many who send again what has ended exactly one does.
func TestUpdateDelivery_oneAfterAnother(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		hook(t, s, true)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created")
		id := all(t, s)[0].ID
		var wg sync.WaitGroup
		errs := make([]error, 12)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = s.UpdateDelivery(t.Context(), id, func(d *webhook.Delivery) error {
					if d.State != webhook.Pending {
						return &webhook.StateError{State: d.State}
					}
					d.State = webhook.Failed
					return nil
				})
			})
		}
		wg.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
			} else if _, ok := errors.AsType[*webhook.StateError](err); !ok {
				t.Error(err)
			}
		}
		if done != 1 {
			t.Errorf("%d did", done)
		}
	})
}

// TestDue: the loader gets what waits within its window, in order, page by page, and not what is a
// dead letter at this version.
func TestDue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		hook(t, s, true)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created", "started", "ended", "changed", "changed")
		ds := all(t, s)
		for i, after := range []int{2, 1, 1, 3, 4} { // the first is due after the next two, which are due at once
			_, err := s.UpdateDelivery(t.Context(), ds[i].ID, func(d *webhook.Delivery) error {
				d.Due = at.Add(time.Duration(after) * time.Minute)
				if i == 4 {
					d.State = webhook.Skipped
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		due := func(from, to int, after *webhook.Delivery, n int) string {
			t.Helper()
			w := delayjob.Window{To: at.Add(time.Duration(to) * time.Minute)}
			if from > 0 {
				w.From = at.Add(time.Duration(from) * time.Minute)
			}
			got, err := s.Due(t.Context(), w, after, n)
			if err != nil {
				t.Fatal(err)
			}
			return names(got)
		}
		for _, row := range []struct{ got, want string }{
			{due(0, 9, nil, 9), "1 started, 1 ended, 1 created, 1 changed"},
			{due(1, 9, nil, 9), "1 created, 1 changed"}, // what is due at From was in the window before
			{due(0, 2, nil, 9), "1 started, 1 ended, 1 created"},
			{due(0, 0, nil, 9), ""},
			{due(0, 9, nil, 2), "1 started, 1 ended"},
		} {
			if row.got != row.want {
				t.Errorf("due: %q, want %q", row.got, row.want)
			}
		}
		first, err := s.Due(t.Context(), delayjob.Window{To: at.Add(time.Hour)}, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := due(0, 9, first[0], 9); got != "1 ended, 1 created, 1 changed" {
			t.Errorf("behind the first: %q", got)
		}

		bury := func(d *webhook.Delivery, version int64) {
			t.Helper()
			err := db.Gorm.WithContext(t.Context()).Exec(`INSERT INTO job_failures (job, key, version, attempts, error, dead_at) VALUES (?, ?, ?, 1, '', ?)`,
				webhook.Job, strconv.FormatInt(d.ID, 10), version, at).Error
			if err != nil {
				t.Fatal(err)
			}
		}
		bury(ds[0], 1)
		bury(ds[1], 0) // of before it was sent again
		if got := due(0, 9, nil, 9); got != "1 started, 1 ended, 1 changed" {
			t.Errorf("without the dead letter: %q", got)
		}
	})
}

// TestNew: what is new is found by its ID, whenever it is due.
func TestNew(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		if last, err := s.LastDelivery(t.Context()); err != nil || last != 0 {
			t.Errorf("the last of none: %d, %v", last, err)
		}
		hook(t, s, true)
		hook(t, s, true)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created", "started")
		ds := all(t, s)
		if _, err := s.UpdateDelivery(t.Context(), ds[1].ID, func(d *webhook.Delivery) error { d.State = webhook.Delivered; return nil }); err != nil {
			t.Fatal(err)
		}
		got, err := s.New(t.Context(), ds[0].ID, 10)
		if err != nil || names(got) != "1 started, 2 started" {
			t.Errorf("behind the first: %q, %v", names(got), err)
		}
		if got, err := s.New(t.Context(), 0, 1); err != nil || len(got) != 1 || got[0].ID != ds[0].ID {
			t.Errorf("one of them: %q, %v", names(got), err)
		}
		if last, err := s.LastDelivery(t.Context()); err != nil || last != ds[3].ID {
			t.Errorf("the last is %d, %v", last, err)
		}
	})
}

func TestDeliveries(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		w, other := hook(t, s, true), hook(t, s, true, "meeting.created")
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created", "started", "ended")
		list := func(hook int64, f webhook.Filter) string {
			t.Helper()
			ds, err := s.Deliveries(t.Context(), hook, f)
			if err != nil {
				t.Fatal(err)
			}
			return names(ds)
		}
		page, err := s.Deliveries(t.Context(), w.ID, webhook.Filter{Limit: 2})
		if err != nil || names(page) != "1 ended, 1 started" {
			t.Fatalf("the newest: %q, %v", names(page), err)
		}
		if _, err := s.UpdateDelivery(t.Context(), page[0].ID, func(d *webhook.Delivery) error { d.State = webhook.Failed; return nil }); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct{ got, want string }{
			{list(w.ID, webhook.Filter{Limit: 9, Before: page[1].ID}), "1 created"},
			{list(w.ID, webhook.Filter{Limit: 9, State: webhook.Failed}), "1 ended"},
			{list(w.ID, webhook.Filter{Limit: 9, State: webhook.Delivered}), ""},
			{list(other.ID, webhook.Filter{Limit: 9}), "2 created"},
		} {
			if row.got != row.want {
				t.Errorf("%q, want %q", row.got, row.want)
			}
		}
	})
}

// TestTrim: what has ended goes after a time, what waits never does.
func TestTrim(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		w := hook(t, s, true)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created", "started", "ended", "changed")
		ds := all(t, s)
		for i, state := range []webhook.State{webhook.Delivered, webhook.Failed, webhook.Skipped, webhook.Pending} {
			_, err := s.UpdateDelivery(t.Context(), ds[i].ID, func(d *webhook.Delivery) error {
				d.State, d.UpdatedAt = state, at.Add(time.Duration(i)*time.Minute)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range []struct {
			before time.Time
			want   string
		}{
			{at, "1 changed, 1 ended, 1 started, 1 created"}, {at.Add(2 * time.Minute), "1 changed, 1 ended"}, {at.Add(time.Hour), "1 changed"},
		} {
			if _, err := s.Trim(t.Context(), row.before, 10); err != nil {
				t.Fatal(err)
			}
			if left, err := s.Deliveries(t.Context(), w.ID, webhook.Filter{Limit: 9}); err != nil || names(left) != row.want {
				t.Errorf("trimmed before %s: %q left, want %q; %v", row.before, names(left), row.want, err)
			}
		}
	})
}

// TestDeleteWebhook: with a webhook goes what it was not told yet.
func TestDeleteWebhook(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		w := hook(t, s, true)
		hook(t, s, true)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created")
		one := all(t, s)[0]
		var saw string
		if err := s.DeleteWebhook(t.Context(), w.ID, func(w *webhook.Webhook) error { saw = w.URL; return nil }); err != nil || saw != w.URL {
			t.Fatalf("saw %q, %v", saw, err)
		}
		if got := names(all(t, s)); got != "2 created" {
			t.Errorf("left: %s", got)
		}
		if _, _, err := s.Delivery(t.Context(), one.ID); !errors.Is(err, webhook.ErrNotFound) {
			t.Errorf("its delivery: %v", err)
		}
		mustHappen(t, db, 1, "started")
		if got := names(all(t, s)); got != "2 created, 2 started" {
			t.Errorf("told: %s", got)
		}
	})
}

// TestDeleteWebhook_whileSomethingHappens: who books while a webhook is being deleted books, and
// who deletes it while something happens that it would be told of deletes it with that.
func TestDeleteWebhook_whileSomethingHappens(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, migrations.Postgres) // with SQLite one writes after the other
	s := gormstore.New(db.Gorm)
	w, stays := hook(t, s, true), hook(t, s, true)
	aMeeting(t, db, 1)

	booked := make(chan error)
	err := s.DeleteWebhook(t.Context(), w.ID, func(*webhook.Webhook) error {
		go func() { booked <- happen(db.Gorm.WithContext(t.Context()), 1, "created") }()
		return waited(t.Context(), db, booked)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-booked; err != nil {
		t.Errorf("it did not happen: %v", err)
	}
	if got := names(all(t, s)); got != fmt.Sprint(stays.ID, " created") {
		t.Errorf("told: %s", got)
	}

	deleted := make(chan error)
	err = db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
		if err := happen(tx, 1, "started"); err != nil {
			return err
		}
		go func() { deleted <- s.DeleteWebhook(t.Context(), stays.ID, func(*webhook.Webhook) error { return nil }) }()
		return waited(t.Context(), db, deleted)
	})
	if err == nil {
		err = <-deleted
	}
	if err != nil {
		t.Fatal(err)
	}
	if left := all(t, s); len(left) > 0 {
		t.Errorf("left: %s", names(left))
	}
}

// waited returns when some session of the database waits for a lock; an error if done ends before.
func waited(ctx context.Context, db *database.DB, done <-chan error) error {
	for {
		var n int
		err := db.SQL.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		if err != nil || n > 0 {
			return err
		}
		select {
		case err := <-done:
			return fmt.Errorf("it did not wait: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
