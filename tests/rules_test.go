package tests

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestRoomRules: buffers, opening hours and lengths of a room, all broken ones at once.
func TestRoomRules(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		day := time.Now().UTC().AddDate(0, 0, 7).Truncate(24 * time.Hour)
		for day.Weekday() != time.Wednesday {
			day = day.AddDate(0, 0, 1)
		}
		hour := func(h float64) time.Time { return day.Add(time.Duration(h * float64(time.Hour))) }
		room := admin.NewRoom(t, "Turing", with{"policy": with{
			"opening_hours": []any{with{"days": []string{"MO", "TU", "WE", "TH", "FR"}, "from": "08:00", "to": "20:00"}},
			"min_duration":  "15m", "max_duration": "4h", "buffer_before": "15m", "buffer_after": "15m",
		}})
		book := func(from, to float64) with { return testenv.Booking(hour(from), hour(to), []int64{room.ID}) }

		alice.Book(t, book(9, 10))
		// The buffers behind the one and before the other do not fit in.
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", book(10.25, 11))
		second := alice.Book(t, book(10.5, 11))
		p := alice.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", book(5, 10))
		if len(p.Errors) < 2 {
			t.Errorf("violations %+v, want opening hours and length", p.Errors)
		}
		alice.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", book(12, 12.1))
		alice.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings",
			testenv.Booking(day.AddDate(0, 0, 3).Add(9*time.Hour), day.AddDate(0, 0, 3).Add(10*time.Hour), []int64{room.ID})) // a Saturday
		// What was cancelled leaves its slot and its buffers.
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", second.ID), nil, nil)
		alice.Book(t, book(10.5, 11.5))
	})
}

// TestHoldPending: where requests do not hold their slot, the first that is approved gets it.
func TestHoldPending(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = "booking: { hold_pending: false }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true}})
		booking := testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID})
		first, second := alice.Book(t, booking), alice.Book(t, booking)
		admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/approve", second.ID), with{}, nil)
		admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, at("/meetings/%d/approve", first.ID), with{})
		if m := alice.Meeting(t, first.ID); m.Status != "pending" {
			t.Errorf("the first is %s, want it pending", m.Status)
		}
		// Who decides about a room need not ask.
		if m := admin.Book(t, testenv.Booking(inSeconds(9000), inSeconds(9600), []int64{room.ID})); m.Status != "confirmed" {
			t.Errorf("an admin's own booking is %s", m.Status)
		}
	})
}

// TestPrivacy: of a private meeting others learn that the room is busy, and nothing else.
func TestPrivacy(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		carol := admin.NewUser(t, "Carol", "member")
		room := admin.NewRoom(t, "Turing")
		start, end := inSeconds(3600), inSeconds(7200)
		booking := testenv.Booking(start, end, []int64{room.ID}, with{"title": "Layoffs", "description": "who leaves", "visibility": "private",
			"attendees": []any{with{"email": "carol@example.org", "name": "Carol"}}})
		m := alice.Book(t, booking)
		window := "from=" + start.Format(time.RFC3339) + "&to=" + end.Format(time.RFC3339)
		secrets := []string{"Layoffs", "who leaves", "carol@example.org"}
		for _, path := range []string{"/meetings", "/meetings?q=Layoffs", at("/meetings/%d", m.ID), at("/rooms/%d/free-busy?%s", room.ID, window), at("/meetings/%d/history", m.ID), at("/meetings/%d/notifications", m.ID)} {
			res := bob.Do(t, http.MethodGet, path, nil)
			for _, secret := range secrets {
				if bytes.Contains(res.Body, []byte(secret)) {
					t.Errorf("%s tells a stranger %q: %s", path, secret, res.Body)
				}
			}
		}
		if n := len(testenv.All[testenv.Meeting](t, bob, "/meetings?q=Layoffs")); n != 0 {
			t.Error("a stranger finds it by its title")
		}
		res := bob.Do(t, http.MethodPost, "/meetings", testenv.Booking(start, end, []int64{room.ID}))
		if res.Status != http.StatusConflict || bytes.Contains(res.Body, []byte("Layoffs")) || bytes.Contains(res.Body, []byte("Alice")) {
			t.Errorf("the conflict: %d %s", res.Status, res.Body)
		}
		for _, who := range []*testenv.Client{alice, carol, admin} {
			if got := who.Meeting(t, m.ID); got.Title != "Layoffs" || got.Description != "who leaves" {
				t.Errorf("%s sees %q", who.User.Name, got.Title)
			}
		}
		if got := testenv.All[testenv.Meeting](t, carol, "/meetings?attendee=me"); len(got) != 1 || got[0].Title != "Layoffs" {
			t.Errorf("an attendee's list: %+v", got)
		}
	})
}

