package tests

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// wait is a place in line as the API shows it, in part.
type wait struct {
	ID         int64        `json:"id"`
	User       testenv.User `json:"user"`
	State      string       `json:"state"`
	Position   int          `json:"position"`
	ExpiresAt  time.Time    `json:"expires_at"`
	OfferUntil time.Time    `json:"offer_until"`
	MeetingID  int64        `json:"meeting_id"`
	Reason     string       `json:"reason"`
	Detail     string       `json:"detail"`
	Meeting    struct {
		Title   string    `json:"title"`
		Start   time.Time `json:"start"`
		RoomIDs []int64   `json:"room_ids"`
	} `json:"meeting"`
}

func join(t *testing.T, c *testenv.Client, booking with) wait {
	t.Helper()
	var w wait
	c.Want(t, http.StatusCreated, http.MethodPost, "/waitlist", booking, &w)
	return w
}

func waitOf(t *testing.T, c *testenv.Client, id int64) wait {
	t.Helper()
	var w wait
	c.Want(t, http.StatusOK, http.MethodGet, at("/waitlist/%d", id), nil, &w)
	return w
}

// becomes waits until a place in line is in a state.
func becomes(t *testing.T, c *testenv.Client, w wait, state string) wait {
	t.Helper()
	eventually(t, time.Now().Add(2*slack), at("wait %d is %s", w.ID, state), func() bool {
		w = waitOf(t, c, w.ID)
		return w.State == state
	})
	return w
}

func cancel(t *testing.T, c *testenv.Client, id int64) {
	t.Helper()
	c.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", id), with{}, nil)
}

// TestWaitlist: who finds a room taken waits, and gets it in turn when it becomes free, in
// whatever way; nobody sees who waits but themselves and admins.
func TestWaitlist(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob, carol := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member"), admin.NewUser(t, "Carol", "member")
		room, other := admin.NewRoom(t, "Turing"), admin.NewRoom(t, "Hopper")
		start := inSeconds(3600)
		booking := testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"attendees": []any{with{"email": "guest@example.org", "name": "Guest"}}})

		invited := func(n int) { // before a cancellation supersedes the invitation
			t.Helper()
			eventually(t, time.Now().Add(slack), at("%d invitations of the guest", n), func() bool {
				return len(mail.Where("guest@example.org", "invitation")) == n
			})
		}

		booking["wait"] = true
		held := alice.Book(t, booking) // free: an ordinary booking
		var first wait
		res := bob.Want(t, http.StatusAccepted, http.MethodPost, "/meetings", booking, &first)
		if first.State != "waiting" || first.Position != 1 || first.User.ID != bob.User.ID || first.Meeting.Title != "Design review" ||
			!first.ExpiresAt.Equal(start) || res.Header.Get("Location") != at("/api/v1/waitlist/%d", first.ID) {
			t.Errorf("the first in line: %+v, %v", first, res.Header)
		}
		delete(booking, "wait")
		second := join(t, carol, booking)
		if second.Position != 2 {
			t.Errorf("the second in line: %+v", second)
		}
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking)
		for _, bad := range []with{
			testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"until": start.Add(-2 * time.Hour)}),
			testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"until": "soon"}),
			testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"override": with{"reason": "x"}}),
		} {
			alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/waitlist", bad)
		}

		// Nobody sees who waits.
		for _, c := range []*testenv.Client{alice, carol} {
			c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, at("/waitlist/%d", first.ID), nil)
			c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodDelete, at("/waitlist/%d", first.ID), nil)
			c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodPost, at("/waitlist/%d/accept", first.ID), nil)
		}
		for c, want := range map[*testenv.Client]int{alice: 0, bob: 1, carol: 1, admin: 2} {
			if ws := testenv.All[wait](t, c, at("/waitlist?state=waiting&room_id=%d&user_id=%d", room.ID, 0)); len(ws) != want {
				t.Errorf("%s sees %d waits, want %d", c.User.Name, len(ws), want)
			}
		}

		invited(1)
		begin := time.Now()
		cancel(t, alice, held.ID)
		first = becomes(t, bob, first, "booked")
		t.Logf("given %v after the cancellation was asked for", time.Since(begin).Round(time.Millisecond))
		m := bob.Meeting(t, first.MeetingID)
		if m.Status != "confirmed" || m.Organizer.ID != bob.User.ID || !m.Start.Equal(start) {
			t.Errorf("what the first in line got: %+v", m)
		}
		created := entries(bob.History(t, m.ID), "created")
		if len(created) != 1 || created[0].Actor.Kind != "timer" || created[0].Actor.Name != "waitlist.look" || created[0].Reason != "waiting_list" ||
			created[0].Changes["waitlist_id"].To != float64(first.ID) {
			t.Errorf("its history: %+v", created)
		}
		if w := waitOf(t, carol, second.ID); w.State != "waiting" || w.Position != 1 {
			t.Errorf("the second: %+v", w)
		}
		bob.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/waitlist/%d/decline", first.ID), nil)

		// Other ways: a move, and two rooms of which one is free.
		both := join(t, alice, testenv.Booking(start, start.Add(time.Hour), []int64{other.ID, room.ID}))
		invited(2)
		bob.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"room_ids": []int64{other.ID}}, nil)
		second = becomes(t, carol, second, "booked")
		invited(3)
		cancel(t, carol, second.MeetingID)
		cancel(t, bob, m.ID)
		both = becomes(t, alice, both, "booked")
		if got := alice.Meeting(t, both.MeetingID).RoomIDs; !slices.Equal(got, []int64{other.ID, room.ID}) {
			t.Errorf("rooms %v", got)
		}

		// A wait ends, and is left.
		soon := join(t, bob, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"until": inSeconds(10)}))
		left := join(t, carol, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
		carol.Want(t, http.StatusNoContent, http.MethodDelete, at("/waitlist/%d", left.ID), nil, nil)
		if w := becomes(t, bob, soon, "expired"); w.Reason != "until" {
			t.Errorf("ended: %+v", w)
		}
		cancel(t, alice, both.MeetingID)
		time.Sleep(300 * time.Millisecond) // for what must not come
		if w := waitOf(t, carol, left.ID); w.State != "withdrawn" {
			t.Errorf("left: %+v", w)
		}
		alice.Book(t, booking)
		for _, want := range []struct {
			to, kind string
			n        int
		}{{"bob", "waitlist_booked", 1}, {"carol", "waitlist_booked", 1}, {"alice", "waitlist_booked", 1}, {"bob", "waitlist_expired", 1}} {
			eventually(t, time.Now().Add(slack), at("%d mails %s to %s", want.n, want.kind, want.to), func() bool {
				return len(mail.Where(want.to+"@example.org", want.kind)) == want.n
			})
		}
		invited(4)
		wantNothingTwice(t, mail)
	})
}

