package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// topicBatch is an array of jobs as one request adds it.
func topicBatch(first, n int, due func(i int) time.Time) []map[string]any {
	jobs := make([]map[string]any, n)
	for i := range jobs {
		jobs[i] = map[string]any{"id": strconv.Itoa(first + i), "due": due(first + i).Format(time.RFC3339Nano), "body": map[string]any{"order": first + i, "to": "zoe@example.org"}}
	}
	return jobs
}

// topicLease is a job as it was popped, and as it is finished.
type topicLease struct {
	ID    string `json:"id"`
	Lease string `json:"lease"`
}

func (p *product) addJobs(b *testing.B, topic string, n int, due func(i int) time.Time) {
	b.Helper()
	for first := 0; first < n; first += 1000 {
		p.admin.Want(b, http.StatusOK, http.MethodPost, "/topics/"+topic+"/jobs", topicBatch(first, min(1000, n-first), due), nil)
	}
}

// BenchmarkTopics adds jobs over HTTP in arrays of 1,000 and pops them by 500 and finishes
// them in batches, with one client.
func BenchmarkTopics(b *testing.B) {
	const n = 50_000
	p := start(b, nil)
	past := time.Now()
	for b.Loop() {
		begin := time.Now()
		p.addJobs(b, "bench", n, func(int) time.Time { return past })
		added := time.Since(begin)
		begin = time.Now()
		for done := 0; done < n; {
			var out struct {
				Items []topicLease
			}
			p.admin.Want(b, http.StatusOK, http.MethodPost, "/topics/bench/pop", map[string]any{"max": 500, "wait_ms": 5000}, &out)
			if len(out.Items) == 0 {
				b.Fatalf("%d popped, want %d", done, n)
			}
			done += len(out.Items)
			p.admin.Want(b, http.StatusOK, http.MethodPost, "/topics/bench/finish", out.Items, nil)
		}
		b.ReportMetric(p.cpu(b).Seconds(), "cpu-s")
		b.ReportMetric(n/added.Seconds(), "added/s")
		finished := time.Since(begin)
		b.ReportMetric(n/finished.Seconds(), "finished/s")
		tell("topics over HTTP, one client: jobs added by 1,000; popped and finished by 500",
			fmt.Sprintf("%s per s; %s per s", count(n/added.Seconds()), count(n/finished.Seconds())), "", "")
	}
	b.ReportMetric(0, "ns/op")
}

// arrivals is a webhook's receiver that notes when each job came.
type arrivals struct {
	*httptest.Server
	mu sync.Mutex
	at map[string]time.Time
}

func receive(b *testing.B) *arrivals {
	a := &arrivals{at: map[string]time.Time{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		at := time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.at[r.Header.Get("X-Punctual-Id")] = at
	}))
	b.Cleanup(a.Close)
	return a
}

func (a *arrivals) await(b *testing.B, n int, limit time.Duration) {
	b.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		a.mu.Lock()
		got := len(a.at)
		a.mu.Unlock()
		if got >= n {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%d posts, want %d", got, n)
		}
	}
}

// push has the jobs of a topic posted to a.
func (p *product) push(b *testing.B, topic string, a *arrivals) {
	b.Helper()
	p.allowLoopback(b, func() bool {
		hook := map[string]any{"url": a.URL, "secret": "a secret of the benchmark", "concurrency": 16}
		return p.admin.Do(b, http.MethodPut, "/topics/"+topic+"/webhook", hook).Status == http.StatusOK
	})
}

// allowLoopback lets webhooks lead to this machine and returns when one was set.
func (p *product) allowLoopback(b *testing.B, set func() bool) {
	b.Helper()
	p.Configure(b, p.Config(b)+"topics: { allow_networks: [127.0.0.0/8] }\n")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if set() {
			return
		}
		if time.Now().After(end) {
			b.Fatal("the receiver is not allowed")
		}
	}
}

// BenchmarkPushLateness tells how long after a job is due its post arrives, one every 20 ms.
func BenchmarkPushLateness(b *testing.B) {
	const n = 500
	p := start(b, nil)
	a := receive(b)
	p.push(b, "bench", a)
	for b.Loop() {
		first := time.Now().Add(2 * time.Second)
		due := func(i int) time.Time { return first.Add(time.Duration(i) * 20 * time.Millisecond) }
		p.addJobs(b, "bench", n, due)
		a.await(b, n, time.Minute)
		late := make([]time.Duration, n)
		for i := range late {
			late[i] = a.at[strconv.Itoa(i)].Sub(due(i))
		}
		tell("from the due time of a topic's job to its post, one every 20 ms", report(b, "", late).String(), "", "")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPushBurst posts a backlog to one receiver, 16 at once.
func BenchmarkPushBurst(b *testing.B) {
	const n = 5000
	p := start(b, nil)
	a := receive(b)
	past := time.Now()
	p.addJobs(b, "bench", n, func(int) time.Time { return past })
	for b.Loop() {
		begin := time.Now()
		p.push(b, "bench", a)
		a.await(b, n, 2*time.Minute)
		rate := n / time.Since(begin).Seconds()
		b.ReportMetric(p.cpu(b).Seconds(), "cpu-s")
		b.ReportMetric(rate, "posts/s")
		tell("a backlog of 5,000 jobs posted to one webhook, 16 at once", count(rate)+" per s", "", "")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTopicBacklog tells what 200,000 overdue jobs of a topic cost that nobody pops: the
// processor time of the program in the two minutes after they are loaded.
func BenchmarkTopicBacklog(b *testing.B) {
	p := start(b, func(db *pgxpool.Pool) {
		exec(b, db, `INSERT INTO delay_jobs (topic, id, version, revision, due_at, body, ttr_ms, ttl_ms, max_attempts, state, attempts, last_error, created_at, updated_at)
			SELECT 'bench', i, 1, 1, now() - interval '1 hour', '{"order": 17}', 30000, 0, 8, 'pending', 0, '', now(), now() FROM generate_series(1, 200000) AS i`)
	})
	for b.Loop() {
		var stats struct{ Ready int }
		res := p.admin.Want(b, http.StatusOK, http.MethodGet, "/topics/bench", nil, nil)
		if err := json.Unmarshal(res.Body, &stats); err != nil || stats.Ready != 200_000 {
			b.Fatal(fmt.Errorf("%+v, %w", stats, err))
		}
		cpu, calls := p.cpu(b), p.calls(b)
		const span = 2 * time.Minute
		time.Sleep(span)
		b.ReportMetric(100*(p.cpu(b)-cpu).Seconds()/span.Seconds(), "%core")
		b.ReportMetric(float64(p.calls(b)-calls)/span.Seconds(), "redis-calls/s")
	}
	b.ReportMetric(0, "ns/op")
}
