package meeting

import (
	"testing"
	"time"
)

// Nobody learns from a filter or the list whose private meeting it is.
func TestMeeting_View_tellsNoPeople(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.desk)
	f.Visibility = new(Private)
	m := w.book(t, w.ann, f)
	m.SeriesID, m.OriginalStart, m.Approval.DecidedBy = 3, w.at, w.ann.ID
	got := m.View(w.max, nil)
	if got.Organizer != (Person{}) || got.SeriesID != 0 || !got.OriginalStart.IsZero() || got.Approval.DecidedBy != 0 || got.Title != Busy {
		t.Errorf("a stranger sees %+v", got)
	}
}
