package tests

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// races is how often each race of decisions is run.
const races = 25

// court is two processes on one Postgres, people who decide at either, and what came of it.
type court struct {
	*testing.T
	mail               *testenv.MailServer
	a, b               *testenv.ServerInstance
	admin, boss, alice *testenv.Client
	chef, bob          *testenv.Client // at the other process
	hours              int             // that are booked
}

func newCourt(t *testing.T, yaml string) *court {
	t.Helper()
	on, mail := onServers(t), testenv.Mail(t)
	on.Mail, on.YAML = mail, yaml
	c := &court{T: t, mail: mail}
	c.a, c.b = twoServers(t, on.Config)
	c.admin = c.a.Admin(t)
	c.boss, c.chef = c.admin.NewUser(t, "Boss", "manager"), c.admin.NewUser(t, "Chef", "manager").At(c.b)
	c.alice, c.bob = c.admin.NewUser(t, "Alice", "member"), c.admin.NewUser(t, "Bob", "member").At(c.b)
	return c
}

// room for which both decide.
func (c *court) room(name string, approval with) testenv.Room {
	c.Helper()
	approval["required"], approval["approver_ids"] = true, []int64{c.boss.User.ID, c.chef.User.ID}
	return c.admin.NewRoom(c.T, name, with{"approval": approval})
}

// slot is an hour that nothing else was booked for.
func (c *court) slot() (start, end time.Time) {
	c.hours++
	start = inSeconds(86400 + 7200*c.hours)
	return start, start.Add(time.Hour)
}

// request is one of a guest's, too.
func (c *court) request(by *testenv.Client, room testenv.Room, start, end time.Time) testenv.Meeting {
	c.Helper()
	m := by.Book(c.T, testenv.Booking(start, end, []int64{room.ID}, with{"attendees": []any{with{"email": "guest@example.org", "name": "Guest"}}}))
	if m.Status != "pending" {
		c.Fatalf("%+v", m)
	}
	return m
}

// move of a contestant.
type move func() (*testenv.Response, error)

func decision(by *testenv.Client, m testenv.Meeting, verb string) move {
	return func() (*testenv.Response, error) {
		return by.Try(http.MethodPost, at("/meetings/%d/%s", m.ID, verb), with{})
	}
}

// meet lets them go at once, and tells what each was answered.
func (c *court) meet(moves ...move) []*testenv.Response {
	c.Helper()
	answers := make([]*testenv.Response, len(moves))
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i, move := range moves {
		wg.Go(func() {
			<-gate
			res, err := move()
			if err != nil {
				c.Error(err)
				res = &testenv.Response{}
			}
			answers[i] = res
		})
	}
	close(gate)
	wg.Wait()
	return answers
}

// lost reports whether the answer is that of a loser, and fails unless it tells the state that
// the meeting came into.
func (c *court) lost(res *testenv.Response, states ...string) bool {
	c.Helper()
	if res.Status == http.StatusOK {
		return false
	}
	var p struct{ Code, State string }
	if err := res.Decode(&p); err != nil || res.Status != http.StatusConflict || p.Code != "state_conflict" || !slices.Contains(states, p.State) {
		c.Errorf("%d %s, want 409 state_conflict and one of %v", res.Status, res.Body, states)
	}
	return true
}

// ends are how often a meeting was decided on or called off, by its history.
func ends(es []testenv.Entry) (all []string) {
	for _, e := range es {
		if e.Action != "created" {
			all = append(all, e.Action)
		}
	}
	return all
}

// wantTold fails unless these mails and no others were recorded about the meeting, in the
// ledger from which they are sent.
func (c *court) wantTold(m testenv.Meeting, want map[string]int) {
	c.Helper()
	got := map[string]int{}
	for _, n := range c.admin.Notifications(c.T, m.ID) {
		if n.Kind != "approval_request" {
			got[n.Kind+" "+n.Address]++
		}
	}
	if !maps.Equal(got, want) {
		c.Errorf("meeting %d: told %v, want %v", m.ID, got, want)
	}
}

// told by a decision.
func told(status string) map[string]int {
	switch status {
	case "confirmed":
		return map[string]int{"decision alice@example.org": 1, "invitation guest@example.org": 1}
	case "rejected":
		return map[string]int{"decision alice@example.org": 1}
	default:
		return map[string]int{}
	}
}

