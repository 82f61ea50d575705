package tests

import (
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPageMeeting: what a meeting shows of itself, and what each person may do with it there.
func TestPageMeeting(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	grace := server.Login(t, "grace@example.org", demoPassword)
	hall := ada.NewRoom(t, "Hall", with{"timezone": "Europe/Berlin", "approval": with{"required": true, "approver_ids": []int64{grace.User.ID}}})
	den := ada.NewRoom(t, "Den", with{"timezone": "Europe/Berlin", "check_in": with{"required": true, "opens": "24h", "grace": "2h"}})
	soon := inSeconds(72 * 3600).Truncate(time.Hour)
	asked := alan.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{hall.ID}, with{"title": "A request", "attendees": []any{with{"email": "emmy@example.org"}, with{"email": "grace@example.org"}}}))
	running := alan.Book(t, testenv.Booking(inSeconds(2), inSeconds(3*3600), []int64{den.ID}, with{
		"title": "On now", "reminders": []any{reminder("end", 5*time.Minute, "email")},
	}))
	ada.Book(t, testenv.Booking(inSeconds(3*3600+20*60), inSeconds(4*3600), []int64{den.ID}, with{"title": "Next"}))

	// Who decides sees until when, and approves with a word.
	b := browse(t, server)
	b.signIn("grace@example.org", demoPassword)
	b.open(at("/meetings/%d", asked.ID))
	b.says("Decision due by")
	b.says("Rejected automatically if nobody decides.")
	b.shot("meeting-request")
	b.press("Approve")
	b.await("document.activeElement.matches('dialog .ask input')")
	b.fillIn("dialog .ask input", "With pleasure\r")
	b.await("document.querySelector('dialog .status').innerText.includes('Confirmed')")
	b.says("Grace Hopper")
	b.says("With pleasure")

	// She is invited, too, and answers.
	b.press("Maybe")
	b.await("[...document.querySelectorAll('dialog .three button')].find((e) => e.innerText === 'Maybe').getAttribute('aria-pressed') === 'true'")
	b.await("document.querySelector('dialog .history').innerText.includes('Responded to the invitation')")
	b.says("No response yet → Maybe")
	b.accessible("meeting that was approved")
	b.shot("meeting-approved")
	if m := alan.Meeting(t, asked.ID); m.Attendees[1].Response != "tentative" {
		t.Errorf("answers: %+v", m.Attendees)
	}

	// Its organizer moves it, which waits again.
	o := browse(t, server)
	o.signIn("alan@example.org", demoPassword)
	o.open(at("/meetings/%d", asked.ID))
	o.press("Edit")
	o.await(formOpen)
	o.says("Available") // its own time is not in its way
	o.press("2 h")
	o.press("Send request")
	o.await("!document.querySelector('dialog form#booking')")
	o.says("Move to ")
	o.says("The meeting keeps its current time until someone decides.")
	o.accessible("meeting that is to move")

	// Whatever changed is told in words, on both sides.
	alan.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", running.ID), with{"reminders": []any{reminder("end", 10*time.Minute, "email")}, "visibility": "private"}, nil)
	o.open(at("/meetings/%d", running.ID))
	o.says("5 minutes before the end, by email → 10 minutes before the end, by email")
	o.says("Public → Private")
	o.says("automatically, at the start time")
	o.open(at("/meetings/%d", asked.ID))
	o.says("Move to ")
	o.shot("meeting-move")
	o.size(phone)
	o.shot("meeting-move-phone")
	o.dark(true)
	o.open(at("/meetings/%d", asked.ID))
	o.says("Move to ")
	o.shot("meeting-move-phone-dark")
	o.size(desk)
	o.dark(false)

	// What takes place is checked in to, goes on for as long as the next lets it, and ends.
	o.open(at("/meetings/%d", running.ID))
	o.await("document.querySelector('dialog .status')?.innerText.includes('In progress')")
	o.press("Check in")
	o.await("document.querySelector('dialog .history').innerText.includes('Checked in')")
	o.says("The room is free until")
	o.await("document.querySelector(`dialog button[aria-label^='+30 min']`).disabled && !document.querySelector(`dialog button[aria-label^='+15 min']`).disabled")
	o.shot("meeting-running")
	o.press("+15 min, extend by 15 minutes")
	o.await("document.querySelector('dialog .history').innerText.includes('End: ')")
	o.await("[...document.querySelectorAll('dialog button')].some((e) => e.innerText.trim() === 'End now' && !e.matches('[aria-disabled=true]'))")
	if m := alan.Meeting(t, running.ID); m.End.Sub(running.End) != 15*time.Minute {
		t.Errorf("goes on until %v, was %v", m.End, running.End)
	}
	o.press("End now")
	o.await("document.querySelector('dialog .status').innerText.includes('Ended')")

	// A stranger may wait for the slot, and is shown no more than that.
	o.open(at("/meetings/%d", find(t, ada, "Next").ID))
	o.await("document.querySelector('dialog .actions')")
	if eval[bool](o, "/Edit|Cancel meeting|Notifications/.test(document.querySelector('dialog').innerText)") {
		t.Error("a stranger is offered what only the organizer may")
	}
	o.press("Join the waiting list")
	o.await(formOpen)
	o.says("Taken")
	o.shot("meeting-wait")

	for _, language := range []string{"de", "zh"} {
		o.choose("#menu-language", language)
		o.open(at("/meetings/%d", asked.ID))
		o.await("document.querySelector('dialog .history li')")
		o.accessible("meeting in " + language)
		o.shot("meeting-" + language)
	}
}
