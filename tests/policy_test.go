package tests

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// violation is one broken rule of a policy_violation.
type violation struct {
	Location   string    `json:"location"`
	Code       string    `json:"code"`
	RoomID     int64     `json:"room_id"`
	Limit      any       `json:"limit"`
	Actual     any       `json:"actual"`
	Used       any       `json:"used"`
	Per        string    `json:"per"`
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	BlackoutID int64     `json:"blackout_id"`
	Reason     string    `json:"reason"`
}

// violations are those of a request that rules refuse, by "code room".
func violations(t *testing.T, c *testenv.Client, method, path string, body any) map[string]violation {
	t.Helper()
	res := c.Want(t, http.StatusUnprocessableEntity, method, path, body, nil)
	var p struct {
		Code   string
		Errors []violation
	}
	if err := json.Unmarshal(res.Body, &p); err != nil || p.Code != "policy_violation" {
		t.Fatalf("%v: %s", err, res.Body)
	}
	found := map[string]violation{}
	for _, v := range p.Errors {
		found[v.Code+at(" %d", v.RoomID)] = v
	}
	return found
}

// aMonday is the next but one, at midnight UTC.
func aMonday() time.Time {
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 7)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// TestPolicy: every broken rule of every room is told at once, with what it allows and what
// was wanted, and hours across midnight are hours.
func TestPolicy(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		day := aMonday()
		hour := func(h float64) time.Time { return day.Add(time.Duration(h * float64(time.Hour))) }
		lab := admin.NewRoom(t, "Lab", with{"capacity": 1, "policy": with{"step": "15m", "max_duration": "2h"}})
		bar := admin.NewRoom(t, "Bar", with{"policy": with{
			"opening_hours": []any{with{"days": []string{"MO"}, "from": "20:00", "to": "02:00"}}, "min_duration": "30m",
		}})
		got := violations(t, alice, http.MethodPost, "/meetings", testenv.Booking(hour(9.1), hour(12), []int64{lab.ID, bar.ID}, with{
			"attendees": []any{with{"email": "a@example.org"}, with{"email": "b@example.org"}},
		}))
		want := map[string]violation{
			at("step %d", lab.ID):          {Location: "body.start", Code: "step", RoomID: lab.ID, Limit: "15m", Actual: "09:06"},
			at("max_duration %d", lab.ID):  {Location: "body.end", Code: "max_duration", RoomID: lab.ID, Limit: "2h", Actual: "2h54m"},
			at("capacity %d", lab.ID):      {Location: "body.attendees", Code: "capacity", RoomID: lab.ID, Limit: 1.0, Actual: 2.0},
			at("opening_hours %d", bar.ID): {Location: "body.start", Code: "opening_hours", RoomID: bar.ID, Limit: "MO 20:00-02:00", Actual: day.Format(time.DateOnly) + " 09:06 to " + day.Format(time.DateOnly) + " 12:00"},
		}
		if !maps.Equal(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		alice.Book(t, testenv.Booking(hour(23), hour(25.5), []int64{bar.ID}))
		if _, closed := violations(t, alice, http.MethodPost, "/meetings", testenv.Booking(hour(25.5), hour(26.5), []int64{bar.ID}))[at("opening_hours %d", bar.ID)]; !closed {
			t.Error("the bar is open after two")
		}
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPatch, at("/rooms/%d", lab.ID), with{"policy": with{"step": "7m"}})
	})
}

// TestQuota: what one person may have of a room in a week. A night counts in both weeks, each
// with its hours; what is cancelled counts no more; others are not concerned.
func TestQuota(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Lab", with{"timezone": "Europe/Berlin", "policy": with{"quota": with{"per": "week", "duration": "5h"}}})
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		y, m, d := aMonday().Date()
		week := time.Date(y, m, d, 0, 0, 0, 0, berlin)
		book := func(from, to int) with {
			return testenv.Booking(week.Add(time.Duration(from)*time.Hour), week.Add(time.Duration(to)*time.Hour), []int64{room.ID})
		}
		night := alice.Book(t, book(-2, 2)) // from the Sunday before
		alice.Book(t, book(9, 12))          // full
		v := violations(t, alice, http.MethodPost, "/meetings", book(14, 15))[at("quota %d", room.ID)]
		if v.Limit != "5h" || v.Used != "5h" || v.Actual != "6h" || v.Per != "week" || !v.Start.Equal(week) || !v.End.Equal(week.AddDate(0, 0, 7)) {
			t.Errorf("the refusal: %+v", v)
		}
		bob.Book(t, book(14, 15))
		alice.Book(t, book(-20, -18)) // the week before has two hours of the night
		if v := violations(t, alice, http.MethodPatch, at("/meetings/%d", night.ID), with{"end": week.Add(4 * time.Hour).Format(time.RFC3339)}); len(v) != 1 {
			t.Errorf("a longer night: %+v", v)
		}
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", night.ID), nil, nil)
		alice.Book(t, book(16, 18))
	})
}

