package meeting

import (
	"slices"
	"time"

	"punctual/meeting/clock"
)

// CalendarEntry is a series as one entry of a calendar: its rule, and the dates that differ from it.
type CalendarEntry struct {
	Facts  SeriesFacts // rule, excluded and added dates
	Master *Meeting    // what the other dates share
	Dates  []CalendarDate
}

// CalendarDate is a date that differs from the rest of its series.
type CalendarDate struct {
	OriginalStart time.Time
	Meeting       *Meeting
}

// Calendar returns the calendar entry for a series with these dates, at least one. Dates that wait for
// a decision differ from the others, unless all do.
func (s *Series) Calendar(ms []*Meeting, at time.Time) CalendarEntry {
	s, ms = s.Clone(), slices.Clone(ms)
	slices.SortStableFunc(ms, func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	var pending []*Meeting
	for _, m := range ms {
		if m.Status == Pending {
			pending = append(pending, m)
		}
	}
	master := s.Sample()
	if master.Status = Confirmed; len(pending) == len(ms) {
		master.Status, pending = Pending, nil
	}
	master.ID, master.CreatedAt, master.UpdatedAt, master.Version = ms[0].ID, s.CreatedAt, s.UpdatedAt, max(s.Version, s.Sequence)
	for _, m := range ms {
		master.UpdatedAt = clock.Later(master.UpdatedAt, m.UpdatedAt)
	}
	f := s.Facts(ms, Actor{})
	s.Fill(&f, SeriesNotice{Dates: pending, Calendar: ms, Each: true}, at)
	master.Attendees = commonAnswers(s.Attendees, ms)
	e := CalendarEntry{Facts: *f.Series, Master: master}
	bySlot := map[clock.Slot]*Meeting{}
	for _, m := range ms {
		bySlot[m.Slot] = m
	}
	for _, o := range f.Series.Overrides {
		if m := bySlot[clock.Slot{Start: o.Start, End: o.End}]; m != nil {
			e.Dates = append(e.Dates, CalendarDate{o.OriginalStart, m})
		}
	}
	return e
}
