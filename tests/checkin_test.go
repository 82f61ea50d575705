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
		began := time.Now()
		admin := server.Admin(t)
		asking := with{"check_in": with{"required": true, "opens": "1m", "grace": "3s"}}
		kept, lost := admin.NewRoom(t, "Kept", asking), admin.NewRoom(t, "Lost", asking)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")

		start := inGoodTime(began, 8)
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
		if came.Status != "confirmed" && time.Now().Before(start) {
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

// TestCheckIn_configured: the configuration begins to ask for check-in, has people wait longer, and
// asks no more, while meetings come, wait and have begun. Each is released at the time that holds for
// it in the end, to the second, or not at all; rooms that say it themselves are left alone.
func TestCheckIn_configured(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.LoadEvery = 10 * time.Minute // so that nothing is on time by chance
		config := func(required bool, grace string) string {
			return fmt.Sprintf("booking: { check_in: { required: %v, opens: 1m, grace: %s } }\n", required, grace)
		}
		on.YAML = config(false, "5m")
		server := testenv.Server(t, on.Config)
		file := server.Config(t)
		admin := server.Admin(t)
		rooms := []testenv.Room{admin.NewRoom(t, "Follows"), admin.NewRoom(t, "Says no", with{"check_in": with{"required": false}})}
		book := func(room testenv.Room, start time.Time) testenv.Meeting {
			return admin.Book(t, testenv.Booking(start, start.Add(20*time.Minute), []int64{room.ID}))
		}
		until := func(m testenv.Meeting) (at time.Time) {
			var got struct {
				CheckIn struct{ Until *time.Time } `json:"check_in"`
			}
			admin.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/meetings/%d", m.ID), nil, &got)
			if got.CheckIn.Until != nil {
				at = *got.CheckIn.Until
			}
			return at
		}
		switched := func(required bool, grace string, m testenv.Meeting, want time.Time) {
			t.Helper()
			server.Configure(t, strings.Replace(file, on.YAML, config(required, grace), 1))
			eventually(t, time.Now().Add(slack), "the meeting follows", func() bool { return until(m).Equal(want) })
		}
		minutes := func(n int) time.Time { return inSeconds(1).Add(time.Duration(n) * time.Minute) }

		began := book(rooms[0], inSeconds(0))
		eventually(t, began.Start.Add(slack), "begun", func() bool { return admin.Meeting(t, began.ID).Status == "in_progress" })
		first, other := book(rooms[0], minutes(30)), book(rooms[1], minutes(30))
		switched(true, "30s", first, first.Start.Add(30*time.Second))
		if !until(began).IsZero() || !until(other).IsZero() {
			t.Errorf("one that had begun must be checked in to until %v, one in a room that says no until %v", until(began), until(other))
		}
		admin.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/end", began.ID), nil, nil)

		// One that has begun is let off; another is waited for longer.
		lounge := admin.NewRoom(t, "Follows too")
		soon := inSeconds(1)
		waited := book(lounge, soon)
		eventually(t, soon.Add(slack), "begun", func() bool { return admin.Meeting(t, waited.ID).Status == "in_progress" })
		switched(true, "2s", first, first.Start.Add(2*time.Second))
		if at := until(waited); !at.Equal(soon.Add(30 * time.Second)) {
			t.Errorf("one that has begun must be checked in to by %v, which was %v", at, soon.Add(30*time.Second))
		}
		switched(true, "33s", waited, soon.Add(33*time.Second))
		eventually(t, soon.Add(33*time.Second+slack), "released", func() bool { return len(entries(admin.History(t, waited.ID), "released")) == 1 })
		wantOnce(t, admin.History(t, waited.ID), "released", "timer", soon.Add(33*time.Second))

		soon = inSeconds(1)
		off := book(lounge, soon)
		eventually(t, soon.Add(slack), "begun", func() bool { return admin.Meeting(t, off.ID).Status == "in_progress" })
		switched(false, "33s", off, time.Time{})
		if !until(first).IsZero() {
			t.Errorf("asks no more, but until %v", until(first))
		}

		// A room that begins to ask is on time, though nothing is loaded.
		asks := admin.NewRoom(t, "Asks", with{"check_in": with{"required": true, "grace": "4m"}})
		soon = inSeconds(10)
		own := book(asks, soon)
		admin.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/rooms/%d", own.RoomIDs[0]), with{"check_in": with{"grace": "2s"}}, nil)
		eventually(t, soon.Add(2*time.Second+slack), "released", func() bool { return len(entries(admin.History(t, own.ID), "released")) == 1 })
		wantOnce(t, admin.History(t, own.ID), "released", "timer", soon.Add(2*time.Second))
		if got := admin.Meeting(t, off.ID); got.Status != "in_progress" || len(entries(admin.History(t, off.ID), "released")) != 0 {
			t.Errorf("let off: %+v", got)
		}
	})
}

