package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
	"punctual/web"
)

const newUserPassword = "a good long password" // of Client.NewUser

// inside finds the button of a name in the row or the article with a text.
func inside(title, name string) string {
	return fmt.Sprintf(`//*[self::li or self::article][contains(normalize-space(), %q)]//button[normalize-space()=%[2]q or @aria-label=%[2]q]`, title, name)
}

// TestPageMine is somebody's day: invitations answered by the page and by a guest's mail while
// the organizer looks on, check-in, longer, ended, late, and an offer of the waiting list.
func TestPageMine(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	mail := testenv.Mail(t)
	server := testenv.Server(t, testenv.Config{Mail: mail, YAML: "booking: { waiting_list: { offer: 1h } }\n"})
	admin := server.Admin(t)
	grace := admin.NewUser(t, "Grace", "manager", with{"timezone": "Europe/Berlin"})
	alan := admin.NewUser(t, "Alan", "member", with{"timezone": "Europe/Berlin"})
	berlin := with{"timezone": "Europe/Berlin", "capacity": 8}
	room := admin.NewRoom(t, "Curie", berlin, with{"check_in": with{"required": true, "opens": "15m", "grace": "10m"}})
	other := admin.NewRoom(t, "Meitner", berlin)
	far := admin.NewRoom(t, "紫金", with{"timezone": "Asia/Shanghai"})
	board := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{grace.User.ID}, "timeout": "2h"}})
	guest := "guest@example.net"
	invited := with{"attendees": []any{with{"email": "alan@example.org"}, with{"email": guest, "name": "Guest"}}}

	soon := time.Now().UTC().Truncate(time.Hour).Add(28 * time.Hour)
	review := grace.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{far.ID}, invited, with{"title": "Design review"}))
	var series struct{ Meetings []testenv.Meeting }
	grace.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(soon.Add(2*time.Hour), soon.Add(150*time.Minute), []int64{other.ID}, invited,
		with{"title": "Stand-up", "rrule": "FREQ=DAILY;COUNT=5", "timezone": "UTC"}), &series)
	held := grace.Book(t, testenv.Booking(soon.Add(5*time.Hour), soon.Add(6*time.Hour), []int64{other.ID}, with{"title": "Held"}))
	waits := join(t, alan, testenv.Booking(soon.Add(5*time.Hour), soon.Add(6*time.Hour), []int64{other.ID}, with{"title": "Retrospective"}))
	join(t, alan, testenv.Booking(soon, soon.Add(time.Hour), []int64{far.ID}, with{"title": "Call with Shanghai"}))
	alan.Book(t, testenv.Booking(soon.Add(72*time.Hour), soon.Add(73*time.Hour), []int64{board.ID}, with{"title": "Town hall"}))

	a, b := browse(t, server), browse(t, server)
	a.unhurried(1500) // the message with the button stays
	a.signIn("alan@example.org", newUserPassword)
	b.signIn("grace@example.org", newUserPassword)
	a.open("/mine")
	a.reads("Invitations")
	a.reads("5 dates") // one question for the series
	a.reads("Number 1 on the list")
	a.reads("Town hall")
	a.judged("mine-invited", "li.invitation")

	// The organizer's page shows what is answered, at once.
	answers := func(who, response string) string {
		return fmt.Sprintf("[...document.querySelectorAll('dialog dl li.%s')].some((e) => e.innerText.includes(%q))", response, who)
	}
	b.open(at("/meetings/%d", review.ID))
	b.await("%s", answers("Alan", "needs_action"))
	a.click("%s", xpath(inside("Design review", "Accept: Design review")))
	a.told("Accepted: Design review")
	b.live("the answer of one", answers("Alan", "accepted"))
	a.press("Undo")
	a.await("[...document.querySelectorAll('li.invitation')].some((e) => e.innerText.includes('Design review'))")
	b.live("that it was taken back", answers("Alan", "needs_action"))
	if got := answersTo(grace.Meeting(t, review.ID))["alan@example.org"]; got != "needs_action" {
		t.Errorf("undone: %s", got)
	}

	// By the keyboard, and the focus goes on to the next question.
	a.strike(`[aria-label="Maybe: Design review"]`, "\r")
	a.await("![...document.querySelectorAll('li.invitation')].some((e) => e.innerText.includes('Design review'))")
	a.await("document.activeElement.closest('li.invitation')")
	a.reads("You said maybe")
	a.click("%s", xpath(inside("Stand-up", "Decline: Stand-up")))
	a.await("!document.querySelector('li.invitation')")
	for _, m := range series.Meetings {
		if got := answersTo(grace.Meeting(t, m.ID))["alan@example.org"]; got != "declined" {
			t.Errorf("the date %v: %s", m.Start, got)
		}
	}
	a.await("!document.querySelector('.main').innerText.includes('Stand-up')") // who declined is left in peace

	// A guest answers by the mail, on a page that needs no account.
	link, _ := linkIn(t, mail, guest, "invitation", "Design review", 1, respondLink)
	g := browse(t, server)
	g.do(chromedp.Navigate(link + "&choice=accepted"))
	g.await("document.querySelector('main')")
	g.reads("Please confirm below")
	g.accessible("respond")
	g.shot("respond")
	g.dark(true)
	g.accessible("respond-dark")
	g.size(phone)
	g.shot("respond-phone-dark")
	g.dark(false)
	g.size(desk)
	g.press("Accept")
	g.await("document.body?.innerText.includes('Accepted')")
	g.shot("respond-done")
	b.live("the answer of the guest", answers("Guest", "accepted"))

	// What is offered is accepted.
	cancel(t, grace, held.ID)
	a.reads("Offered to you")
	a.judged("mine-offer", ".offers")
	a.click("%s", xpath(inside("Retrospective", "Accept")))
	a.told("The room is yours")
	if w := waitOf(t, alan, waits.ID); w.State != "booked" {
		t.Errorf("accepted: %+v", w)
	}
	a.await("[...document.querySelectorAll('li.meeting')].some((e) => e.innerText.includes('Retrospective'))")
	a.press("Leave waiting list")
	a.await("!document.querySelector('#waits-waiting')")

	// A meeting that takes place: check in, longer as far as it goes, ended.
	start := inSeconds(6)
	on := grace.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": "Right now", "attendees": []any{with{"email": "alan@example.org"}}}))
	grace.Book(t, testenv.Booking(start.Add(80*time.Minute), start.Add(2*time.Hour), []int64{room.ID}, with{"title": "Right after"}))
	b.open("/mine")
	b.reads("Check in by")
	b.await("document.querySelector('article.now.on')")
	b.reads("The room is free until")
	b.judged("mine-now", "article.now")
	b.press("Check in")
	b.told("Checked in")
	b.await("document.querySelector('[aria-label=\"+30 min, extend by 30 minutes\"]').disabled")
	b.press("+15 min, extend by 15 minutes")
	b.told("Extended until")
	if got := grace.Meeting(t, on.ID); !got.End.Equal(start.Add(75 * time.Minute)) {
		t.Errorf("ends at %v, want %v", got.End, start.Add(75*time.Minute))
	}
	b.press("End now")
	b.told("Meeting ended")
	if got := grace.Meeting(t, on.ID); got.Status != "ended" {
		t.Errorf("ended: %s", got.Status)
	}

	// What comes next begins later, and nobody is asked again for that.
	next := inSeconds(20 * 60)
	late := grace.Book(t, testenv.Booking(next, next.Add(time.Hour), []int64{other.ID}, invited, with{"title": "Up next"}))
	b.reads("Running late?")
	b.judged("mine-next", "article.now")
	b.press("+15 min, Start 15 minutes later")
	b.told("Attendees notified")
	if got := grace.Meeting(t, late.ID); !got.Start.Equal(next.Add(15*time.Minute)) || !got.End.Equal(late.End) {
		t.Errorf("late: %v to %v", got.Start, got.End)
	}

	// The past is found again.
	b.press("Past")
	b.reads("Right now")
	b.judged("mine-past", "input[type=search]")
	b.fillIn("input[type=search]", "nothing like it")
	b.reads("No meetings in the last 30 days match")

	// In the other languages.
	for _, heading := range [][2]string{{"zh", "我的会议"}, {"de", "Meine Besprechungen"}} {
		language, title := heading[0], heading[1]
		a.choose("#menu-language", language)
		a.await("document.body?.innerText.includes(%q)", title)
		a.open("/mine")
		a.await("document.querySelector('h1')?.innerText === %q && document.querySelector('li.meeting')", title)
		a.accessible("mine-" + language)
		a.shot("mine-" + language)
	}
}