// TestTokens: told once, no mightier than their scopes, and gone when deleted.
func TestTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		type token struct {
			ID    int64  `json:"id"`
			Token string `json:"token"`
		}
		var reader, all token
		admin.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "reader", "scopes": []string{"meetings:read"}}, &reader)
		expires := inSeconds(10)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "all", "expires_at": expires.Format(time.RFC3339)}, &all)
		short := &testenv.Client{Base: server.URL, Token: all.Token}
		if res := short.Do(t, http.MethodGet, "/users", nil); res.Status != http.StatusOK && time.Now().Before(expires) {
			t.Errorf("before it ran out: %d %s", res.Status, res.Body)
		}
		listed := admin.Do(t, http.MethodGet, "/me/tokens", nil)
		if bytes.Contains(listed.Body, []byte(reader.Token)) || !bytes.Contains(listed.Body, []byte("reader")) {
			t.Errorf("the list: %s", listed.Body)
		}
		read := &testenv.Client{Base: server.URL, Token: reader.Token}
		read.Want(t, http.StatusOK, http.MethodGet, "/meetings", nil, nil)
		read.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/meetings", testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID}))
		read.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/users", nil)
		read.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/me/tokens", with{"name": "more"})
		eventually(t, time.Now().Add(slack), "the token ran out", func() bool { return short.Do(t, http.MethodGet, "/me", nil).Status == http.StatusUnauthorized })
		admin.Want(t, http.StatusNoContent, http.MethodDelete, "/me/tokens/"+strconv.FormatInt(reader.ID, 10), nil, nil)
		read.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/meetings", nil)
	})
}

// TestLanguages: people are written to in their language and their time zone.
func TestLanguages(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing", with{"timezone": "Europe/Berlin"})
		day := time.Now().UTC().AddDate(0, 0, 3).Truncate(24 * time.Hour)
		start, end := day.Add(9*time.Hour+30*time.Minute), day.Add(10*time.Hour+30*time.Minute)
		m := admin.Book(t, testenv.Booking(start, end, []int64{room.ID}, with{"title": "季度评审", "attendees": []any{
			with{"email": "wu@example.org", "name": "吴健雄", "locale": "zh-CN", "timezone": "Asia/Shanghai"},
			with{"email": "mary@example.org", "name": "Mary", "locale": "en", "timezone": "Asia/Kolkata"},
		}}))
		eventually(t, time.Now().Add(slack), "two invitations", func() bool { return len(mail.Where("", "invitation")) == 2 })
		for to, want := range map[string][]string{"wu@example.org": {"17:30", "邀请"}, "mary@example.org": {"15:00", "nvit"}} {
			m := mail.Where(to, "invitation")[0]
			text := m.Subject() + "\n" + m.Part("text/plain")
			for _, w := range append(want, "季度评审", "Turing") {
				if !strings.Contains(text, w) {
					t.Errorf("the mail to %s lacks %q:\n%s", to, w, text)
				}
			}
			if !strings.Contains(m.Part("text/html"), "季度评审") {
				t.Errorf("no HTML for %s", to)
			}
			ics := strings.ReplaceAll(m.Part("text/calendar"), "\r\n ", "")
			for _, w := range []string{"METHOD:REQUEST", "BEGIN:VTIMEZONE", "SUMMARY:季度评审", "UID:"} {
				if !strings.Contains(ics, w) {
					t.Errorf("the calendar for %s lacks %q:\n%s", to, w, ics)
				}
			}
		}
		// A change keeps the UID and raises the SEQUENCE; a cancellation too.
		property := func(m testenv.Message, name string) string {
			for line := range strings.Lines(strings.ReplaceAll(m.Part("text/calendar"), "\r\n ", "")) {
				if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
					return v
				}
			}
			return ""
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"start": start.Add(time.Hour).Format(time.RFC3339), "end": end.Add(time.Hour).Format(time.RFC3339)}, nil)
		eventually(t, time.Now().Add(slack), "told of the change", func() bool { return len(mail.Where("mary@example.org", "change")) == 1 })
		admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", m.ID), with{"reason": "holiday"}, nil)
		eventually(t, time.Now().Add(slack), "told of the cancellation", func() bool { return len(mail.Where("mary@example.org", "cancellation")) == 1 })
		var uids, methods []string
		var sequences []int
		for _, kind := range []string{"invitation", "change", "cancellation"} {
			m := mail.Where("mary@example.org", kind)[0]
			uids, methods = append(uids, property(m, "UID")), append(methods, property(m, "METHOD"))
			n, err := strconv.Atoi(property(m, "SEQUENCE"))
			if err != nil {
				t.Errorf("SEQUENCE of the %s: %v", kind, err)
			}
			sequences = append(sequences, n)
		}
		if len(slices.Compact(uids)) != 1 || !slices.Equal(methods, []string{"REQUEST", "REQUEST", "CANCEL"}) || sequences[0] >= sequences[1] || sequences[1] >= sequences[2] {
			t.Errorf("UIDs %v, methods %v, sequences %v", uids, methods, sequences)
		}
		wantNothingTwice(t, mail)
	})
}

