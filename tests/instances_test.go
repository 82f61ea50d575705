package tests

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// twoServers starts two instances at once on one empty database.
func twoServers(t *testing.T, c testenv.Config) (a, b *testenv.ServerInstance) {
	t.Helper()
	a, b = testenv.PrepareServer(t, c), testenv.PrepareServer(t, c)
	a.StartOnly(t)
	b.StartOnly(t)
	for _, s := range []*testenv.ServerInstance{a, b} {
		if err := s.AwaitReady(); err != nil {
			t.Fatalf("server: %v", err)
		}
	}
	return a, b
}

// TestInstances_eachEffectOnce: two instances share the work; nothing happens twice.
func TestInstances_eachEffectOnce(t *testing.T) {
	t.Parallel()
	const meetings = 24
	on, mail := onServers(t), testenv.Mail(t)
	on.Mail = mail
	a, b := twoServers(t, on.Config)
	began := time.Now()
	admin := a.Admin(t)
	clients := []*testenv.Client{admin, admin.At(b)}
	var rooms [meetings]testenv.Room
	for i := range rooms {
		rooms[i] = admin.NewRoom(t, fmt.Sprintf("Room %d", i))
	}
	when := inGoodTime(began, 22) // a reminder whose time has passed when its meeting is booked is never sent
	var ids []int64
	for i, room := range rooms { // half of them begin then, the others end
		start, end, edge := when, when.Add(time.Hour), "start"
		if i%4 >= 2 {
			start, end, edge = inSeconds(0), when, "end"
		}
		ids = append(ids, clients[i%2].Book(t, testenv.Booking(start, end, []int64{room.ID}, with{
			"attendees": []any{with{"email": fmt.Sprintf("guest%d@example.org", i), "name": "Guest"}},
			"reminders": []any{reminder(edge, 12*time.Second, "email")},
		})).ID)
	}
	action := func(i int) string {
		if i%4 >= 2 {
			return "ended"
		}
		return "started"
	}
	eventually(t, when.Add(2*slack), "all started or ended", func() bool {
		for i, id := range ids {
			if len(entries(clients[1].History(t, id), action(i))) != 1 {
				return false
			}
		}
		return true
	})
	for i, id := range ids {
		wantOnce(t, clients[0].History(t, id), action(i), "timer", when)
	}
	eventually(t, when.Add(2*slack), "all reminders", func() bool { return len(mail.Where("", "reminder")) >= 2*meetings })
	time.Sleep(500 * time.Millisecond) // for what must not come
	if n := len(mail.Where("", "reminder")); n != 2*meetings {
		t.Errorf("%d reminders, want %d", n, 2*meetings)
	}
	for i := range meetings {
		if n := len(mail.Where(fmt.Sprintf("guest%d@example.org", i), "reminder")); n != 1 {
			t.Errorf("guest %d got %d reminders, want 1", i, n)
		}
	}
	wantNothingTwice(t, mail)
}

// insist calls until it is not told to come again: where the machine is busy, requests of one user wait too long
// for each other.
func insist(c *testenv.Client, method, path string, body any) (*testenv.Response, error) {
	res, err := c.Try(method, path, body)
	for err == nil && res.Status == http.StatusTooManyRequests {
		time.Sleep(100 * time.Millisecond)
		res, err = c.Try(method, path, body)
	}
	return res, err
}

// race posts n bookings at once, spread over the clients, and counts the answers as
// "status code".
func race(t *testing.T, n int, clients []*testenv.Client, booking func(i int) any) map[string]int {
	t.Helper()
	counts := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			res, err := insist(clients[i%len(clients)], http.MethodPost, "/meetings", booking(i))
			outcome := ""
			if err != nil {
				outcome = err.Error()
			} else if outcome = fmt.Sprint(res.Status); res.Status != http.StatusCreated {
				p, _ := res.Problem()
				outcome += " " + p.Code
			}
			mu.Lock()
			defer mu.Unlock()
			counts[outcome]++
		})
	}
	close(start)
	wg.Wait()
	return counts
}

// racingClients are users of one instance of the embedded default, or of two on servers.
func racingClients(t *testing.T, on setup) []*testenv.Client {
	t.Helper()
	if on.redis == nil {
		return []*testenv.Client{testenv.Server(t, on.Config).Admin(t)}
	}
	a, b := twoServers(t, on.Config)
	admin := a.Admin(t)
	return []*testenv.Client{admin, admin.At(b)}
}

