package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A large organisation: 10,000 rooms on 20 sites with a year of meetings, 100 in each room.
const (
	largeRooms    = 10_000
	largeMeetings = 1_000_000
)

func largeOrganisation(b *testing.B) func(*pgxpool.Pool) {
	return func(db *pgxpool.Pool) {
		exec(b, db, `INSERT INTO sites (name, timezone, created_at, updated_at) SELECT 'Site ' || i, 'Europe/Berlin', now(), now() FROM generate_series(1, 20) i`)
		exec(b, db, `INSERT INTO rooms (name, site_id, capacity, features, policy, created_at, updated_at)
			SELECT 'Room ' || i, (SELECT min(id) FROM sites) + i % 20, 2 + i % 30,
				CASE i % 3 WHEN 0 THEN '["projector","video"]' WHEN 1 THEN '["video"]' ELSE '[]' END::jsonb,
				'{"opening_hours":[{"days":["MO","TU","WE","TH","FR"],"from":"07:00","to":"20:00"}]}', now(), now()
			FROM generate_series(1, $1) i`, largeRooms)
		// In each room a meeting every 3.65 days, at a working hour that differs from room to room.
		exec(b, db, `INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			SELECT 'Meeting ' || i, s, s + interval '1 hour', 'Europe/Berlin', (SELECT min(id) FROM users), 'confirmed', 'public', now(), now()
			FROM (SELECT i, date_trunc('day', now()) + interval '1 day' + (i / $2) * interval '87 hours 36 minutes' + (i % $2 % 36) * interval '15 minutes' AS s
				FROM generate_series(0, $1 - 1) i) AS m`, largeMeetings, largeRooms)
		exec(b, db, `WITH numbered AS (SELECT m.*, (SELECT min(id) FROM rooms) + (m.id - (SELECT min(id) FROM meetings)) % $1 AS room FROM meetings m),
			mr AS (INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, room, 0 FROM numbered)
			INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, room, starts_at, ends_at FROM numbered`, largeRooms)
	}
}

// BenchmarkFinding measures how long it takes to find a room, over HTTP, one request after the
// other, with 10,000 rooms and 1,000,000 meetings.
func BenchmarkFinding(b *testing.B) {
	p := start(b, largeOrganisation(b))
	day := func() time.Time { // a coming working day
		d := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1+rand.N(300))
		for d.Weekday() == time.Saturday || d.Weekday() == time.Sunday {
			d = d.AddDate(0, 0, 1)
		}
		return d
	}
	site := func() string { return fmt.Sprint(query[int64](b, p.db, `SELECT min(id) FROM sites`) + rand.Int64N(20)) }
	for _, c := range []struct {
		name string
		path func() string
	}{
		{"availability", func() string {
			at := day().Add(9 * time.Hour)
			return "/availability?" + url.Values{"start": {at.Format(time.RFC3339)}, "end": {at.Add(time.Hour).Format(time.RFC3339)}, "attendees": {"8"}, "site_id": {site()}, "limit": {"50"}}.Encode()
		}},
		{"availability-free", func() string {
			at := day().Add(9 * time.Hour)
			return "/availability?" + url.Values{"start": {at.Format(time.RFC3339)}, "end": {at.Add(time.Hour).Format(time.RFC3339)}, "attendees": {"8"}, "features": {"video"}, "free": {"true"}, "limit": {"50"}}.Encode()
		}},
		{"suggestions", func() string {
			at := day().Add(9 * time.Hour)
			return "/suggestions?" + url.Values{"duration": {"1h"}, "from": {at.Format(time.RFC3339)}, "to": {at.AddDate(0, 0, 5).Format(time.RFC3339)}, "attendees": {"12"}, "features": {"projector"}, "site_id": {site()}}.Encode()
		}},
		{"suggestions-anywhere", func() string {
			return "/suggestions?" + url.Values{"duration": {"2h"}, "from": {day().Format(time.RFC3339)}, "attendees": {"4"}}.Encode()
		}},
		{"free-busy", func() string {
			at := day()
			room := query[int64](b, p.db, `SELECT min(id) FROM rooms`) + rand.Int64N(largeRooms)
			return fmt.Sprintf("/rooms/%d/free-busy?", room) + url.Values{"from": {at.Format(time.RFC3339)}, "to": {at.AddDate(0, 0, 31).Format(time.RFC3339)}}.Encode()
		}},
		{"occupancy-month", func() string { // of the 500 rooms of a site
			at := day()
			return "/occupancy?" + url.Values{"from": {at.Format(time.DateOnly)}, "to": {at.AddDate(0, 0, 42).Format(time.DateOnly)}, "site_id": {site()}, "limit": {"500"}}.Encode()
		}},
		{"meetings-of-room", func() string {
			at := day()
			room := query[int64](b, p.db, `SELECT min(id) FROM rooms`) + rand.Int64N(largeRooms)
			return "/meetings?" + url.Values{"room_id": {fmt.Sprint(room)}, "from": {at.Format(time.RFC3339)}, "to": {at.AddDate(0, 0, 31).Format(time.RFC3339)}}.Encode()
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 500
			for range b.N {
				var took []time.Duration
				items := 0
				for i := range n + 20 {
					path := c.path()
					begin := time.Now()
					var page struct{ Items []map[string]any }
					p.admin.Want(b, http.StatusOK, http.MethodGet, path, nil, &page)
					if i >= 20 { // the first ones fill caches
						took = append(took, time.Since(begin))
						items += len(page.Items)
					}
				}
				if items == 0 {
					b.Fatal("nothing was ever found")
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[n/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[n*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(items)/n, "items")
				tell("finding a room among 10,000 with 1,000,000 meetings: "+c.name, fmt.Sprintf("p50 %.1f, p99 %.1f ms",
					float64(took[n/2].Microseconds())/1000, float64(took[n*99/100].Microseconds())/1000), "", "")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
