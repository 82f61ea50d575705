package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPageRepeat: a meeting is made recurring from its dialog, a conflict is shown before it is
// saved, and the guests get one update for the entry in their calendars. An undo takes it back. The
// button says what it will do: book, send a request, or join a waiting list.
func TestPageRepeat(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	room := ada.NewRoom(t, "Repeat room", with{"timezone": "Europe/Berlin", "capacity": 6})
	ada.NewRoom(t, "Repeat asked", with{"timezone": "Europe/Berlin", "approval": with{"required": true}})
	first := monday(4)
	date := first.Format(time.DateOnly)
	ada.Book(t, testenv.Booking(first.AddDate(0, 0, 14), first.AddDate(0, 0, 14).Add(time.Hour), []int64{room.ID}))
	order := testenv.Booking(first, first.Add(time.Hour), []int64{room.ID})
	order["title"], order["attendees"] = "Becomes weekly", []any{with{"email": "grace@example.org"}}
	m := alan.Book(t, order)

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.open(at("/meetings/%d", m.ID))
	b.await("document.querySelector('dialog a[download]')?.getAttribute('href').endsWith('/calendar.ics')")
	b.shot("meeting-repeat-button")
	b.press("Make recurring")
	b.await("document.querySelectorAll('dialog .dates li').length === 10")
	b.says("This meeting")
	b.says("1 unavailable")
	b.accessible("meeting that becomes a series")
	b.shot("form-repeat")
	b.press("Resolve 1 conflict")
	b.await("document.activeElement.closest('.dates li.taken')")
	b.choose("dialog .dates li.taken select", "skip")
	b.says("1 skipped")
	b.size(phone)
	b.dark(true)
	b.shot("form-repeat-phone-dark")
	b.dark(false)
	b.size(desk)
	b.press("Book 8 more dates")
	b.await("!document.querySelector('dialog form#booking')")
	b.told("The meeting now has 9 dates")
	var got struct {
		SeriesID int64 `json:"series_id"`
	}
	alan.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", m.ID), nil, &got)
	if got.SeriesID == 0 {
		t.Fatal("the meeting is not the first date of a series")
	}
	calendar := eval[string](b, "fetch('/api/v1/meetings/%d/calendar.ics').then((r) => r.text())", m.ID)
	for _, part := range []string{"RRULE:FREQ=WEEKLY", at("UID:meeting-%d@", m.ID), "EXDATE", "METHOD:PUBLISH"} {
		if !strings.Contains(calendar, part) {
			t.Errorf("the calendar lacks %s: %s", part, calendar)
		}
	}
	b.press("Undo")
	b.told("Change undone")
	got.SeriesID = 0
	alan.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", m.ID), nil, &got)
	if got.SeriesID != 0 {
		t.Error("after the undo it still is a date of a series")
	}

	submit := "document.querySelector('dialog button[form=booking]').innerText.trim()"
	b.newBooking(date)
	b.fill("Title", "Label")
	b.pick("Repeat asked")
	b.await("%s === 'Send request'", submit)
	b.shot("form-send-request")
	b.press("Remove Repeat asked")
	b.pick("Repeat room")
	b.await("%s === 'Join the waiting list'", submit)
	b.says("Taken")
	b.shot("form-join")
}
