package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"punctual/tests/testenv"
	"punctual/web"
)

// TestPageFinder: one click books the favorite room now; the finder offers rooms with reasons and books
// the first with Enter; the command palette understands a sentence, says what is taken, and books.
func TestPageFinder(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	alice := admin.NewUser(t, "Alice", "member")
	admin.NewUser(t, "Grace", "member")
	admin.NewRoom(t, "Small", with{"capacity": 2})
	turing := admin.NewRoom(t, "Turing", with{"capacity": 8, "features": []string{"projector"}})
	alice.Want(t, http.StatusNoContent, http.MethodPut, fmt.Sprintf("/me/favorites/%d", turing.ID), nil, nil)

	b := browse(t, server)
	b.signIn("alice@example.org", "a good long password")

	// A room now: the favorite, though another fits better. Length and room can be changed.
	b.press("Room now")
	b.await("document.querySelector('#room-now h2')?.innerText === 'Turing is booked'")
	now := only(t, alice, "Alice’s meeting")
	if now.RoomIDs[0] != turing.ID || now.End.Sub(now.Start) != 30*time.Minute {
		t.Errorf("booked %+v", now)
	}
	b.accessible("a room now")
	begun(t, alice, now.ID) // what has not begun is cancelled, else ended
	b.press("1 h")
	b.await("document.querySelector('#room-now [aria-pressed=true]').innerText === '1 h'")
	b.click("[...document.querySelectorAll('#room-now button')].find((e) => e.innerText.trim() === 'Undo')")
	b.await("!document.querySelector('#room-now')")
	if ms := testenv.All[testenv.Meeting](t, alice, "/meetings?status=confirmed,in_progress&limit=500"); len(ms) != 0 {
		t.Errorf("after the undo: %+v", ms)
	}

	// The finder: an address to share, reasons, and Enter in the title.
	date := time.Now().UTC().AddDate(0, 0, 3).Format(time.DateOnly)
	b.open("/find?people=6&features=projector&time=10:00&date=" + date)
	b.await("document.querySelector('.results li strong')?.innerText === 'Turing'")
	b.reads("Your favorite")
	b.reads("Fits 6 of 8 seats")
	b.reads("Has projector")
	b.accessible("the finder")
	b.fill("Title", "Found\r")
	b.reads("Nothing is free then. The nearest times:")
	if m := only(t, alice, "Found"); m.RoomIDs[0] != turing.ID || m.Start.Format(time.DateOnly) != date {
		t.Errorf("booked %+v", m)
	}

	// The palette: what was understood, what is taken, another room, and Enter.
	b.key(kb.Escape)
	eval[bool](b, "dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, cancelable: true }))")
	say := "dialog[open] input[role=combobox]"
	b.fillIn(say, fmt.Sprintf(`Turing %s 10:00-11:00 with grace "By words"`, date))
	b.await("[...document.querySelectorAll('dialog .chips li')].some((c) => c.innerText.trim() === 'Grace')")
	b.await("document.querySelector('dialog [role=option][aria-disabled=true]')?.innerText.includes('Taken')")
	b.await("document.querySelector('dialog [role=option][aria-selected=true]')?.innerText.includes('Book Small')")
	b.accessible("the command palette")
	b.await("document.querySelector('dialog [role=listbox]').getAttribute('aria-busy') === 'false'")
	b.key("\r")
	b.await(formShut)
	if m := only(t, alice, "By words"); m.RoomIDs[0] == turing.ID || len(m.Attendees) != 1 || m.Attendees[0].Email != "grace@example.org" {
		t.Errorf("booked %+v", m)
	}
}

// only is the one meeting of a title that takes place.
func only(t *testing.T, c *testenv.Client, title string) testenv.Meeting {
	t.Helper()
	ms := booked(t, c, title)
	if len(ms) != 1 {
		t.Fatalf("%d meetings named %q", len(ms), title)
	}
	return ms[0]
}
