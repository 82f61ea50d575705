package bench

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"punctual/tests/testenv"
)

// BenchmarkWebhooks posts events that are committed at once, and measures from their commit to the last
// post: events of one meeting, which are posted one after another, and of many meetings.
func BenchmarkWebhooks(b *testing.B) {
	for _, bench := range []struct{ meetings, events, servers int }{{1, 1000, 1}, {1000, 10_000, 1}, {100, 1000, 10}} {
		b.Run(fmt.Sprintf("meetings=%d/servers=%d", bench.meetings, bench.servers), func(b *testing.B) {
			far := time.Now().Add(240 * time.Hour).Truncate(time.Second)
			p := start(b, func(db *pgxpool.Pool) {
				meetings(b, db, bench.meetings, func(int) time.Time { return far })
			})
			last := p.admin.Book(b, testenv.Booking(far, far.Add(time.Hour), []int64{p.admin.NewRoom(b, "Turing").ID}, nil))
			servers := make([]*arrivals, bench.servers)
			for i := range servers {
				servers[i] = receive(b)
				p.allowLoopback(b, func() bool {
					hook := map[string]any{"url": servers[i].URL, "events": []string{"meeting.changed"}}
					return p.admin.Do(b, http.MethodPost, "/webhooks", hook).Status == http.StatusCreated
				})
			}
			for n := 1; b.Loop(); n++ {
				exec(b, p.db, `INSERT INTO history (meeting_id, at, action, actor_kind, actor_name)
					SELECT m.id, now(), 'changed', 'system', 'bench'
					FROM generate_series(1, $1) AS event, (SELECT id FROM meetings ORDER BY id LIMIT $2) AS m ORDER BY event, m.id`,
					bench.events/bench.meetings, bench.meetings)
				begin, used, postgres := time.Now(), p.cpu(b), p.postgresCPU(b)
				// A change by the program itself, so that its processes notice that something happened.
				p.admin.Want(b, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", last.ID), map[string]any{"title": fmt.Sprint("Change ", n)}, nil)
				for _, a := range servers {
					a.await(b, n*(bench.events+1), 2*time.Minute)
				}
				rate := float64(bench.events*bench.servers) / time.Since(begin).Seconds()
				b.ReportMetric((p.cpu(b) - used).Seconds(), "cpu-s")
				b.ReportMetric((p.postgresCPU(b) - postgres).Seconds(), "postgres-cpu-s")
				b.ReportMetric(rate, "posts/s")
				tell(fmt.Sprintf("%s events of %s meetings posted to each of %d webhooks", count(float64(bench.events)), count(float64(bench.meetings)), bench.servers), count(rate)+" per s", "", "")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
