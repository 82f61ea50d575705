package booking_test

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/series"
	"punctual/meeting/zones"
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
			edit func(w *world, r *booking.SeriesResult, start func(int) string) error
			want []string // of the four dates: by which rules they take place
		}{
			"title": {func(w *world, r *booking.SeriesResult, _ func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Fields: booking.Fields{Title: new("B")}})
				return err
			}, []string{old, old, old, old}},
			"title of the following": {func(w *world, r *booking.SeriesResult, start func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse(start(2))), Fields: booking.Fields{Title: new("B")}})
				return err
			}, []string{old, old, old, old}},
			"the following later": {func(w *world, r *booking.SeriesResult, start func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse(start(2))),
					Fields: booking.Fields{Start: new(clock.Parse("2027-02-25T14:00:00")), End: new(clock.Parse("2027-02-25T15:00:00"))}})
				return err
			}, []string{old, old, "14:00", "14:00"}},
			"all later": {func(w *world, r *booking.SeriesResult, _ func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-11T14:00:00")), End: new(clock.Parse("2027-02-11T15:00:00"))}})
				return err
			}, []string{"14:00", "14:00", "14:00", "14:00"}},
			"another rule": {func(w *world, r *booking.SeriesResult, _ func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=5")})
				return err
			}, []string{fresh, fresh, fresh, fresh, fresh}},
			"left out by its original start": {func(w *world, r *booking.SeriesResult, start func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{ExDates: &[]clock.Time{clock.ParseDate(start(1))}})
				return err
			}, []string{old, old, old}},
			"left out by its day": {func(w *world, r *booking.SeriesResult, _ func(int) string) error {
				_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{ExDates: &[]clock.Time{clock.ParseDate("2027-02-18")}})
				return err
			}, []string{old, old, old}},
			"the following cancelled": {func(w *world, r *booking.SeriesResult, start func(int) string) error {
				_, err := w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeFollowing, new(clock.Parse(start(2))), "")
				return err
			}, []string{old, old}},
			"one cancelled and added": {func(w *world, r *booking.SeriesResult, start func(int) string) error {
				if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[1].ID, nil, ""); err != nil {
					return err
				}
				_, err := w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.Parse(start(1))), "")
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
				if m.Gone() {
					continue
				}
				wall := clock.Wall(m.Slot.Start, clock.ZoneOrUTC("Europe/Berlin"))
				days = append(days, wall.Format(time.DateOnly))
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
			for id := range w.store.series {
				state, err := w.series.Series(t.Context(), w.ann, id)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range state.Absent {
					if a.Reason == series.ReasonSkipped {
						t.Errorf("%s: the date of %v is booked and reported as skipped", name, a.OriginalStart)
					}
				}
			}
		}
	}
}

