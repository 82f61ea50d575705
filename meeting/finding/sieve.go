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
	open   []interval // without blackouts of the site
}

// interval is a slot in microseconds since 1970. A search compares tens of thousands of them.
type interval struct{ start, end int64 }

func intervalOf(s clock.Slot) interval { return interval{s.Start.UnixMicro(), s.End.UnixMicro()} }

func (v interval) slot() clock.Slot {
	return clock.Slot{Start: time.UnixMicro(v.start).UTC(), End: time.UnixMicro(v.end).UTC()}
}

func (v interval) widen(before, after time.Duration) interval {
	return interval{v.start - before.Microseconds(), v.end + after.Microseconds()}
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
		for _, s := range open.Without(closed) {
			v.open = append(v.open, intervalOf(s))
		}
	}
	return v
}

// widen extends a span, which may be empty, to all that the sieve needs: when its rooms are open,
// and their buffers.
func (v *sieve) widen(span clock.Slot) clock.Slot {
	for _, open := range v.open {
		s := open.slot().Widen(v.Policy.BufferBefore, v.Policy.BufferAfter)
		if span.Empty() {
			span = s
		}
		span = clock.Slot{Start: clock.Earlier(span.Start, s.Start), End: clock.Later(span.End, s.End)}
	}
	return span
}

// candidate looks for a time at which a room might be available: for one that [policy.Room.Openings] would
// find if the room had no blackouts of its own and the caller no quota.
func (v *sieve) candidate() candidate { return candidate{sieve: v} }

// candidate is a room whose meetings are added by start.
type candidate struct {
	*sieve
	next      int   // of the open hours
	until     int64 // taken until then; 0: not yet
	available bool
}

// add a slot that is taken.
func (c *candidate) add(taken interval) {
	taken = taken.widen(c.Policy.BufferAfter, c.Policy.BufferBefore)
	c.available = c.available || c.fits(taken.start)
	c.until = max(c.until, taken.end)
}

// passes reports whether there is such a time, after all slots were added.
func (c *candidate) passes() bool {
	return c.available || c.next < len(c.open) && c.fits(c.open[len(c.open)-1].end)
}

// fits reports whether there is one that ends by an instant.
func (c *candidate) fits(end int64) bool {
	for ; c.next < len(c.open) && c.open[c.next].start < end; c.next++ {
		open := c.open[c.next]
		free := interval{max(open.start, c.until), min(open.end, end)}
		if free.end-free.start >= c.length.Microseconds() {
			if gap := free.slot(); !c.room.First(gap, c.length).Add(c.length).After(gap.End) {
				return true
			}
		}
		if open.end > end {
			break
		}
	}
	return false
}
