package meeting

import (
	"cmp"
	"slices"
	"time"

	"punctual/meeting/clock"
)

// maxRoomDays is for how many days at most one may ask at once.
const maxRoomDays = 100

// RoomDays holds how busy a room is on each day of its own calendar.
type RoomDays struct {
	Room *Room
	Days []RoomDay // one for each day that was asked for
}

// RoomDay is one day of a room.
type RoomDay struct {
	Busy     time.Duration // in meetings, without their buffers; of one that ended early what it took
	Open     time.Duration // by opening hours and without blackouts; all of the day if there are no hours
	Meetings int           // that touch the day
}

// calendar is where the days of a zone begin, and the last of them ends.
type calendar []time.Time

// calendarOf n days from a date on.
func calendarOf(from time.Time, n int, loc *time.Location) calendar {
	edges := make(calendar, n+1)
	for i := range edges {
		edges[i] = clock.InstantOrChange(from.AddDate(0, 0, i), loc)
	}
	return edges
}

func (c calendar) span() clock.Slot { return clock.Slot{Start: c[0], End: c[len(c)-1]} }

// touched calls day for each day that the slot touches, with the part of the slot in it.
func (c calendar) touched(s clock.Slot, day func(i int, part clock.Slot)) {
	i, begins := slices.BinarySearchFunc(c, s.Start, time.Time.Compare)
	if !begins {
		i = max(i-1, 0)
	}
	for ; i < len(c)-1 && c[i].Before(s.End); i++ {
		if part, ok := s.Intersect(clock.Slot{Start: c[i], End: c[i+1]}); ok {
			day(i, part)
		}
	}
}

// daysOf a room that is open at these times, and whose meetings, by start, take what is booked.
func daysOf(r *Room, c calendar, open, booked []clock.Slot) []RoomDay {
	days := make([]RoomDay, len(c)-1)
	closed := make([]clock.Slot, len(r.Blackouts))
	for i, b := range r.Blackouts {
		closed[i] = b.Slot
	}
	for _, hours := range open {
		for _, gap := range hours.Without(closed) {
			c.touched(gap, func(i int, part clock.Slot) { days[i].Open += part.Duration() })
		}
	}
	for _, s := range booked {
		c.touched(s, func(i int, part clock.Slot) {
			days[i].Busy += part.Duration()
			days[i].Meetings++
		})
	}
	return days
}

// calendars of the rooms' zones, and the span of them all.
func calendars(rooms []*Room, from time.Time, n int) (map[string]calendar, clock.Slot) {
	all := map[string]calendar{}
	var span clock.Slot
	for _, r := range rooms {
		if all[r.Zone] != nil {
			continue
		}
		c := calendarOf(from, n, clock.ZoneOrUTC(r.Zone))
		all[r.Zone] = c
		s := c.span()
		span.Start = clock.Earlier(cmp.Or(span.Start, s.Start), s.Start)
		span.End = clock.Later(span.End, s.End)
	}
	return all, span
}
