package tests

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestIdempotency_killed kills the program between the commit of a change and its stored answer, and
// once more at a random instant among many requests. Each retry then gets the answer of its request,
// and no change is made twice.
func TestIdempotency_killed(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.Tags = "failpoint"
		server := testenv.PrepareServer(t, on.Config)
		server.Start(t)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Room")
		server.Stop()
		server.Setenv("FAILPOINT", "answer.before")
		server.Start(t)

		day := time.Now().UTC().AddDate(0, 0, 40).Truncate(24 * time.Hour)
		booking := func(i int) with {
			start := day.Add(time.Duration(i) * time.Hour)
			return testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": fmt.Sprintf("Meeting %d", i)})
		}
		key := func(i int) testenv.Option { return testenv.Header("Idempotency-Key", fmt.Sprintf("killed-%d", i)) }
		if res, err := admin.Try(http.MethodPost, "/meetings", booking(0), key(0)); err == nil {
			t.Fatalf("it answers %d at the crash point", res.Status)
		}
		if !server.AwaitKilled(slack) || !strings.Contains(server.Log(), "failpoint answer.before") {
			t.Fatalf("it did not die at the crash point\n%s", server.Log())
		}
		server.Setenv("FAILPOINT", "")
		server.Start(t)
		admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking(0), testenv.Header("Idempotency-Key", "another"))

		const workers = 4
		var wg sync.WaitGroup
		var answered atomic.Int64
		retry := make(chan int, workers)
		for worker := range workers {
			wg.Go(func() {
				for i := 1 + worker; ; i += workers { // until a request is cut off
					if res, err := admin.Try(http.MethodPost, "/meetings", booking(i), key(i)); err != nil || res.Status != http.StatusCreated {
						retry <- i
						return
					}
					answered.Add(1)
				}
			})
		}
		enough := 1 + rand.Int64N(30)
		eventually(t, time.Now().Add(slack), "some requests are answered", func() bool { return answered.Load() >= enough })
		time.Sleep(rand.N(5 * time.Millisecond))
		server.Kill()
		wg.Wait()
		close(retry)
		server.Start(t)

		again := []int{0}
		for i := range retry {
			again = append(again, i)
		}
		for _, i := range again { // side by side: each may wait until the lease of its first attempt ends
			wg.Go(func() {
				var m, same testenv.Meeting
				admin.Want(t, http.StatusCreated, http.MethodPost, "/meetings", booking(i), &m, key(i))
				res := admin.Want(t, http.StatusCreated, http.MethodPost, "/meetings", booking(i), &same, key(i))
				if m.Title != fmt.Sprintf("Meeting %d", i) || same.ID != m.ID || res.Header.Get("Location") != at("/api/v1/meetings/%d", m.ID) {
					t.Errorf("request %d: %d %q, then %d at %s", i, m.ID, m.Title, same.ID, res.Header.Get("Location"))
				}
				if n := len(entries(admin.History(t, m.ID), "created")); n != 1 {
					t.Errorf("%q was created %d times", m.Title, n)
				}
			})
		}
		wg.Wait()
		titles := map[string]int{}
		for _, m := range testenv.All[testenv.Meeting](t, admin, "/meetings") {
			titles[m.Title]++
		}
		for _, last := range again {
			for i := last; i >= 0; i -= workers {
				if n := titles[fmt.Sprintf("Meeting %d", i)]; n != 1 {
					t.Errorf("meeting %d exists %d times", i, n)
				}
			}
		}
	})
}
