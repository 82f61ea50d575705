package meeting

import (
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// A date of a series is known by what clocks show at it, not by its instant: the rules of a zone
// may change after it was booked.

// wall is what clocks in the series' zone show at the meeting's place in the series.
func (m *Meeting) wall(zone *time.Location) time.Time {
	if m.OriginalWall.IsZero() {
		return clock.Wall(m.place(), zone)
	}
	return m.OriginalWall
}

// nameWalls completes dates that were booked when nobody noted what clocks showed.
func (s *Series) nameWalls(ms []*Meeting) {
	var names map[int64]time.Time
	for _, m := range ms {
		if m.OriginalStart.IsZero() || !m.OriginalWall.IsZero() {
			continue
		}
		if names == nil {
			names = s.walls()
		}
		wall, ok := names[m.OriginalStart.UnixMicro()]
		if !ok {
			wall = clock.Wall(m.OriginalStart, clock.ZoneOrUTC(s.Timezone))
		}
		m.OriginalWall = wall
	}
}

// walls are what clocks show at the dates, those left out too, by the instants at which they begin.
func (s *Series) walls() map[int64]time.Time {
	ruled := s.clone()
	ruled.ExDates = nil
	names := map[int64]time.Time{}
	for _, d := range ruled.Dates() {
		names[d.Slot.Start.UnixMicro()] = d.Wall
	}
	return names
}

// dateAt is the date whose meeting has that original start, or which begins then by the rule.
func (s *Series) dateAt(start time.Time, ms []*Meeting) (recurrence.Date, bool) {
	for _, m := range ms {
		if m.OriginalStart.Equal(start) {
			return s.Recurrence().Date(m.OriginalWall), true
		}
	}
	for _, d := range s.Dates() {
		if d.Slot.Start.Equal(start) {
			return d, true
		}
	}
	return recurrence.Date{}, false
}

// dateNamed is the date of the rule that a time names: by its original start, or by what clocks show.
func (s *Series) dateNamed(t clock.Time, ms []*Meeting) (found recurrence.Date, ok bool, err error) {
	m, err := t.In(clock.ZoneOrUTC(s.Timezone))
	if _, gap := err.(*clock.GapError); err != nil && !gap {
		return recurrence.Date{}, false, err
	}
	wall := m.Wall
	if err == nil {
		d, ok := s.dateAt(m.At, ms)
		if !ok {
			return recurrence.Date{}, false, nil
		}
		wall = d.Wall
	}
	for _, d := range s.Dates() {
		if d.Wall.Equal(wall) {
			return d, true, nil
		}
	}
	return recurrence.Date{}, false, nil
}
