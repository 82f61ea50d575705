package httpapi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// A query time without an offset is in the zone of the room if the query names exactly one
// room. Otherwise it is refused. Huma validates a query before the room is known, so UTC stands
// for the room's zone until then.

// provisionalZone is UTC if the query names exactly one room, and otherwise nil.
func provisionalZone(rooms ...int64) *time.Location {
	if only(rooms) == 0 {
		return nil
	}
	return time.UTC
}

// queryZone returns the zone of the one room that a query names, or nil if it names none or
// several. It reads the room only if one of the times is local.
func (h *handlers) queryZone(ctx context.Context, rooms []int64, times ...string) (*time.Location, error) {
	loc := provisionalZone(rooms...)
	if loc == nil || !slices.ContainsFunc(times, isLocal) {
		return loc, nil
	}
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	room, err := h.svc.VisibleRoom(ctx, by, only(rooms))
	if errors.Is(err, meeting.ErrNotFound) { // the query finds nothing, whatever the times
		return loc, nil
	}
	if err != nil {
		return nil, err
	}
	return fault.StoredZone(room.Zone)
}

func isLocal(s string) bool {
	_, ok := clock.Parse(s).Local()
	return ok
}

// only returns the one room among ids; 0: none or several.
func only(ids []int64) int64 {
	if len(ids) == 0 || slices.ContainsFunc(ids, func(id int64) bool { return id != ids[0] }) {
		return 0
	}
	return ids[0]
}

// instant parses the start of a span; empty is the zero time.
func (d *decoder) instant(location, s string) time.Time {
	return d.time(location, s, clock.Time.In)
}

// end parses the end of a span; empty is the zero time.
func (d *decoder) end(location, s string) time.Time {
	return d.time(location, s, clock.Time.EndIn)
}

// time parses a query time. The plus sign of an offset may have become a space, as it does in a
// careless query.
func (d *decoder) time(location, s string, in func(clock.Time, *time.Location) (clock.Moment, error)) time.Time {
	if s == "" {
		return time.Time{}
	}
	s = strings.Replace(s, " ", "+", 1)
	if d.zone == nil && isLocal(s) {
		d.add(location, "offset_required", "must have an offset, like 2027-02-10T09:00:00Z: a local time needs a query that names exactly one room")
		return time.Time{}
	}
	t, err := in(clock.Parse(s), cmp.Or(d.zone, time.UTC)) // without a zone, s has an offset
	if _, gap := errors.AsType[*clock.GapError](err); gap {
		d.add(location, "nonexistent_time", err.Error())
	} else if err != nil {
		d.add(location, "invalid_time", err.Error())
	}
	return t.At
}

// named returns the rooms of a query that names at most one.
func named(room int64) []int64 {
	if room == 0 {
		return nil
	}
	return []int64{room}
}
