package booking_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

// TestLastChange: members move and cancel until the last moment that the room or the installation
// sets; managers and admins until the start.
func TestLastChange(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LastChange = time.Hour
	if _, err := w.places.UpdateRoom(t.Context(), w.root, w.desk.ID, nil, places.RoomFields{LastChange: new(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	other := w.room(t, places.RoomFields{Name: new("Other")})
	cancel := func(by meeting.Actor, m *meeting.Meeting) []string {
		_, err := w.Cancel(t.Context(), by, m.ID, nil, "")
		if err == nil {
			return nil
		}
		return violations(t, err)
	}
	late := []string{"last_change"}
	same(t, "two hours ahead", cancel(w.ann, w.book(t, w.ann, w.fields(2*time.Hour, w.desk))), nil)
	same(t, "later", cancel(w.ann, w.book(t, w.ann, w.fields(2*time.Hour-time.Second, w.desk))), late)
	same(t, "by the installation", cancel(w.ann, w.book(t, w.ann, w.fields(time.Hour-time.Second, other))), late)

	m := w.book(t, w.ann, w.fields(3*time.Hour, other))
	w.at = w.at.Add(150 * time.Minute)
	_, err := w.Update(t.Context(), w.ann, m.ID, nil, w.moved(m, 24*time.Hour))
	same(t, "a move", violations(t, err), late)
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Another")}); err != nil {
		t.Errorf("a title: %v", err)
	}
	seen, err := w.Meeting(t.Context(), w.ann, m.ID)
	if want := m.Slot.Start.Add(-time.Hour); err != nil || !seen.ChangeUntil.Equal(want) {
		t.Errorf("until %v, want %v, %v", seen.ChangeUntil, want, err)
	}
	if seen, err := w.Meeting(t.Context(), w.root, m.ID); err != nil || !seen.ChangeUntil.IsZero() {
		t.Errorf("for an admin: until %v, %v", seen.ChangeUntil, err)
	}
	same(t, "an admin", cancel(w.root, m), nil)
}

// moved are the fields that move a meeting.
func (w *world) moved(m *meeting.Meeting, by time.Duration) booking.Fields {
	f := w.fields(m.Slot.Start.Sub(w.at)+by, w.desk)
	return booking.Fields{Start: f.Start, End: f.End}
}

// TestLastChange_series: a series is not cancelled for a member while a date is about to begin; the
// following dates are.
func TestLastChange_series(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LastChange = 2 * time.Hour
	f := series.Fields{Fields: w.fields(time.Hour, w.desk), Rule: new("FREQ=DAILY;COUNT=3")}
	r, err := w.series.Book(t.Context(), w.ann, f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeAll, nil, "")
	same(t, "all dates", violations(t, err), []string{"last_change"})
	if _, err := w.series.Cancel(t.Context(), w.root, r.Series.ID, nil, meeting.ScopeAll, nil, ""); err != nil {
		t.Errorf("an admin: %v", err)
	}
}
