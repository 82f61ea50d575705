package meeting

import (
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// A date of a series is identified by its local time, not by its instant, because the rules of a
// zone may change after it was booked.

// wall returns the local time of the meeting's date in the series' zone.
func (m *Meeting) wall(zone *time.Location) time.Time {
	if m.OriginalWall.IsZero() {
		return clock.Wall(m.place(), zone)
	}
	return m.OriginalWall
}

// nameWalls completes dates that were booked before local times were stored.
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

// walls returns the local times of all dates, including excluded ones, by their instants.
func (s *Series) walls() map[int64]time.Time {
	ruled := s.clone()
	ruled.ExDates = nil
	names := map[int64]time.Time{}
	for _, d := range ruled.Dates() {
		names[d.Slot.Start.UnixMicro()] = d.Wall
	}
	return names
}

// dateAt returns the date whose meeting has that original start, or which begins then by the rule.
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

// dateNamed returns the date of the rule with this original start or local time.
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
