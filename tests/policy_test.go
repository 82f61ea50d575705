package tests

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// TestPolicy_changed: rules that come later leave what is booked alone, and what is given back
// is never refused; the database sees to new buffers.
func TestPolicy_changed(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		day := aMonday()
		hour := func(h float64) time.Time { return day.Add(time.Duration(h * float64(time.Hour))) }
		lab, bar := admin.NewRoom(t, "Lab", with{"capacity": 3}), admin.NewRoom(t, "Bar")
		alice.Book(t, testenv.Booking(hour(8), hour(9), []int64{lab.ID}))
		m := alice.Book(t, testenv.Booking(hour(9), hour(13), []int64{lab.ID, bar.ID}, with{
			"attendees": []any{with{"email": "a@example.org"}, with{"email": "b@example.org"}, with{"email": "c@example.org"}},
		}))
		alice.Book(t, testenv.Booking(hour(13.25), hour(14), []int64{lab.ID}))
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", lab.ID), with{"capacity": 2, "policy": with{
			"max_duration": "2h", "min_notice": "8000h", "buffer_before": "1h", "buffer_after": "30m",
			"opening_hours": []any{with{"days": []string{"MO"}, "from": "10:00", "to": "14:00"}},
		}}, nil, testenv.Header("If-Match", `"1"`))
		path := at("/meetings/%d", m.ID)
		for _, body := range []with{{"end": hour(12)}, {"room_ids": []int64{lab.ID}}, {"attendees": []any{with{"email": "a@example.org"}, with{"email": "b@example.org"}}}} {
			alice.Want(t, http.StatusOK, http.MethodPatch, path, body, nil)
		}
		// The new buffer behind it meets the next one, which no override passes over.
		admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPatch, path, with{"end": hour(13), "override": with{"reason": "longer"}})
		got := violations(t, alice, http.MethodPatch, path, with{"end": hour(14.25)})
		want := map[string]violation{
			at("max_duration %d", lab.ID): {Location: "body.end", Code: "max_duration", RoomID: lab.ID, Limit: "2h", Actual: "5h15m"},
			at("opening_hours %d", lab.ID): {Location: "body.end", Code: "opening_hours", RoomID: lab.ID, Limit: "MO 10:00-14:00",
				Actual: day.Format(time.DateOnly) + " 12:00 to " + day.Format(time.DateOnly) + " 14:15"},
		}
		if !maps.Equal(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		p := alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", testenv.Booking(hour(9), hour(9).AddDate(7900, 0, 0), []int64{lab.ID}))
		if len(p.Errors) != 1 || p.Errors[0].Location != "body.end" || p.Errors[0].Code != "too_long" {
			t.Errorf("7900 years: %+v", p.Errors)
		}
		got = violations(t, alice, http.MethodPost, "/meetings", testenv.Booking(hour(9), hour(9).AddDate(0, 0, 2), []int64{bar.ID, lab.ID}))
		if v := got["max_duration 0"]; v.Limit != "24h" || v.Actual != "48h" || got[at("max_duration %d", lab.ID)].Limit != "2h" {
			t.Errorf("the installation's limit: %+v", got)
		}
	})
}

// TestOpeningHours: where clocks change a room opens and closes by them, whatever zone one asks from.
func TestOpeningHours(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{YAML: "booking: { limits: { max_advance: 20000h, max_duration: 48h } }\n"})
	admin := server.Admin(t)
	for _, tt := range []struct {
		zone          string
		day           time.Time // on which clocks change
		from, to      string    // by the room's clocks
		first, last   string    // that may be had, in UTC
		early, beyond string    // that may not
	}{
		{"Europe/Berlin", lastSunday(time.March), "02:30", "10:00", "01:00", "08:00", "00:59", "08:01"},
		{"Europe/Berlin", lastSunday(time.October), "02:30", "10:00", "00:30", "09:00", "00:29", "09:01"},
		{"America/New_York", firstSunday(time.November), "00:00", "24:00", "04:00", "05:00+1", "03:59", "05:01+1"},
		{"Australia/Lord_Howe", firstSunday(time.April), "08:00", "20:00", "21:30-1", "09:30", "21:29-1", "09:31"},
	} {
		room := admin.NewRoom(t, tt.zone, with{"timezone": tt.zone, "policy": with{
			"opening_hours": []any{with{"days": []string{"SU"}, "from": tt.from, "to": tt.to}},
		}})
		book := func(from, to string) int {
			return admin.Do(t, http.MethodPost, "/meetings", testenv.Booking(onDay(t, tt.day, from), onDay(t, tt.day, to), []int64{room.ID})).Status
		}
		got := [3]int{book(tt.early, tt.last), book(tt.first, tt.beyond), book(tt.first, tt.last)}
		if want := [3]int{http.StatusUnprocessableEntity, http.StatusUnprocessableEntity, http.StatusCreated}; got != want {
			t.Errorf("%s, %s: a minute early, a minute late, all day: %v", tt.zone, tt.day.Format(time.DateOnly), got)
		}
	}
}

