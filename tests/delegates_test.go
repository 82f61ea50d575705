package tests

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestDelegates: a delegate acts for somebody with their rights and limits, both are named, and it ends at once.
func TestDelegates(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML += "auth: { login_rate: 1000/m }\n" + mailroomYAML
		on.Env = append(on.Env, "PUNCTUAL_BOOKING_UNDO=1m")
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		person := func(name string) *testenv.Client {
			first, _, _ := strings.Cut(strings.ToLower(name), " ")
			return admin.NewUser(t, name, "member", with{"email": first + "@example.org"})
		}
		ada, grace, bob := person("Ada Lovelace"), person("Grace Hopper"), person("Bob")
		var board struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/groups", with{"name": "Board"}, &board)
		admin.Want(t, http.StatusNoContent, http.MethodPut, at("/groups/%d/members/%d", board.ID, ada.User.ID), nil, nil)
		lab := admin.NewRoom(t, "Lab", with{"address": "lab", "access": with{"book": []int64{board.ID}}, "policy": with{"quota": with{"per": "day", "count": 2}}})
		desk := admin.NewRoom(t, "Desk", with{"check_in": with{"required": true, "opens": "15m", "grace": "15m"}})
		start := aMonday().Add(9 * time.Hour)
		booking := func(room int64, hours int, fields with) with {
			at := start.Add(time.Duration(hours) * time.Hour)
			return testenv.Booking(at, at.Add(time.Hour), []int64{room}, fields)
		}
		forAda := func(room int64, hours int, fields with) with {
			body := booking(room, hours, fields)
			body["organizer_id"] = ada.User.ID
			return body
		}
		mine := at("/me/delegates/%d", grace.User.ID)

		// By mail, Grace sends an invitation of Ada's to the lab, which only Ada may book.
		mailed := func(organizer string) string {
			t.Helper()
			eml := invite{uid: "board", from: "grace@example.org", organizer: organizer, to: "lab@rooms.example.org", start: start.Add(72 * time.Hour)}.eml()
			eml = strings.Replace(eml, "ORGANIZER:", `ORGANIZER;SENT-BY="mailto:grace@example.org":`, 1)
			var tried struct{ Items []receivedMail }
			admin.Want(t, http.StatusOK, http.MethodPost, "/mailroom/messages", with{"raw": []byte(eml), "dry_run": true}, &tried)
			answer := tried.Items[0].Verdict
			if o := tried.Items[0].Outcome; o != nil && len(o.Answers) == 1 {
				answer += " " + o.Answers[0].Status
			}
			return answer
		}
		if got := mailed("ada@example.org"); !strings.HasPrefix(got, "not_organizer") { // which says what the lab would answer
			t.Errorf("a mail for Ada by no delegate of hers: %s", got)
		}

		// Nobody is a delegate by themselves, of themselves, or without an account.
		grace.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/meetings", forAda(desk.ID, 0, nil))
		for path, code := range map[string]string{at("/me/delegates/%d", ada.User.ID): "own_account", "/me/delegates/4711": "unknown_user"} {
			p := ada.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPut, path, nil)
			if len(p.Errors) != 1 || p.Errors[0].Code != code || p.Errors[0].Location != "path.user_id" {
				t.Errorf("PUT %s: %+v", path, p.Errors)
			}
		}
		ada.Want(t, http.StatusNoContent, http.MethodPut, mine, nil, nil)
		type person1 struct {
			ID      int64  `json:"id"`
			Name    string `json:"name"`
			Private bool   `json:"private"`
		}
		if all := testenv.All[person1](t, grace, "/me/principals"); len(all) != 1 || all[0] != (person1{ada.User.ID, "Ada Lovelace", false}) {
			t.Errorf("Grace acts for %+v", all)
		}

		if got := mailed("ada@example.org"); got != "trusted ACCEPTED" {
			t.Errorf("a mail for Ada by her delegate: %s", got)
		}

		// Access and quota are those of the organizer, and both are named.
		var m struct {
			testenv.Meeting
			BookedBy *person1 `json:"booked_by"`
		}
		grace.Want(t, http.StatusCreated, http.MethodPost, "/meetings", forAda(lab.ID, 0, with{"attendees": []with{{"email": "bob@example.org"}}}), &m)
		if m.Organizer.ID != ada.User.ID || m.Status != "confirmed" || m.BookedBy == nil || m.BookedBy.ID != grace.User.ID {
			t.Errorf("%s for %+v by %+v, want confirmed for Ada by Grace", m.Status, m.Organizer, m.BookedBy)
		}
		p := grace.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", booking(lab.ID, 1, nil))
		if p.Errors[0].Code != "not_allowed" {
			t.Errorf("Grace for herself: %+v", p.Errors)
		}
		search := at("/availability?room_id=%d&start=%s&end=%s", lab.ID, start.Add(2*time.Hour).Format(time.RFC3339), start.Add(3*time.Hour).Format(time.RFC3339))
		for query, free := range map[string]bool{"": false, at("&organizer_id=%d", ada.User.ID): true} {
			if offers := testenv.All[struct{ Free bool }](t, grace, search+query); len(offers) != 1 || offers[0].Free != free {
				t.Errorf("the lab for Grace with %q: %+v", query, offers)
			}
		}
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, search+at("&organizer_id=%d", ada.User.ID), nil)
		ada.Book(t, booking(lab.ID, 2, nil))
		p = grace.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings", forAda(lab.ID, 4, nil))
		if p.Errors[0].Code != "quota" {
			t.Errorf("beyond Ada's quota: %+v", p.Errors)
		}
		grace.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "Board meeting"}, nil)
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "Mine"})
		history := ada.History(t, m.ID)
		for _, e := range history {
			if e.Actor.ID != grace.User.ID || e.Changes["acted_for"].To != "Ada Lovelace" {
				t.Errorf("%s by %+v for %v, want Grace for Ada", e.Action, e.Actor, e.Changes["acted_for"].To)
			}
		}
		told := map[string]int{}
		for _, n := range testenv.All[testenv.Notification](t, grace, at("/meetings/%d/notifications", m.ID)) {
			told[n.Kind+" "+n.Address]++
		}
		for _, want := range []string{"invitation ada@example.org", "invitation bob@example.org", "change ada@example.org", "change bob@example.org"} {
			if told[want] != 1 {
				t.Errorf("notifications %v, want %s once", told, want)
			}
		}
		if len(history) != 2 || len(told) != 4 {
			t.Errorf("%d entries, notifications %v", len(history), told)
		}
		grace.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/undo", m.ID), nil, nil)
		grace.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", m.ID), with{"reason": "Ada is ill"}, nil)
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)

		// Responses and check-ins.
		invited := bob.Book(t, booking(desk.ID, 5, with{"attendees": []with{{"email": "ada@example.org"}, {"email": "grace@example.org"}}}))
		answer := with{"response": "accepted", "user_id": ada.User.ID}
		grace.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/respond", invited.ID), answer, nil)
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/meetings/%d/respond", invited.ID), answer)
		responses := map[string]string{}
		for _, a := range bob.Meeting(t, invited.ID).Attendees {
			responses[a.Email] = a.Response
		}
		if responses["ada@example.org"] != "accepted" || responses["grace@example.org"] != "needs_action" {
			t.Errorf("responses %v", responses)
		}
		soon := time.Now().UTC().Add(10 * time.Minute).Truncate(time.Second)
		now := ada.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{desk.ID}))
		grace.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/check-in", now.ID), nil, nil)

		// Series.
		var series struct {
			Series   struct{ ID int64 }
			Meetings []testenv.Meeting
		}
		grace.Want(t, http.StatusCreated, http.MethodPost, "/series", forAda(desk.ID, 48, with{"rrule": "FREQ=DAILY;COUNT=2"}), &series)
		grace.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", series.Series.ID), with{"title": "Daily"}, nil)
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/series/%d/cancel", series.Series.ID), with{})
		grace.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/cancel", series.Series.ID), with{}, nil)
		if h := ada.History(t, series.Meetings[1].ID); len(h) != 3 || slices.ContainsFunc(h, func(e testenv.Entry) bool {
			return e.Actor.ID != grace.User.ID || e.Changes["acted_for"].To != "Ada Lovelace"
		}) {
			t.Errorf("a date of the series: %+v", h)
		}

		// Ada's phone number stays hers, whoever responds for her.
		ada.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"phone": "+4930123456"}, nil)
		called := bob.Book(t, booking(desk.ID, 7, with{"attendees": []with{{"email": "ada@example.org"}}}))
		var shown testenv.Meeting
		grace.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/respond", called.ID), answer, &shown)
		if a := shown.Attendees[0]; a.Phone != "" || a.Response != "accepted" {
			t.Errorf("Grace responds for Ada, and reads %+v", a)
		}

		// In a room that only Ada's group sees, Grace books for Ada, not for herself.
		vault := admin.NewRoom(t, "Vault", with{"access": with{"see": []int64{board.ID}}})
		grace.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", booking(vault.ID, 0, nil))
		grace.Want(t, http.StatusCreated, http.MethodPost, "/meetings", forAda(vault.ID, 0, nil), nil)

		// A private date of a public series is not theirs.
		grace.Want(t, http.StatusCreated, http.MethodPost, "/series", forAda(desk.ID, 72, with{"rrule": "FREQ=DAILY;COUNT=3", "attendees": []with{{"email": "bob@example.org"}}}), &series)
		hidden := series.Meetings[1].ID
		ada.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", hidden), with{"title": "Talk", "visibility": "private"}, nil)
		grace.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, at("/series/%d", series.Series.ID), with{"title": "Weekly"})
		grace.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/series/%d/cancel", series.Series.ID), with{})
		bob.Want(t, http.StatusNoContent, http.MethodPut, at("/me/delegates/%d", grace.User.ID), nil, nil)
		grace.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/respond", series.Series.ID), with{"response": "accepted", "user_id": bob.User.ID}, nil)
		for i, date := range series.Meetings {
			want := "accepted"
			if date.ID == hidden {
				want = "needs_action"
			}
			for _, a := range bob.Meeting(t, date.ID).Attendees {
				if a.Email == "bob@example.org" && a.Response != want {
					t.Errorf("date %d: Bob's response is %s", i, a.Response)
				}
			}
		}
		bob.Want(t, http.StatusNoContent, http.MethodDelete, at("/me/delegates/%d", grace.User.ID), nil, nil)
		ada.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/cancel", series.Series.ID), with{}, nil)

		// Private meetings are another right.
		secret := ada.Book(t, booking(desk.ID, 24, with{"title": "Interview", "visibility": "private"}))
		p = grace.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", forAda(desk.ID, 26, with{"visibility": "private"}))
		if len(p.Errors) != 1 || p.Errors[0].Location != "body.visibility" {
			t.Errorf("a private meeting that Grace would not see: %+v", p.Errors)
		}
		found := func() int {
			return len(testenv.All[testenv.Meeting](t, grace, "/meetings?q=Interview"))
		}
		if seen := grace.Meeting(t, secret.ID); seen.Title != "Busy" || found() != 0 {
			t.Errorf("Grace sees %q, and finds %d", seen.Title, found())
		}
		grace.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/meetings/%d/cancel", secret.ID), with{})
		ada.Want(t, http.StatusNoContent, http.MethodPut, mine, with{"private": true}, nil)
		if seen := grace.Meeting(t, secret.ID); seen.Title != "Interview" || found() != 1 {
			t.Errorf("Grace sees %q, and finds %d", seen.Title, found())
		}
		grace.Want(t, http.StatusCreated, http.MethodPost, "/meetings", forAda(desk.ID, 26, with{"visibility": "private"}), nil)
		grace.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", secret.ID), with{}, nil)

		// It ends at once, even for a request that is under way.
		open := ada.Book(t, booking(desk.ID, 28, nil))
		held := []*heldBack{
			holdBack(t, grace, http.MethodPost, "/meetings", forAda(desk.ID, 30, nil)),
			holdBack(t, grace, http.MethodPatch, at("/meetings/%d", open.ID), with{"title": "Too late"}),
		}
		ada.Want(t, http.StatusNoContent, http.MethodDelete, mine, nil, nil)
		for i, h := range held {
			if status := h.send(t); status != http.StatusForbidden {
				t.Errorf("request %d was under way: %d", i, status)
			}
		}
		ada.WantProblem(t, http.StatusNotFound, "not_found", http.MethodDelete, mine, nil)
		grace.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, at("/meetings/%d", open.ID), with{"title": "Too late"})

		// So do the rights of the user for whom somebody acts.
		ada.Want(t, http.StatusNoContent, http.MethodPut, mine, nil, nil)
		late := holdBack(t, grace, http.MethodPost, "/meetings", forAda(vault.ID, 30, nil))
		admin.Want(t, http.StatusNoContent, http.MethodDelete, at("/groups/%d/members/%d", board.ID, ada.User.ID), nil, nil)
		// Refused in either case: as a request under way, or, on a slow machine, as one that began afterwards.
		if status := late.send(t); status != http.StatusForbidden && status != http.StatusUnprocessableEntity {
			t.Errorf("a booking for Ada, who has left her group: %d", status)
		}
		ada.Want(t, http.StatusNoContent, http.MethodDelete, mine, nil, nil)

		// Admins decide for anybody; whoever is disabled neither acts nor is represented.
		theirs := at("/users/%d/delegates/%d", ada.User.ID, grace.User.ID)
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPut, theirs, nil)
		admin.Want(t, http.StatusNoContent, http.MethodPut, theirs, nil, nil)
		admin.Want(t, http.StatusNoContent, http.MethodPut, at("/users/%d/delegates/%d", bob.User.ID, ada.User.ID), nil, nil)
		admin.WantProblem(t, http.StatusNotFound, "not_found", http.MethodPut, at("/users/4711/delegates/%d", grace.User.ID), nil)
		grace.Book(t, forAda(desk.ID, 32, nil))
		for _, disabled := range []bool{true, false} {
			admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", ada.User.ID), with{"disabled": disabled}, nil)
		}
		for _, of := range []*testenv.Client{ada, bob} {
			if left := testenv.All[person1](t, admin, at("/users/%d/delegates", of.User.ID)); len(left) != 0 {
				t.Errorf("%s still has the delegates %+v", of.User.Name, left)
			}
		}
		grace.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/meetings", forAda(desk.ID, 34, nil))
		var notes struct {
			Items []struct{ Action string }
		}
		admin.Want(t, http.StatusOK, http.MethodGet, at("/audit?subject=user:%d&limit=100", ada.User.ID), nil, &notes)
		count := map[string]int{}
		for _, n := range notes.Items {
			count[n.Action]++
		}
		if count["user.delegate_set"] != 4 || count["user.delegate_removed"] != 2 {
			t.Errorf("audit %v", count)
		}
	})
}