// TestBookingForOthers: the organizer is somebody else in every respect, in both databases.
func TestBookingForOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		mona := admin.NewUser(t, "Mona", "manager")
		lab := admin.NewRoom(t, "Lab", with{"approval": with{"required": true, "approver_ids": []int64{mona.User.ID}},
			"policy": with{"quota": with{"per": "day", "count": 1}}})
		desk := admin.NewRoom(t, "Desk")
		start := aMonday().Add(9 * time.Hour) // one day for the quota, at any hour
		book := func(room int64, hours int, fields with) with {
			at := start.Add(time.Duration(hours) * time.Hour)
			return testenv.Booking(at, at.Add(time.Hour), []int64{room}, fields)
		}
		m := mona.Book(t, book(lab.ID, 0, with{"organizer_email": "ALICE@example.org"}))
		if m.Organizer.ID != alice.User.ID || m.Status != "confirmed" {
			t.Errorf("%s for %s, want confirmed for Alice", m.Status, m.Organizer.Name)
		}
		if h := alice.History(t, m.ID); h[0].Actor.Name != "Mona" || h[0].Changes["organizer"].To != "alice@example.org" {
			t.Errorf("history %+v", h[0])
		}
		if n := admin.Notifications(t, m.ID); len(n) != 1 || n[0].Address != "alice@example.org" || n[0].Kind != "invitation" {
			t.Errorf("notifications %+v", n)
		}
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "Mine"}, nil)
		admin.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", book(lab.ID, 1, with{"organizer_id": alice.User.ID}))
		for _, refused := range []struct {
			by   *testenv.Client
			body with
		}{{bob, book(desk.ID, 2, with{"organizer_id": alice.User.ID})}, {mona, book(desk.ID, 2, with{"organizer_id": alice.User.ID})}} {
			refused.by.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/meetings", refused.body)
		}
		bob.Book(t, book(desk.ID, 2, with{"organizer_id": bob.User.ID}))
		for field, body := range map[string]with{
			"body.organizer_id":    {"organizer_id": 4711},
			"body.organizer_email": {"organizer_email": "nobody\x00@example.org"},
		} {
			p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", book(desk.ID, 3, body))
			if len(p.Errors) != 1 || p.Errors[0].Location != field || p.Errors[0].Code != "unknown_user" {
				t.Errorf("%v: %+v", body, p.Errors)
			}
		}

		// It is handed over, which counts for the quota of the new organizer.
		own := bob.Book(t, book(lab.ID, 4, nil))
		admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/approve", own.ID), with{}, nil)
		mona.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPatch, at("/meetings/%d", own.ID), with{"organizer_id": alice.User.ID})
		mona.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", own.ID), with{"organizer_id": mona.User.ID}, &own)
		if own.Organizer.ID != mona.User.ID {
			t.Errorf("the organizer is %+v, want Mona", own.Organizer)
		}
		if n := len(testenv.All[testenv.Meeting](t, mona, "/meetings?organizer=me")); n != 1 {
			t.Errorf("Mona organizes %d meetings, want 1", n)
		}

		var series struct {
			Series struct {
				ID        int64 `json:"id"`
				Organizer struct{ ID int64 }
			}
			Meetings []testenv.Meeting
		}
		admin.Want(t, http.StatusCreated, http.MethodPost, "/series", book(desk.ID, 48, with{"rrule": "FREQ=DAILY;COUNT=2", "organizer_id": bob.User.ID}), &series)
		if series.Series.Organizer.ID != bob.User.ID || series.Meetings[1].Organizer.ID != bob.User.ID {
			t.Errorf("series %+v", series)
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", series.Series.ID), with{"organizer_id": alice.User.ID}, &series)
		if got := admin.Meeting(t, series.Meetings[0].ID); got.Organizer.ID != alice.User.ID {
			t.Errorf("a date of the series belongs to %+v", got.Organizer)
		}
	})
}

