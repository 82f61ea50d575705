package tests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestDoor: a tablet is paired by a code that somebody reads out, shows the day of its room
// without private titles, books, checks in, extends and ends there, nowhere else and nothing
// else, until it is removed.
func TestDoor(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		mona, max, alice := admin.NewUser(t, "Mona", "manager"), admin.NewUser(t, "Max", "manager"), admin.NewUser(t, "Alice", "member")
		asks := with{"approval": with{"required": true, "approver_ids": []int64{mona.User.ID}}}
		room := admin.NewRoom(t, "Turing", with{"timezone": noon(t).String(), "policy": with{"step": "1m"}})
		other, asked := admin.NewRoom(t, "Other"), admin.NewRoom(t, "Asked", asks)

		type door struct {
			State, Title string
			Now          time.Time
			Until        *time.Time
			Current      *struct{ ID int64 }
			Book         []int `json:"book_minutes"`
			Choices      []struct {
				Minutes int
				End     time.Time
			} `json:"book"`
			Closed []struct{ Kind, Reason string }
			Today  []struct {
				ID               int64
				Title, Organizer string
				Status           string
				End              time.Time
				CheckedInAt      *time.Time `json:"checked_in_at"`
				May              []string
				Extend           []struct{ Minutes int }
			}
			Code    struct{ URL string } `json:"door_code"`
			BookURL string               `json:"book_url"`
		}
		code := func(c *testenv.Client, r testenv.Room) string {
			t.Helper()
			var p struct {
				Code      string
				ExpiresAt time.Time `json:"expires_at"`
			}
			c.Want(t, http.StatusCreated, http.MethodPost, fmt.Sprintf("/rooms/%d/door/pairing", r.ID), nil, &p)
			if len(p.Code) != 12 || p.ExpiresAt.Before(time.Now().Add(8*time.Minute)) {
				t.Errorf("a code: %+v", p)
			}
			return p.Code
		}
		pair := func(code string) *testenv.Client {
			t.Helper()
			var paired struct {
				Token string
				Room  struct{ ID int64 }
			}
			device := server.Anonymous()
			device.Want(t, http.StatusOK, http.MethodPost, "/door/pair", with{"code": code, "name": "Tablet"}, &paired)
			device.Token = paired.Token
			return device
		}
		pairing := fmt.Sprintf("/rooms/%d/door/pairing", room.ID)
		for _, who := range []*testenv.Client{alice, max} {
			who.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, pairing, nil)
		}
		replaced := code(admin, room)
		used := code(admin, room)
		anybody := server.Anonymous()
		anybody.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/door/pair", with{"code": replaced})
		tablet := pair(used)
		anybody.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/door/pair", with{"code": used})
		elsewhere := pair(code(mona, asked))

		show := func(c *testenv.Client) (d door) {
			t.Helper()
			raw := c.Want(t, http.StatusOK, http.MethodGet, "/door", nil, &d)
			if strings.Contains(string(raw.Body), "rival") || strings.Contains(string(raw.Body), "example.org") {
				t.Errorf("the door tells too much: %s", raw.Body)
			}
			return d
		}
		if d := show(tablet); d.State != "free" || !slices.Equal(d.Book, []int{15, 30, 60}) || !strings.Contains(d.Code.URL, "/check-in?token=") {
			t.Errorf("a free room: %+v", d)
		} else if len(d.Choices) != 3 || d.Choices[2].Minutes != 60 || d.Choices[2].End.Sub(d.Now).Round(time.Minute) != time.Hour || !strings.HasSuffix(d.BookURL, at("/?book=%d", room.ID)) {
			t.Errorf("what may be booked: %+v at %s", d.Choices, d.BookURL)
		}
		if people := string(admin.Want(t, http.StatusOK, http.MethodGet, "/users?limit=500", nil, nil).Body); strings.Contains(people, "door.invalid") {
			t.Errorf("doors are among the people: %s", people)
		}
		for _, call := range [][2]string{
			{"GET", "/me"}, {"GET", "/rooms"}, {"GET", "/meetings"}, {"POST", "/meetings"}, {"POST", "/me/tokens"}, {"POST", pairing}, {"GET", "/events"}, {"POST", "/auth/logout"},
		} {
			tablet.WantProblem(t, http.StatusForbidden, "forbidden", call[0], call[1], nil)
		}
		admin.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/door", nil)
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/me/tokens", with{"name": "x", "scopes": []string{fmt.Sprintf("door:%d", room.ID)}})

		// Somebody walks in.
		var d door
		for _, minutes := range []any{20, "15", nil} {
			tablet.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/door/book", with{"minutes": minutes})
		}
		tablet.Want(t, http.StatusCreated, http.MethodPost, "/door/book", with{"minutes": 15}, &d)
		if d.State != "in_use" || d.Current == nil || len(d.Today) != 1 || d.Today[0].CheckedInAt == nil || len(d.Book) != 0 || !slices.Equal(d.Today[0].May, []string{"end", "extend"}) {
			t.Fatalf("booked at the door: %+v", d)
		}
		tablet.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/door/book", with{"minutes": 15})
		path := fmt.Sprintf("/door/meetings/%d/", d.Current.ID)
		before := d.Today[0].End
		tablet.Want(t, http.StatusOK, http.MethodPost, path+"extend", with{"minutes": 30}, &d)
		if !d.Today[0].End.Equal(before.Add(30 * time.Minute)) {
			t.Errorf("extended: %+v", d)
		}

		// Only so far as nothing is in the way.
		behind := d.Today[0].End.Truncate(time.Minute).Add(45 * time.Minute)
		next := alice.Book(t, testenv.Booking(behind, behind.Add(time.Hour), []int64{room.ID}))
		if d = show(tablet); len(d.Today) != 2 || len(d.Today[0].Extend) != 2 || d.Today[0].Extend[1].Minutes != 30 || len(d.Today[1].Extend) != 0 {
			t.Errorf("by how much it may be extended: %+v", d)
		}
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", next.ID), nil, nil)
		elsewhere.WantProblem(t, http.StatusNotFound, "not_found", http.MethodPost, path+"end", nil)
		d = door{}
		tablet.Want(t, http.StatusOK, http.MethodPost, path+"end", nil, &d)
		if d.State != "free" || d.Current != nil || len(d.Today) != 1 || d.Today[0].Status != "ended" || len(d.Book) != 3 {
			t.Errorf("ended: %+v", d)
		}
		for _, e := range admin.History(t, d.Today[0].ID) {
			if e.Actor.Name != "door of Turing" && e.Actor.Kind != "timer" {
				t.Errorf("%s was by %+v", e.Action, e.Actor)
			}
		}

		// Somebody is expected, and the device hears of all that happens here: what comes, and what moves away.
		changes, res, err := openAt(t, tablet, "/door/events", "")
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("/door/events: %v %v", res, err)
		}
		heard := 1 // ready
		hears := func(what string) {
			t.Helper()
			heard++
			eventually(t, time.Now().Add(slack), what, func() bool { return len(changes.all()) >= heard })
			if last := changes.all()[heard-1]; last.name != "changed" || last.raw != "{}" || len(changes.all()) > heard {
				t.Errorf("%s: heard %+v", what, changes.all())
			}
		}
		eventually(t, time.Now().Add(slack), "the stream", func() bool { return len(changes.all()) == 1 })
		elsewhere.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/events", nil)
		moved := alice.Book(t, testenv.Booking(inSeconds(7200).Truncate(time.Minute), inSeconds(10800).Truncate(time.Minute), []int64{room.ID}))
		hears("a booking")
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", moved.ID), with{"room_ids": []int64{other.ID}}, nil)
		hears("one that moves away")
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", moved.ID), with{"title": "Not here any more"}, nil)
		start := inSeconds(4)
		m := alice.Book(t, testenv.Booking(start.Truncate(time.Minute).Add(6*time.Minute), start.Truncate(time.Minute).Add(66*time.Minute), []int64{room.ID}, with{"visibility": "private", "title": "Takeover of a rival"}))
		hears("nothing but what happens here")
		d = show(tablet)
		if d.State != "expected" || d.Current == nil || d.Current.ID != m.ID || len(d.Book) != 0 {
			t.Errorf("expected: %+v", d)
		}
		if now := d.Today[len(d.Today)-1]; now.Title != "Busy" || now.Organizer != "" || !slices.Equal(now.May, []string{"check_in"}) {
			t.Errorf("a private meeting: %+v", now)
		}
		tablet.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/door/meetings/%d/check-in", m.ID), nil, nil)
		tablet.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, fmt.Sprintf("/door/meetings/%d/end", m.ID), nil)
		if es := entries(alice.History(t, m.ID), "checked_in"); len(es) != 1 || es[0].Actor.Name != "door of Turing" {
			t.Errorf("checked in: %+v", es)
		}
		far := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{other.ID}))
		tablet.WantProblem(t, http.StatusNotFound, "not_found", http.MethodPost, fmt.Sprintf("/door/meetings/%d/check-in", far.ID), nil)

		// Where somebody has to agree nothing is given out at the door.
		if d := show(elsewhere); len(d.Book) != 0 {
			t.Errorf("a room that asks: %+v", d)
		}
		if p := elsewhere.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/door/book", with{"minutes": 15}); len(p.Errors) != 1 || p.Errors[0].Code != "needs_approval" {
			t.Errorf("booked where somebody has to agree: %+v", p)
		}

		devices := fmt.Sprintf("/rooms/%d/door/devices", room.ID)
		list := testenv.All[struct {
			ID   int64
			Name string
		}](t, admin, devices)
		if len(list) != 1 || list[0].Name != "Tablet" {
			t.Fatalf("devices: %+v", list)
		}
		max.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, devices, nil)
		mona.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodDelete, fmt.Sprintf("%s/%d", devices, list[0].ID), nil)
		admin.Want(t, http.StatusNoContent, http.MethodDelete, fmt.Sprintf("%s/%d", devices, list[0].ID), nil, nil)
		tablet.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/door", nil)

		open := code(admin, room)
		for range 60 { // by nobody: they end no code
			anybody.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/door/pair", with{"code": "none"})
		}
		pair(open)
		if got := mail.Where(fmt.Sprintf("door-%d@door.invalid", room.ID), ""); len(got) != 0 {
			t.Errorf("%d mails to a door", len(got))
		}
	})
}
