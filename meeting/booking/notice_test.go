package booking_test

import (
	"strings"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/series"
)

// What a meeting becomes is not for those who are taken off it.
func TestService_theRemovedLearnNothingNew(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.store.notices = nil
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Layoffs"), Attendees: &[]meeting.Person{{Email: "guest@example.net"}}}); err != nil {
		t.Fatal(err)
	}
	notified := 0
	for _, n := range w.store.notices {
		if strings.EqualFold(n.To.Email, "bob@example.org") {
			notified++
			same(t, "kind", n.Kind, meeting.NoticeCancellation)
			same(t, "title", n.Facts.Title, "Review")
		}
	}
	same(t, "told", notified, 1)
}

// Organizers who want their own meetings in their calendar are mailed what they do themselves; others are
// not.
func TestService_calendarMails(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		w := newWorld(t)
		by := w.ann
		by.CalendarMails = wanted
		var got []string
		note := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range w.store.notices {
				if n.To.Email == by.Email {
					got = append(got, what+" "+string(n.Kind))
				}
			}
			w.store.notices = nil
		}
		f := w.fields(time.Hour, w.desk)
		m, err := w.Book(t.Context(), by, f)
		note("booked", err)
		_, err = w.Update(t.Context(), by, m.ID, nil, booking.Fields{Title: new("Other")})
		note("changed", err)
		_, err = w.Respond(t.Context(), w.bob, m.ID, nil, meeting.Accepted, "")
		note("accepted", err)
		_, err = w.Cancel(t.Context(), by, m.ID, nil, "")
		note("cancelled", err)
		made, err := w.series.Book(t.Context(), by, series.Fields{Fields: f, Rule: new("FREQ=DAILY;COUNT=3"), OnConflict: meeting.FailOnConflict})
		note("series", err)
		_, err = w.series.Cancel(t.Context(), by, made.Series.ID, nil, meeting.ScopeAll, nil, "")
		note("series", err)
		want := ""
		if wanted {
			want = "booked invitation, changed change, cancelled cancellation, series invitation, series cancellation"
		}
		same(t, "mails", strings.Join(got, ", "), want)
	}
}
