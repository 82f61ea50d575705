package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// hook is a webhook as the API tells of it.
type hook struct {
	ID          int64
	URL, Secret string
	Events      []string
	Active      bool
	Stopped     *string
	Version     int64
}

// hookDelivery is that of an event to a webhook.
type hookDelivery struct {
	ID        int64
	EventID   int64 `json:"event_id"`
	Event     string
	State     string
	Attempts  int
	Status    *int
	LastError *string `json:"last_error"`
}

func hookDeliveries(t *testing.T, c *testenv.Client, h hook, query string) []hookDelivery {
	t.Helper()
	var page struct{ Items []hookDelivery }
	c.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/webhooks/%d/deliveries%s", h.ID, query), nil, &page)
	return page.Items
}

// told are the types of the events that a receiver was told of a meeting, once each.
func (r *hookReceiver) told(t *testing.T, id int64) (types []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for _, p := range r.posts {
		var e struct {
			ID      int64
			Type    string
			Meeting testenv.Meeting
		}
		if err := json.Unmarshal([]byte(p.body), &e); err != nil {
			t.Errorf("%s: %v", p.body, err)
		}
		if fmt.Sprint(e.ID) != p.id || p.topic != "" {
			t.Errorf("X-Punctual-Id %q and topic %q of %s", p.id, p.topic, p.body)
		}
		if e.Meeting.ID == id && !seen[p.id] {
			seen[p.id] = true
			types = append(types, e.Type)
		}
	}
	return types
}

// TestWebhook: a server is told at once what happens to meetings, of those types that it wants to
// hear, signed, and of private ones no more than anybody sees.
func TestWebhook(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = allowLoopback
		c := testenv.Server(t, on.Config).Admin(t)
		room := c.NewRoom(t, "Turing")
		ok := func(http.ResponseWriter, *http.Request) {}
		all, some, off := receiveHooks(t, ok), receiveHooks(t, ok), receiveHooks(t, ok)
		var h hook
		res := c.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": all.URL + "/in?key=1", "secret": hookSecret}, &h)
		if h.Secret != hookSecret || !h.Active || h.Version != 1 || len(h.Events) != 0 || res.Header.Get("Location") != fmt.Sprintf("/api/v1/webhooks/%d", h.ID) {
			t.Errorf("%s %v", res.Body, res.Header)
		}
		var wanted hook
		c.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": some.URL, "secret": hookSecret, "events": []string{"meeting.cancelled"}}, &wanted)
		c.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": off.URL, "secret": hookSecret, "active": false}, nil)
		if res := c.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/webhooks/%d", h.ID), nil, nil); strings.Contains(string(res.Body), hookSecret) {
			t.Errorf("the secret is told again: %s", res.Body)
		}

		at := time.Now().Add(2 * time.Second).Truncate(time.Second)
		m := c.Book(t, with{
			"room_ids": []int64{room.ID}, "title": "The secret plan", "visibility": "private", "start": at, "end": at.Add(time.Hour),
			"attendees": []with{{"email": "spy@example.org", "name": "Spy"}},
		})
		eventually(t, soon(10), "it is told that the meeting was booked and starts", func() bool {
			got := all.told(t, m.ID)
			return len(got) == 2 && slices.Contains(got, "meeting.created") && slices.Contains(got, "meeting.started")
		})
		c.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/end", m.ID), nil, nil)
		other := c.Book(t, with{"room_ids": []int64{room.ID}, "title": "Review", "start": at.Add(2 * time.Hour), "end": at.Add(3 * time.Hour)})
		c.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/cancel", other.ID), with{}, nil)
		eventually(t, soon(10), "the rest is told", func() bool {
			return len(all.told(t, m.ID)) == 3 && len(all.told(t, other.ID)) == 2 && len(some.told(t, other.ID)) == 1
		})
		if off.count() > 0 || some.count() != 1 || all.count() != 5 {
			t.Errorf("%d posts to the one that is off, %d and %d to the others", off.count(), some.count(), all.count())
		}
		for _, p := range all.posts {
			if strings.Contains(p.body, "secret plan") || strings.Contains(p.body, "spy@") {
				t.Errorf("what is private was told: %s", p.body)
			}
			if p.attempt != "1" || p.key != fmt.Sprintf("%d:%s", h.ID, p.id) {
				t.Errorf("attempt %q, key %q", p.attempt, p.key)
			}
		}
		eventually(t, soon(10), "each delivery is recorded", func() bool { return len(hookDeliveries(t, c, h, "?state=delivered")) == 5 })
		for _, d := range hookDeliveries(t, c, h, "?state=delivered") {
			if d.Status == nil || *d.Status != 200 || d.Attempts != 1 || d.LastError != nil {
				t.Errorf("%+v", d)
			}
		}

		last := hookDeliveries(t, c, h, "?limit=1")[0]
		path := fmt.Sprintf("/webhooks/%d/deliveries/%d/resend", h.ID, last.ID)
		c.Want(t, http.StatusOK, http.MethodPost, path, nil, nil)
		eventually(t, soon(10), "it is told once more, as the same event", func() bool { return len(all.of(fmt.Sprint(last.EventID))) == 2 })
		c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodPost, fmt.Sprintf("/webhooks/%d/deliveries/%d/resend", wanted.ID, last.ID), nil)
		var ping struct {
			Status *int
			Error  *string
		}
		c.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/webhooks/%d/ping", wanted.ID), nil, &ping)
		if ping.Status == nil || *ping.Status != 200 || ping.Error != nil || some.count() != 2 {
			t.Errorf("ping: %+v, %d posts", ping, some.count())
		}
	})
}

