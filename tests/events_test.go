package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// event is one that a listener got.
type event struct {
	id, name string
	Data     struct {
		ID      int64
		Type    string
		At      time.Time
		Meeting testenv.Meeting
	}
	raw string
	got time.Time
}

// stream is a listener to /events.
type stream struct {
	mu     sync.Mutex
	events []event
	ended  chan struct{}
	close  func()
}

func listen(t testing.TB, c *testenv.Client, last, query string) *stream {
	t.Helper()
	s, res, err := open(t, c, last, query)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("/events: %d %v", res.StatusCode, res.Header)
	}
	return s
}

func open(t testing.TB, c *testenv.Client, last, query string) (*stream, *http.Response, error) {
	return openAt(t, c, "/events"+query, last)
}

func openAt(t testing.TB, c *testenv.Client, path, last string) (*stream, *http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/api/v1"+path, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, nil, err
	}
	s := &stream{ended: make(chan struct{}), close: cancel}
	go s.read(res.Body)
	return s, res, nil
}

func (s *stream) read(body io.ReadCloser) {
	defer close(s.ended)
	defer body.Close()
	var e event
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.raw, e.got = value, time.Now()
			_ = json.Unmarshal([]byte(value), &e.Data)
		case "":
			if e.name != "" {
				s.mu.Lock()
				s.events = append(s.events, e)
				s.mu.Unlock()
			}
			e = event{}
		}
	}
}

// all events so far; the first one tells that the stream began.
func (s *stream) all() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// of a meeting: the names of its events.
func (s *stream) of(id int64) []string {
	var names []string
	for _, e := range s.all() {
		if e.Data.Meeting.ID == id {
			names = append(names, strings.TrimPrefix(e.name, "meeting."))
		}
	}
	return names
}

