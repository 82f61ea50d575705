package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// Limits of the installation apply to every room; a room may be stricter. Zero means no limit.
type Limits struct {
	MaxDuration    time.Duration
	MaxAdvance     time.Duration
	MaxOccurrences int // of one series
	MaxInvitations int // of one series: attendees times dates
	MaxRoomDates   int // of one series: rooms times dates
	MaxWaits       int // places that one person has on the waiting list at a time
	Person         PersonLimits
}

// Tolerance for a start in the past: a request takes a moment to arrive, and clocks differ.
const Tolerance = time.Minute

// Wish is a request for one room, as its rules see it.
type Proposal struct {
	Slot    clock.Slot
	Persons int       // who are invited
	Now     time.Time // when they ask
	Booked  *Booked   // what the meeting has of the room from the same start; nil: nothing
}

// Agreed is what a meeting already has of a room. It was checked by the rules of its time and is
// not checked again. Only an addition is checked, or a change that makes the meeting shorter.
type Booked struct {
	End     time.Time
	Persons int
}

// added returns the time that the wish takes of the room beyond what was agreed, and the field that
// requests it; empty if there is none.
func (w Proposal) added() (location string, added clock.Slot) {
	if w.Booked == nil {
		return "start", w.Slot
	}
	return "end", clock.Slot{Start: w.Booked.End, End: w.Slot.End}
}

// Check returns every rule of the room and the installation that the wish breaks, except quotas.
// Quotas depend on other meetings, which only the store knows (see [Meeting.Claims]).
func (r *Room) Check(w Proposal, limits Limits) []fault.Fault {
	var v fault.List
	r.checkCapacity(w, &v)
	r.checkDuration(w, limits, &v)
	_, unknown := fault.StoredZone(r.Zone)
	if unknown == nil {
		r.checkStep(w, &v)
	}
	if w.Booked == nil {
		if !r.Active {
			v.Violate("room_ids", "room_inactive", fault.Figures{RoomID: r.ID}, "%s cannot be booked at present", r.Name)
		}
		r.checkLead(w, limits, &v)
	}
	if unknown == nil {
		r.checkHours(w, &v)
	} else if _, added := w.added(); !added.Empty() {
		v.Violate("room_ids", "unknown_timezone", fault.Figures{RoomID: r.ID}, "%s has the time zone %q, which is unknown on this server", r.Name, r.Zone)
	}
	r.checkBlackouts(w, &v)
	return v
}

