package bench

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// BenchmarkWebhooks tells one server of 1,000 events that are committed at once, from their commit to
// the last post.
func BenchmarkWebhooks(b *testing.B) {
	const n = 1000
	p := start(b, nil)
	a := receive(b)
	p.allowLoopback(b, func() bool {
		hook := map[string]any{"url": a.URL, "events": []string{"meeting.changed"}}
		return p.admin.Do(b, http.MethodPost, "/webhooks", hook).Status == http.StatusCreated
	})
	far := time.Now().Add(240 * time.Hour).Truncate(time.Second)
	m := p.admin.Book(b, testenv.Booking(far, far.Add(time.Hour), []int64{p.admin.NewRoom(b, "Turing").ID}, nil))
	for b.Loop() {
		exec(b, p.db, `INSERT INTO history (meeting_id, at, action, actor_kind, actor_name)
			SELECT $1, now(), 'changed', 'system', 'bench' FROM generate_series(1, $2)`, m.ID, n-1)
		begin := time.Now()
		// A change by the program itself, so that its processes are told that something happened.
		p.admin.Want(b, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", m.ID), map[string]any{"title": "The last change"}, nil)
		a.await(b, n, 2*time.Minute)
		rate := n / time.Since(begin).Seconds()
		b.ReportMetric(p.cpu(b).Seconds(), "cpu-s")
		b.ReportMetric(rate, "posts/s")
		tell("1,000 events of meetings posted to one webhook, 8 at once", count(rate)+" per s", "", "")
	}
	b.ReportMetric(0, "ns/op")
}
