package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/meeting"
)

// A query time without an offset is read by the clocks of the room, if the query names exactly
// one room; else it is refused. Huma resolves a query before the room is known: until then UTC
// stands for the room's zone.

// clockOf is what local times of a query can be read by as long as nobody has looked at the
// room; nil: the query does not name exactly one.
func clockOf(rooms ...int64) *time.Location {
	if only(rooms) == 0 {
		return nil
	}
	return time.UTC
}

// clockOf is the zone of the one room that a query names. It is looked up if one of the times
// is local.
func (h *handlers) clockOf(ctx context.Context, rooms []int64, times ...string) (*time.Location, error) {
	loc := clockOf(rooms...)
	if loc == nil || !slices.ContainsFunc(times, meeting.IsLocal) {
		return loc, nil
	}
	room, err := h.svc.Room(ctx, only(rooms))
	if errors.Is(err, meeting.ErrNotFound) { // the query finds nothing, whatever the times
		return loc, nil
	}
	if err != nil {
		return nil, err
	}
	return meeting.Zone(room.Zone)
}

// only is the one room among ids; 0: there are none or several.
func only(ids []int64) int64 {
	if len(ids) == 0 || slices.ContainsFunc(ids, func(id int64) bool { return id != ids[0] }) {
		return 0
	}
	return ids[0]
}

// instant reads the start of a span; empty is the zero time.
func (d *decoder) instant(location, s string) time.Time {
	return d.time(location, s, meeting.ParseTime)
}

// end reads the end of a span; empty is the zero time.
func (d *decoder) end(location, s string) time.Time {
	return d.time(location, s, meeting.ParseEnd)
}

// time reads a query time. The plus sign of an offset may have become a space, as it does in a
// careless query.
func (d *decoder) time(location, s string, parse func(string, *time.Location) (time.Time, error)) time.Time {
	if s == "" {
		return time.Time{}
	}
	s = strings.Replace(s, " ", "+", 1)
	if d.clock == nil && meeting.IsLocal(s) {
		d.add(location, "offset_required", "must have an offset, like 2027-02-10T09:00:00Z: a local time needs a query that names exactly one room")
		return time.Time{}
	}
	clock := d.clock
	if clock == nil {
		clock = time.UTC // no time without an offset is left
	}
	t, err := parse(s, clock)
	if _, gap := errors.AsType[*meeting.GapError](err); gap {
		d.add(location, "nonexistent_time", err.Error())
	} else if err != nil {
		d.add(location, "invalid_time", err.Error())
	}
	return t
}

// named are the rooms of a query that names one at most; 0: none.
func named(room int64) []int64 {
	if room == 0 {
		return nil
	}
	return []int64{room}
}