// TestApprovalRace runs decisions at two processes on one Postgres against each other, each
// race a hundred times: there is one outcome, the loser is told its state, and there is one
// set of history entries and mails.
func TestApprovalRace(t *testing.T) {
	t.Parallel()
	c := newCourt(t, "")
	room := c.room("Board", with{})

	t.Run("approve against cancel", func(t *testing.T) {
		seen := map[string]int{}
		for range races {
			start, end := c.slot()
			m := c.request(c.alice, room, start, end)
			answers := c.meet(decision(c.boss, m, "approve"), decision(c.alice.At(c.b), m, "cancel"))
			done := strings.Join(ends(c.admin.History(t, m.ID)), " ")
			seen[done]++
			want := map[string]int{}
			switch {
			case c.lost(answers[1]):
				t.Errorf("who cancels lost to an approval: %s", answers[1].Body) // a confirmed meeting may be cancelled, too
			case c.lost(answers[0], "cancelled"):
				if done != "cancelled" {
					t.Errorf("the approval came too late, but the history is %s", done)
				}
			default:
				if done != "confirmed cancelled" {
					t.Errorf("both succeeded, but the history is %s", done)
				}
				want = map[string]int{"decision alice@example.org": 1, "invitation guest@example.org": 1, "cancellation guest@example.org": 1}
			}
			if got := c.alice.Meeting(t, m.ID).Status; got != "cancelled" {
				t.Errorf("it is %s", got)
			}
			c.wantTold(m, want)
		}
		t.Log(seen)
	})

	t.Run("approve against another approver", func(t *testing.T) {
		seen := map[string]int{}
		for range races {
			start, end := c.slot()
			m := c.request(c.alice, room, start, end)
			answers := c.meet(decision(c.boss, m, "approve"), decision(c.chef, m, "reject"), decision(c.boss.At(c.b), m, "approve"))
			status := c.alice.Meeting(t, m.ID).Status
			seen[status]++
			won := 0
			for _, a := range answers {
				if !c.lost(a, status) {
					won++
				}
			}
			if done := ends(c.admin.History(t, m.ID)); won != 1 || !slices.Equal(done, []string{status}) {
				t.Errorf("%d succeeded, it is %s, the history is %v", won, status, done)
			}
			c.wantTold(m, told(status))
		}
		t.Log(seen)
	})

	t.Run("the link of a mail against another approver", func(t *testing.T) {
		var ms []testenv.Meeting
		for range races {
			start, end := c.slot()
			ms = append(ms, c.request(c.alice, room, start, end))
		}
		links := map[string]string{} // by meeting
		eventually(t, time.Now().Add(6*slack), "a mail for each", func() bool {
			for _, mail := range c.mail.Where("boss@example.org", "approval_request") {
				text := mail.Part("text/plain")
				if found := meetingLink.FindStringSubmatch(text); found != nil {
					links[found[1]] = decisionLink.FindString(text)
				}
			}
			return !slices.ContainsFunc(ms, func(m testenv.Meeting) bool { return links[fmt.Sprint(m.ID)] == "" })
		})
		seen := map[string]int{}
		for _, m := range ms {
			u, err := url.Parse(links[fmt.Sprint(m.ID)])
			if err != nil {
				t.Fatal(err)
			}
			byLink := func() (*testenv.Response, error) {
				return testenv.Browse(http.MethodPost, c.a.URL+u.Path, url.Values{"token": {u.Query().Get("token")}, "choice": {"approve"}})
			}
			answers := c.meet(byLink, decision(c.chef, m, "reject"), byLink)
			status := c.alice.Meeting(t, m.ID).Status
			seen[status]++
			won := 0
			for _, i := range []int{0, 2} {
				switch body := string(answers[i].Body); {
				case answers[i].Status == http.StatusSeeOther:
					won++
				case answers[i].Status != http.StatusConflict || strings.Contains(body, "<form") ||
					!strings.Contains(body, map[string]string{"confirmed": "Boss approved", "rejected": "Chef rejected"}[status]):
					t.Errorf("%s: %d %s", status, answers[i].Status, body)
				}
			}
			if !c.lost(answers[1], status) {
				won++
			}
			if done := ends(c.admin.History(t, m.ID)); won != 1 || !slices.Equal(done, []string{status}) {
				t.Errorf("%d succeeded, it is %s, the history is %v", won, status, done)
			}
			c.wantTold(m, told(status))
		}
		t.Log(seen)
	})

	t.Run("against the time-out", func(t *testing.T) {
		timeouts := []struct {
			room testenv.Room
			verb string
			lead time.Duration // the decision is made within so long before the deadline, or after it
			late time.Duration
		}{
			{c.room("Rejects", with{"timeout": "3s", "on_timeout": "reject"}), "approve", 20 * time.Millisecond, 0},
			{c.room("Approves", with{"timeout": "3s", "on_timeout": "approve"}), "reject", 5 * time.Millisecond, 20 * time.Millisecond},
		}
		seen := map[string]int{}
		var mu sync.Mutex
		for range races / 25 { // so many at a time: each has a deadline of its own
			var wg sync.WaitGroup
			for i := range 25 {
				to := timeouts[i%2]
				start, end := c.slot()
				m := c.request(c.alice, to.room, start, end)
				by := []*testenv.Client{c.boss, c.chef}[i/2%2]
				when := m.Approval.Deadline.Add(-to.lead + (to.lead+to.late)*time.Duration(i)/25)
				wg.Go(func() {
					time.Sleep(time.Until(when)) // the race is about this instant
					answers := c.meet(decision(by, m, to.verb))
					eventually(t, time.Now().Add(2*slack), "an outcome", func() bool { return len(ends(c.admin.History(t, m.ID))) > 0 })
					es := c.admin.History(t, m.ID)
					status := c.alice.Meeting(t, m.ID).Status
					last := es[len(es)-1]
					if byTimer := c.lost(answers[0], status); byTimer != (last.Actor.Kind == "timer") || len(es) != 2 || last.Action != status {
						t.Errorf("%d %s: it is %s, the history is %+v", answers[0].Status, answers[0].Body, status, es)
					}
					c.wantTold(m, told(status))
					mu.Lock()
					defer mu.Unlock()
					seen[to.room.Name+" "+last.Actor.Kind+" "+status]++
				})
			}
			wg.Wait()
		}
		t.Log(seen)
	})
	eventually(t, time.Now().Add(6*slack), "all sent", func() bool {
		return len(testenv.All[testenv.Notification](t, c.admin, "/notifications?state=pending")) == 0
	})
	wantNothingTwice(t, c.mail)
}