// TestQuota_atTwoProcesses: whoever asks both at once gets no more than from one.
func TestQuota_atTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(t *testing.T) testenv.Config{
		"postgres": func(t *testing.T) testenv.Config { return onServers(t).Config },
		"sqlite":   func(t *testing.T) testenv.Config { return testenv.Config{Database: testenv.SQLite(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := twoServers(t, config(t))
			admin := a.Admin(t)
			alice := admin.NewUser(t, "Alice", "member")
			quota := with{"policy": with{"quota": with{"per": "month", "count": 3}}}
			one, two := admin.NewRoom(t, "One", quota), admin.NewRoom(t, "Two", quota)
			y, m, _ := time.Now().UTC().AddDate(0, 2, 0).Date()
			got := race(t, 40, []*testenv.Client{alice, alice.At(b)}, func(i int) any {
				start := time.Date(y, m, 5, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour)
				rooms := []int64{one.ID, two.ID}
				if i%3 == 0 {
					slices.Reverse(rooms)
				}
				return testenv.Booking(start, start.Add(time.Hour), rooms, with{"attendees": []any{with{"email": "guest@example.org"}}})
			})
			if !maps.Equal(got, map[string]int{"201": 3, "422 policy_violation": 37}) {
				t.Errorf("answers %v", got)
			}
		})
	}
}

// TestBlackout: a closed site takes no meetings, what is booked stays and is told.
func TestBlackout(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		manager := admin.NewUser(t, "Mona", "manager")
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin", "timezone": "Europe/Berlin"}, &site)
		room := admin.NewRoom(t, "Lab", with{"site_id": site.ID})
		day := aMonday()
		hour := func(h int) time.Time { return day.Add(time.Duration(h) * time.Hour) }
		held := alice.Book(t, testenv.Booking(hour(12), hour(14), []int64{room.ID}))
		before := alice.Book(t, testenv.Booking(hour(8), hour(9), []int64{room.ID}))
		type blackout struct {
			ID       int64     `json:"id"`
			Start    time.Time `json:"start"`
			Reason   string    `json:"reason"`
			Version  int64     `json:"version"`
			Affected []testenv.Meeting
		}
		body := with{"site_id": site.ID, "start": hour(10), "end": hour(13), "reason": "no power"}
		for _, c := range []*testenv.Client{alice, manager} {
			c.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/blackouts", body)
		}
		var b blackout
		admin.Want(t, http.StatusCreated, http.MethodPost, "/blackouts", body, &b)
		if len(b.Affected) != 1 || b.Affected[0].ID != held.ID || alice.Meeting(t, held.ID).Status != "confirmed" {
			t.Errorf("%+v", b)
		}
		for _, try := range []struct {
			method, path string
			body         any
		}{
			{http.MethodPost, "/meetings", testenv.Booking(hour(9), hour(11), []int64{room.ID})},
			{http.MethodPatch, at("/meetings/%d", before.ID), with{"end": hour(11)}},
			{http.MethodPatch, at("/meetings/%d", before.ID), with{"start": hour(10), "end": hour(11)}},
		} {
			v := violations(t, alice, try.method, try.path, try.body)[at("blackout %d", room.ID)]
			if v.BlackoutID != b.ID || v.Reason != "no power" || !v.Start.Equal(hour(10)) || !v.End.Equal(hour(13)) {
				t.Errorf("%s %s: %+v", try.method, try.path, v)
			}
		}
		alice.Book(t, testenv.Booking(hour(9), hour(10), []int64{room.ID}))
		var shown struct{ Blackouts []blackout }
		alice.Want(t, http.StatusOK, http.MethodGet, at("/rooms/%d", room.ID), nil, &shown)
		busy := testenv.All[struct {
			Status, Title string
			MeetingID     *int64 `json:"meeting_id"`
		}](t, alice, at("/rooms/%d/free-busy?from=%s", room.ID, hour(0).Format(time.RFC3339)))
		if len(shown.Blackouts) != 1 || len(busy) != 4 || busy[2].Status != "blackout" || busy[2].Title != "no power" || busy[2].MeetingID != nil {
			t.Errorf("shown %+v, busy %+v", shown, busy)
		}
		if all := testenv.All[blackout](t, alice, at("/blackouts?room_id=%d&from=%s", room.ID, hour(12).Format(time.RFC3339))); len(all) != 1 || all[0].ID != b.ID {
			t.Errorf("the list: %+v", all)
		}

		path := at("/blackouts/%d", b.ID)
		admin.Want(t, http.StatusOK, http.MethodPatch, path, with{"start": day.Format("2006-01-02") + "T09:30:00", "reason": "no light"}, &b, testenv.Header("If-Match", `"1"`))
		berlin, _ := time.LoadLocation("Europe/Berlin")
		if local := b.Start.In(berlin).Format("15:04"); local != "09:30" || b.Version != 2 || len(b.Affected) == 0 {
			t.Errorf("changed: %s, %+v", local, b)
		}
		admin.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodDelete, path, nil, testenv.Header("If-Match", `"1"`))
		p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/blackouts", with{"room_id": 99, "start": hour(2), "end": hour(1), "reason": "a\nb", "color": 1})
		if len(p.Errors) != 4 {
			t.Errorf("faults %+v", p.Errors)
		}
		admin.Want(t, http.StatusNoContent, http.MethodDelete, path, nil, nil, testenv.Header("If-Match", `"2"`))
		admin.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, path, nil)
		alice.Book(t, testenv.Booking(hour(10), hour(11), []int64{room.ID}))
	})
}

