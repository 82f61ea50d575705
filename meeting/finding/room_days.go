package finding

import (
	"cmp"
	"context"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// maxRoomDays is how many days a query may cover.
const maxRoomDays = 100

// RoomDays holds how busy a room is on each day of its own calendar.
type RoomDays struct {
	Room *meeting.Room
	Days []RoomDay // one for each day that was asked for
}

// RoomDay is one day of a room.
type RoomDay struct {
	Busy     time.Duration // in meetings, without their buffers; of one that ended early what it took
	Open     time.Duration // by opening hours and without blackouts; all of the day if there are no hours
	Meetings int           // that touch the day
}

// calendar holds the instants at which the days of a zone begin, and at which the last one ends.
type calendar []time.Time

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

// daysOf returns the days of a room that is open in some spans. booked are the slots of its meetings,
// by start.
func daysOf(r *meeting.Room, c calendar, open, booked []clock.Slot) []RoomDay {
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

// calendars returns the calendar of each zone of the rooms, and the span of them all.
func calendars(rooms []*meeting.Room, from time.Time, n int) (map[string]calendar, clock.Slot) {
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

// RoomDays returns how busy rooms are on each day from one date up to another, by each room's own
// calendar. Only year, month, and day of the dates count. A zero end is the day after the start.
// Rooms are paged as in [booking.Service.Rooms], at most 200 at once for more than a week. A roomID selects that room alone, active or not.
// Only rooms that the actor may see are returned.
func (s *Service) RoomDays(ctx context.Context, by meeting.Actor, q meeting.RoomQuery, roomID int64, from, to time.Time, p meeting.Page) (found []RoomDays, next string, err error) {
	if to.IsZero() {
		to = from.AddDate(0, 0, 1)
	}
	n := int(to.Sub(from) / (24 * time.Hour))
	if n < 1 || n > maxRoomDays {
		return nil, "", fault.Invalid("to", "invalid_span", "must be after from and at most 100 days later")
	}
	if by, err = s.meetings.WithDeputies(ctx, by); err != nil {
		return nil, "", err
	}
	var rooms []*meeting.Room
	if roomID != 0 {
		if rooms, err = s.store.Rooms(ctx, []int64{roomID}); err == nil && len(by.VisibleRooms(rooms)) == 0 {
			err = meeting.ErrNotFound
		}
	} else {
		q.Viewer = &by
		if n > longDays {
			p.Limit = min(p.Limit, longSpanPage)
		}
		rooms, next, err = s.store.ListRooms(ctx, q, p)
	}
	if err != nil || len(rooms) == 0 {
		return nil, "", err
	}
	if err := s.meetings.PrepareRooms(ctx, rooms, around(from, to)); err != nil {
		return nil, "", err
	}
	days, span := calendars(rooms, from, n)
	booked, err := s.store.Booked(ctx, idsOf(rooms), span, s.clock())
	if err != nil {
		return nil, "", err
	}
	var open policy.OpenSpans
	for _, r := range rooms {
		c := days[r.Zone]
		found = append(found, RoomDays{Room: r, Days: daysOf(r, c, open.Of(&r.Room, c.span()), booked[r.ID])})
	}
	return found, next, nil
}

// around returns a span that covers the dates from one up to another in any time zone.
func around(from, to time.Time) clock.Slot {
	return clock.Slot{Start: from, End: to}.Widen(24*time.Hour, 24*time.Hour)
}
