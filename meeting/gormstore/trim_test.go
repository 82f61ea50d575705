package gormstore_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/gormstore"
	"punctual/meeting/report"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// trim deletes meetings that ended before an instant.
func (f *fixture) trim(before time.Time, limit int) (deleted int64) {
	f.Helper()
	for {
		n, err := f.store.TrimMeetings(f.Context(), "Europe/Berlin", now, before, limit)
		if err != nil {
			f.Fatal(err)
		}
		if deleted += n; n == 0 {
			return deleted
		}
	}
}

// aged rewrites when history entries were written, which the database refuses.
func (f *fixture) aged(at time.Time, where string) {
	f.Helper()
	f.forgets()
	if f.db.Dialect == "sqlite" {
		f.sql("DROP TRIGGER IF EXISTS history_is_kept")
	}
	f.sql("UPDATE history SET at = ? WHERE "+where, at)
}

// Meetings that are deleted after their retention period stay in the reports, also after changes of
// their rooms.
func TestTrimMeetings_reportsStay(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Tokyo", Timezone: "Asia/Tokyo", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		remote := f.room("Remote", func(r *meeting.Room) { r.SiteID, r.Capacity = site.ID, 8 })
		day := now.Truncate(24*time.Hour).AddDate(0, 0, -120)
		for i := range 60 {
			start := day.AddDate(0, 0, i).Add(time.Duration(i%24) * time.Hour) // some reach into the next day
			f.book(clock.Slot{Start: start, End: start.Add(90 * time.Minute)}, []*meeting.Room{f.turing, f.hopper, remote}[i%3])
		}
		f.sql("UPDATE meetings SET status = 'cancelled' WHERE id % 5 = 0")
		f.sql("UPDATE meetings SET visibility = 'private', status = 'ended', ended_at = ends_at WHERE id % 5 = 1")
		f.aged(day, "true")
		f.sql("INSERT INTO attendees (meeting_id, position, email, response) SELECT id, 0, 'a@example.org', 'accepted' FROM meetings WHERE id % 2 = 0")
		f.addUpDays("Europe/Berlin", now)

		berlin := clock.ZoneOrUTC("Europe/Berlin")
		span := clock.Slot{Start: day.AddDate(0, 0, -3), End: day.AddDate(0, 0, 70)}
		midnight := func(t time.Time) time.Time {
			y, m, d := t.In(berlin).Date()
			return time.Date(y, m, d, 0, 0, 0, 0, berlin)
		}
		span.Start, span.End = midnight(span.Start), midnight(span.End)
		reports := func(groups ...report.Grouping) (all [][]report.RoomUse) {
			t.Helper()
			for _, group := range groups {
				used, err := f.store.RoomUse(t.Context(), report.Query{Group: group, Span: span, Zone: "Europe/Berlin"}, now)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, sortUse(used))
			}
			return all
		}
		groups := []report.Grouping{report.ByRoom, report.BySite, report.ByDay, report.ByHour}
		before := reports(groups...)
		deleted := f.trim(day.AddDate(0, 0, 45), 7)
		if left := f.count("meetings"); deleted < 40 || deleted > 45 || left != 60-deleted {
			t.Fatalf("%d deleted, %d left", deleted, left)
		}
		for _, table := range []string{"history", "meeting_rooms", "occupancies"} {
			if n := f.count(table); n > 2*(60-deleted) {
				t.Errorf("%d rows of %s for %d meetings", n, table, 60-deleted)
			}
		}
		if diff := gocmp.Diff(before, reports(groups...)); diff != "" {
			t.Errorf("reports after the deletion: -want +got\n%s", diff)
		}
		f.addUpDays("Europe/Berlin", now)
		f.sql("UPDATE sites SET timezone = 'America/New_York'")
		f.sql("UPDATE rooms SET site_id = ? WHERE id = ?", site.ID, f.turing.ID)
		span.End = midnight(day.AddDate(0, 0, 40)) // of days that are final
		f.addUpDays("Europe/Berlin", now)
		was := reports(report.ByRoom)
		f.sql("UPDATE sites SET timezone = 'Asia/Tokyo'")
		f.sql("UPDATE rooms SET site_id = NULL WHERE id = ?", f.turing.ID)
		f.addUpDays("Europe/Berlin", now)
		if diff := gocmp.Diff(was, reports(report.ByRoom)); diff != "" || len(was[0]) != 3 {
			t.Errorf("a room and its site changed: %s", diff)
		}
	})
}