// TestEvents: what happens to a meeting is told as it happens, by whichever instance, to those
// who may see it; and a listener that was cut off misses nothing and gets nothing twice.
func TestEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		other := server
		if on.Database != "" {
			other = testenv.Server(t, on.Config)
		}
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member", with{"phone": "+4930111"}), admin.NewUser(t, "Bob", "member")
		room, second := admin.NewRoom(t, "Turing"), admin.NewRoom(t, "Hopper")
		hers, his, elsewhere := listen(t, alice, "", ""), listen(t, bob.At(other), "", ""), listen(t, bob, "", fmt.Sprintf("?room_id=%d", second.ID))

		start, end := inSeconds(2), inSeconds(10)
		m := alice.Book(t, testenv.Booking(start, start.Add(30*time.Minute), []int64{room.ID}, with{"visibility": "private", "title": "Secret plans",
			"attendees": []any{with{"email": "carol@example.org", "phone": "+49301234567"}}}))
		want := []string{"created", "started", "ended"}
		eventually(t, start.Add(slack), "the start", func() bool { return len(hers.of(m.ID)) == 2 })
		alice.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/end", m.ID), nil, nil)
		eventually(t, time.Now().Add(slack), "three events of the meeting", func() bool { return len(hers.of(m.ID)) >= 3 && len(his.of(m.ID)) >= 3 })
		for who, s := range map[string]*stream{"alice": hers, "bob": his} {
			if got := s.of(m.ID); !slices.Equal(got, want) {
				t.Errorf("%s heard %v, want %v", who, got, want)
			}
			events := s.all()
			if events[0].name != "ready" {
				t.Errorf("%s: the first event is %+v", who, events[0])
			}
			for _, e := range events[1:] {
				if e.name != e.Data.Type || e.id != fmt.Sprint(e.Data.ID) {
					t.Errorf("%s: %+v", who, e)
				}
				if strings.Contains(e.raw, "+4930") {
					t.Errorf("%s is told a telephone number: %s", who, e.raw)
				}
				if secret := strings.Contains(e.raw, "Secret") || strings.Contains(e.raw, "carol"); secret != (who == "alice") {
					t.Errorf("%s: %s", who, e.raw)
				}
			}
		}
		started := hers.all()[slices.IndexFunc(hers.all(), func(e event) bool { return e.name == "meeting.started" })]
		wantTime(t, "told of the start", started.got, start)
		if started.Data.Meeting.Status != "in_progress" {
			t.Errorf("started: %+v", started.Data.Meeting)
		}
		if got := elsewhere.of(m.ID); len(got) != 0 {
			t.Errorf("who asked for another room heard %v", got)
		}

		// Who listens for a room hears that a meeting leaves it, and then no more of it.
		moving := alice.Book(t, testenv.Booking(start.Add(5*time.Hour), end.Add(5*time.Hour), []int64{second.ID}))
		eventually(t, time.Now().Add(slack), "the meeting while it is there", func() bool { return len(elsewhere.of(moving.ID)) == 1 }) // events show it as it is by then
		alice.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", moving.ID), with{"room_ids": []int64{room.ID}}, nil)
		alice.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", moving.ID), with{"title": "Elsewhere"}, nil)
		alice.Book(t, testenv.Booking(start.Add(6*time.Hour), end.Add(6*time.Hour), []int64{second.ID}))
		eventually(t, time.Now().Add(slack), "a meeting in the other room", func() bool { return len(elsewhere.all()) >= 4 })
		if got := elsewhere.of(moving.ID); !slices.Equal(got, []string{"created", "changed"}) || !strings.Contains(elsewhere.all()[2].raw, fmt.Sprintf(`"left_room_ids":[%d]`, second.ID)) {
			t.Errorf("who listens for the room it left heard %v: %+v", got, elsewhere.all())
		}

		// Cut off, and back: first here, then at the other instance, then after a restart.
		events := hers.all()
		last := events[len(events)-1].id
		hers.close()
		far := alice.Book(t, testenv.Booking(start.Add(time.Hour), end.Add(time.Hour), []int64{room.ID}))
		alice.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", far.ID), with{"title": "Moved"}, nil)
		back := listen(t, alice.At(other), last, "")
		eventually(t, time.Now().Add(slack), "what was missed", func() bool { return len(back.of(far.ID)) >= 2 })
		alice.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/cancel", far.ID), nil, nil)
		eventually(t, time.Now().Add(slack), "what happens then", func() bool { return len(back.of(far.ID)) >= 3 })
		if got := back.of(far.ID); !slices.Equal(got, []string{"created", "changed", "cancelled"}) || len(back.of(m.ID)) != 0 {
			t.Errorf("back again: %v of the one, %v of the other", got, back.of(m.ID))
		}
		events = back.all()
		last = events[len(events)-1].id
		begin := time.Now()
		if code := other.Stop(); code != 0 {
			t.Errorf("the program stopped with %d", code)
		}
		if took := time.Since(begin); took > slack {
			t.Errorf("it took %v to stop while somebody listened", took)
		}
		<-back.ended
		other.Start(t)
		again := listen(t, alice.At(other), last, "")
		next := alice.At(other).Book(t, testenv.Booking(start.Add(3*time.Hour), end.Add(3*time.Hour), []int64{second.ID}))
		eventually(t, time.Now().Add(slack), "what happens after a restart", func() bool { return len(again.of(next.ID)) == 1 })
		if n := len(again.all()); n != 2 { // ready, and this
			t.Errorf("%d events, want 2", n)
		}

		reset := listen(t, alice.At(other), "999999999", "")
		eventually(t, time.Now().Add(slack), "a reset", func() bool { return len(reset.all()) == 1 && reset.all()[0].name == "reset" })
		alice.At(other).WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/events?after=x", nil)
		(&testenv.Client{Base: other.URL}).WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/events", nil)
	})
}

// TestEvents_manyListeners: a thousand listeners all hear of a meeting soon.
func TestEvents_manyListeners(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{YAML: "limits: { streams: 1000 }\n"})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	alice := admin.NewUser(t, "Alice", "member")
	const n = 1000
	streams := make([]*stream, n)
	var failed atomic.Int64
	var wg sync.WaitGroup
	for part := range 20 {
		wg.Go(func() {
			for i := part; i < n; i += 20 {
				s, res, err := open(t, alice, "", "")
				if err != nil || res.StatusCode != http.StatusOK {
					failed.Add(1)
					continue
				}
				streams[i] = s
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		t.Fatalf("%d of %d cannot listen", failed.Load(), n)
	}
	m := alice.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID}))
	booked := time.Now()
	eventually(t, time.Now().Add(slack), "everybody hears of it", func() bool {
		return !slices.ContainsFunc(streams, func(s *stream) bool { return len(s.of(m.ID)) == 0 })
	})
	var late time.Duration
	for _, s := range streams {
		for _, e := range s.all() {
			if e.Data.Meeting.ID == m.ID {
				late = max(late, e.got.Sub(booked))
			}
		}
		if len(s.of(m.ID)) != 1 {
			t.Errorf("heard %v", s.of(m.ID))
		}
	}
	t.Logf("the last of %d heard of it after %v", n, late)
}