// TestApprovalRace_conflict: of requests for one slot that do not hold it one is approved, also
// against somebody who books it; the others go on waiting, and whoever agreed is told why.
func TestApprovalRace_conflict(t *testing.T) {
	t.Parallel()
	c := newCourt(t, "booking: { hold_pending: false }\n")
	room := c.room("Board", with{})
	seen := map[int]int{}
	for range races {
		start, end := c.slot()
		mine, other := c.request(c.alice, room, start, end), c.request(c.bob, room, start.Add(30*time.Minute), end.Add(30*time.Minute))
		book := func() (*testenv.Response, error) {
			return c.admin.At(c.b).Try(http.MethodPost, "/meetings", testenv.Booking(start.Add(30*time.Minute), end, []int64{room.ID}))
		}
		answers := c.meet(decision(c.boss, mine, "approve"), decision(c.chef, other, "approve"), book)
		won := -1
		for i, a := range answers {
			if a.Status == http.StatusOK || a.Status == http.StatusCreated {
				if won >= 0 {
					t.Errorf("both %d and %d got the slot", won, i)
				}
				won = i
			} else if p, err := a.Problem(); err != nil || a.Status != http.StatusConflict || p.Code != "room_conflict" || len(p.Conflicts) == 0 {
				t.Errorf("%d: %d %s", i, a.Status, a.Body)
			}
		}
		if won < 0 {
			t.Fatal("nobody got the slot")
		}
		seen[won]++
		for i, m := range []testenv.Meeting{mine, other} {
			status, done, mails := "pending", []string(nil), map[string]int{}
			if i == won {
				status, done = "confirmed", []string{"confirmed"}
				mails = map[string]int{"decision " + m.Organizer.Email: 1, "invitation guest@example.org": 1}
			}
			if got, es := c.admin.Meeting(t, m.ID).Status, ends(c.admin.History(t, m.ID)); got != status || !slices.Equal(es, done) {
				t.Errorf("request %d of %d: it is %s, the history is %v", i, won, got, es)
			}
			c.wantTold(m, mails)
		}
	}
	t.Log(seen)
}