// firstSunday of a month to come.
func firstSunday(month time.Month) time.Time {
	for year := time.Now().Year(); ; year++ {
		day := time.Date(year, month, 7, 0, 0, 0, 0, time.UTC)
		if day = day.AddDate(0, 0, -int(day.Weekday())); day.After(time.Now().AddDate(0, 0, 2)) {
			return day
		}
	}
}

// onDay reads "09:00", or "09:00+1" of the day after.
func onDay(t *testing.T, day time.Time, text string) time.Time {
	t.Helper()
	clock, err := time.Parse("15:04", text[:5])
	if err != nil {
		t.Fatal(err)
	}
	switch text[5:] {
	case "+1":
		day = day.AddDate(0, 0, 1)
	case "-1":
		day = day.AddDate(0, 0, -1)
	}
	return day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute)
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
		// What is ended early counts for what it took.
		now := time.Now().UTC().Truncate(time.Second)
		other := admin.NewRoom(t, "Booth", with{"policy": with{"quota": with{"per": "month", "duration": "2h"}}})
		begun := alice.Book(t, testenv.Booking(now.Add(-5*time.Second), now.Add(2*time.Hour-time.Minute), []int64{other.ID}))
		again := testenv.Booking(now.Add(2*time.Hour), now.Add(3*time.Hour), []int64{other.ID})
		if now.Month() == now.Add(3*time.Hour).Month() {
			violations(t, alice, http.MethodPost, "/meetings", again)
		}
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/end", begun.ID), nil, nil)
		alice.Book(t, again)
		alice.Book(t, book(16, 18))
	})
}