// TestOverride: an admin may pass over rules and says why; not over somebody else's meeting.
func TestOverride(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Lab", with{"policy": with{"max_duration": "1h", "quota": with{"per": "day", "count": 1}}})
		day := aMonday()
		long := testenv.Booking(day.Add(9*time.Hour), day.Add(12*time.Hour), []int64{room.ID})
		if v := violations(t, admin, http.MethodPost, "/meetings", long); len(v) != 1 {
			t.Errorf("an admin without: %+v", v)
		}
		long["override"] = with{"reason": "the board comes"}
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/meetings", long)
		m := admin.Book(t, long)
		admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", long)
		type entry struct {
			Action, Reason string
			Changes        map[string]struct{ To any }
		}
		created := testenv.All[entry](t, admin, at("/meetings/%d/history", m.ID))[0]
		rules, _ := created.Changes["override"].To.([]any)
		if created.Reason != "the board comes" || len(rules) != 1 || rules[0].(with)["code"] != "max_duration" || rules[0].(with)["limit"] != "1h" {
			t.Errorf("history %+v", created)
		}
		later := testenv.Booking(day.Add(14*time.Hour), day.Add(15*time.Hour), []int64{room.ID})
		if v := violations(t, admin, http.MethodPost, "/meetings", later); v[at("quota %d", room.ID)].Used != 1.0 {
			t.Errorf("%+v", v)
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"end": day.Add(13 * time.Hour), "override": with{"reason": "and stays"}}, nil)
		all := testenv.All[entry](t, admin, at("/meetings/%d/history", m.ID))
		if last := all[len(all)-1]; last.Action != "changed" || last.Reason != "and stays" || last.Changes["override"].To == nil {
			t.Errorf("history %+v", last)
		}
		p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", with{"override": with{"reason": "  "}})
		if !slices.ContainsFunc(p.Errors, func(f struct {
			Location string `json:"location"`
			Message  string `json:"message"`
			Code     string `json:"code"`
		}) bool {
			return f.Location == "body.override.reason"
		}) {
			t.Errorf("%+v", p)
		}
	})
}

// TestHoldPending_taken: where requests hold nothing, what somebody has is refused at once all the same.
func TestHoldPending_taken(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = "booking: { hold_pending: false }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true}})
		booking := testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID})
		admin.Book(t, booking)
		p := alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking)
		if len(p.Conflicts) != 1 || p.Conflicts[0].RoomID != room.ID {
			t.Errorf("%+v", p)
		}
	})
}
