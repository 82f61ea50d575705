package gormstore_test

import (
	"fmt"
	"testing"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/report"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// BenchmarkRoomUse reports on a month of 100,000 meetings with four people each in 200 rooms.
func BenchmarkRoomUse(b *testing.B) {
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		f := newFixture(b, testdb.Open(b, dialect))
		span := bookedMonth(f, 200, 500)
		for _, group := range []report.Grouping{report.ByRoom, report.BySite, report.ByDay, report.ByHour} {
			b.Run(fmt.Sprintf("%s/%s", dialect, group), func(b *testing.B) {
				svc := report.NewService(f.store, nil, func() string { return "UTC" }, func() time.Time { return span.End })
				for b.Loop() {
					_, total, _, err := svc.Utilization(b.Context(), f.admin, report.Query{Group: group, Span: span})
					if err != nil || total.Meetings != 200*500 || total.Persons != 4*200*500 {
						b.Fatalf("%v %+v", err, total)
					}
				}
			})
		}
	}
}

// bookedMonth fills a month: in each room that many meetings of half an hour, one after another.
func bookedMonth(f *fixture, rooms, meetings int) clock.Slot {
	f.Helper()
	from := now.Truncate(24 * time.Hour)
	sqlite := f.db.Dialect == migrations.SQLite
	series := func(name string, n int) string {
		if sqlite {
			return fmt.Sprintf("(WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s) AS %s", n-1, name)
		}
		return fmt.Sprintf("(SELECT n FROM generate_series(0, %d) AS n) AS %s", n-1, name)
	}
	start := "CAST(? AS timestamptz) + n.n * interval '80 minutes'"
	half := "interval '30 minutes'"
	if sqlite {
		start, half = "? + n.n * 4800000000", "1800000000"
	}
	f.sql(`INSERT INTO rooms (id, name, capacity, timezone, created_at, updated_at) SELECT 1000 + r.n, 'Room ' || r.n, 8, 'Europe/Berlin', ?, ? FROM `+series("r", rooms), now, now)
	f.sql(`INSERT INTO meetings (id, title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
		SELECT 1000000 + r.n * 10000 + n.n, 'Report', `+start+`, `+start+` + `+half+`, 'UTC', ?, 'ended', 'public', ?, ? FROM `+series("r", rooms)+` CROSS JOIN `+series("n", meetings),
		from, from, f.anna.ID, now, now)
	f.sql(`INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, 1000 + (id - 1000000) / 10000, 0 FROM meetings WHERE id >= 1000000`)
	f.sql(`INSERT INTO attendees (meeting_id, position, email, response) SELECT m.id, p.n, 'p' || p.n || '@example.org', 'accepted' FROM meetings m CROSS JOIN ` +
		series("p", 3) + ` WHERE m.id >= 1000000`)
	if !sqlite { // which gathers its statistics by itself
		f.sql("ANALYZE")
	}
	return clock.Slot{Start: from, End: from.AddDate(0, 0, 31)}
}
