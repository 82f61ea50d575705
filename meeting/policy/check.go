package policy

import (
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// Tolerance for a start in the past: a request takes a moment to arrive, and clocks differ.
const Tolerance = time.Minute

// Proposal is a requested booking of one room.
type Proposal struct {
	Slot    clock.Slot
	Persons int // invited
	Now     time.Time
	Booked  *Booked // what the meeting already has of the room from the same start; nil: nothing
}

// Booked is what a meeting already has of a room. It was checked by the rules of its time and is
// not checked again. Only an addition is checked, or a change that makes the meeting shorter.
type Booked struct {
	End     time.Time
	Persons int
}

// added returns the time that the proposal takes of the room beyond what is booked, and the field
// that requests it. The time may be empty.
func (p Proposal) added() (location string, added clock.Slot) {
	if p.Booked == nil {
		return "start", p.Slot
	}
	return "end", clock.Slot{Start: p.Booked.End, End: p.Slot.End}
}

// Check returns every violated rule of the room and the installation, except quotas. Quotas depend
// on other meetings, which only the store knows (see [Claim]).
func (r *Room) Check(p Proposal, limits Limits) []fault.Fault {
	var v fault.List
	r.checkCapacity(p, &v)
	r.checkDuration(p, limits, &v)
	_, unknown := fault.StoredZone(r.Zone)
	if unknown == nil {
		r.checkStep(p, &v)
	}
	if p.Booked == nil {
		if !r.Active {
			v.Violate("room_ids", "room_inactive", fault.Figures{RoomID: r.ID}, "%s cannot be booked at the moment", r.Name)
		}
		r.checkLead(p, limits, &v)
	}
	if unknown == nil {
		r.checkHours(p, &v)
	} else if _, added := p.added(); !added.Empty() {
		v.Violate("room_ids", "unknown_timezone", fault.Figures{RoomID: r.ID}, "%s has the time zone %q, which is unknown on this server", r.Name, r.Zone)
	}
	r.checkBlackouts(p, &v)
	return v
}

// checkBlackouts adds a fault for each blackout that overlaps the added time.
func (r *Room) checkBlackouts(p Proposal, v *fault.List) {
	location, added := p.added()
	if added.Empty() {
		return
	}
	loc := clock.ZoneOrUTC(r.Zone)
	for _, b := range r.Blackouts {
		if !b.Slot.Overlaps(added) {
			continue
		}
		why := ""
		if b.Reason != "" {
			why = ": " + b.Reason
		}
		figures := fault.Figures{RoomID: r.ID, Span: fault.Span(b.Slot), BlackoutID: b.ID, Reason: b.Reason}
		v.Violate(location, "blackout", figures, "%s is closed from %s to %s%s", r.Name, wallClock(b.Slot.Start, loc), wallClock(b.Slot.End, loc), why)
	}
}

func (r *Room) checkCapacity(p Proposal, v *fault.List) {
	if r.Capacity == 0 || p.Persons <= r.Capacity || p.Booked != nil && p.Persons <= p.Booked.Persons {
		return
	}
	figures := fault.Figures{RoomID: r.ID, Limit: r.Capacity, Actual: p.Persons}
	v.Violate("attendees", "capacity", figures, "%s seats %d, not %d", r.Name, r.Capacity, p.Persons)
}

// checkDuration accepts a length that fits either by the room's clocks or by elapsed time. When
// clocks change, a night from 22:00 to 06:00 still counts as eight hours.
func (r *Room) checkDuration(p Proposal, limits Limits, v *fault.List) {
	passes := p.Slot.Duration()
	shown := passes
	if d := clock.Wall(p.Slot.End, clock.ZoneOrUTC(r.Zone)).Sub(clock.Wall(p.Slot.Start, clock.ZoneOrUTC(r.Zone))); d > 0 {
		shown = d
	}
	longer := p.Booked == nil || p.Slot.End.After(p.Booked.End)
	shorter := p.Booked == nil || p.Slot.End.Before(p.Booked.End)
	if least, d := r.Policy.MinDuration, max(passes, shown); shorter && d < least {
		v.Violate("end", "min_duration", r.bound(least, d), "%s must be booked for at least %s", r.Name, fault.FormatDuration(least))
	}
	d := min(passes, shown)
	switch most := Stricter(r.Policy.MaxDuration, limits.MaxDuration); {
	case !longer || most == 0 || d <= most:
	case most == r.Policy.MaxDuration:
		v.Violate("end", "max_duration", r.bound(most, d), "%s can be booked for at most %s", r.Name, fault.FormatDuration(most))
	default:
		v.Violate("end", "max_duration", bound(most, d), "a meeting can last at most %s", fault.FormatDuration(most))
	}
}

func (r *Room) checkHours(p Proposal, v *fault.List) {
	location, added := p.added()
	if added.Empty() || r.Open(added) {
		return
	}
	loc := clock.ZoneOrUTC(r.Zone)
	figures := fault.Figures{RoomID: r.ID, Limit: r.Policy.hours(), Actual: wallClock(added.Start, loc) + " to " + wallClock(added.End, loc)}
	v.Violate(location, "opening_hours", figures, "%s must be booked within its opening hours (%s, %s)", r.Name, r.Policy.hours(), r.Zone)
}

// checkStep requires both ends on the grid of the room's clock. The length is then a multiple of
// the step by that clock, even if the clock changes in between.
func (r *Room) checkStep(p Proposal, v *fault.List) {
	step := r.Policy.Step
	if step == 0 {
		return
	}
	loc := clock.ZoneOrUTC(r.Zone)
	check := func(location, edge string, t time.Time) {
		if t = t.In(loc); !onGrid(t, step) {
			figures := fault.Figures{RoomID: r.ID, Limit: fault.FormatDuration(step), Actual: timeText(t)}
			v.Violate(location, "step", figures, "%s must be booked in steps of %s from midnight (%s); the %s is at %s",
				r.Name, fault.FormatDuration(step), r.Zone, edge, timeText(t))
		}
	}
	if p.Booked == nil {
		check("start", "start", p.Slot.Start)
	}
	if p.Booked == nil || !p.Slot.End.Equal(p.Booked.End) {
		check("end", "end", p.Slot.End)
	}
}

// onGrid reports whether the local time at t is a multiple of the step, or clocks were just put
// forward over one: where they skip midnight, the day begins at 01:00.
func onGrid(t time.Time, step time.Duration) bool {
	off := clock.SinceMidnight(t) % step
	return off == 0 || clock.InstantOrChange(clock.Wall(t, t.Location()).Add(-off), t.Location()).Equal(t)
}

// InPast returns the violation of a slot with an edge that has passed. If its end has passed too, the
// rule cannot be overridden.
func InPast(location string, edge, end, now time.Time) fault.Fault {
	return fault.Fault{
		Location: location, Code: "in_past", Message: "must be in the future", Firm: !end.After(now),
		Figures: fault.Figures{Limit: now.UTC().Format(time.RFC3339), Actual: edge.UTC().Format(time.RFC3339)},
	}
}

func (r *Room) checkLead(p Proposal, limits Limits, v *fault.List) {
	lead := p.Slot.Start.Sub(p.Now)
	if lead < -Tolerance || !p.Slot.End.After(p.Now) {
		*v = append(*v, InPast("start", p.Slot.Start, p.Slot.End, p.Now))
		return
	}
	if least := r.Policy.MinNotice; least > 0 && lead < least {
		v.Violate("start", "min_notice", r.bound(least, lead), "%s must be booked at least %s ahead", r.Name, fault.FormatDuration(least))
	}
	switch most := Stricter(r.Policy.MaxAdvance, limits.MaxAdvance); {
	case most == 0 || lead <= most:
	case most == r.Policy.MaxAdvance:
		v.Violate("start", "max_advance", r.bound(most, lead), "%s can be booked at most %s ahead", r.Name, fault.FormatDuration(most))
	default:
		v.Violate("start", "max_advance", bound(most, lead), "rooms can be booked at most %s ahead", fault.FormatDuration(most))
	}
}

func bound(limit, actual time.Duration) fault.Figures {
	return fault.Figures{Limit: fault.FormatDuration(limit), Actual: fault.FormatDuration(actual.Truncate(time.Second))}
}

func (r *Room) bound(limit, actual time.Duration) fault.Figures {
	f := bound(limit, actual)
	f.RoomID = r.ID
	return f
}

func wallClock(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	return t.Format(time.DateOnly) + " " + timeText(t)
}

func timeText(t time.Time) string {
	if t.Second() == 0 && t.Nanosecond() == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05.999999")
}

// Stricter returns the stricter of two upper limits. 0 means no limit.
func Stricter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
