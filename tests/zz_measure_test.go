package tests

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

func TestZZMeasure(t *testing.T) {
	on := onServers(t)
	c := testenv.Server(t, on.Config).Admin(t)
	c.Want(t, http.StatusOK, http.MethodPost, "/topics/none/pop", nil, nil)
	const n = 20
	batch := func(k int) []with {
		b := make([]with, 1000)
		for i := range b {
			b[i] = with{"id": fmt.Sprintf("%d-%d", k, i), "delay_ms": 0, "body": with{"text": "0123456789012345678901234567890123456789", "i": i}}
		}
		return b
	}
	begin := time.Now()
	for k := range n {
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", batch(k), nil)
	}
	t.Logf("add one client: %.0f/s", n*1000/time.Since(begin).Seconds())
	begin = time.Now()
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() { c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", batch(n+k), nil) })
	}
	wg.Wait()
	t.Logf("add %d clients: %.0f/s", n, n*1000/time.Since(begin).Seconds())
	begin = time.Now()
	total := 0
	for {
		got := pop(t, c, 0, with{"max": 500})
		if len(got) == 0 {
			break
		}
		total += len(got)
		ends := make([]with, len(got))
		for i, d := range got {
			ends[i] = with{"id": d.ID, "lease": d.Lease}
		}
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/finish", ends, nil)
	}
	t.Logf("pop+finish %d: %.0f/s", total, float64(total)/time.Since(begin).Seconds())
	var lat []time.Duration
	for i := range 200 {
		c.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": fmt.Sprint("l", i), "delay_ms": 30, "body": 1}, nil)
		var out struct{ Items []struct{ Due time.Time } }
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/pop", with{"wait_ms": 2000}, &out)
		lat = append(lat, time.Since(out.Items[0].Due))
	}
	var sum, most time.Duration
	for _, l := range lat {
		sum += l
		most = max(most, l)
		if l < 0 {
			t.Error("early", l)
		}
	}
	t.Logf("late (at the client): mean %v max %v", sum/200, most)
}
