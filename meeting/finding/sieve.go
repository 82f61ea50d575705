package finding

import (
	"cmp"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Kind is a group of rooms of a site with the same rules and opening hours.
type Kind struct {
	SiteID  int64  // 0: none
	Zone    string // empty: the installation's
	Policy  policy.Policy
	RoomIDs []int64 // at least one
}

// sieve excludes rooms of a kind that cannot be booked for a length, without examining each.
type sieve struct {
	*Kind
	room   *policy.Room // with only what all of them share
	length time.Duration
	open   []clock.Slot // without blackouts of the site
}

func (k *Kind) sieve(a *searcher, length time.Duration, span clock.Slot, blackouts []policy.Blackout) *sieve {
	v := &sieve{Kind: k, length: length, room: &policy.Room{SiteID: k.SiteID, Policy: k.Policy, Zone: cmp.Or(k.Zone, a.settings.Timezone, "UTC")}}
	if !v.room.Lasts(length, span, a.settings.Limits) {
		return v
	}
	if span = v.room.Ahead(length, span, a.now, a.settings.Limits); span.Empty() {
		return v
	}
	var closed []clock.Slot
	for _, b := range blackouts {
		if b.SiteID != 0 && b.SiteID == k.SiteID {
			closed = append(closed, b.Slot)
		}
	}
	for _, open := range v.room.OpenHours(span) {
		v.open = append(v.open, open.Without(closed)...)
	}
	return v
}

// widen extends a span, which may be empty, to all that the sieve needs: when its rooms are open,
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

// candidate looks for a time at which a room might be available: for one that [policy.Room.Openings] would
// find if the room had no blackouts of its own and the caller no quota.
func (v *sieve) candidate() candidate { return candidate{sieve: v, rest: v.open} }

// candidate is a room whose meetings are added by start.
type candidate struct {
	*sieve
	rest      []clock.Slot // of the open hours
	until     time.Time    // taken until then
	available bool
}

// add a slot that is taken.
func (c *candidate) add(taken clock.Slot) {
	taken = taken.Widen(c.Policy.BufferAfter, c.Policy.BufferBefore)
	c.available = c.available || c.fits(taken.Start)
	c.until = clock.Later(c.until, taken.End)
}

// passes reports whether there is such a time, after all slots were added.
func (c *candidate) passes() bool {
	return c.available || len(c.rest) > 0 && c.fits(c.rest[len(c.rest)-1].End)
}

// fits reports whether there is one that ends by an instant.
func (c *candidate) fits(end time.Time) bool {
	for ; len(c.rest) > 0 && c.rest[0].Start.Before(end); c.rest = c.rest[1:] {
		gap := clock.Slot{Start: clock.Later(c.rest[0].Start, c.until), End: clock.Earlier(c.rest[0].End, end)}
		if gap.Duration() >= c.length && !c.room.First(gap, c.length).Add(c.length).After(gap.End) {
			return true
		}
		if c.rest[0].End.After(end) {
			break
		}
	}
	return false
}
