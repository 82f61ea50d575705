package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/series"
)

// A meeting becomes a series: it keeps its ID, people get one mail, and their calendars keep its
// entry, which the series takes over. An undo leaves the meeting as it was.
func TestRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.weekly("", w.desk)
	f.Rule = nil
	m := w.book(t, w.ann, f.Fields)
	w.notified()
	w.settings.Undo = 10 * time.Second
	rule := series.Fields{Rule: new("FREQ=WEEKLY;COUNT=3")}
	seen, err := w.series.PreviewRepeat(t.Context(), w.ann, m.ID, new(m.Version), rule)
	if err != nil || !seen.Saved || len(seen.Meetings) != 3 {
		t.Fatalf("the preview says %+v, %v", seen, err)
	}
	r, err := w.series.Repeat(t.Context(), w.ann, m.ID, new(m.Version), rule)
	if err != nil {
		t.Fatal(err)
	}
	if r.Meetings[0].ID != m.ID || r.Meetings[0].SeriesID != r.Series.ID || r.Undoable == nil {
		t.Errorf("the first date is %+v", r.Meetings[0])
	}
	if d := cmp.Diff([]string{"02-11 10:00 Weekly confirmed", "02-18 10:00 Weekly confirmed", "02-25 10:00 Weekly confirmed"}, w.look(t, r.Series.ID)); d != "" {
		t.Error(d)
	}
	for _, n := range w.store.notices {
		if n.Facts.SeriesFirst != m.ID || n.Facts.Sequence <= m.Version || n.Facts.Series.Count != 3 {
			t.Errorf("a mail about UID %d, sequence %d after %d, %d dates", n.Facts.SeriesFirst, n.Facts.Sequence, m.Version, n.Facts.Series.Count)
		}
	}
	if d := cmp.Diff([]string{"change bob@example.org", "change guest@example.net"}, w.notified()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(meeting.Change{To: "FREQ=WEEKLY;COUNT=3"}, w.store.history[m.ID][1].Changes["rrule"]); d != "" {
		t.Error(d)
	}
	entry, err := w.CalendarItem(t.Context(), w.bob, r.Meetings[2].ID)
	if err != nil || entry.SeriesFirst != m.ID || entry.Series.Rule != "FREQ=WEEKLY;COUNT=3" {
		t.Errorf("the entry to import is %+v, %v", entry, err)
	}
	if _, err := w.series.Repeat(t.Context(), w.ann, m.ID, nil, rule); !fails(err, "rrule") {
		t.Errorf("a date of a series repeats: %v", err)
	}
}

// Others' responses to the meeting say nothing about its other dates.
func TestRepeat_responses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.weekly("", w.desk)
	f.Rule = nil
	m := w.book(t, w.ann, f.Fields)
	if _, err := w.Respond(t.Context(), w.bob, m.ID, nil, meeting.Accepted, ""); err != nil {
		t.Fatal(err)
	}
	r, err := w.series.Repeat(t.Context(), w.ann, m.ID, nil, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=2")})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := r.Meetings[0].Attendees[0].Response, r.Meetings[1].Attendees[0].Response; a != meeting.Accepted || b != meeting.NeedsAction {
		t.Errorf("the responses are %s and %s", a, b)
	}
}

func TestRepeat_refused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.weekly("", w.desk)
	f.Rule = nil
	m := w.book(t, w.ann, f.Fields)
	w.take(t, "2027-02-18", w.desk)
	weekly := series.Fields{Rule: new("FREQ=WEEKLY;COUNT=3")}
	if _, err := w.series.Repeat(t.Context(), w.bob, m.ID, nil, weekly); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("somebody else repeats it: %v", err)
	}
	if _, err := w.series.Repeat(t.Context(), w.ann, m.ID, new(m.Version+1), weekly); err == nil {
		t.Error("an unknown version repeats")
	}
	taken, _ := errors.AsType[*meeting.SeriesConflictError](func() error { _, err := w.series.Repeat(t.Context(), w.ann, m.ID, nil, weekly); return err }())
	if taken == nil || len(taken.Dates) != 1 {
		t.Errorf("a taken date is refused with %v", taken)
	}
	for location, f := range map[string]series.Fields{
		"rrule":           {},
		"exdates":         {Rule: weekly.Rule, ExDates: &[]clock.Time{clock.ParseDate("2027-02-11")}},
		"organizer_email": {Rule: weekly.Rule, Fields: booking.Fields{Organizer: &booking.OrganizerRef{UserID: w.bob.ID}}},
	} {
		if _, err := w.series.Repeat(t.Context(), w.ann, m.ID, nil, f); !fails(err, location) {
			t.Errorf("%s: %v", location, err)
		}
	}
	if _, err := w.series.Repeat(t.Context(), w.ann, m.ID, nil, series.Fields{Rule: new("FREQ=DAILY;COUNT=1")}); !fails(err, "rrule") {
		t.Errorf("one date: %v", err)
	}
	if _, err := w.Cancel(t.Context(), w.ann, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.series.Repeat(t.Context(), w.ann, m.ID, nil, weekly); err == nil {
		t.Error("a cancelled meeting repeats")
	}
	if _, err := w.CalendarItem(t.Context(), w.ann, m.ID); err == nil {
		t.Error("a cancelled meeting is added to a calendar")
	}
}

// fails reports whether an error names a fault at a location.
func fails(err error, location string) bool {
	e, ok := errors.AsType[*meeting.InvalidError](err)
	return ok && slices.ContainsFunc(e.Faults, func(f meeting.Fault) bool { return f.Location == location })
}
