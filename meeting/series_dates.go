package meeting

import (
	"maps"
	"slices"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// A date of a series is identified by its local time, not by its instant, because the rules of a
// zone may change after it was booked.

// Wall returns the local time of the meeting's date in the series' zone.
func (m *Meeting) Wall(zone *time.Location) time.Time {
	if m.OriginalWall.IsZero() {
		return clock.Wall(m.Place(), zone)
	}
	return m.OriginalWall
}

// NameWalls completes dates that were booked before local times were stored.
func (s *Series) NameWalls(ms []*Meeting) {
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
	ruled := s.Clone()
	ruled.ExDates = nil
	names := map[int64]time.Time{}
	for _, d := range ruled.Dates() {
		names[d.Slot.Start.UnixMicro()] = d.Wall
	}
	return names
}

// DateAt returns the date whose meeting has that original start, or which begins then by the rule.
func (s *Series) DateAt(start time.Time, ms []*Meeting) (recurrence.Date, bool) {
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

// DateNamed returns the date of the rule with this original start or local time.
func (s *Series) DateNamed(t clock.Time, ms []*Meeting) (found recurrence.Date, ok bool, err error) {
	m, err := t.In(clock.ZoneOrUTC(s.Timezone))
	if _, gap := err.(*clock.GapError); err != nil && !gap {
		return recurrence.Date{}, false, err
	}
	wall := m.Wall
	if err == nil {
		d, ok := s.DateAt(m.At, ms)
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

// NameExDates turns excluded instants into the local times of the dates that begin then, which
// differ where clocks skip a time. starts are those of existing meetings.
func (s *Series) NameExDates(starts map[int64]time.Time) {
	if !slices.ContainsFunc(s.ExDates, func(w recurrence.WallTime) bool { return !w.At.IsZero() }) {
		return
	}
	names := s.walls()
	maps.Copy(names, starts)
	for i, w := range s.ExDates {
		if wall, ok := names[w.At.UnixMicro()]; ok && !w.At.IsZero() {
			s.ExDates[i].Time = wall
		}
		s.ExDates[i].At = time.Time{}
	}
}

// IsAt reports whether the meeting is at its series' time for that date, by the present rules of
// the zone or by those when it was booked.
func (m *Meeting) IsAt(d recurrence.Date, s *Series) bool {
	return m.Slot.Equal(d.Slot) || m.Timezone == s.Timezone && m.Shown.Equal(clock.Slot{Start: d.Wall, End: d.Wall.Add(s.End.Sub(s.Start))})
}

// LeftBehind reports whether the meeting is not at its series' time because its move there is
// pending, or was rejected.
func (m *Meeting) LeftBehind() bool {
	if r := m.Request; r != nil {
		return r.Change != nil && r.Change.Series
	}
	v := m.Approval.Decision
	return v != nil && v.Series && v.Result == Rejected
}

// Place returns the meeting's place in its series.
func (m *Meeting) Place() time.Time {
	if m.OriginalStart.IsZero() {
		return m.Slot.Start
	}
	return m.OriginalStart
}
