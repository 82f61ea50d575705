package booking_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

// Dates of a rule that only the buffers of their room keep apart from each other are refused as
// the rule's fault, by previews too, and not as taken by others.
func TestSeries_datesWithinTheirBuffers(t *testing.T) {
	for _, hold := range []bool{true, false} {
		w := newWorld(t)
		w.settings.HoldPending = hold
		room := w.room(t, places.RoomFields{Name: new("Lab"), BufferBefore: new(30 * time.Minute), BufferAfter: new(90 * time.Minute)})
		asks := w.room(t, places.RoomFields{Name: new("Vault"), BufferAfter: new(2 * time.Hour), ApprovalRequired: new(true)})
		daily := func(end string, rooms ...*meeting.Room) series.Fields {
			f := w.weekly("FREQ=DAILY;COUNT=4", rooms...)
			f.End = new(clock.Parse(end))
			return f
		}
		refused := func(name string, err error) {
			t.Helper()
			e, ok := errors.AsType[*meeting.InvalidError](err)
			if !ok {
				t.Errorf("%s, requests hold rooms %v: %v", name, hold, err)
				return
			}
			same(t, name, codes(e.Faults), []string{"rrule overlaps_itself"})
		}
		for _, r := range []*meeting.Room{room, asks} {
			long := daily("2027-02-12T09:00:00", r) // 23 h
			_, err := w.series.Preview(t.Context(), w.ann, long)
			refused("preview in "+r.Name, err)
			_, err = w.series.Book(t.Context(), w.ann, long)
			refused("series in "+r.Name, err)
		}
		_, err := w.series.Book(t.Context(), w.ann, daily("2027-02-12T09:00:00", room))
		const want = "must leave at least 2h between two dates for the buffers of Lab; the dates of 2027-02-11T10:00:00 and 2027-02-12T10:00:00 are 1h apart"
		if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || e.Faults[0].Message != want {
			t.Errorf("got %v, want %s", err, want)
		}

		s := w.bookSeries(t, w.ann, daily("2027-02-12T08:00:00", room)) // 22 h, just enough
		later := series.Fields{Fields: booking.Fields{End: new(clock.Parse("2027-02-12T08:15:00"))}}
		_, err = w.series.PreviewUpdate(t.Context(), w.ann, s.Series.ID, nil, later)
		refused("preview of a change", err)
		_, err = w.series.Update(t.Context(), w.ann, s.Series.ID, nil, later)
		refused("change", err)

		skip := daily("2027-02-12T09:00:00", w.room(t, places.RoomFields{Name: new("Shed"), BufferAfter: new(2 * time.Hour)}))
		skip.OnConflict = meeting.SkipOnConflict
		if r := w.bookSeries(t, w.ann, skip); len(r.Meetings) != 2 || len(r.Skipped) != 2 {
			t.Errorf("skipping: %d dates saved, %d skipped", len(r.Meetings), len(r.Skipped))
		}
	}
}