// TestPersonLimits: the installation bounds what one person books in all rooms, in every way of booking.
func TestPersonLimits(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = "booking: { limits: { person_ahead: 8h, person_rooms: 2 } }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		var rooms []int64
		for _, name := range []string{"One", "Two", "Three"} {
			rooms = append(rooms, admin.NewRoom(t, name).ID)
		}
		day := aMonday()
		book := func(from, hours int, rooms ...int64) with {
			start := day.Add(time.Duration(from) * time.Hour)
			return testenv.Booking(start, start.Add(time.Duration(hours)*time.Hour), rooms)
		}
		two := alice.Book(t, book(9, 1, rooms[:2]...)) // 2 h of room time
		if v := violations(t, alice, http.MethodPost, "/meetings", book(9, 1, rooms[2]))["rooms_at_once 0"]; v.Limit != 2.0 || v.Used != 2.0 || v.Actual != 3.0 {
			t.Errorf("a third room: %+v", v)
		}
		if v := violations(t, alice, http.MethodPost, "/meetings", book(12, 7, rooms[0]))["booked_ahead 0"]; v.Limit != "8h" || v.Used != "2h" || v.Actual != "9h" {
			t.Errorf("nine hours: %+v", v)
		}
		longer := with{"end": day.Add(13 * time.Hour).Add(time.Minute).Format(time.RFC3339)}
		if v := violations(t, alice, http.MethodPatch, at("/meetings/%d", two.ID), longer); len(v) != 1 {
			t.Errorf("a longer meeting: %+v", v)
		}

		// Of eight dates six fit: the preview says so, and saving does it.
		series := book(24, 1, rooms[2])
		series["rrule"], series["on_conflict"] = "FREQ=DAILY;COUNT=8", "skip"
		preview := alice.Want(t, http.StatusOK, http.MethodPost, "/series/preview", series, nil)
		if n := strings.Count(string(preview.Body), `"reason":"booked_ahead"`); n != 2 {
			t.Errorf("the preview refuses %d dates, want 2: %s", n, preview.Body)
		}
		var free struct {
			Items []struct{ Reasons []violation }
		}
		query := url.Values{"start": {day.Add(50 * time.Hour).Format(time.RFC3339)}, "end": {day.Add(57 * time.Hour).Format(time.RFC3339)}}
		alice.Want(t, http.StatusOK, http.MethodGet, "/availability?"+query.Encode(), nil, &free)
		if len(free.Items) != 3 || len(free.Items[0].Reasons) != 1 || free.Items[0].Reasons[0].Code != "booked_ahead" {
			t.Errorf("seven hours: %+v", free)
		}
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", series, nil)
		if v := violations(t, alice, http.MethodPost, "/meetings", book(20, 1, rooms[0])); len(v) != 1 {
			t.Errorf("the ninth hour: %+v", v)
		}

		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", two.ID), nil, nil)
		alice.Book(t, book(9, 2, rooms[0]))
		got := race(t, 10, []*testenv.Client{bob}, func(i int) any { return book(13+i, 1, rooms[:2]...) })
		if !maps.Equal(got, map[string]int{"201": 4, "422 policy_violation": 6}) {
			t.Errorf("two hours each, at once: %v", got)
		}
		over := book(300, 9, rooms[:2]...)
		violations(t, admin, http.MethodPost, "/meetings", over)
		over["override"] = with{"reason": "fair"}
		admin.Book(t, over)
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
		// A move that waits to come into it is in its way, too.
		hall := admin.NewRoom(t, "Hall", with{"site_id": site.ID, "approval": with{"required": true}})
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", before.ID), with{"room_ids": []int64{hall.ID}, "start": hour(20), "end": hour(21)}, nil)
		var later blackout
		admin.Want(t, http.StatusCreated, http.MethodPost, "/blackouts", with{"room_id": hall.ID, "start": hour(20), "end": hour(22)}, &later)
		if len(later.Affected) != 1 || later.Affected[0].ID != before.ID {
			t.Errorf("in the way of the hall's: %+v", later.Affected)
		}
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
		for _, c := range []struct {
			method, path string
			body         with
		}{
			{http.MethodPatch, at("/meetings/%d", alice.Book(t, testenv.Booking(day.Add(20*time.Hour), day.Add(21*time.Hour), []int64{room.ID})).ID), with{"end": day.Add(22 * time.Hour)}},
			{http.MethodPost, "/series", with{"title": "t", "room_ids": []int64{room.ID}, "timezone": "UTC", "rrule": "FREQ=YEARLY;COUNT=3",
				"start": day.AddDate(0, 0, 1).Format("2006-01-02T15:04:05"), "end": day.AddDate(0, 0, 1).Add(2 * time.Hour).Format("2006-01-02T15:04:05")}},
		} {
			c.body["override"] = with{"reason": "it is the board"}
			alice.WantProblem(t, http.StatusForbidden, "forbidden", c.method, c.path, c.body)
			var token struct{ Token string }
			admin.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": c.path, "scopes": []string{"rooms:write", "meetings:read"}}, &token)
			(&testenv.Client{Base: server.URL, Token: token.Token}).WantProblem(t, http.StatusForbidden, "forbidden", c.method, c.path, c.body)
			if res := admin.Do(t, c.method, c.path, c.body); res.Status >= 300 {
				t.Errorf("%s %s: %d %s", c.method, c.path, res.Status, res.Body)
			}
		}
		// What has begun may be booked by an override, what is over not.
		now := time.Now().UTC().Truncate(time.Second)
		past := testenv.Booking(now.Add(-time.Hour), now.Add(-time.Minute), []int64{room.ID}, with{"override": with{"reason": "they were there"}})
		if v := violations(t, admin, http.MethodPost, "/meetings", past); v["in_past 0"].Location != "body.start" {
			t.Errorf("what is over: %+v", v)
		}
		past["end"] = now.Add(10 * time.Minute)
		begun := admin.Book(t, past)
		if v := violations(t, admin, http.MethodPatch, at("/meetings/%d", begun.ID), with{"end": now.Add(-time.Minute), "override": past["override"]}); v["in_past 0"].Location != "body.end" {
			t.Errorf("an end that has passed: %+v", v)
		}
		admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/extend", begun.ID), with{"end": now.Add(30 * time.Minute), "override": past["override"]}, nil)
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
