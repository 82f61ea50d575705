package policy

import (
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// Periods that a [Quota] counts in, in the room's zone. Weeks begin on Monday.
const (
	PerDay   = "day"
	PerWeek  = "week"
	PerMonth = "month"
)

// Claim is what a meeting uses of its organizer's quota for one room, or of what the installation
// allows one person in all rooms. Meetings that hold the room count, past ones too. A request
// counts only while it holds its slot. Canceled, rejected and released meetings do not count. A
// meeting counts in every period that it touches, with the part of its length that lies there. If
// it ended early, the rest does not count.
type Claim struct {
	RoomID int64      // 0: all rooms together, see [PersonLimits]
	UserID int64      // the organizer
	Span   clock.Slot // the periods that the meeting touches

	room   *Room
	quota  *Quota       // of the user; nil: it was not chosen, or nothing is limited
	person *personClaim // nil: it is a claim on a room's quota
	slot   clock.Slot   // of the meeting
	held   clock.Slot   // what the meeting already holds of the room; zero: nothing
}

// Held is what a meeting already holds; zero: nothing.
type Held struct {
	Slot    clock.Slot
	RoomIDs []int64
}

// QuotaClaims returns the claims of a meeting that a user organizes, in the rooms and in a slot.
func QuotaClaims(userID int64, rooms []*Room, slot clock.Slot, held Held) []Claim {
	var cs []Claim
	for _, r := range rooms {
		if r.Policy.Quota == nil {
			continue
		}
		periods := r.Policy.Quota.periods(slot, clock.ZoneOrUTC(r.Zone))
		c := Claim{
			RoomID: r.ID, UserID: userID, room: r, quota: r.Policy.Quota.For(nil), slot: slot,
			Span: clock.Slot{Start: periods[0].Start, End: periods[len(periods)-1].End},
		}
		if slices.Contains(held.RoomIDs, r.ID) {
			c.held = held.Slot
		}
		cs = append(cs, c)
	}
	if len(rooms) > 0 && !rooms[0].Person.None() {
		c := PersonClaim(userID, rooms[0].Person, slot)
		c.person.rooms, c.person.held = len(rooms), len(held.RoomIDs)
		if c.person.held > 0 {
			c.held = held.Slot
		}
		cs = append(cs, c)
	}
	return cs
}

// For returns the quota of a person in these groups: the most generous count and duration of those groups that the
// quota names, or the general ones if it names none of them; nil: nothing is limited. The result has no Groups.
func (q *Quota) For(groups []int64) *Quota {
	if q == nil {
		return nil
	}
	own, found := Quota{Per: q.Per, Count: q.Count, Duration: q.Duration}, false
	for _, g := range q.Groups {
		switch {
		case !slices.Contains(groups, g.GroupID):
		case !found:
			own.Count, own.Duration, found = g.Count, g.Duration, true
		default:
			own.Count, own.Duration = generous(own.Count, g.Count), generous(own.Duration, g.Duration)
		}
	}
	if own.Count == 0 && own.Duration == 0 {
		return nil
	}
	return &own
}

// generous returns the larger limit; 0 is none.
func generous[T int | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// IsZero reports whether the quota says nothing.
func (q *Quota) IsZero() bool {
	return q.Per == "" && q.Count == 0 && q.Duration == 0 && len(q.Groups) == 0
}

// ByGroup reports whether the groups of the user matter, see [Claim.In].
func (c *Claim) ByGroup() bool { return c.person == nil && len(c.room.Policy.Quota.Groups) > 0 }

// In returns the claim of a user who is in these groups. Without it, the user is in none.
func (c Claim) In(groups []int64) Claim {
	if c.person == nil {
		c.quota = c.room.Policy.Quota.For(groups)
	}
	return c
}

// maxPeriods limits the number of exceeded periods that are reported for one quota. A user who
// books a month in a room with a daily quota has enough information by then.
const maxPeriods = 10

// Check returns the first periods in which the meeting would exceed the quota. others are the slots
// of the user's other meetings in the room, within Span and without buffers. If a meeting already
// exceeds a quota that was lowered later, it may still move within the period.
func (c *Claim) Check(others []clock.Slot) []fault.Fault {
	if c.person != nil {
		return c.person.check(c, others)
	}
	var v fault.List
	q, reported := c.quota, 0
	if q == nil {
		return nil
	}
	for _, period := range q.periods(c.slot, clock.ZoneOrUTC(c.room.Zone)) {
		if reported == maxPeriods {
			break
		}
		used := usageOf(period, others...)
		before, after := used.plus(usageOf(period, c.held)), used.plus(usageOf(period, c.slot))
		figures := fault.Figures{RoomID: c.RoomID, Per: q.Per, Span: fault.Span(period)}
		day := period.Start.In(clock.ZoneOrUTC(c.room.Zone)).Format(time.DateOnly)
		known := len(v)
		if q.Count > 0 && after.count > q.Count && after.count > before.count {
			figures.Limit, figures.Used, figures.Actual = q.Count, used.count, after.count
			v.Violate("room_ids", "quota", figures, "one person can book %s at most %s per %s; this would make %d (%s from %s)",
				c.room.Name, times(q.Count), q.Per, after.count, q.Per, day)
		}
		if q.Duration > 0 && after.length > q.Duration && after.length > before.length {
			figures.Limit, figures.Used, figures.Actual = fault.FormatDuration(q.Duration), fault.FormatDuration(used.length), fault.FormatDuration(after.length)
			v.Violate("room_ids", "quota", figures, "one person can book %s for at most %s per %s; this would make %s (%s from %s)",
				c.room.Name, fault.FormatDuration(q.Duration), q.Per, fault.FormatDuration(after.length), q.Per, day)
		}
		if len(v) > known {
			reported++
		}
	}
	return v
}

// Spent returns the parts of span that a meeting of the given length cannot use, because the quota
// leaves too little time there. held are the slots of the user's other meetings. A meeting may
// still reach into a period from either side, so only the middle of a period counts. A nil quota
// returns nil.
func (q *Quota) Spent(span clock.Slot, length time.Duration, held []clock.Slot, loc *time.Location) []clock.Slot {
	if q == nil {
		return nil
	}
	var spent []clock.Slot
	for _, period := range q.periods(span, loc) {
		used := usageOf(period, held...)
		left := length
		if q.Count > 0 && used.count >= q.Count {
			left = 0
		}
		if q.Duration > 0 {
			left = min(left, max(0, q.Duration-used.length))
		}
		if middle := period.Widen(-left, -left); left < length && middle.Start.Before(middle.End) {
			spent = append(spent, middle)
		}
	}
	return spent
}

// usage of a room by one person in one period.
type usage struct {
	count  int
	length time.Duration
}

func usageOf(period clock.Slot, slots ...clock.Slot) usage {
	var u usage
	for _, s := range slots {
		if !s.Overlaps(period) {
			continue
		}
		u.count++
		u.length += clock.Earlier(s.End, period.End).Sub(clock.Later(s.Start, period.Start))
	}
	return u
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (u usage) plus(o usage) usage { return usage{u.count + o.count, u.length + o.length} }

// periods that the slot touches, in order; there is always one.
func (q *Quota) periods(slot clock.Slot, loc *time.Location) []clock.Slot {
	var ps []clock.Slot
	for day := q.first(slot.Start.In(loc)); ; day = q.next(day) {
		p := clock.Slot{Start: clock.InstantOrChange(day, loc).UTC(), End: clock.InstantOrChange(q.next(day), loc).UTC()}
		if len(ps) > 0 && !p.Start.Before(slot.End) {
			return ps
		}
		ps = append(ps, p)
	}
}

// first day of the period that holds t, as a date and not an instant.
func (q *Quota) first(t time.Time) time.Time {
	y, mo, d := t.Date()
	switch q.Per {
	case PerMonth:
		d = 1
	case PerWeek:
		d -= (int(t.Weekday()) + 6) % 7
	}
	return time.Date(y, mo, d, 0, 0, 0, 0, time.UTC)
}

func (q *Quota) next(day time.Time) time.Time {
	switch q.Per {
	case PerMonth:
		return day.AddDate(0, 1, 0)
	case PerWeek:
		return day.AddDate(0, 0, 7)
	default:
		return day.AddDate(0, 0, 1)
	}
}