// TestPageRequests: several requests are decided at once, a series as one of them, by who is
// asked and by who stands in for them.
func TestPageRequests(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	grace, mary, alan := admin.NewUser(t, "Grace", "manager"), admin.NewUser(t, "Mary", "manager"), admin.NewUser(t, "Alan", "member")
	board := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{grace.User.ID}, "timeout": "24h"}})
	free := admin.NewRoom(t, "Curie")
	grace.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": with{"from": inSeconds(-3600), "until": inSeconds(86400), "deputy_id": mary.User.ID}}, nil)
	soon := inSeconds(72 * 3600)
	slot := func(hour int, title string) with {
		return testenv.Booking(soon.Add(time.Duration(hour)*time.Hour), soon.Add(time.Duration(hour)*time.Hour+30*time.Minute), []int64{board.ID}, with{"title": title})
	}
	one, two, three := alan.Book(t, slot(0, "Alpha")), alan.Book(t, slot(1, "Beta")), alan.Book(t, slot(2, "Gamma"))
	var series struct{ Meetings []testenv.Meeting }
	weekly := slot(3, "Weekly")
	weekly["rrule"], weekly["timezone"] = "FREQ=WEEKLY;COUNT=3", "UTC"
	alan.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly, &series)
	moved := alan.Book(t, testenv.Booking(soon.Add(5*time.Hour), soon.Add(6*time.Hour), []int64{free.ID}, with{"title": "Moving"}))

	b := browse(t, server)
	b.signIn("mary@example.org", newUserPassword) // who stands in for Grace
	b.open("/requests")
	b.await("document.querySelectorAll('article').length === 4")
	b.reads("3 dates")
	alan.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", moved.ID), with{"room_ids": []int64{board.ID}}, nil)
	b.reads("Requested time") // at once
	b.judged("requests", "article")

	mark := func(title string) {
		b.click("document.querySelector('[aria-label=\"Select %s\"]')", title)
	}
	mark("Alpha")
	mark("Weekly")
	b.reads("2 selected")
	b.shot("requests-selected")
	b.press("Approve 2")
	b.await("document.querySelectorAll('article').length === 3")
	for _, m := range append(series.Meetings, one) {
		eventually(t, time.Now().Add(patience), m.Title+" is confirmed", func() bool { return alan.Meeting(t, m.ID).Status == "confirmed" })
	}
	b.click("document.querySelector('.bar input[type=checkbox]')")
	b.press("Reject 3")
	b.await("document.activeElement.matches('.bar input')")
	b.key("Not that week\r")
	b.reads("No requests waiting")
	for _, m := range []testenv.Meeting{two, three} {
		if got := alan.Meeting(t, m.ID); got.Status != "rejected" || got.Approval.Comment != "Not that week" {
			t.Errorf("%s is %s: %q", m.Title, got.Status, got.Approval.Comment)
		}
	}
	if got := alan.Meeting(t, moved.ID); got.Status != "confirmed" || got.RoomIDs[0] != free.ID {
		t.Errorf("the move that was refused: %+v", got)
	}
}

