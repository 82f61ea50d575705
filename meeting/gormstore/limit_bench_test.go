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

// BenchmarkLimits compares lists of 10,000 rooms, and of what is booked in them, for a user in 10 of 200 groups:
// while no room limits who sees it, and when half of them do. Each room that does names two groups. Both
// databases are read in turn, so that a busy machine slows both down; times are medians.
func BenchmarkLimits(b *testing.B) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		b.Run(string(dialect), func(b *testing.B) {
			none, half := manyRooms(b, dialect, false), manyRooms(b, dialect, true)
			groups := make([]int64, 10)
			for i := range groups {
				groups[i] = int64(20 * i)
			}
			span := func(viewer *meeting.Actor) meeting.MeetingQuery {
				return meeting.MeetingQuery{From: now, To: now.Add(24 * time.Hour), Viewer: viewer, Now: now}
			}
			listRooms := func(f *fixture, viewer *meeting.Actor) ([]*meeting.Room, error) {
				found, _, err := f.store.ListRooms(b.Context(), meeting.RoomQuery{Viewer: viewer}, meeting.Page{Limit: 500})
				return found, err
			}
			listMeetings := func(f *fixture, q meeting.MeetingQuery, limit int) (int, error) {
				found, _, err := f.store.ListMeetings(b.Context(), q, meeting.Page{Limit: limit})
				return len(found), err
			}
			shown := map[*fixture][]int64{}
			for _, list := range []struct {
				name string
				read func(*fixture, *meeting.Actor) (int, error)
			}{
				{"rooms", func(f *fixture, viewer *meeting.Actor) (int, error) {
					found, err := listRooms(f, viewer)
					return len(found), err
				}},
				{"grid", func(f *fixture, viewer *meeting.Actor) (int, error) { // of the first 500 rooms that the user sees
					q := span(viewer)
					q.RoomIDs, q.InVisible, q.Brief, q.Statuses = slices.Clone(shown[f]), true, true, []meeting.Status{meeting.Confirmed}
					return listMeetings(f, q, 500)
				}},
				{"meetings", func(f *fixture, viewer *meeting.Actor) (int, error) { return listMeetings(f, span(viewer), 500) }},
				{"hidden", func(f *fixture, viewer *meeting.Actor) (int, error) { // added to a search for free rooms
					found, err := f.store.HiddenRooms(b.Context(), *viewer)
					return len(found), err
				}},
			} {
				b.Run(list.name, func(b *testing.B) {
					items := map[*fixture]int{}
					took := map[*fixture][]time.Duration{}
					for range b.N {
						for _, f := range []*fixture{none, half} {
							viewer := f.ben
							viewer.Groups = &groups
							if shown[f] == nil {
								found, err := listRooms(f, &viewer)
								if err != nil {
									b.Fatal(err)
								}
								shown[f] = meeting.RoomIDs(found)
							}
							began := time.Now()
							n, err := list.read(f, &viewer)
							if err != nil {
								b.Fatal(err)
							}
							items[f] = n
							took[f] = append(took[f], time.Since(began))
						}
					}
					median := func(f *fixture) float64 {
						slices.Sort(took[f])
						return float64(took[f][len(took[f])/2].Microseconds())
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(median(none), "none-µs")
					b.ReportMetric(median(half), "half-µs")
					b.ReportMetric(100*(median(half)/median(none)-1), "slower-%")
					b.ReportMetric(float64(items[half]), "items")
				})
			}
		})
	}
}

// manyRooms is a database of 10,000 rooms, half of them limited to groups or none, with one meeting each on the
// same morning, and as many later.
func manyRooms(b *testing.B, dialect migrations.Dialect, limited bool) *fixture {
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
	if limited {
		f.sql("INSERT INTO room_limits (room_id, viewers, readers, version) SELECT id, ',' || (id % 200) || ',' || ((id + 7) % 200) || ',', '', 1 FROM rooms WHERE id % 2 = 0")
	}
	f.sql("ANALYZE")
	return f
}
