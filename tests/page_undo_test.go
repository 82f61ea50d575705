package tests

import (
	"net/http"
	"testing"

	"punctual/tests/testenv"
)

// TestPageUndo: a cancellation, a series and a decision can be undone, by the message, also inside a
// dialog, and by the key.
func TestPageUndo(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	alan, ada := server.Login(t, "alan@example.org", demoPassword), server.Login(t, "ada@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin"})
	board := ada.NewRoom(t, "Board", with{"timezone": "Europe/Berlin", "approval": with{"required": true, "approver_ids": []int64{ada.User.ID}}})
	date := quietDay()
	m := alan.Book(t, testenv.Booking(zoned(t, date, "10:00"), zoned(t, date, "11:00"), []int64{room.ID}, grace))
	status := func(id int64, want string) {
		t.Helper()
		if got := ada.Meeting(t, id).Status; got != want {
			t.Errorf("meeting %d is %s, want %s", id, got, want)
		}
	}

	b := browse(t, server)
	b.moves()
	b.signIn("alan@example.org", demoPassword)
	b.open(at("/meetings/%d", m.ID))
	b.press("Cancel meeting")
	b.click("document.querySelector('dialog form.ask .button.primary')")
	b.told("Meeting canceled")
	b.await("document.querySelector('dialog[open] .toasts')")
	status(m.ID, "cancelled")
	b.shot("undo")
	b.press("Undo")
	b.told("Change undone")
	status(m.ID, "confirmed")
	b.await("[...document.querySelectorAll('dialog[open] button')].some((e) => e.innerText === 'Cancel meeting')")

	// Again, another day.
	b.press("Duplicate")
	b.await(formOpen)
	b.await("document.querySelector('dialog input.title').value === 'Design review'")
	b.press("Close")
	b.await("!document.querySelector('dialog form#booking')")

	// A series, by the key and without a dialog.
	var s seriesAnswer
	alan.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(zoned(t, date, "13:00"), zoned(t, date, "14:00"), []int64{room.ID},
		with{"timezone": "Europe/Berlin", "rrule": "FREQ=WEEKLY;COUNT=3"}), &s)
	b.open(at("/meetings/%d", s.Meetings[0].ID))
	b.press("Cancel meeting")
	b.await("document.querySelector('dialog form.ask input[value=all]')")
	b.click("document.querySelector('dialog form.ask input[value=all]')")
	b.click("document.querySelector('dialog form.ask .button.primary')")
	b.told("Dates canceled")
	status(s.Meetings[2].ID, "cancelled")
	b.ctrl("z")
	b.told("Change undone")
	status(s.Meetings[2].ID, "confirmed")

	// A decision.
	asked := alan.Book(t, testenv.Booking(zoned(t, date, "15:00"), zoned(t, date, "16:00"), []int64{board.ID}))
	a := browse(t, server)
	a.signIn("ada@example.org", demoPassword)
	a.open(at("/meetings/%d", asked.ID))
	a.press("Approve")
	a.click("document.querySelector('dialog form.ask .button.primary')")
	a.told("Approved")
	status(asked.ID, "confirmed")
	a.press("Undo")
	a.told("Change undone")
	status(asked.ID, "pending")
}
