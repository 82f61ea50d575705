package meeting

import (
	"context"
	"time"

	"punctual/meeting/policy"
)

// RoomDays returns how busy rooms are on each day from one date up to another, by each room's own
// calendar. Only year, month, and day of the dates count. A zero end is the day after the start.
// Rooms are paged as in [Service.Rooms]. A roomID selects that room alone, active or not.
func (s *Service) RoomDays(ctx context.Context, q RoomQuery, roomID int64, from, to time.Time, p Page) (found []RoomDays, next string, err error) {
	if to.IsZero() {
		to = from.AddDate(0, 0, 1)
	}
	n := int(to.Sub(from) / (24 * time.Hour))
	if n < 1 || n > maxRoomDays {
		return nil, "", invalid("to", "invalid_span", "must be after from, by at most 100 days")
	}
	var rooms []*Room
	if roomID != 0 {
		rooms, err = s.rooms(ctx, []int64{roomID})
		if err == nil && len(rooms) == 0 {
			err = ErrNotFound
		}
	} else if rooms, next, err = s.store.ListRooms(ctx, q, p); err == nil {
		rooms = s.zoned(rooms)
	}
	if err != nil || len(rooms) == 0 {
		return nil, "", err
	}
	days, span := calendars(rooms, from, n)
	if err := s.withBlackouts(ctx, rooms, span.Start); err != nil {
		return nil, "", err
	}
	booked, err := s.store.Booked(ctx, ids(rooms), span, s.clock())
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