// TestMeetingTypes: types are defined by admins, limited to roles and rooms, and exempt from quotas.
func TestMeetingTypes(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		lab := admin.NewRoom(t, "Lab", with{"policy": with{"quota": with{"per": "day", "count": 1}}})
		desk := admin.NewRoom(t, "Desk")
		type kind struct {
			ID      int64             `json:"id"`
			Names   map[string]string `json:"names"`
			Color   string            `json:"color"`
			Version int64             `json:"version"`
		}
		var exam, clean kind
		admin.Want(t, http.StatusCreated, http.MethodPost, "/types", with{"name": "Exam", "names": with{"de": "Prüfung"}, "color": "teal", "min_role": "manager", "room_ids": []int64{desk.ID}}, &exam)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/types", with{"name": "Cleaning", "quota_exempt": true}, &clean)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/types", with{"name": "Mine"})
		if all := testenv.All[kind](t, alice, "/types"); len(all) != 2 || all[0].ID != clean.ID || all[1].Names["de"] != "Prüfung" {
			t.Errorf("types %+v", all)
		}

		start := inSeconds(3600).Truncate(time.Hour).AddDate(0, 0, 2)
		for start.Hour() != 9 {
			start = start.Add(time.Hour)
		}
		book := func(room int64, hours int, fields with) with {
			at := start.Add(time.Duration(hours) * time.Hour)
			return testenv.Booking(at, at.Add(time.Hour), []int64{room}, fields)
		}
		p := alice.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", book(lab.ID, 0, with{"type_id": exam.ID}))
		if len(p.Errors) != 2 || p.Errors[0].Code != "type_role" || p.Errors[1].Code != "type_room" {
			t.Errorf("violations %+v", p.Errors)
		}
		p = admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", book(desk.ID, 0, with{"type_id": 4711}))
		if p.Errors[0].Code != "unknown_type" {
			t.Errorf("errors %+v", p.Errors)
		}
		m := admin.Book(t, book(desk.ID, 0, with{"type_id": exam.ID, "visibility": "private"}))
		typeOf := func(c *testenv.Client, path string) (id *int64) {
			var got struct {
				TypeID *int64 `json:"type_id"`
			}
			c.Want(t, http.StatusOK, http.MethodGet, path, nil, &got)
			return got.TypeID
		}
		if id := typeOf(admin, at("/meetings/%d", m.ID)); id == nil || *id != exam.ID {
			t.Errorf("type %v, want %d", id, exam.ID)
		}
		if id := typeOf(bob, at("/meetings/%d", m.ID)); id != nil {
			t.Errorf("a stranger sees the type %d of a private meeting", *id)
		}
		for c, want := range map[*testenv.Client]int{admin: 1, bob: 0} {
			if n := len(testenv.All[testenv.Meeting](t, c, at("/meetings?type_id=%d", exam.ID))); n != want {
				t.Errorf("%s finds %d meetings of the type, want %d", c.User.Name, n, want)
			}
		}

		alice.Book(t, book(lab.ID, 1, with{"type_id": clean.ID}))
		counted := alice.Book(t, book(lab.ID, 2, nil))
		alice.Book(t, book(lab.ID, 3, with{"type_id": clean.ID}))
		alice.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", book(lab.ID, 4, nil))
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", counted.ID), with{"type_id": clean.ID}, nil)
		alice.Book(t, book(lab.ID, 4, nil))

		var series struct {
			Series   struct{ ID int64 }
			Meetings []testenv.Meeting
		}
		bob.Want(t, http.StatusCreated, http.MethodPost, "/series", book(lab.ID, 48, with{"rrule": "FREQ=DAILY;COUNT=3", "type_id": clean.ID}), &series)
		bob.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", series.Series.ID), with{"type_id": nil}, nil)
		if id := typeOf(bob, at("/meetings/%d", series.Meetings[2].ID)); id != nil {
			t.Errorf("a date of the series has the type %d, want none", *id)
		}

		admin.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodDelete, at("/types/%d", exam.ID), nil)
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/types/%d", exam.ID), with{"active": false}, &exam, testenv.Header("If-Match", `"1"`))
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", book(desk.ID, 5, with{"type_id": exam.ID}))
		var unused kind
		admin.Want(t, http.StatusCreated, http.MethodPost, "/types", with{"name": "Unused"}, &unused)
		admin.Want(t, http.StatusNoContent, http.MethodDelete, at("/types/%d", unused.ID), nil, nil)
	})
}