// With its last date goes a series, and then that from which it was split off. A meeting with a recent
// entry in its history stays, and so does the series of one.
func TestTrimMeetings_whatGoes(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		long := now.AddDate(-1, 0, 0)
		book := func(hours int) *meeting.Meeting {
			return f.book(clock.Slot{Start: long.Add(time.Duration(hours) * time.Hour), End: long.Add(time.Duration(hours+1) * time.Hour)}, f.turing)
		}
		first, second, third := book(0), book(2), book(4)
		for i, m := range []*meeting.Meeting{first, second, third} {
			f.sql(`INSERT INTO series (id, organizer_id, previous_id, title, timezone, starts, ends, rrule, room_ids, visibility, created_at, updated_at)
				VALUES (?, ?, ?, 'Weekly', 'UTC', '2026-02-10T09:00:00', '2026-02-10T10:00:00', 'FREQ=WEEKLY', '[]', 'public', ?, ?)`,
				i+1, f.anna.ID, map[bool]any{true: nil, false: i}[i != 1], now, now)
			f.sql("UPDATE meetings SET series_id = ? WHERE id = ?", i+1, m.ID)
		}
		f.sql(`INSERT INTO dav_objects (user_id, name, uid, meeting_id, starts_at, ends_at, ics, version, created_at, updated_at) VALUES (?, 'a', 'a', ?, ?, ?, '', 1, ?, ?)`,
			f.anna.ID, first.ID, long, long, now, now)
		f.aged(long, "true")
		f.aged(now.AddDate(0, 0, -10), "meeting_id = 3")
		f.want("deleted", f.trim(now.AddDate(0, 0, -60), 500), int64(2))
		f.read(third.ID)
		f.want("series", f.count("series"), int64(1))
		f.want("events of calendar programs", f.count("dav_objects"), int64(0))
		f.want("marks", f.count("report_marks"), int64(1))
	})
}

func TestTrimWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i, state := range []meeting.WaitState{meeting.Waiting, meeting.Booked, meeting.WaitExpired, meeting.Refused} {
			f.sql(`INSERT INTO waitlist (user_id, state, wish, expires_at, due_at, created_at, updated_at) VALUES (?, ?, '{}', ?, ?, ?, ?)`,
				f.anna.ID, state, now, now, now, now.AddDate(0, 0, -i))
		}
		for _, row := range []struct{ limit, want int64 }{{1, 1}, {5, 1}, {5, 0}} {
			n, err := f.store.TrimWaits(t.Context(), now.AddDate(0, 0, -1), int(row.limit))
			if err != nil || n != row.want {
				t.Errorf("%d deleted, want %d; %v", n, row.want, err)
			}
		}
		f.want("left", f.count("waitlist"), int64(2))
	})
}

// Trimming reads no whole table when there is nothing to delete.
func TestTrim_readsNoWholeTable(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), testdb.URL(t, migrations.Postgres), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := newFixture(t, db)
	f.bulk(5000)
	f.sql("UPDATE meetings SET starts_at = ?, ends_at = ?", now, now.Add(time.Hour))
	f.sql(`INSERT INTO waitlist (user_id, state, wish, expires_at, due_at, created_at, updated_at)
		SELECT organizer_id, 'booked', '{}', starts_at, starts_at, created_at, created_at FROM meetings`)
	f.sql(`INSERT INTO dav_objects (user_id, name, uid, starts_at, ends_at, ics, version, created_at, updated_at)
		SELECT organizer_id, CAST(id AS text), CAST(id AS text), starts_at, ends_at, '', 1, created_at, created_at FROM meetings`)
	f.sql("ANALYZE")
	before := now.AddDate(0, 0, -1)
	for name, trim := range map[string]func(*gormstore.Store) (int64, error){
		"meetings": func(s *gormstore.Store) (int64, error) {
			return s.TrimMeetings(t.Context(), "UTC", now, before, 500)
		},
		"waits":  func(s *gormstore.Store) (int64, error) { return s.TrimWaits(t.Context(), before, 500) },
		"events": func(s *gormstore.Store) (int64, error) { return s.TrimEvents(t.Context(), before, 500) },
	} {
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			had := rowsRead(t, tx)
			n, err := trim(gormstore.New(tx, outbox{}))
			if read := rowsRead(t, tx) - had; n != 0 || read > 500 {
				t.Errorf("%s: %d deleted, %d rows read", name, n, read)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