// A rebase keeps what clocks showed. It moves meetings that are in each other's way together, tells
// people of a series once, leaves and lists what cannot move, and changes nothing when repeated.
func TestRebaseZones(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		w := newWorld(t)
		at := func(room *meeting.Room, hour int) booking.Fields {
			f := w.fields(0, room)
			start := time.Date(2027, 2, 11, hour, 0, 0, 0, time.UTC)
			f.Start, f.End, f.Timezone = new(clock.Parse(start.Format(clock.WallLayout))), new(clock.Parse(start.Add(time.Hour).Format(clock.WallLayout))), new("Europe/Berlin")
			return f
		}
		r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk)) // at 10:00
		before, after := w.book(t, w.ann, at(w.desk, 9)), w.book(t, w.ann, at(w.desk, 11))
		blocked := w.book(t, w.ann, at(w.board, 10))
		if _, err := w.approval.Approve(t.Context(), w.mona, blocked.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		utc := at(w.desk, 20)
		utc.Timezone = new("UTC")
		stays := w.book(t, w.ann, utc)
		want := map[meeting.ID]clock.Slot{stays.ID: stays.Slot}
		for _, m := range append(slices.Clone(r.Meetings), before, after) {
			want[m.ID] = m.Slot
		}
		kept := blocked.Slot
		w.rulesChanged(by)
		w.store.meetings[stays.ID].Slot = stays.Slot
		for i := range w.store.meetings[stays.ID].Occupied {
			w.store.meetings[stays.ID].Occupied[i].Slot = stays.Slot
		}
		inTheWay := at(w.board, 10) // booked by the new rules
		inTheWay.Title = new("In the way")
		taken, err := w.Book(t.Context(), w.root, inTheWay)
		if err != nil {
			t.Fatal(err)
		}
		want[taken.ID], want[blocked.ID] = taken.Slot, clock.Slot{Start: kept.Start.Add(by), End: kept.End.Add(by)}

		found, err := w.zones.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 6 {
			t.Errorf("%d meetings would move or cannot, want 6", len(found))
		}
		w.store.notices = nil
		moved, left, err := w.zones.Rebase(t.Context())
		if err != nil || len(moved) != 5 || len(left) != 1 {
			t.Fatalf("moved %d, left %d: %v", len(moved), len(left), err)
		}
		if z := left[0]; z.Meeting.ID != blocked.ID || z.Obstacle != meeting.ReasonTaken || len(z.Conflicts) != 1 {
			t.Errorf("left %+v", z)
		}
		for id, slot := range want {
			m := w.store.meetings[id]
			if !m.Slot.Equal(slot) || !m.Occupied[0].Slot.Equal(slot) {
				t.Errorf("%s is at %v and holds %v, want %v", m.Title, m.Slot, m.Occupied, slot)
			}
		}
		for _, m := range r.Meetings {
			m := w.store.meetings[m.ID]
			if !m.OriginalStart.Equal(m.Slot.Start) {
				t.Errorf("the date of %v is told as that of %v", m.Slot.Start, m.OriginalStart)
			}
			last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
			if last.Action != meeting.ActionChanged || last.Reason != zones.ReasonZoneRules {
				t.Errorf("history ends with %+v", last)
			}
		}
		notified := map[string]int{}
		for _, n := range w.store.notices {
			if n.To.Email == "ann@example.org" && n.Kind == meeting.NoticeChange {
				notified[n.Facts.Title]++
			}
		}
		same(t, "mails to the organizer", notified, map[string]int{"Weekly": 1, "Review": 2})
		moved, left, err = w.zones.Rebase(t.Context())
		if err != nil || len(moved) != 0 || len(left) != 1 {
			t.Errorf("again: moved %d, left %d: %v", len(moved), len(left), err)
		}
	}
}

// Other rules than the last time are noticed once, and shown until nothing is left to move.
func TestWatchZones(t *testing.T) {
	w := newWorld(t)
	w.book(t, w.ann, w.fields(time.Hour, w.desk))
	watch := func(want ...string) {
		t.Helper()
		changed, unknown, err := w.zones.Watch(t.Context())
		if err != nil || len(unknown) != 0 {
			t.Fatal(unknown, err)
		}
		same(t, "changed", changed, want)
	}
	watch()
	w.store.zones[0].Hash = "of other rules"
	watch("Europe/Berlin")
	watch("Europe/Berlin")
	if shown, err := w.zones.Changed(t.Context()); err != nil || len(shown) != 1 || !shown[0].ChangedAt.Equal(w.at) {
		t.Errorf("shown %v, %v", shown, err)
	}
	if _, _, err := w.zones.Rebase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown, err := w.zones.Changed(t.Context()); err != nil || len(shown) != 0 {
		t.Errorf("still shown: %v, %v", shown, err)
	}
	watch()
	w.rulesChanged(-time.Hour) // which nobody noted: the zone was booked first since the last start
	w.store.zones = nil
	watch("Europe/Berlin")
	for _, m := range w.store.meetings {
		m.Timezone = "Gone/Away"
	}
	_, unknown, err := w.zones.Watch(t.Context())
	if err != nil || !slices.Equal(unknown, []string{"Gone/Away"}) {
		t.Errorf("unknown %v, %v", unknown, err)
	}
}