// TestWaitlist_offers: what becomes free is held for the first in line until a deadline, which
// survives that the program is killed; then for the next, who accepts.
func TestWaitlist_offers(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		on.YAML = "booking: { waiting_list: { offer: 20s } }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob, carol := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member"), admin.NewUser(t, "Carol", "member")
		room := admin.NewRoom(t, "Turing")
		start := inSeconds(3600)
		booking := testenv.Booking(start, start.Add(time.Hour), []int64{room.ID})
		held := alice.Book(t, booking)
		first, second := join(t, bob, booking), join(t, carol, booking)
		cancel(t, alice, held.ID)
		first = becomes(t, bob, first, "offered")
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking)
		var busy struct {
			Items []struct{ Title, Status string }
		}
		alice.Want(t, http.StatusOK, http.MethodGet, at("/rooms/%d/free-busy?from=%s", room.ID, start.Format(time.RFC3339)), nil, &busy)
		if len(busy.Items) != 1 || busy.Items[0].Title != "Busy" || busy.Items[0].Status != "pending" {
			t.Errorf("busy: %+v", busy)
		}
		eventually(t, time.Now().Add(slack), "the mail about the offer recorded as sent", func() bool { // otherwise it is sent again
			return slices.ContainsFunc(testenv.All[testenv.Notification](t, admin, "/notifications"), func(n testenv.Notification) bool {
				return n.Kind == "waitlist_offer" && n.State == "sent"
			})
		})
		server.Kill()
		if on.redis != nil {
			on.redis.Do(t, "FLUSHALL")
		}
		server.Configure(t, strings.Replace(server.Config(t), "offer: 20s", "offer: 10m", 1)) // for the next
		server.Start(t)

		second = becomes(t, carol, second, "offered")
		if late := time.Since(first.OfferUntil); late > slack {
			t.Logf("passed on %v after the deadline", late)
		}
		if w := waitOf(t, bob, first.ID); w.State != "expired" || w.Reason != "offer" {
			t.Errorf("not accepted: %+v", w)
		}
		bob.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/waitlist/%d/accept", first.ID), nil)
		carol.Want(t, http.StatusOK, http.MethodPost, at("/waitlist/%d/accept", second.ID), nil, &second)
		m := carol.Meeting(t, second.MeetingID)
		if second.State != "booked" || m.Status != "confirmed" || m.Organizer.ID != carol.User.ID {
			t.Errorf("accepted: %+v, %+v", second, m)
		}
		if created := entries(carol.History(t, m.ID), "created"); len(created) != 1 || created[0].Actor.ID != carol.User.ID || created[0].Reason != "waiting_list" {
			t.Errorf("its history: %+v", created)
		}
		carol.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/waitlist/%d/accept", second.ID), nil)
		for _, want := range []struct{ to, kind string }{{"bob", "waitlist_offer"}, {"bob", "waitlist_expired"}, {"carol", "waitlist_offer"}} {
			eventually(t, time.Now().Add(slack), at("a mail %s to %s", want.kind, want.to), func() bool {
				return len(mail.Where(want.to+"@example.org", want.kind)) == 1
			})
		}
		wantNothingTwice(t, mail)
	})
}

