package gormstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"punctual/meeting/caldav"
)

// What a user stores is limited in number and in bytes. Others are not concerned.
func TestSaveObject_full(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		object := func(user int64, i int, text string) *caldav.Stored {
			return &caldav.Stored{UserID: user, Name: fmt.Sprintf("%d.ics", i), UID: fmt.Sprintf("uid-%d", i), ICS: text, Start: now, CreatedAt: now, UpdatedAt: now}
		}
		save := func(o *caldav.Stored) error { return f.store.SaveObject(t.Context(), o) }
		text := strings.Repeat("x", caldav.MaxBody)
		last := object(f.anna.ID, 0, "")
		for i := range caldav.MaxStored / caldav.MaxBody {
			last = object(f.anna.ID, i, text)
			if err := save(last); err != nil {
				t.Fatal(i, err)
			}
		}
		if err := save(object(f.anna.ID, 100, "x")); !errors.Is(err, caldav.ErrFull) {
			t.Errorf("one more byte: %v", err)
		}
		if last.ICS = text + "x"; !errors.Is(save(last), caldav.ErrFull) {
			t.Error("a longer text was saved")
		}
		if last.ICS = "x"; save(last) != nil {
			t.Error("a shorter text was refused")
		}
		if err := save(object(f.anna.ID, 100, "x")); err != nil {
			t.Error(err)
		}

		rows := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) " +
			"INSERT INTO dav_objects (user_id, name, uid, ics, starts_at, version, created_at, updated_at) SELECT ?, i || '.ics', 'uid-' || i, 'x', ?, 1, ?, ? FROM n"
		f.sql(rows, caldav.MaxObjects-1, f.ben.ID, now, now, now)
		if err := save(object(f.ben.ID, 0, "x")); err != nil {
			t.Error(err)
		}
		if err := save(object(f.ben.ID, caldav.MaxObjects, "x")); !errors.Is(err, caldav.ErrFull) {
			t.Errorf("one event more: %v", err)
		}
	})
}
