package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// focused is the text of what has the focus, or its name and value if it is a field.
func (b *tab) focused() string {
	b.t.Helper()
	return eval[string](b, `((e) => e.matches('input') ? e.ariaLabel + ': ' + e.value : e === document.body ? 'nothing' : e.innerText.trim())(document.activeElement)`)
}

// TestPageSlow: when answers are late or lost, nothing is sent twice, no input is lost, and the
// keyboard focus stays.
func TestPageSlow(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	grace := server.Login(t, "grace@example.org", demoPassword)
	for _, name := range []string{"Curie", "Meitner"} {
		ada.NewRoom(t, name, with{"timezone": "Europe/Berlin", "capacity": 6})
	}
	hall := ada.NewRoom(t, "Hall", with{"approval": map[string]any{"required": true, "approver_ids": []int64{grace.User.ID}}})
	soon := inSeconds(72 * 3600)
	asks := func(n int) testenv.Meeting {
		start := soon.Add(time.Duration(2*n) * time.Hour)
		return alan.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{hall.ID}, with{"title": fmt.Sprintf("Wish %d", n)}))
	}
	cancelled := asks(0)
	for n := range 4 {
		asks(n + 1)
	}

	// While a booking is under way it is not sent again; one whose answer was lost is, and counts once.
	b := browse(t, server)
	b.slow()
	b.signIn("grace@example.org", demoPassword)
	date := time.Now().AddDate(0, 0, 20).Format(time.DateOnly)
	form := func(title, room string) {
		t.Helper()
		b.newBooking(date)
		b.fill("Title", title)
		b.pick(room)
		b.says("Available")
		eval[bool](b, "(document.querySelector('dialog button[form=booking]').focus(), true)")
	}
	form("Held", "Curie")
	b.hold()
	b.key("\r")
	b.await("held.length === 1")
	b.key("\r\r")
	b.await("document.activeElement.matches('button[form=booking][aria-disabled=true]')")
	find(t, alan, "Held")
	if b.soon("document.querySelector('dialog .chosen .bad')") {
		t.Error("the room is shown as taken, by the booking itself")
	}
	b.shot("slow-booking")
	b.letGo()
	b.await(formShut)
	form("Lost", "Meitner")
	eval[string](b, "lose = 'answer'")
	b.key("\r")
	b.says("Can’t reach the server")
	if got, want := b.focused(), "Book"; got != want {
		t.Errorf("the focus is at %q, want %q", got, want)
	}
	b.key("\r")
	b.await(formShut)
	for _, title := range []string{"Held", "Lost"} {
		if n := len(booked(t, grace, title)); n != 1 {
			t.Errorf("%s: there are %d meetings, want 1", title, n)
		}
	}

	// What is asked before it is thrown away can be taken back by the key that asked it.
	b.newBooking(date)
	b.fill("Title", "Not to be lost")
	b.key("\x1b")
	b.await("document.querySelector('dialog [role=alert]')")
	b.key("\x1b")
	b.await("!document.querySelector('dialog [role=alert]')")
	b.await("document.activeElement.value === 'Not to be lost'")
	b.press("Cancel")
	b.press("Discard")
	b.await(formShut)

	// While a request is decided slowly, another one is thought about.
	b.open("/requests")
	b.reads("Wish 4")
	article := func(n int) string {
		return fmt.Sprintf("[...document.querySelectorAll('article')].find((e) => e.innerText.includes('Wish %d'))", n)
	}
	press := func(n int, name string) {
		t.Helper()
		b.strikes("[...%s.querySelectorAll('button')].find((e) => e.innerText.trim() === %q)", "\r", article(n), name)
	}
	b.hold()
	press(1, "Approve")
	b.await("held.length === 1")
	press(2, "Reject")
	b.await("document.activeElement.matches('article input')")
	b.key("Too loud")
	b.letGo()
	b.await("!%s", article(1))
	if got, want := b.focused(), "Comment (optional): Too loud"; got != want {
		t.Errorf("the focus is at %q, want %q", got, want)
	}

	// A refusal that cannot be sent keeps its words. With a request that is gone the focus moves on to the next.
	eval[string](b, "lose = 'request'")
	b.key("\r")
	b.reads("Wish 2: ")
	if got, want := b.focused(), "Comment (optional): Too loud"; got != want {
		t.Errorf("the focus is at %q, want %q", got, want)
	}
	press(3, "Approve")
	b.await("!%s && %[2]s.contains(document.activeElement)", article(3), article(4))

	press(2, "Keep it") // with a comment, the page asks before it is left

	// Who is about to decide is told that there is nothing to decide any more.
	b.open(at("/meetings/%d", cancelled.ID))
	b.says("Approvers: ")
	b.press("Approve")
	b.await("document.activeElement.matches('dialog input')")
	alan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", cancelled.ID), map[string]any{}, nil)
	b.await("!document.querySelector('dialog form.ask')")
	b.says("Canceled")
	b.says("Someone else changed this in the meantime")
	b.await("document.activeElement.matches('dialog h2')")
}