// TestQuotas_byGroup: members of groups have quotas of their own, everywhere, and from the moment they are members.
func TestQuotas_byGroup(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		group := func(name string) (id int64) {
			var g struct{ ID int64 }
			admin.Want(t, http.StatusCreated, http.MethodPost, "/groups", with{"name": name}, &g)
			return g.ID
		}
		staff, students := group("Staff"), group("Students")
		join := func(method string, group int64, who *testenv.Client) {
			admin.Want(t, http.StatusNoContent, method, at("/groups/%d/members/%d", group, who.User.ID), nil, nil)
		}
		join(http.MethodPut, staff, alice)
		quota := with{"per": "week", "count": 1, "groups": []with{{"group_id": staff}, {"group_id": students, "duration": "2h"}}}
		lab := admin.NewRoom(t, "Lab", with{"policy": with{"quota": quota}})
		start := aMonday().Add(9 * time.Hour)
		book := func(hours int) with {
			at := start.Add(time.Duration(hours) * time.Hour)
			return testenv.Booking(at, at.Add(time.Hour), []int64{lab.ID})
		}
		free := func(c *testenv.Client, hours int) bool {
			at := start.Add(time.Duration(hours) * time.Hour)
			offers := testenv.All[struct{ Free bool }](t, c, "/availability?start="+at.Format(time.RFC3339)+"&end="+at.Add(time.Hour).Format(time.RFC3339))
			return len(offers) == 1 && offers[0].Free
		}
		skips := func(c *testenv.Client, hours int) int {
			body := book(hours)
			body["rrule"], body["on_conflict"] = "FREQ=DAILY;COUNT=2", "skip"
			var preview struct {
				Skipped []struct{ Reason string }
			}
			c.Want(t, http.StatusOK, http.MethodPost, "/series/preview", body, &preview)
			return len(preview.Skipped)
		}
		refused := func(c *testenv.Client, hours int, limit string) {
			t.Helper()
			p := c.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", book(hours))
			if len(p.Errors) != 1 || p.Errors[0].Code != "quota" || !strings.Contains(p.Errors[0].Message, limit) {
				t.Errorf("%+v, want a quota of %s", p.Errors, limit)
			}
			if free(c, hours) {
				t.Error("what is refused is said to be free")
			}
		}
		for i := range 3 { // no limit for staff
			alice.Book(t, book(i))
		}
		if !free(alice, 3) || skips(alice, 4) != 0 {
			t.Error("staff is limited")
		}
		mine := bob.Book(t, book(3)) // the general quota: once per week
		refused(bob, 4, "once per week")
		join(http.MethodPut, students, bob)
		bob.Book(t, book(4))
		refused(bob, 5, "2h per week")
		if n := skips(bob, 5); n != 2 {
			t.Errorf("the preview of a series skips %d dates, want 2", n)
		}
		admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", mine.ID), with{}, nil)
		second := bob.Book(t, book(3))
		bob.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPatch, at("/meetings/%d", second.ID), with{"start": start.Add(6 * time.Hour).Format(time.RFC3339), "end": start.Add(8 * time.Hour).Format(time.RFC3339)})
		join(http.MethodPut, staff, bob) // the most generous of the groups counts
		bob.Book(t, book(5))
		join(http.MethodDelete, staff, bob)
		refused(bob, 6, "2h per week")

		// A group that a quota names stays, and exists.
		admin.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodDelete, at("/groups/%d", students), nil)
		for field, groups := range map[string][]with{
			"body.policy.quota.groups":             {{"group_id": 4711}},
			"body.policy.quota.groups[1].group_id": {{"group_id": staff}, {"group_id": staff, "count": 1}},
			"body.policy.quota.groups[0].duration": {{"group_id": staff, "duration": "soon"}},
		} {
			p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPatch, at("/rooms/%d", lab.ID), with{"policy": with{"quota": with{"per": "day", "count": 1, "groups": groups}}})
			if len(p.Errors) != 1 || p.Errors[0].Location != field {
				t.Errorf("%v: %+v, want %s", groups, p.Errors, field)
			}
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", lab.ID), with{"policy": with{"quota": nil}}, nil)
		admin.Want(t, http.StatusNoContent, http.MethodDelete, at("/groups/%d", students), nil, nil)
		alice.Book(t, book(6))
	})
}