// TestWebhook_faults: who does not listen is tried again with the same event, and who wants to
// hear nothing any more is left alone. What the process was not done with when it was killed is told.
func TestWebhook_faults(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = allowLoopback
		s := testenv.Server(t, on.Config)
		c := s.Admin(t)
		room := c.NewRoom(t, "Turing")
		var down atomic.Bool
		down.Store(true)
		shaky := receiveHooks(t, func(w http.ResponseWriter, _ *http.Request) {
			if down.Load() {
				http.Error(w, "the desk is closed", http.StatusBadGateway)
			}
		})
		gone := receiveHooks(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
		var h, g hook
		c.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": shaky.URL, "secret": hookSecret}, &h)
		c.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": gone.URL, "secret": hookSecret}, &g)
		start := time.Now().Add(24 * time.Hour).Truncate(time.Hour)
		m := c.Book(t, with{"room_ids": []int64{room.ID}, "title": "Review", "start": start, "end": start.Add(time.Hour)})
		eventually(t, soon(10), "it is tried", func() bool { return shaky.count() > 0 && gone.count() > 0 })
		eventually(t, soon(10), "it is noted why nothing came of it", func() bool {
			ds := hookDeliveries(t, c, h, "?state=pending")
			return len(ds) == 1 && ds[0].Status != nil && *ds[0].Status == 502 && strings.Contains(*ds[0].LastError, "the desk is closed")
		})
		eventually(t, soon(10), "who is gone is left alone", func() bool {
			c.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/webhooks/%d", g.ID), nil, &g)
			return !g.Active && g.Stopped != nil && strings.Contains(*g.Stopped, "410")
		})
		c.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", m.ID), with{"title": "Design review"}, nil)
		s.Kill()
		s.Start(t)
		c = s.Admin(t)
		down.Store(false)
		eventually(t, soon(40), "both events are told in the end", func() bool { return len(hookDeliveries(t, c, h, "?state=delivered")) == 2 })
		if gone.count() != 1 {
			t.Errorf("%d posts to who wants to hear nothing", gone.count())
		}
	})
}

// TestWebhook_refused: bad input is told of with all its faults, and nobody else may look.
func TestWebhook_refused(t *testing.T) {
	t.Parallel()
	c := testenv.Server(t, testenv.Config{}).Admin(t)
	p := c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/webhooks",
		with{"url": "http://127.0.0.1:1/", "secret": "short", "events": []string{"meeting.started", "meeting.moved", "meeting.started"}})
	var at []string
	for _, f := range p.Errors {
		at = append(at, f.Location+" "+f.Code)
	}
	if got, want := strings.Join(at, ", "), "body.url refused, body.secret out_of_range, body.events[1] unknown, body.events[2] duplicate"; got != want {
		t.Errorf("faults %s, want %s", got, want)
	}
	c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, "/webhooks/7", nil)
	c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, "/webhooks/7/deliveries", nil)
	var h hook
	c.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": "https://8.8.8.8/hook"}, &h)
	if len(h.Secret) < 16 {
		t.Errorf("secret %q", h.Secret)
	}
	one := fmt.Sprintf("/webhooks/%d", h.ID)
	c.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPatch, one, with{"active": false}, testenv.Header("If-Match", `"9"`))
	c.Want(t, http.StatusOK, http.MethodPatch, one, with{"active": false, "events": []string{"meeting.ended"}}, &h, testenv.Header("If-Match", `"1"`))
	if h.Active || h.Version != 2 || len(h.Events) != 1 {
		t.Errorf("%+v", h)
	}
	for _, role := range []string{"member", "manager"} {
		u := c.NewUser(t, role, role)
		u.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/webhooks", nil)
		u.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/webhooks", with{"url": "https://8.8.8.8/"})
	}
	c.Want(t, http.StatusNoContent, http.MethodDelete, one, nil, nil)
	c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodDelete, one, nil)
	var trail struct{ Items []struct{ Action string } }
	res := c.Want(t, http.StatusOK, http.MethodGet, "/audit?subject=webhook", nil, &trail)
	if len(trail.Items) != 3 || strings.Contains(string(res.Body), h.Secret) && h.Secret != "" {
		t.Errorf("%s", res.Body)
	}
}