// TestPageProfile: somebody changes what is known of them, says who decides in their place, gets
// an address for their calendar and a token, and a new password.
func TestPageProfile(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	grace, mary := admin.NewUser(t, "Grace", "manager", with{"timezone": "Europe/Berlin"}), admin.NewUser(t, "Mary", "manager")
	room := admin.NewRoom(t, "Curie")
	soon := inSeconds(3 * 86400)
	grace.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{room.ID}, with{"title": "Design review"}))

	b := browse(t, server)
	b.signIn("grace@example.org", newUserPassword)
	b.open("/")
	b.click("document.querySelector('.avatar')")
	b.press("My profile")
	b.await("document.querySelector('h1')?.innerText === 'My profile' && document.querySelector('#tokens')")
	b.reads("New token")
	b.judged("profile", "#tokens")

	b.fill("Name", "Grace Hopper")
	b.fill("Phone", "call me")
	b.press("Save")
	b.await("document.querySelector('form [aria-invalid=true]')?.type === 'tel'")
	b.fill("Phone", "+4930123456")
	b.fill("Time zone", "Asia/Shanghai")
	b.click("[...document.querySelectorAll('label.check')].find((l) => l.innerText.includes('Send my own meetings to my calendar')).querySelector('input')")
	b.press("Save")
	b.told("Saved")
	var me struct {
		testenv.User
		CalendarMails bool `json:"calendar_mails"`
		Away          *struct {
			DeputyID int64 `json:"deputy_id"`
		}
	}
	grace.Want(t, http.StatusOK, http.MethodGet, "/me", nil, &me)
	if !me.CalendarMails || me.Name != "Grace Hopper" || me.Phone != "+4930123456" || me.Timezone != "Asia/Shanghai" {
		t.Errorf("saved %+v", me)
	}
	b.await("document.querySelector('.who').textContent.includes('Grace Hopper')")

	section := func(id, button string) string {
		return fmt.Sprintf(`//section[@aria-labelledby=%q]//button[normalize-space()=%q]`, id, button)
	}
	b.click("document.querySelector('section[aria-labelledby=absence] input[type=checkbox]')")
	b.click("%s", xpath(section("absence", "Save")))
	b.await("document.querySelector('section[aria-labelledby=absence] [aria-invalid=true]')")
	b.choose("section[aria-labelledby=absence] .field:nth-of-type(2) input", time.Now().AddDate(0, 0, 7).Format(time.DateOnly))
	b.choose("section[aria-labelledby=absence] select", fmt.Sprint(mary.User.ID))
	b.accessible("profile-absence")
	b.click("%s", xpath(section("absence", "Save")))
	eventually(t, time.Now().Add(patience), "Mary stands in", func() bool {
		grace.Want(t, http.StatusOK, http.MethodGet, "/me", nil, &me)
		return me.Away != nil && me.Away.DeputyID == mary.User.ID
	})

	b.press("Create link")
	b.await("document.querySelector('.created input')")
	address := eval[string](b, "document.querySelector('.created input').value")
	b.accessible("profile-feed")
	b.shot("profile-feed")
	status, _, cal := feed{URL: address}.read(t, grace, "")
	if status != http.StatusOK || len(titles(t, cal)["Design review"]) != 1 {
		t.Errorf("%s: %d", address, status)
	}
	b.click("%s", xpath(section("calendars", "Revoke")))
	b.reads("Link revoked")
	if status, _, _ := (feed{URL: address}).read(t, grace, ""); status != http.StatusNotFound {
		t.Errorf("ended: %d", status)
	}

	b.fill("Current password", "not this one")
	b.fill("New password", "another good password")
	b.press("Change password")
	b.await("document.querySelector('section[aria-labelledby=password] [aria-invalid=true]')")
	b.fill("Current password", newUserPassword)
	b.press("Change password")
	b.reads("Password changed")
	server.Login(t, "grace@example.org", "another good password")
}
