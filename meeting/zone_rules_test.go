package meeting

import (
	"slices"
	"testing"
	"time"
)

// rulesChanged makes everything as if it had been booked when clocks were an hour ahead of those
// that the zone has now: what clocks showed is kept, the instants are an hour earlier.
func (w *world) rulesChanged(by time.Duration) {
	for _, m := range w.store.meetings {
		shift := func(t *time.Time) {
			if !t.IsZero() {
				*t = t.Add(by)
			}
		}
		shift(&m.Slot.Start)
		shift(&m.Slot.End)
		shift(&m.OriginalStart)
		shift(&m.CheckIn.Opens)
		shift(&m.CheckIn.Until)
		m.Occupied = slices.Clone(m.Occupied)
		for i := range m.Occupied {
			shift(&m.Occupied[i].Slot.Start)
			shift(&m.Occupied[i].Slot.End)
		}
	}
}

// Dates of a series are found by what clocks show, so that an edit after a change of the zone's
// rules books no date twice, misses none and leaves no mixture of both times.
func TestUpdateSeries_afterTheRulesOfTheZoneChanged(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		const old, fresh = "old", "new"
		for name, c := range map[string]struct {
			edit func(w *world, r *SeriesResult, start func(int) string) error
			want []string // of the four dates: by which rules they take place
		}{
			"title": {func(w *world, r *SeriesResult, _ func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{Fields: Fields{Title: new("B")}})
				return err
			}, []string{old, old, old, old}},
			"title of the following": {func(w *world, r *SeriesResult, start func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{Scope: ScopeFollowing, From: start(2), Fields: Fields{Title: new("B")}})
				return err
			}, []string{old, old, old, old}},
			"the following later": {func(w *world, r *SeriesResult, start func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{Scope: ScopeFollowing, From: start(2),
					Fields: Fields{Start: new("2027-02-25T14:00:00"), End: new("2027-02-25T15:00:00")}})
				return err
			}, []string{old, old, "14:00", "14:00"}},
			"all later": {func(w *world, r *SeriesResult, _ func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{Fields: Fields{Start: new("2027-02-11T14:00:00"), End: new("2027-02-11T15:00:00")}})
				return err
			}, []string{"14:00", "14:00", "14:00", "14:00"}},
			"another rule": {func(w *world, r *SeriesResult, _ func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{Rule: new("FREQ=WEEKLY;COUNT=5")})
				return err
			}, []string{fresh, fresh, fresh, fresh, fresh}},
			"left out by its original start": {func(w *world, r *SeriesResult, start func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{ExDates: &[]string{start(1)}})
				return err
			}, []string{old, old, old}},
			"left out by its day": {func(w *world, r *SeriesResult, _ func(int) string) error {
				_, err := w.UpdateSeries(t.Context(), w.ann, r.Series.ID, nil, SeriesFields{ExDates: &[]string{"2027-02-18"}})
				return err
			}, []string{old, old, old}},
			"the following cancelled": {func(w *world, r *SeriesResult, start func(int) string) error {
				_, err := w.CancelSeries(t.Context(), w.ann, r.Series.ID, nil, ScopeFollowing, start(2), "")
				return err
			}, []string{old, old}},
			"one cancelled and added": {func(w *world, r *SeriesResult, start func(int) string) error {
				if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[1].ID, nil, ""); err != nil {
					return err
				}
				_, err := w.AddDate(t.Context(), w.ann, r.Series.ID, nil, start(1), "")
				return err
			}, []string{old, old, old, fresh}},
		} {
			w := newWorld(t)
			r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
			w.rulesChanged(by)
			start := func(i int) string { return r.Meetings[i].OriginalStart.Add(by).Format(time.RFC3339) }
			if err := c.edit(w, r, start); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var got, days []string
			for _, m := range w.store.meetings {
				if m.gone() {
					continue
				}
				wall := clock(m.Slot.Start, mustZone("Europe/Berlin"))
				days = append(days, wall.Format(dayLayout))
				switch at := wall.Format("15:04"); at {
				case "10:00":
					got = append(got, fresh)
				case time.Date(2027, 2, 11, 10, 0, 0, 0, time.UTC).Add(by).Format("15:04"):
					got = append(got, old)
				default:
					got = append(got, at)
				}
			}
			slices.Sort(got)
			slices.Sort(days)
			want := slices.Clone(c.want)
			slices.Sort(want)
			same(t, name, got, want)
			if len(slices.Compact(slices.Clone(days))) != len(days) {
				t.Errorf("%s: a day is booked twice: %v", name, days)
			}
			for _, series := range w.store.series {
				state, err := w.Series(t.Context(), w.ann, series.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range state.Absent {
					if a.Reason == ReasonSkipped {
						t.Errorf("%s: the date of %v is booked and reported as skipped", name, a.OriginalStart)
					}
				}
			}
		}
	}
}