// checkBlackouts adds a fault for each blackout that overlaps what is new in the wish. If only the
// end is later, that is the added time.
func (r *Room) checkBlackouts(w Proposal, v *fault.List) {
	location, added := w.added()
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

func (r *Room) checkCapacity(w Proposal, v *fault.List) {
	if r.Capacity == 0 || w.Persons <= r.Capacity || w.Booked != nil && w.Persons <= w.Booked.Persons {
		return
	}
	figures := fault.Figures{RoomID: r.ID, Limit: r.Capacity, Actual: w.Persons}
	v.Violate("attendees", "capacity", figures, "%s seats %d, not %d", r.Name, r.Capacity, w.Persons)
}

// checkDuration accepts a length that fits either by the room's clocks or by elapsed time. When
// clocks change, a night from 22:00 to 06:00 still counts as eight hours.
func (r *Room) checkDuration(w Proposal, limits Limits, v *fault.List) {
	passes := w.Slot.Duration()
	shown := passes
	if d := clock.Wall(w.Slot.End, clock.ZoneOrUTC(r.Zone)).Sub(clock.Wall(w.Slot.Start, clock.ZoneOrUTC(r.Zone))); d > 0 {
		shown = d
	}
	longer := w.Booked == nil || w.Slot.End.After(w.Booked.End)
	shorter := w.Booked == nil || w.Slot.End.Before(w.Booked.End)
	if least, d := r.Policy.MinDuration, max(passes, shown); shorter && d < least {
		v.Violate("end", "min_duration", r.bound(least, d), "%s must be booked for at least %s", r.Name, clock.FormatDuration(least))
	}
	d := min(passes, shown)
	switch most := Stricter(r.Policy.MaxDuration, limits.MaxDuration); {
	case !longer || most == 0 || d <= most:
	case most == r.Policy.MaxDuration:
		v.Violate("end", "max_duration", r.bound(most, d), "%s can be booked for at most %s", r.Name, clock.FormatDuration(most))
	default:
		v.Violate("end", "max_duration", bound(most, d), "a meeting can last at most %s", clock.FormatDuration(most))
	}
}

func (r *Room) checkHours(w Proposal, v *fault.List) {
	location, added := w.added()
	if added.Empty() || r.Open(added) {
		return
	}
	loc := clock.ZoneOrUTC(r.Zone)
	figures := fault.Figures{RoomID: r.ID, Limit: r.Policy.hours(), Actual: wallClock(added.Start, loc) + " to " + wallClock(added.End, loc)}
	v.Violate(location, "opening_hours", figures, "%s is not open the whole time (%s, %s)", r.Name, r.Policy.hours(), r.Zone)
}

// checkStep requires both ends on the grid of the room's clock. The length is then a multiple of
// the step by that clock, even if the clock changes in between.
func (r *Room) checkStep(w Proposal, v *fault.List) {
	step := r.Policy.Step
	if step == 0 {
		return
	}
	loc := clock.ZoneOrUTC(r.Zone)
	check := func(location, edge string, t time.Time) {
		if t = t.In(loc); !onGrid(t, step) {
			figures := fault.Figures{RoomID: r.ID, Limit: clock.FormatDuration(step), Actual: timeText(t)}
			v.Violate(location, "step", figures, "%s must be booked in steps of %s from midnight (%s); the %s is at %s",
				r.Name, clock.FormatDuration(step), r.Zone, edge, timeText(t))
		}
	}
	if w.Booked == nil {
		check("start", "start", w.Slot.Start)
	}
	if w.Booked == nil || !w.Slot.End.Equal(w.Booked.End) {
		check("end", "end", w.Slot.End)
	}
}

// onGrid reports whether clocks show a multiple of the step at t, or were just put forward
// over one: where they skip midnight, the day begins at 01:00.
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

func (r *Room) checkLead(w Proposal, limits Limits, v *fault.List) {
	lead := w.Slot.Start.Sub(w.Now)
	if lead < -Tolerance || !w.Slot.End.After(w.Now) {
		*v = append(*v, InPast("start", w.Slot.Start, w.Slot.End, w.Now))
		return
	}
	if least := r.Policy.MinNotice; least > 0 && lead < least {
		v.Violate("start", "min_notice", r.bound(least, lead), "%s must be booked at least %s ahead", r.Name, clock.FormatDuration(least))
	}
	switch most := Stricter(r.Policy.MaxAdvance, limits.MaxAdvance); {
	case most == 0 || lead <= most:
	case most == r.Policy.MaxAdvance:
		v.Violate("start", "max_advance", r.bound(most, lead), "%s can be booked at most %s ahead", r.Name, clock.FormatDuration(most))
	default:
		v.Violate("start", "max_advance", bound(most, lead), "rooms can be booked at most %s ahead", clock.FormatDuration(most))
	}
}

// bound are the figures of the installation's rule about a length of time.
func bound(limit, actual time.Duration) fault.Figures {
	return fault.Figures{Limit: clock.FormatDuration(limit), Actual: clock.FormatDuration(actual.Truncate(time.Second))}
}

// bound are the figures of the room's.
func (r *Room) bound(limit, actual time.Duration) fault.Figures {
	f := bound(limit, actual)
	f.RoomID = r.ID
	return f
}

// wallClock is t as clocks in loc show it.
func wallClock(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	return t.Format(time.DateOnly) + " " + timeText(t)
}

// timeText is the time of day, as short as it can be.
func timeText(t time.Time) string {
	if t.Second() == 0 && t.Nanosecond() == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05.999999")
}

// Open reports whether the room is open during the whole slot. A room without opening hours is
// always open.
func (r *Room) Open(slot clock.Slot) bool {
	if len(r.Policy.OpeningHours) == 0 || slot.Empty() {
		return true
	}
	until := slot.Start
	for open := range r.Policy.intervals(slot, clock.ZoneOrUTC(r.Zone)) {
		if open.Start.After(until) {
			return false
		}
		if until = clock.Later(until, open.End); !until.Before(slot.End) {
			return true
		}
	}
	return false
}

// intervals in which the room is open on the days that slot touches, by start. Those of the
// day before count too: a night reaches into the morning.
func (p *Policy) intervals(slot clock.Slot, loc *time.Location) iter.Seq[clock.Slot] {
	return func(yield func(clock.Slot) bool) {
		y, mo, d := slot.Start.In(loc).Date()
		day := time.Date(y, mo, d-1, 0, 0, 0, 0, time.UTC) // a date, not an instant
		var open []clock.Slot
		for ; clock.InstantOrChange(day, loc).Before(slot.End); day = day.AddDate(0, 0, 1) {
			open = open[:0]
			for _, h := range p.OpeningHours {
				if !slices.Contains(h.Days, clock.Weekdays[day.Weekday()]) {
					continue
				}
				from, to := h.minutes()
				if to <= from {
					to += 24 * 60
				}
				open = append(open, clock.Slot{
					Start: clock.InstantOrChange(day.Add(time.Duration(from)*time.Minute), loc),
					End:   clock.InstantOrChange(day.Add(time.Duration(to)*time.Minute), loc),
				})
			}
			slices.SortFunc(open, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
			for _, s := range open {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// minutes since midnight of both ends.
func (h OpeningHours) minutes() (from, to int) {
	from, _ = ParseTimeOfDay(h.From)
	to, _ = ParseTimeOfDay(h.To)
	return from, to
}

// ParseTimeOfDay parses HH:MM, 00:00 to 24:00, as minutes since midnight.
func ParseTimeOfDay(s string) (minutes int, ok bool) {
	if s == "24:00" {
		return 24 * 60, true
	}
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, false
	}
	return t.Hour()*60 + t.Minute(), true
}

// hours as one reads them: "MO TU 08:00-20:00, SA 10:00-14:00".
func (p *Policy) hours() string {
	parts := make([]string, len(p.OpeningHours))
	for i, h := range p.OpeningHours {
		parts[i] = fmt.Sprintf("%s %s-%s", strings.Join(h.Days, " "), h.From, h.To)
	}
	return strings.Join(parts, ", ")
}

// Stricter returns the stricter of two upper limits. 0 means no limit.
func Stricter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
