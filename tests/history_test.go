package tests

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// A mutation is one way in which a meeting changes, and the entry that it leaves in the history.
type mutation struct {
	name    string
	do      func() (meeting int64)
	action  string
	by      string // a person's name, or that of a delay job or another cause
	kind    string
	reason  string
	changes []string // fields; "status: confirmed > cancelled" also tells their content
}

// TestHistory: each change leaves an entry with who or which timer did it, from what, to what
// and why.
func TestHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		const reminders = "reminders: [{ before: start, offset: 20m, channels: [email] }]"
		on.YAML = "booking: { " + reminders + " }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, boss, chief := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Boss", "manager"), admin.NewUser(t, "Chief", "manager")
		day := inSeconds(24 * 3600)
		post := func(c *testenv.Client, id int64, what string, body any) int64 {
			t.Helper()
			c.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/%s", id, what), body, nil)
			return id
		}
		patch := func(c *testenv.Client, id int64, body any) int64 {
			t.Helper()
			c.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", id), body, nil)
			return id
		}
		free := func() testenv.Room { return admin.NewRoom(t, "Free") }
		guarded := func(fields with) testenv.Room {
			approval := with{"required": true, "approver_ids": []int64{boss.User.ID}}
			maps.Copy(approval, fields)
			return admin.NewRoom(t, "Guarded", with{"approval": approval})
		}
		book := func(room testenv.Room, fields ...with) int64 {
			t.Helper()
			return alice.Book(t, testenv.Booking(day, day.Add(time.Hour), []int64{room.ID}, fields...)).ID
		}
		soon := func(room testenv.Room, length time.Duration) int64 { // it takes place in a moment
			t.Helper()
			start := inSeconds(0)
			return alice.Book(t, testenv.Booking(start, start.Add(length), []int64{room.ID})).ID
		}
		running := func(room testenv.Room) int64 {
			t.Helper()
			id := soon(room, time.Hour)
			eventually(t, time.Now().Add(2*slack), "it began", func() bool { return len(entries(alice.History(t, id), "started")) == 1 })
			return id
		}
		moving := func() int64 { // confirmed, and a move waits
			id := post(boss, book(guarded(nil)), "approve", with{})
			return patch(alice, id, with{"start": day.Add(time.Hour), "end": day.Add(2 * time.Hour)})
		}
		series := func() (id int64, date int64) {
			var made struct {
				Series   struct{ ID int64 }
				Meetings []testenv.Meeting
			}
			alice.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(day, day.Add(time.Hour), []int64{free().ID},
				with{"timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=3"}), &made)
			return made.Series.ID, made.Meetings[0].ID
		}
		lounge := func(grace string) testenv.Room {
			return admin.NewRoom(t, "Lounge", with{"check_in": with{"required": true, "opens": "1m", "grace": grace}})
		}

		const user, timer, system = "user", "timer", "system"
		for _, m := range []mutation{
			{"book", func() int64 { return book(free()) }, "created", "Alice", user, "", []string{"status: <nil> > confirmed"}},
			{"ask", func() int64 { return book(guarded(nil)) }, "created", "Alice", user, "", []string{"status: <nil> > pending"}},
			{"override", func() int64 {
				room := admin.NewRoom(t, "Strict", with{"policy": with{"max_duration": "30m"}})
				return admin.Book(t, testenv.Booking(day, day.Add(time.Hour), []int64{room.ID}, with{"override": with{"reason": "the board comes"}})).ID
			}, "created", admin.User.Name, user, "the board comes", []string{"override", "status"}},
			{"wait", func() int64 {
				room := free()
				held := book(room)
				w := join(t, boss, testenv.Booking(day, day.Add(time.Hour), []int64{room.ID}))
				cancel(t, alice, held)
				return becomes(t, boss, w, "booked").MeetingID
			}, "created", "waitlist.look", timer, "waiting_list", []string{"status: <nil> > confirmed", "waitlist_id"}},

			{"title", func() int64 { return patch(alice, book(free()), with{"title": "Retrospective"}) }, "changed", "Alice", user, "", []string{"title: Design review > Retrospective"}},
			{"time", func() int64 { return patch(admin, book(free()), with{"end": day.Add(2 * time.Hour)}) }, "changed", admin.User.Name, user, "",
				[]string{"end: " + day.Add(time.Hour).Format(time.RFC3339) + " > " + day.Add(2*time.Hour).Format(time.RFC3339)}},
			{"rooms", func() int64 { return patch(alice, book(free()), with{"room_ids": []int64{free().ID}}) }, "changed", "Alice", user, "", []string{"room_ids"}},
			{"the rest", func() int64 {
				return patch(alice, book(free()), with{"description": "x", "visibility": "private", "attendees": []any{with{"email": "b@example.org"}},
					"reminders": []any{reminder("start", time.Minute, "email")}, "timezone": "Europe/Berlin"})
			}, "changed", "Alice", user, "", []string{"attendees: [] > [b@example.org]", "description", "reminders: [] > [1m before start by email]", "timezone: UTC > Europe/Berlin", "visibility: public > private"}},
			{"cancel", func() int64 { return post(alice, book(free()), "cancel", with{"reason": "ill"}) }, "cancelled", "Alice", user, "ill", []string{"status: confirmed > cancelled"}},

			{"approve", func() int64 { return post(boss, book(guarded(nil)), "approve", with{"comment": "fine"}) }, "confirmed", "Boss", user, "fine", []string{"status: pending > confirmed"}},
			{"reject", func() int64 { return post(boss, book(guarded(nil)), "reject", with{"comment": "no"}) }, "rejected", "Boss", user, "no", []string{"status: pending > rejected"}},
			{"nobody decides", func() int64 { return book(guarded(with{"timeout": "1s"})) }, "rejected", "approval.expire", timer, "timeout", []string{"status: pending > rejected"}},
			{"nobody objects", func() int64 { return book(guarded(with{"timeout": "1s", "on_timeout": "approve"})) }, "confirmed", "approval.expire", timer, "timeout", []string{"status: pending > confirmed"}},
			{"first level", func() int64 {
				return post(boss, book(guarded(with{"second_level": with{"approver_ids": []int64{chief.User.ID}}})), "approve", with{})
			}, "changed", "Boss", user, "", []string{"approval.level: 1 > 2"}},
			{"escalation", func() int64 {
				return book(guarded(with{"escalate_after": "1s", "escalate_to": []int64{chief.User.ID}}))
			}, "changed", "approval.escalate", timer, "escalated", []string{"approval.escalated_at", "approval.escalated_to: <nil> > Chief"}},
			{"a move waits", moving, "changed", "Alice", user, "", []string{"pending_change"}},
			{"a move is approved", func() int64 { return post(boss, moving(), "approve", with{"comment": "go"}) }, "changed", "Boss", user, "go", []string{"end", "pending_change", "start"}},
			{"a move is rejected", func() int64 { return post(boss, moving(), "reject", with{"comment": "stay"}) }, "changed", "Boss", user, "stay", []string{"pending_change"}},
			{"cancelled while a move waits", func() int64 { return post(alice, moving(), "cancel", with{}) }, "cancelled", "Alice", user, "", []string{"pending_change", "status: confirmed > cancelled"}},

			{"start", func() int64 { return soon(free(), time.Hour) }, "started", "meeting.start", timer, "", []string{"status: confirmed > in_progress"}},
			{"end", func() int64 { return patch(alice, running(free()), with{"end": inSeconds(5)}) }, "ended", "meeting.end", timer, "", []string{"status: in_progress > ended"}},
			{"check in", func() int64 { return post(alice, soon(lounge("10m"), time.Hour), "check-in", nil) }, "checked_in", "Alice", user, "", []string{"checked_in_at"}},
			{"nobody comes", func() int64 { return soon(lounge("1s"), time.Hour) }, "released", "meeting.no_show", timer, "no_show", []string{"status"}},
			{"end early", func() int64 { return post(alice, running(free()), "end", nil) }, "ended", "Alice", user, "", []string{"status: in_progress > ended"}},
			{"extend", func() int64 {
				id := running(free())
				return post(alice, id, "extend", with{"end": alice.Meeting(t, id).End.Add(time.Hour)})
			}, "changed", "Alice", user, "", []string{"end"}},
			{"release", func() int64 { return post(admin, running(free()), "release", with{"reason": "empty"}) }, "released", admin.User.Name, user, "empty", []string{"status: in_progress > released"}},

			{"book a series", func() int64 { _, date := series(); return date }, "created", "Alice", user, "series", []string{"status: <nil> > confirmed"}},
			{"change a series", func() int64 {
				id, date := series()
				alice.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", id), with{"title": "Other"}, nil)
				return date
			}, "changed", "Alice", user, "series", []string{"title: Design review > Other"}},
			{"cancel a series", func() int64 {
				id, date := series()
				alice.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/cancel", id), with{"scope": "all", "reason": "done"}, nil)
				return date
			}, "cancelled", "Alice", user, "series: done", []string{"status: confirmed > cancelled"}},

			{"the room asks to check in", func() int64 {
				room := free()
				id := book(room)
				admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", room.ID), with{"check_in": with{"required": true, "grace": "5m"}}, nil)
				return id
			}, "changed", "room", system, "room_check_in", []string{"check_in.until: <nil> > " + day.Add(5*time.Minute).Format(time.RFC3339)}},
			{"other default reminders", func() int64 {
				id := book(free(), with{"reminders": nil})
				server.Configure(t, strings.Replace(server.Config(t), "offset: 20m", "offset: 30m", 1))
				return id
			}, "changed", "configuration", system, "default_reminders", []string{"reminders: [20m before start by email] > [30m before start by email]"}},
		} {
			id := m.do()
			var found []testenv.Entry
			eventually(t, time.Now().Add(2*slack), m.name+": an entry "+m.action, func() bool {
				found = entries(admin.History(t, id), m.action)
				return len(found) > 0
			})
			m.check(t, found[len(found)-1])
		}
	})
}

func (m mutation) check(t *testing.T, e testenv.Entry) {
	t.Helper()
	if e.Actor.Kind != m.kind || e.Actor.Name != m.by || (e.Actor.ID != 0) != (m.kind == "user") {
		t.Errorf("%s: done by %+v, want %s %s", m.name, e.Actor, m.kind, m.by)
	}
	if e.Reason != m.reason {
		t.Errorf("%s: reason %q, want %q", m.name, e.Reason, m.reason)
	}
	if late := time.Since(e.At); late < -time.Second || late > time.Hour {
		t.Errorf("%s: at %v", m.name, e.At)
	}
	var fields []string
	for _, want := range m.changes {
		field, content, told := strings.Cut(want, ": ")
		fields = append(fields, field)
		c := e.Changes[field]
		if got := fmt.Sprint(c.From, " > ", c.To); told && got != content {
			t.Errorf("%s: %s is %q, want %q", m.name, field, got, content)
		}
	}
	if got := slices.Sorted(maps.Keys(e.Changes)); !slices.Equal(got, fields) {
		t.Errorf("%s: changes %v, want %v", m.name, got, fields)
	}
}
