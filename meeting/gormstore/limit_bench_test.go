package gormstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// BenchmarkLimits compares lists of 10,000 rooms, and of what is booked in them, for a user who sees
// everything with those for a user in 10 of 200 groups: while no room limits who sees it, and when half of
// them do. Each room that does names the groups of its number.
func BenchmarkLimits(b *testing.B) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		b.Run(string(dialect), func(b *testing.B) {
			f := newFixture(b, testdb.Open(b, dialect))
			numbers := "generate_series(1, %d) AS n(i)"
			if dialect == migrations.SQLite {
				numbers = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n) AS n"
			}
			of := func(n int) string { return fmt.Sprintf(numbers, n) }
			f.sql("INSERT INTO rooms (name, floor, capacity, features, timezone, active, approval_required, approval_timeout_seconds, policy, check_in, version, created_at, updated_at)"+
				" SELECT 'Room ' || n.i, '', 8, '[]', '', true, false, 0, '{}', '{}', 1, ?, ? FROM "+of(10_000)+" WHERE n.i > 0", now, now)
			f.sql("INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)"+
				" SELECT 'Meeting ' || n.i, ?, ?, 'UTC', ?, 'confirmed', 'public', ?, ? FROM "+of(20_000), now.Add(time.Hour), now.Add(2*time.Hour), f.anna.ID, now, now)
			f.sql("INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT m.id, (SELECT min(id) FROM rooms WHERE name LIKE 'Room %') + m.id % 10000, 0 FROM meetings m")
			f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT m.id, mr.room_id, m.starts_at, m.ends_at FROM meetings m JOIN meeting_rooms mr ON mr.meeting_id = m.id WHERE m.id % 20000 < 10000")
			groups := make([]int64, 10)
			for i := range groups {
				groups[i] = int64(20 * i)
			}
			f.ben.Groups = &groups
			rooms, _, err := f.store.ListRooms(b.Context(), meeting.RoomQuery{}, meeting.Page{Limit: 250})
			if err != nil {
				b.Fatal(err)
			}
			for _, limited := range []bool{false, true} {
				if limited {
					f.sql("INSERT INTO room_limits (room_id, viewers, readers, version) SELECT id, ',' || (id % 200) || ',' || ((id + 7) % 200) || ',', '', 1 FROM rooms WHERE id % 2 = 0")
				}
				f.sql("ANALYZE")
				for _, viewer := range []*meeting.Actor{&f.admin, &f.ben} {
					name := map[bool]string{false: "none", true: "half"}[limited] + "/" + map[*meeting.Actor]string{&f.admin: "all", &f.ben: "groups"}[viewer]
					list := func(what string, read func() (int, error)) {
						b.Run(name+"/"+what, func(b *testing.B) {
							items := 0
							for range b.N {
								n, err := read()
								if err != nil {
									b.Fatal(err)
								}
								items = n
							}
							b.ReportMetric(float64(items), "items")
						})
					}
					list("rooms", func() (int, error) {
						found, _, err := f.store.ListRooms(b.Context(), meeting.RoomQuery{Viewer: viewer}, meeting.Page{Limit: 500})
						return len(found), err
					})
					list("grid", func() (int, error) {
						found, _, err := f.store.ListMeetings(b.Context(), meeting.MeetingQuery{
							From: now, To: now.Add(24 * time.Hour), RoomIDs: meeting.RoomIDs(slices.Clone(rooms)), InVisible: true, Viewer: viewer, Now: now, Brief: true,
							Statuses: []meeting.Status{meeting.Confirmed},
						}, meeting.Page{Limit: 500})
						return len(found), err
					})
					list("meetings", func() (int, error) {
						found, _, err := f.store.ListMeetings(b.Context(), meeting.MeetingQuery{From: now, To: now.Add(24 * time.Hour), Viewer: viewer, Now: now}, meeting.Page{Limit: 500})
						return len(found), err
					})
					list("search", func() (int, error) {
						found, _, err := f.store.ListMeetings(b.Context(), meeting.MeetingQuery{Text: "meeting 77", Viewer: viewer, Now: now}, meeting.Page{Limit: 50})
						return len(found), err
					})
				}
			}
		})
	}
}