// TestWaitlist_killed: the program dies behind the commit that freed a slot, before anybody was
// told; while the slot is given; and behind that. The first in line gets it all the same, once.
func TestWaitlist_killed(t *testing.T) {
	for _, point := range []string{"change.after", "waitlist.before", "waitlist.after"} {
		t.Run(point, func(t *testing.T) {
			onBoth(t, func(t *testing.T, on setup) {
				mail := testenv.Mail(t)
				on.Mail, on.Tags = mail, "failpoint"
				server := testenv.PrepareServer(t, on.Config)
				server.Setenv("FAILPOINT", point)
				server.Start(t)
				admin := server.Admin(t)
				bob, carol := admin.NewUser(t, "Bob", "member"), admin.NewUser(t, "Carol", "member")
				room := admin.NewRoom(t, "Turing")
				start := inSeconds(3600)
				booking := testenv.Booking(start, start.Add(time.Hour), []int64{room.ID})
				held := admin.Book(t, booking)
				first, second := join(t, bob, booking), join(t, carol, booking)
				_, _ = admin.Try(http.MethodPost, at("/meetings/%d/cancel", held.ID), with{}) // it may die over it
				if !server.AwaitKilled(4*slack) || !strings.Contains(server.Log(), "failpoint "+point) {
					t.Fatalf("it did not die there\n%s", server.Log())
				}
				if on.redis != nil {
					on.redis.Do(t, "FLUSHALL")
				}
				server.Setenv("FAILPOINT", "")
				begin := time.Now()
				server.Start(t)
				first = becomes(t, bob, first, "booked")
				t.Logf("given %v after the program was started again", time.Since(begin).Round(time.Millisecond))
				if w := waitOf(t, carol, second.ID); w.State != "waiting" {
					t.Errorf("the second: %+v", w)
				}
				if n := len(entries(bob.History(t, first.MeetingID), "created")); n != 1 {
					t.Errorf("created %d times", n)
				}
				eventually(t, time.Now().Add(2*slack), "a mail", func() bool { return len(mail.Where("bob@example.org", "waitlist_booked")) == 1 })
				if ms := testenv.All[testenv.Meeting](t, admin, "/meetings?status=confirmed"); len(ms) != 1 {
					t.Errorf("%d meetings", len(ms))
				}
				wantNothingTwice(t, mail)
			})
		})
	}
}

// TestWaitlist_instances: ten wait for each slot at two processes; the slots become free at
// once, at both. The first in each line gets it, and nothing overlaps.
func TestWaitlist_instances(t *testing.T) {
	t.Parallel()
	const slots, people = 20, 10
	on := onServers(t)
	a, b := twoServers(t, on.Config)
	admin := a.Admin(t)
	clients := []*testenv.Client{admin, admin.At(b)}
	var users []*testenv.Client
	for i := range people {
		users = append(users, admin.NewUser(t, at("User%d", i), "member"))
	}
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(3600)
	var held []testenv.Meeting
	lines := make([][]wait, slots)
	for i := range slots {
		from := start.Add(time.Duration(i) * time.Hour)
		booking := testenv.Booking(from, from.Add(time.Hour), []int64{room.ID})
		held = append(held, admin.Book(t, booking))
		for j := range people {
			user := users[(i+j)%people]
			lines[i] = append(lines[i], join(t, user.At([]*testenv.ServerInstance{a, b}[j%2]), booking))
		}
	}
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i, m := range held {
		wg.Go(func() {
			<-begin
			_, _ = clients[i%2].Try(http.MethodPost, at("/meetings/%d/cancel", m.ID), with{})
		})
	}
	close(begin)
	wg.Wait()
	for i, line := range lines {
		first := becomes(t, admin, line[0], "booked")
		if m := admin.Meeting(t, first.MeetingID); m.Organizer.ID != users[i%people].User.ID || m.Status != "confirmed" {
			t.Errorf("slot %d: %+v", i, m)
		}
	}
	for i, line := range lines {
		for _, w := range line[1:] {
			if got := waitOf(t, admin, w.ID); got.State != "waiting" {
				t.Errorf("slot %d: %+v", i, got)
			}
		}
	}
	if ms := testenv.All[testenv.Meeting](t, admin, "/meetings?status=confirmed"); len(ms) != slots {
		t.Errorf("%d meetings for %d slots", len(ms), slots)
	}
}
