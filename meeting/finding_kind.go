package meeting

import (
	"cmp"
	"time"

	"punctual/meeting/clock"
)

// Kind is the rooms of a site that have the same rules, and so are open at the same times.
type Kind struct {
	SiteID  int64  // 0: none
	Zone    string // empty: the installation's
	Policy  Policy
	RoomIDs []int64 // at least one
}

// sieve excludes rooms of a kind that cannot be booked for a length, without examining each.
type sieve struct {
	*Kind
	room   *Room // one that has nothing but what all have
	loc    *time.Location
	length time.Duration
	open   []clock.Slot
	closed []clock.Slot // by blackouts of the site
	busy   []clock.Slot // to be used again
}

func (k *Kind) sieve(a *asker, length time.Duration, span clock.Slot, blackouts []Blackout) *sieve {
	v := &sieve{Kind: k, length: length, room: &Room{SiteID: k.SiteID, Policy: k.Policy, Zone: cmp.Or(k.Zone, a.conf.Timezone, "UTC")}}
	v.loc = clock.ZoneOrUTC(v.room.Zone)
	for _, b := range blackouts {
		if b.SiteID != 0 && b.SiteID == k.SiteID {
			v.closed = append(v.closed, b.Slot)
		}
	}
	if !v.room.lasts(length, span, a.conf.Limits) {
		return v
	}
	if span = v.room.ahead(a, length, span); !span.Empty() {
		v.open = v.room.openHours(span)
	}
	return v
}

// widen extends a span, which may be empty, to all that matters to the sieve: when its rooms are open,
// and their buffers.
func (v *sieve) widen(span clock.Slot) clock.Slot {
	for _, s := range v.open {
		s = s.Widen(v.Policy.BufferBefore, v.Policy.BufferAfter)
		if span.Empty() {
			span = s
		}
		span = clock.Slot{Start: clock.Earlier(span.Start, s.Start), End: clock.Later(span.End, s.End)}
	}
	return span
}

// passes reports whether a room with at least these slots taken might be available: whether
// [Room.Openings] would find a time if there were no other meetings.
func (v *sieve) passes(taken []clock.Slot) bool {
	v.busy = append(v.busy[:0], v.closed...)
	for _, t := range taken {
		v.busy = append(v.busy, t.Widen(v.Policy.BufferAfter, v.Policy.BufferBefore))
	}
	for range v.room.fits(v.open, v.length, v.busy, v.loc) {
		return true
	}
	return false
}
