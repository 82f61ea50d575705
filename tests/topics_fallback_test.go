package tests

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestTopics_withoutRedis: while Redis is away, and when it is back without anything, webhooks
// are posted to and pops answered, each job once.
func TestTopics_withoutRedis(t *testing.T) {
	t.Parallel()
	const n, apart, outage = 60, 250 * time.Millisecond, 8 * time.Second
	on := forOutages(t)
	on.YAML += allowLoopback
	a, b := twoServers(t, on.Config)
	atA := a.Admin(t)
	atB := atA.At(b)
	r := receiveHooks(t, func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) })
	atA.Want(t, http.StatusOK, http.MethodPut, "/topics/orders/webhook", with{"url": r.URL, "secret": hookSecret}, nil)
	first := time.Now().Add(2 * time.Second)
	due := func(i int) time.Time { return first.Add(time.Duration(i) * apart) }
	jobs := func(from, to int) (js []with) {
		for i := from; i < to; i++ {
			js = append(js, with{"id": fmt.Sprint(i), "due": due(i).Format(time.RFC3339Nano), "body": i})
		}
		return js
	}
	for _, topic := range []string{"orders", "mails"} {
		atA.Want(t, http.StatusOK, http.MethodPost, "/topics/"+topic+"/jobs", jobs(0, n/2), nil)
	}
	time.Sleep(time.Until(first.Add(time.Second)))
	on.redis.Kill()
	killed := time.Now()
	for _, topic := range []string{"orders", "mails"} { // added without Redis, at either process
		atA.Want(t, http.StatusOK, http.MethodPost, "/topics/"+topic+"/jobs", jobs(n/2, n*3/4), nil)
		atB.Want(t, http.StatusOK, http.MethodPost, "/topics/"+topic+"/jobs", jobs(n*3/4, n), nil)
	}

	popped, at := map[string]int{}, map[string]time.Time{}
	var pause time.Duration // the longest that a pop took
	started := false
	eventually(t, due(n).Add(2*slack), "all are popped and posted", func() bool {
		if !started && time.Since(killed) > outage {
			started = true
			on.redis.Start(t)
		}
		c := []*testenv.Client{atA, atB}[len(popped)%2]
		var out struct{ Items []delivery }
		begin := time.Now()
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/mails/pop", with{"max": 5, "wait_ms": 100}, &out)
		pause = max(pause, time.Since(begin))
		for _, j := range out.Items {
			popped[j.ID]++
			at[j.ID] = time.Now()
		}
		if len(out.Items) > 0 {
			ends := make([]with, len(out.Items))
			for i, j := range out.Items {
				ends[i] = with{"id": j.ID, "lease": j.Lease}
			}
			c.Want(t, http.StatusOK, http.MethodPost, "/topics/mails/finish", ends, nil)
		}
		return started && len(popped) == n && r.count() >= n
	})
	var late, lateMail time.Duration
	for i := range n {
		id := fmt.Sprint(i)
		ps := r.of(id)
		if len(ps) != 1 || popped[id] != 1 {
			t.Errorf("job %s was posted %d times and popped %d times", id, len(ps), popped[id])
			continue
		}
		late, lateMail = max(late, ps[0].at.Sub(due(i))), max(lateMail, at[id].Sub(due(i)))
		if slices.ContainsFunc([]time.Time{ps[0].at, at[id]}, func(at time.Time) bool { return at.Before(due(i)) }) {
			t.Errorf("job %s came early", id)
		}
	}
	t.Logf("posted at most %v late, popped at most %v; the longest pop took %v", late, lateMail, pause)
	if late > slack || lateMail > slack {
		t.Errorf("posted %v late, popped %v late; want at most %v", late, lateMail, slack)
	}
	var s struct{ Done, Dead, Reserved, Ready, Delayed int }
	eventually(t, soon(10), "all are done", func() bool {
		atA.Want(t, http.StatusOK, http.MethodGet, "/topics/orders", nil, &s)
		return s.Done == n
	})
}
