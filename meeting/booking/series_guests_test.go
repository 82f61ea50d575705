package booking_test

import (
	"slices"
	"testing"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/series"
)

// Who comes to a single date of a series alone is told of that; whatever happens to the others is
// nothing to them.
func TestSeries_guestsOfSingleDates(t *testing.T) {
	const extra = "extra@example.net"
	for name, tt := range map[string]struct {
		change func(w *world, t *testing.T, r *booking.SeriesResult)
		want   []string // kinds of what the guest of the second date is told
		series bool     // as of a series, since calendars would not know the date again
	}{
		"a title": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Title: new("Weekly!")}})
		}, []string{"change"}, false},
		"a start": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-11T12:00:00")), End: new(clock.Parse("2027-02-11T13:00:00"))}})
		}, []string{"change"}, true},
		"from that date on": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{
				Fields: booking.Fields{Title: new("Weekly!")}, Scope: meeting.ScopeFollowing, From: new(clock.At(r.Meetings[1].OriginalStart)),
			})
		}, []string{"cancellation", "change"}, true}, // it is a date of another series, and of that no more
		"from the next on": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{
				Fields: booking.Fields{Title: new("Weekly!")}, Scope: meeting.ScopeFollowing, From: new(clock.At(r.Meetings[2].OriginalStart)),
			})
		}, nil, false},
		"becoming one of all": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{
				Start: new(clock.Parse("2027-02-11T12:00:00")), End: new(clock.Parse("2027-02-11T13:00:00")),
				Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "guest@example.net"}, {Email: extra}},
			}})
		}, []string{"invitation"}, true},
		"another guest": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "new@example.net"}}}})
		}, nil, false},
		"called off": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			if _, err := w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeAll, nil, "ill"); err != nil {
				t.Fatal(err)
			}
		}, []string{"cancellation"}, false},
		"called off from the next on": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			if _, err := w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeFollowing, new(clock.At(r.Meetings[2].OriginalStart)), ""); err != nil {
				t.Fatal(err)
			}
		}, nil, false},
		"a rule that ends before": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=1")})
		}, []string{"cancellation"}, false},
		"a rule that goes on, without that date": {func(w *world, t *testing.T, r *booking.SeriesResult) {
			w.patchSeries(t, r.Series.ID, series.Fields{Rule: new("FREQ=WEEKLY;INTERVAL=2;COUNT=3")})
		}, nil, false}, // it was changed for itself, and stays
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
			guests := []meeting.Person{{Email: "bob@example.org"}, {Email: "guest@example.net"}, {Email: extra}}
			if _, err := w.Update(t.Context(), w.ann, r.Meetings[1].ID, nil, booking.Fields{Attendees: &guests}); err != nil {
				t.Fatal(err)
			}
			same(t, "invited", w.notified(), []string{"invitation " + extra})
			tt.change(w, t, r)
			var notified []string
			for _, n := range w.store.notices {
				if n.To.Email != extra {
					continue
				}
				notified = append(notified, string(n.Kind))
				same(t, "of a series", n.Facts.Series != nil, tt.series)
			}
			slices.Sort(notified)
			same(t, "told", notified, tt.want)
		})
	}
}