// TestNoShow_killed: the program dies when it has given a room back, before anybody was told, and
// before the queue was. It is given back once all the same, and who waited for the rest has it.
func TestNoShow_killed(t *testing.T) {
	for _, point := range []string{"change.after", "ack.before/meeting.no_show"} {
		t.Run(point, func(t *testing.T) {
			onBoth(t, func(t *testing.T, on setup) {
				mail := testenv.Mail(t)
				on.Mail, on.Tags = mail, "failpoint"
				server := testenv.PrepareServer(t, on.Config)
				server.Setenv("FAILPOINT", point)
				server.Start(t)
				began := time.Now()
				admin := server.Admin(t)
				alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
				room := admin.NewRoom(t, "Lounge", with{"check_in": with{"required": true, "grace": "1s"}})
				start := inGoodTime(began, 6)
				m := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
				rest := join(t, bob, testenv.Booking(start.Add(10*time.Minute), start.Add(time.Hour), []int64{room.ID}))
				if !server.AwaitKilled(4*slack) || !strings.Contains(server.Log(), "failpoint "+point) {
					t.Fatalf("it did not die there\n%s", server.Log())
				}
				if on.redis != nil {
					on.redis.Do(t, "FLUSHALL")
				}
				server.Setenv("FAILPOINT", "")
				server.Start(t)
				rest = becomes(t, bob, rest, "booked")
				if got := alice.Meeting(t, m.ID); got.Status != "released" {
					t.Errorf("to which nobody came: %+v", got)
				}
				wantOnce(t, alice.History(t, m.ID), "released", "timer", start.Add(time.Second))
				if n := len(entries(bob.History(t, rest.MeetingID), "created")); n != 1 {
					t.Errorf("the rest was booked %d times", n)
				}
				for _, want := range []struct{ to, kind string }{{"alice", "released"}, {"bob", "waitlist_booked"}} {
					eventually(t, time.Now().Add(2*slack), at("a mail %s to %s", want.kind, want.to), func() bool {
						return len(mail.Where(want.to+"@example.org", want.kind)) == 1
					})
				}
				wantNothingTwice(t, mail)
			})
		})
	}
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
	start := inSeconds(24)
	m := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
		"attendees": []any{with{"email": "guest@example.net", "name": "Guest", "locale": "de"}},
		"reminders": []any{reminder("start", 12*time.Second, "email")},
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
	look(link[1], http.StatusOK, ">Einchecken</button>", m.Title, "Kept")
	look(link[1], http.StatusOK, ">Einchecken</button>")
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
	for _, stranger := range []*testenv.Client{alice, admin.NewUser(t, "Max", "manager")} { // or they would check in from afar
		stranger.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, fmt.Sprintf("/rooms/%d/door-code", other.ID), nil)
	}
	admin.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/rooms/%d/door-code", other.ID), nil, &code)
	if !code.Until.After(time.Now()) {
		t.Errorf("the code ended at %v", code.Until)
	}
	look(code.URL, http.StatusOK, "The room is free")
	secret := alice.Book(t, testenv.Booking(inSeconds(60), start.Add(time.Hour), []int64{other.ID}, with{"visibility": "private", "title": "Takeover of a rival"}))
	look(code.URL, http.StatusOK, ">Check in</button>", "Busy")
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