// TestRace_oneSlot: of a hundred requests for one slot one wins, and the others are told why not.
func TestRace_oneSlot(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		clients := racingClients(t, on)
		room := clients[0].NewRoom(t, "Turing")
		for round := range 3 {
			start := inSeconds(3600 * (round + 1))
			got := race(t, 100, clients, func(i int) any {
				// They overlap, each in its own way.
				shift := time.Duration(i%10) * time.Minute
				return testenv.Booking(start.Add(shift), start.Add(shift+30*time.Minute), []int64{room.ID})
			})
			if want := map[string]int{"201": 1, "409 room_conflict": 99}; !maps.Equal(got, want) {
				t.Errorf("round %d: %v, want %v", round, got, want)
			}
		}
	})
}

// TestRace_roomsCrosswise books A with B against B with A, which must not deadlock.
func TestRace_roomsCrosswise(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		clients := racingClients(t, on)
		a, b, c := clients[0].NewRoom(t, "A").ID, clients[0].NewRoom(t, "B").ID, clients[0].NewRoom(t, "C").ID
		orders := [][]int64{{a, b}, {b, a}, {a, b, c}, {c, b, a}}
		for round := range 15 {
			start := inSeconds(3600 * (round + 1))
			got := race(t, 16, clients, func(i int) any { return testenv.Booking(start, start.Add(time.Hour), orders[i%len(orders)]) })
			if want := map[string]int{"201": 1, "409 room_conflict": 15}; !maps.Equal(got, want) {
				t.Errorf("round %d: %v, want %v", round, got, want)
			}
		}
		// All or none: a conflict in one room leaves the other free.
		start := inSeconds(3600 * 100)
		clients[0].Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{b}))
		p := clients[0].WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", testenv.Booking(start, start.Add(time.Hour), []int64{a, b}))
		if len(p.Conflicts) != 1 || p.Conflicts[0].RoomID != b || !p.Conflicts[0].Start.Equal(start) {
			t.Errorf("conflicts %+v, want that of room %d", p.Conflicts, b)
		}
		clients[0].Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{a}))
		clients[0].Book(t, testenv.Booking(start.Add(time.Hour), start.Add(2*time.Hour), []int64{a, b})) // adjacent slots do not overlap
	})
}

// TestRace_moves lets meetings move into one slot at once: one gets there.
func TestRace_moves(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		const n = 20
		clients := racingClients(t, on)
		room := clients[0].NewRoom(t, "Turing")
		target := inSeconds(3600 * 100)
		var ids []int64
		for i := range n {
			start := inSeconds(3600 * (i + 1))
			ids = append(ids, clients[0].Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID})).ID)
		}
		statuses := map[int]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i, id := range ids {
			wg.Go(func() {
				res, err := clients[i%len(clients)].Try(http.MethodPatch, at("/meetings/%d", id),
					with{"start": target.Format(time.RFC3339), "end": target.Add(time.Hour).Format(time.RFC3339)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[res.Status]++
			})
		}
		wg.Wait()
		if want := map[int]int{http.StatusOK: 1, http.StatusConflict: n - 1}; !maps.Equal(statuses, want) {
			t.Errorf("%v, want %v", statuses, want)
		}
	})
}

// TestRoles runs the API and the worker as two processes: the one books, the other acts.
func TestRoles(t *testing.T) {
	t.Parallel()
	on, mail := onServers(t), testenv.Mail(t)
	on.Mail = mail
	on.Role = "api"
	api := testenv.Server(t, on.Config)
	admin := api.Admin(t)
	book := func(start time.Time) testenv.Meeting {
		room := admin.NewRoom(t, "Room at "+start.String())
		return admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID},
			with{"attendees": []any{with{"email": "bob@example.org", "name": "Bob"}}}))
	}
	first := book(inSeconds(1))
	time.Sleep(time.Until(first.Start.Add(time.Second)))
	if m := admin.Meeting(t, first.ID); m.Status != "in_progress" || len(entries(admin.History(t, first.ID), "started")) != 0 || len(mail.Messages()) != 0 {
		t.Errorf("without a worker: status %s, history %+v, %d mails; want the status of the hour and nothing done",
			m.Status, admin.History(t, first.ID), len(mail.Messages()))
	}

	on.Role = "worker"
	worker := testenv.Server(t, on.Config)
	eventually(t, time.Now().Add(slack), "started by the worker, and the invitation sent", func() bool {
		return len(entries(admin.History(t, first.ID), "started")) == 1 && len(mail.Where("bob@example.org", "invitation")) == 1
	})
	if res, err := worker.Anonymous().Try(http.MethodGet, "/me", nil); err == nil && res.Status != http.StatusNotFound {
		t.Errorf("the worker answers the API: %d", res.Status)
	}

	second := book(inSeconds(7200))
	soon := inSeconds(2)
	admin.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", second.ID), with{"start": soon.Format(time.RFC3339)}, nil)
	eventually(t, soon.Add(slack), "the moved one started", func() bool { return len(entries(admin.History(t, second.ID), "started")) == 1 })
	wantOnce(t, admin.History(t, second.ID), "started", "timer", soon)
}
