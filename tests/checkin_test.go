package tests

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestCheckIn: of two meetings where people must say that they came, the one where they do goes
// on and the other gives its room back, on time, to whoever asks next.
func TestCheckIn(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		asking := with{"check_in": with{"required": true, "opens": "1m", "grace": "3s"}}
		kept, lost := admin.NewRoom(t, "Kept", asking), admin.NewRoom(t, "Lost", asking)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")

		start := inSeconds(2)
		grace := start.Add(3 * time.Second)
		held := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{kept.ID}, with{
			"attendees": []any{with{"email": bob.User.Email}},
		}))
		missed := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{lost.ID}))
		far := alice.Book(t, testenv.Booking(start.Add(3*time.Hour), start.Add(4*time.Hour), []int64{kept.ID}))

		path := func(m testenv.Meeting, action string) string { return fmt.Sprintf("/meetings/%d/%s", m.ID, action) }
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, path(missed, "check-in"), nil)
		alice.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, path(far, "check-in"), nil)
		var came testenv.Meeting
		bob.Want(t, http.StatusOK, http.MethodPost, path(held, "check-in"), nil, &came)
		if came.Status != "confirmed" {
			t.Errorf("checked in: %+v", came)
		}

		eventually(t, grace.Add(slack), "released, with its entry in the history", func() bool {
			return alice.Meeting(t, missed.ID).Status == "released" && len(entries(alice.History(t, missed.ID), "released")) == 1
		})
		wantOnce(t, alice.History(t, missed.ID), "released", "timer", grace)
		if e := entries(alice.History(t, missed.ID), "released")[0]; e.Reason != "no_show" || e.Actor.Name != "meeting.no_show" {
			t.Errorf("released: %+v", e)
		}
		bob.Book(t, testenv.Booking(inSeconds(1), start.Add(time.Hour), []int64{lost.ID}))
		alice.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, path(missed, "check-in"), nil)
		eventually(t, grace.Add(slack), "a mail to the organizer", func() bool { return len(mail.Where(alice.User.Email, "released")) == 1 })

		if m := alice.Meeting(t, held.ID); m.Status != "in_progress" {
			t.Errorf("where somebody came: %+v", m)
		}
		if es := entries(alice.History(t, held.ID), "checked_in"); len(es) != 1 || es[0].Actor.ID != bob.User.ID {
			t.Errorf("checked_in: %+v", es)
		}

		// The rest of a meeting that ends early is free at once; a longer one may be in the way.
		var longer, ended testenv.Meeting
		alice.Want(t, http.StatusOK, http.MethodPost, path(held, "extend"), with{"end": held.End.Add(15 * time.Minute)}, &longer)
		if !longer.End.Equal(held.End.Add(15 * time.Minute)) {
			t.Errorf("extended: %+v", longer)
		}
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, path(held, "extend"), with{"end": far.End})
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, path(held, "extend"), with{"end": held.End})
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, path(held, "extend"), with{})
		alice.Want(t, http.StatusOK, http.MethodPost, path(held, "end"), nil, &ended)
		if ended.Status != "ended" || ended.EndedAt == nil || !ended.End.Equal(longer.End) {
			t.Errorf("ended: %+v", ended)
		}
		bob.Book(t, testenv.Booking(inSeconds(1), held.End, []int64{kept.ID}))
		wantNothingTwice(t, mail)
	})
}

// TestCheckInByLink: a guest checks in by the link in the reminder, and whoever stands at the
// door by its code, without signing in; looking changes nothing, and a forged link does nothing.
func TestCheckInByLink(t *testing.T) {
	t.Parallel()
	mail := testenv.Mail(t)
	server := testenv.Server(t, testenv.Config{Mail: mail})
	admin := server.Admin(t)
	asking := with{"check_in": with{"required": true, "opens": "5m", "grace": "10m"}}
	room, other := admin.NewRoom(t, "Kept", asking), admin.NewRoom(t, "Other", asking)
	alice := admin.NewUser(t, "Alice", "member")
	start := inSeconds(3)
	m := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
		"attendees": []any{with{"email": "guest@example.net", "name": "Guest", "locale": "de"}},
		"reminders": []any{reminder("start", 2*time.Second, "email")},
	}))
	eventually(t, start.Add(slack), "a reminder to the guest", func() bool { return len(mail.Where("guest@example.net", "reminder")) == 1 })
	text := mail.Where("guest@example.net", "reminder")[0].Part("text/plain")
	link := regexp.MustCompile(`Einchecken: (http\S+/check-in\?token=\S+)`).FindStringSubmatch(text)
	if link == nil {
		t.Fatalf("no link to check in:\n%s", text)
	}

	browser := &http.Client{}
	look := func(address string, status int, words ...string) {
		t.Helper()
		res, err := browser.Get(address)
		wantPage(t, res, err, status, words...)
	}
	press := func(address string, status int, words ...string) {
		t.Helper()
		token, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		res, err := browser.PostForm(server.URL+"/check-in", url.Values{"token": {token.Query().Get("token")}})
		wantPage(t, res, err, status, words...)
	}
	look(link[1], http.StatusOK, "Wir sind da", m.Title, "Kept")
	look(link[1], http.StatusOK, "Wir sind da")
	if es := entries(alice.History(t, m.ID), "checked_in"); len(es) != 0 {
		t.Errorf("looking checked in: %+v", es)
	}
	look(link[1][:len(link[1])-3]+"AAA", http.StatusNotFound)
	press(link[1], http.StatusOK, "Eingecheckt")
	press(link[1], http.StatusOK, "Eingecheckt")
	es := entries(alice.History(t, m.ID), "checked_in")
	if len(es) != 1 || es[0].Actor.Name != "Guest" || es[0].Actor.Kind != "user" {
		t.Errorf("checked_in: %+v", es)
	}

	var code struct {
		URL   string
		Until time.Time
	}
	alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, fmt.Sprintf("/rooms/%d/door-code", other.ID), nil)
	admin.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/rooms/%d/door-code", other.ID), nil, &code)
	if !code.Until.After(time.Now()) {
		t.Errorf("the code ended at %v", code.Until)
	}
	look(code.URL, http.StatusOK, "The room is free")
	secret := alice.Book(t, testenv.Booking(inSeconds(60), start.Add(time.Hour), []int64{other.ID}, with{"visibility": "private", "title": "Takeover of a rival"}))
	look(code.URL, http.StatusOK, "We are here", "Busy")
	press(code.URL, http.StatusOK, "Checked in")
	if es := entries(alice.History(t, secret.ID), "checked_in"); len(es) != 1 || es[0].Actor.Name != "door of Other" {
		t.Errorf("checked_in at the door: %+v", es)
	}
}

// wantPage reads a page, which must not tell more than it may.
func wantPage(t *testing.T, res *http.Response, err error, status int, words ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Errorf("%s: %d, want %d (%v)\n%s", res.Request.URL.Path, res.StatusCode, status, err, body)
	}
	for _, w := range words {
		if !strings.Contains(string(body), w) {
			t.Errorf("%s does not say %q:\n%s", res.Request.URL.Path, w, body)
		}
	}
	if strings.Contains(string(body), "rival") {
		t.Error("a private title is shown")
	}
}
