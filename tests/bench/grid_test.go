package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// gridDay fills 200 rooms on four sites with 1,000 meetings of one day, and with as many on each
// day of the weeks around it. Opening hours, buffers and features are as people have them.
func gridDay(b *testing.B, day time.Time) func(*pgxpool.Pool) {
	return func(db *pgxpool.Pool) {
		exec(b, db, `INSERT INTO sites (name, timezone, created_at, updated_at) SELECT 'Site ' || i, 'Europe/Berlin', now(), now() FROM generate_series(1, 4) i`)
		exec(b, db, `INSERT INTO rooms (name, site_id, capacity, features, policy, created_at, updated_at)
			SELECT 'Room ' || i, (SELECT min(id) FROM sites) + i % 4, 2 + i % 30, '["projector","video"]'::jsonb,
				'{"opening_hours":[{"days":["MO","TU","WE","TH","FR"],"from":"07:00","to":"20:00"}]}', now(), now()
			FROM generate_series(1, 200) i`)
		exec(b, db, `INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			SELECT 'Meeting about something ' || i, s, s + interval '1 hour', 'Europe/Berlin', (SELECT min(id) FROM users), 'confirmed',
				CASE i % 10 WHEN 0 THEN 'private' ELSE 'public' END, now(), now()
			FROM (SELECT i, $1::timestamptz + (i / 1000 - 14) * interval '1 day' + interval '7 hours' + i % 5 * interval '2 hours' AS s
				FROM generate_series(0, 28999) i) AS m`, day)
		exec(b, db, `WITH numbered AS (SELECT m.*, (SELECT min(id) FROM rooms) + (m.id - (SELECT min(id) FROM meetings)) % 1000 / 5 AS room FROM meetings m),
			mr AS (INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, room, 0 FROM numbered),
			at AS (INSERT INTO attendees (meeting_id, position, email, name, response)
				SELECT id, 0, 'guest' || id || '@example.org', 'A guest', 'needs_action' FROM numbered)
			INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, room, starts_at, ends_at FROM numbered`)
	}
}

// BenchmarkGrid measures the answer that the page draws a day from: 200 rooms, 1,000 meetings,
// over HTTP, one request after the other, read to the end.
func BenchmarkGrid(b *testing.B) {
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 20)
	p := start(b, gridDay(b, day))
	path := p.URL + "/api/v1/grid?" + url.Values{"from": {day.Format(time.RFC3339)}, "to": {day.AddDate(0, 0, 1).Format(time.RFC3339)}}.Encode()
	ask := func(zip bool, tag string) (*http.Response, int) {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.admin.Token)
		req.Header.Set("If-None-Match", tag)
		if zip {
			req.Header.Set("Accept-Encoding", "gzip")
		} else {
			req.Header.Set("Accept-Encoding", "identity")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			b.Fatal(err)
		}
		return res, len(body)
	}
	first, _ := ask(false, "")
	for _, c := range []struct {
		name string
		zip  bool
		tag  string
		want int
	}{
		{"plain", false, "", http.StatusOK},
		{"gzip", true, "", http.StatusOK},
		{"unchanged", true, first.Header.Get("ETag"), http.StatusNotModified},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 200
			for range b.N {
				var took []time.Duration
				size := 0
				for i := range n + 20 {
					begin := time.Now()
					res, bytes := ask(c.zip, c.tag)
					if res.StatusCode != c.want {
						b.Fatalf("%s: %s", c.name, res.Status)
					}
					if i >= 20 { // the first ones fill caches
						took = append(took, time.Since(begin))
					}
					size = bytes
				}
				slices.Sort(took)
				ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
				b.ReportMetric(ms(took[n/2]), "p50-ms")
				b.ReportMetric(ms(took[n*99/100]), "p99-ms")
				b.ReportMetric(float64(size), "bytes")
				tell("`GET /grid` of a day, 200 rooms and 1,000 meetings: "+c.name,
					fmt.Sprintf("p50 %.1f, p99 %.1f ms; %d kB", ms(took[n/2]), ms(took[n*99/100]), size/1000), "p50 <= 50 ms", "")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("content", func(b *testing.B) { // that it is what was asked for
		var g struct{ Rooms, Meetings []struct{ ID int64 } }
		p.admin.Want(b, http.StatusOK, http.MethodGet, path, nil, &g)
		if len(g.Rooms) != 200 || len(g.Meetings) != 1000 {
			b.Fatalf("%d rooms and %d meetings", len(g.Rooms), len(g.Meetings))
		}
		b.ReportMetric(0, "ns/op")
	})
}
