package gormstore_test

import (
	"strings"
	"testing"
	"time"

	"punctual/meeting"
)

func TestHistory_isAppendOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		// The triggers compare with the clock of the database, not with that of the test.
		f.sql("INSERT INTO history (meeting_id, at, action, actor_kind) VALUES (?, ?, 'changed', 'system')", m.ID, time.Now())
		forgeries := []string{"UPDATE history SET actor_name = 'somebody else'", "DELETE FROM history", "DELETE FROM meetings"}
		if f.db.Dialect != "sqlite" {
			forgeries = append(forgeries, "TRUNCATE history", "TRUNCATE meetings CASCADE")
		}
		for _, forged := range forgeries {
			if err := f.db.Gorm.Exec(forged).Error; err == nil || !strings.Contains(err.Error(), "history_append_only") {
				t.Errorf("%s: %v", forged, err)
			}
		}
		old := f.book(slot("11:00", "12:00"), f.turing)
		f.sql("INSERT INTO history (meeting_id, at, action, actor_kind) VALUES (?, ?, 'changed', 'system')", old.ID, now.AddDate(-1, 0, 0))
		f.sql("DELETE FROM history WHERE meeting_id = ? AND action = 'changed'", old.ID) // older than a month
		f.want("kept", f.actions(old.ID), []meeting.Action{meeting.ActionCreated})
	})
}

func TestOpenedBy(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		turn := func(to meeting.Visibility) int64 {
			t.Helper()
			f.change(m.ID, func(m *meeting.Meeting) error {
				terms := terms(slot("09:00", "10:00"), f.turing)
				terms.Visibility = to
				_, err := revise(m, terms, f.anna, now)
				return err
			})
			entries, _, err := f.store.History(t.Context(), m.ID, meeting.Page{})
			if err != nil {
				t.Fatal(err)
			}
			return entries[len(entries)-1].ID
		}
		want := func(what string, entry int64) {
			t.Helper()
			got, err := f.store.OpenedBy(t.Context(), meeting.Actor{Kind: meeting.ActorUser, ID: 4711}, m.ID)
			if err != nil {
				t.Fatal(err)
			}
			f.want(what, got, entry)
		}
		want("never private", 0)
		turn(meeting.Private)
		want("not public yet", 0)
		first := turn(meeting.Public)
		want("public", first)
		turn(meeting.Private)
		want("private again", first)
		want("public again", turn(meeting.Public))
	})
}
