package soak

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

type with = map[string]any

// traffic is what people and other systems do meanwhile, at any process.
type traffic struct {
	i              *installation
	adding, ending chan struct{} // closed to stop
	adders, takers sync.WaitGroup

	mu                          sync.Mutex
	ids                         []int64 // of meetings to change
	rooms                       []int64
	booked                      int
	answers                     map[int]int // by status; 0: none
	worst                       string      // the last answer of 500
	added, finished, leasesLost int
}

func (i *installation) traffic(t *testing.T) *traffic {
	t.Helper()
	tr := &traffic{i: i, adding: make(chan struct{}), ending: make(chan struct{}), answers: map[int]int{}}
	for n := range rooms {
		tr.rooms = append(tr.rooms, i.admin.NewRoom(t, fmt.Sprint("Room ", n)).ID)
	}
	i.admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/soak/jobs", with{"id": "first", "delay_ms": 100, "body": 1}, nil)
	every := func(wg *sync.WaitGroup, stop chan struct{}, d time.Duration, do func(rnd *rand.Rand, c *testenv.Client)) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(rand.Uint64(), 0))
			for {
				select {
				case <-stop:
					return
				case <-time.After(d):
					do(rnd, i.admin.At(i.servers[rnd.IntN(processes)]))
				}
			}
		})
	}
	for range 2 {
		every(&tr.adders, tr.adding, 150*time.Millisecond, tr.book)
	}
	every(&tr.adders, tr.adding, 400*time.Millisecond, tr.move)
	every(&tr.adders, tr.adding, 700*time.Millisecond, tr.cancel)
	every(&tr.adders, tr.adding, 100*time.Millisecond, tr.add)
	for range 2 {
		every(&tr.takers, tr.ending, 10*time.Millisecond, tr.take)
	}
	t.Cleanup(tr.stop)
	return tr
}

var once = func() func(c chan struct{}) {
	var mu sync.Mutex
	return func(c chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-c:
		default:
			close(c)
		}
	}
}()

// stopAdding lets what was asked for go on to its end.
func (tr *traffic) stopAdding() {
	once(tr.adding)
	tr.adders.Wait()
}

func (tr *traffic) stop() {
	tr.stopAdding()
	once(tr.ending)
	tr.takers.Wait()
}

// send counts the answer; out is filled if it was a success.
func (tr *traffic) send(c *testenv.Client, method, path string, body, out any) bool {
	res, err := c.Try(method, path, body)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err != nil {
		tr.answers[0]++
		return false
	}
	tr.answers[res.Status]++
	if res.Status >= 500 && res.Status != http.StatusServiceUnavailable {
		tr.worst = fmt.Sprintf("%s %s: %s", method, path, res.Body)
	}
	if res.Status >= 300 {
		if res.Status == http.StatusConflict && out == nil {
			tr.leasesLost++
		}
		return false
	}
	return out == nil || res.Decode(out) == nil
}

// slot is a time soon.
func slot(rnd *rand.Rand) (start, end time.Time) {
	start = time.Now().Add(2*time.Second + upTo(rnd, 4*time.Second))
	return start, start.Add(time.Second + upTo(rnd, 3*time.Second))
}

func (tr *traffic) book(rnd *rand.Rand, c *testenv.Client) {
	tr.mu.Lock()
	tr.booked++
	room, n := tr.rooms[tr.booked%len(tr.rooms)], tr.booked
	tr.mu.Unlock()
	start, end := slot(rnd)
	tr.i.over(end)
	var m testenv.Meeting
	if tr.send(c, http.MethodPost, "/meetings", testenv.Booking(start, end, []int64{room}, with{
		"attendees": []any{with{"email": fmt.Sprintf("guest%d@example.org", n), "name": "Guest"}},
		"reminders": []any{with{"before": "start", "offset": "1s", "channels": []string{"email"}}},
	}), &m) {
		tr.mu.Lock()
		tr.ids = append(tr.ids, m.ID)
		tr.mu.Unlock()
	}
}

// recent is one of the meetings booked last; 0: there is none.
func (tr *traffic) recent(rnd *rand.Rand) int64 {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.ids) == 0 {
		return 0
	}
	return tr.ids[len(tr.ids)-1-rnd.IntN(min(len(tr.ids), 12))]
}

func (tr *traffic) move(rnd *rand.Rand, c *testenv.Client) {
	if id := tr.recent(rnd); id != 0 {
		start, end := slot(rnd)
		tr.i.over(end)
		tr.send(c, http.MethodPatch, fmt.Sprint("/meetings/", id), with{"start": start, "end": end}, &testenv.Meeting{})
	}
}

func (tr *traffic) cancel(rnd *rand.Rand, c *testenv.Client) {
	if id := tr.recent(rnd); id != 0 {
		tr.send(c, http.MethodPost, fmt.Sprintf("/meetings/%d/cancel", id), with{}, &testenv.Meeting{})
	}
}

func (tr *traffic) add(rnd *rand.Rand, c *testenv.Client) {
	delay := rnd.IntN(4000)
	tr.i.over(time.Now().Add(time.Duration(delay) * time.Millisecond))
	if tr.send(c, http.MethodPost, "/topics/soak/jobs", with{"delay_ms": delay, "body": "x", "ttr_ms": 2000, "max_attempts": -1}, &with{}) {
		tr.mu.Lock()
		tr.added++
		tr.mu.Unlock()
	}
}

func (tr *traffic) take(_ *rand.Rand, c *testenv.Client) {
	var got struct {
		Items []struct{ ID, Lease string }
	}
	if !tr.send(c, http.MethodPost, "/topics/soak/pop", with{"max": 10, "wait_ms": 500}, &got) {
		time.Sleep(100 * time.Millisecond)
		return
	}
	for _, j := range got.Items {
		if tr.send(c, http.MethodPost, "/topics/soak/jobs/"+j.ID+"/finish", with{"lease": j.Lease}, nil) {
			tr.mu.Lock()
			tr.finished++
			tr.mu.Unlock()
		}
	}
}
