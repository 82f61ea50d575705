package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"punctual/tests/testenv"
)

// BenchmarkSinglePops pops and finishes jobs one at a time, with 50 clients. Floor: as many
// connections lock, change and commit a row of the same table twice, without HTTP and Redis.
func BenchmarkSinglePops(b *testing.B) {
	const n, clients = 10_000, 50
	p := startWith(b, testenv.Config{Env: []string{"PUNCTUAL_TOPICS_RATE=1000000/s", "PUNCTUAL_LIMITS_RATE=1000000/s", "PUNCTUAL_LIMITS_CONCURRENCY=1000"}}, nil)
	past := time.Now()
	p.addJobs(b, "bench", n, func(int) time.Time { return past })
	pop := p.request(b, "/topics/bench/pop", map[string]any{"max": 1})
	for b.Loop() {
		var done atomic.Int64
		took := together(clients, func() {
			c, answers := p.dial(b)
			for done.Load() < n {
				var out struct{ Items []topicLease }
				status, body, err := exchange(c, answers, pop)
				if err == nil && status == http.StatusOK {
					err = json.Unmarshal(body, &out)
				}
				if err != nil || status != http.StatusOK {
					b.Errorf("pop: %v, %d %s", err, status, body)
					return
				}
				for _, job := range out.Items {
					finish := p.request(b, "/topics/bench/jobs/"+job.ID+"/finish", map[string]any{"lease": job.Lease})
					if status, body, err := exchange(c, answers, finish); err != nil || status != http.StatusNoContent {
						b.Errorf("finish: %v, %d %s", err, status, body)
						return
					}
					done.Add(1)
				}
			}
		})
		b.ReportMetric(p.cpu(b).Seconds(), "cpu-s")
		rate := float64(done.Load()) / took.Seconds()
		var next atomic.Int64
		floor := n / together(clients, func() { rawPops(b, p.db, &next, n) }).Seconds()
		b.ReportMetric(rate, "jobs/s")
		b.ReportMetric(rate/floor, "of-floor")
		tell("topics over HTTP, 50 clients: jobs popped and finished one at a time", count(rate)+" per s", "",
			fmt.Sprintf("two transactions a job over 50 connections: %s per s; %.2f of it", count(floor), rate/floor))
	}
	b.ReportMetric(0, "ns/op")
}

// rawPops locks and changes rows, each in two transactions, until n are done.
func rawPops(b *testing.B, db *pgxpool.Pool, next *atomic.Int64, n int64) {
	for i := next.Add(1); i <= n; i = next.Add(1) {
		for _, state := range []string{"pending", "done"} {
			tx, err := db.Begin(b.Context())
			if err == nil {
				_, err = tx.Exec(b.Context(), `SELECT * FROM delay_jobs WHERE topic = 'bench' AND id = $1 FOR UPDATE`, fmt.Sprint(i-1))
			}
			if err == nil {
				_, err = tx.Exec(b.Context(), `UPDATE delay_jobs SET state = $2, updated_at = now() WHERE topic = 'bench' AND id = $1`, fmt.Sprint(i-1), state)
			}
			if err == nil {
				err = tx.Commit(b.Context())
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	}
}
