package tests

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"punctual/tests/testenv"
)

// TestPageUnsaved: what was typed is never dropped without a question, whichever way one leaves.
func TestPageUnsaved(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	hopper := roomNamed(t, ada, "Hopper")
	b := adminTab(t, server, "/admin/rooms")
	const asked = "document.querySelector('dialog[open]')?.innerText.includes('Discard changes?')"

	b.click("document.querySelector('a[href=\"/admin/rooms/%d\"]')", hopper.ID)
	b.fill("Name", "Renamed")
	for _, leave := range []string{
		"document.querySelector('nav a[href=\"/admin/sites\"]').click()",
		"document.querySelector('a[href=\"/mine\"]').click()",
		"history.back()",
	} {
		eval[bool](b, "(%s, true)", leave)
		b.await(asked)
		b.press("Keep editing")
		b.await("location.pathname === '/admin/rooms/%d' && hand.field('Name').value === 'Renamed'", hopper.ID)
	}
	b.accessible("unsaved changes")
	eval[bool](b, "(history.back(), true)")
	b.await(asked)
	b.press("Discard changes")
	b.await("location.pathname === '/admin/rooms'")

	// A new room: once it is made, nothing is unsaved.
	b.open("/admin/rooms/new")
	b.await("document.activeElement === hand.field('Name')")
	b.fill("Name", "Ritchie")
	b.press("Create")
	b.await("/^.admin.rooms.\\d+$/.test(location.pathname)")
	b.idle()
	b.click("document.querySelector('nav a[href=\"/admin/sites\"]')")
	b.await("location.pathname === '/admin/sites'")

	// A form in a dialog.
	b.press("New site")
	b.fill("Name", "Elsewhere")
	b.key(kb.Escape)
	b.says("Discard changes?")
	b.press("Keep editing")
	b.await("document.querySelector('dialog[open] input').value === 'Elsewhere'")
	b.key(kb.Escape)
	b.press("Discard")
	b.await("!document.querySelector('dialog[open]')")

	// A dialog of a page that is left by the browser.
	b.press("New site")
	b.fill("Name", "Elsewhere")
	eval[bool](b, "(history.back(), true)")
	b.says("Discard changes?")
	b.press("Keep editing")
	b.await("document.querySelector('dialog[open] input').value === 'Elsewhere'")
	b.key(kb.Escape)
	b.press("Discard")
	b.await("!document.querySelector('dialog[open]')")

	// What is only tried out, and a file that was not imported.
	b.open("/admin/config")
	b.press("Test a config file")
	b.fill("File content", "booking: {}")
	b.click("document.querySelector('nav a[href=\"/admin/sites\"]')")
	b.await(asked)
	b.press("Discard changes")
	b.await("location.pathname === '/admin/sites'")

	// A reason for a cancellation.
	b.open(at("/meetings/%d", testenv.All[testenv.Meeting](t, ada, "/meetings?limit=1&status=confirmed&organizer=me")[0].ID))
	b.press("Cancel meeting")
	b.fillIn("input[aria-label='Reason (optional)']", "Not needed")
	b.key(kb.Escape)
	b.says("Discard changes?")
	b.press("Keep editing")
	b.await("[...document.querySelectorAll('dialog[open] input')].some((e) => e.value === 'Not needed')")
	b.key(kb.Escape)
	b.press("Discard")
	b.await("!document.querySelector('dialog[open]')")

	b.open("/me")
	b.fill("Current password", "something")
	b.click("document.querySelector('a[href=\"/mine\"]')")
	b.await(asked)
	b.press("Discard changes")
	b.await("location.pathname === '/mine'")
	b.open("/me")
	b.fill("Name", "Somebody Else")
	b.click("document.querySelector('a[href=\"/mine\"]')")
	b.await(asked)
	b.press("Discard changes")
	b.await("location.pathname === '/mine'")
}

// TestPageDraft: a booking that was begun does not cover another page, and says that it was restored.
func TestPageDraft(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin"})
	alan := server.Login(t, "alan@example.org", demoPassword)
	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	date := quietDay()
	b.newBooking(date)
	b.fill("Title", "Begun")
	b.pick("Curie")
	b.press("Book")
	b.await(formShut)
	m := find(t, alan, "Begun")

	// The way back stays within reach above a dialog that opens meanwhile.
	b.await("document.querySelector('.toast .act')")
	b.click("[...document.querySelectorAll('.meeting')].find((e) => e.innerText.includes('Begun'))")
	b.await("document.querySelector('dialog[open] .toast .act')")
	b.click("document.querySelector('dialog[open] .toast .act')")
	b.await("fetch('/api/v1/meetings/%d').then((r) => r.json()).then((m) => m.status === 'cancelled')", m.ID)

	b.newBooking(date)
	b.fill("Title", "Unfinished")
	b.await("sessionStorage.length > 0")
	b.unhurried(1500) // the message with the button stays
	b.do(chromedp.Navigate(server.URL + at("/meetings/%d", m.ID)))
	b.await("document.querySelector('dialog[open] h2')?.innerText.includes('Begun')")
	b.await("document.querySelector('dialog[open] .toast')?.innerText.includes('unfinished booking')")
	if eval[bool](b, "Boolean(document.querySelector('dialog input.title'))") {
		t.Error("the form covers the meeting that the link leads to")
	}
	b.press("Continue")
	b.await("document.querySelector('dialog input.title')?.value === 'Unfinished'")
	b.says("Your draft was restored.")

	// A date of a series that is moved says that the others stay.
	start := monday(5)
	var made struct{ Meetings []struct{ ID int64 } }
	alan.Want(t, 201, "POST", "/series", with{
		"title": "Weekly", "room_ids": []int64{roomNamed(t, ada, "Curie").ID}, "timezone": "Europe/Berlin", "rrule": "FREQ=WEEKLY;COUNT=3",
		"start": start.Format("2006-01-02T15:04:05"), "end": start.Add(time.Hour).Format("2006-01-02T15:04:05"),
	}, &made)
	b.press("Cancel")
	b.press("Discard")
	b.open("/?date=" + start.Format(time.DateOnly))
	b.drag("Curie", 9.5, "Curie", 13.5)
	b.told("Only this date was moved")
}
