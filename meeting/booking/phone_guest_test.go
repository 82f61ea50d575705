package booking_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// Whoever has no e-mail address is invited by phone number, and texted what others are mailed.
func TestService_guestsWithAPhoneAlone(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.desk)
	f.Attendees = &[]meeting.Person{{Name: "Carl", Phone: "+49 170 1234567"}, {Phone: "+491701234568"}, {Email: "guest@example.net", Phone: "+491701234567"}}
	f.Reminders = &[]meeting.Reminder{{Before: meeting.BeforeStart, Offset: 10 * time.Minute, Channels: []meeting.Channel{meeting.Email, meeting.SMS}}}
	m := w.book(t, w.ann, f)
	carl := meeting.Attendee{Person: meeting.Person{Name: "Carl", Phone: "+491701234567"}, Response: meeting.NeedsAction}
	same(t, "the guest, for the organizer", m.Attendees[0], carl)
	same(t, "invited", w.notified(), []string{"invitation +491701234567", "invitation +491701234568", "invitation guest@example.net"})

	seen, err := w.Meeting(t.Context(), w.bob, m.ID)
	if err != nil || seen.Attendees[0].Phone != "" || seen.Attendees[0].Name != "Carl" {
		t.Errorf("for others: %+v, %v", seen.Attendees, err)
	}

	inv := booking.Invitation{MeetingID: m.ID, Email: "+491701234567"}
	if err := w.RespondByLink(t.Context(), inv, meeting.Accepted, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.RespondByLink(t.Context(), booking.Invitation{MeetingID: m.ID, Email: "+491701234569"}, meeting.Accepted, ""); err != meeting.ErrForbidden {
		t.Errorf("another number: %v", err)
	}
	people := slices.Clone(*f.Attendees)
	m, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Moved"), Attendees: new(people[:1])})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "keeps the answer", m.Attendees[0].Response, meeting.Accepted)
	same(t, "told", w.notified(), []string{"cancellation +491701234568", "cancellation guest@example.net", "change +491701234567"})
	for _, e := range w.store.history[m.ID] {
		for _, c := range e.Changes {
			for _, v := range []any{c.From, c.To} {
				if list, ok := v.([]string); ok && strings.Contains(strings.Join(list, " "), "+49") {
					t.Errorf("history shows a number: %v", list)
				}
			}
		}
		if strings.Contains(e.Actor.Name, "+49") {
			t.Errorf("history shows a number: %v", e.Actor)
		}
	}
	var reminded []string
	for _, n := range w.store.meetings[m.ID].RemindNotices(m.Reminders[0], w.at) {
		reminded = append(reminded, string(n.Channel)+" "+n.To.Address(n.Channel))
	}
	same(t, "reminded", reminded, []string{"email ann@example.org", "sms +491701234567"})
}

func TestService_guestsNeedAnAddress(t *testing.T) {
	w := newWorld(t)
	for name, people := range map[string][]meeting.Person{
		"attendees[0].email": {{Name: "Nobody"}},
		"attendees[0].phone": {{Phone: "12"}},
		"attendees[1].phone": {{Phone: "+491701234567"}, {Phone: "+49-170-1234567"}},
		"attendees[1].email": {{Phone: "+491701234567"}, {Email: "carl", Phone: "+491701234567"}},
	} {
		f := w.fields(time.Hour, w.desk)
		f.Attendees = &people
		_, err := w.Book(t.Context(), w.ann, f)
		invalid, ok := err.(*meeting.InvalidError)
		if !ok || len(invalid.Faults) != 1 || invalid.Faults[0].Location != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}
