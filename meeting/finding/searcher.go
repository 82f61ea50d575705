package finding

import (
	"cmp"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// searcher holds an actor who searches a room, and what decides whether they may book it.
type searcher struct {
	meeting.Actor
	need     Need
	now      time.Time
	settings meeting.Settings

	everywhere []clock.Slot // the actor's bookings in all rooms, if the installation limits them
}

// needsApproval reports whether someone else must approve a booking.
func (a *searcher) needsApproval(r *meeting.Room) bool {
	return r.Approval.Required && !a.MayApprove([]*meeting.Room{r})
}

// tooLate reports whether a request would expire at once, before anyone could decide.
func (a *searcher) tooLate(r *meeting.Room, start time.Time) bool {
	return a.needsApproval(r) && !start.After(a.now) && cmp.Or(r.Approval.OnTimeout, a.settings.OnTimeout, meeting.Rejected) != meeting.Confirmed
}

// holds reports whether a booking takes the room, and counts for quotas, at once.
func (a *searcher) holds(r *meeting.Room) bool { return a.settings.HoldPending || !a.needsApproval(r) }

// reasons returns why the actor cannot book the room for the slot. taken is what is booked near the
// slot, and held are the slots of the actor's own meetings in the room.
func (a *searcher) reasons(r *meeting.Room, slot clock.Slot, taken, held []clock.Slot) []Reason {
	reasons := slices.Grow(a.need.missing(r), len(taken))
	needed := slot.Widen(r.Policy.BufferBefore, r.Policy.BufferAfter)
	for _, t := range taken {
		if t.Overlaps(needed) {
			text := r.Name + " is taken from " + t.Start.UTC().Format(time.RFC3339) + " to " + t.End.UTC().Format(time.RFC3339)
			reasons = append(reasons, Reason{Span: t, Fault: fault.Fault{Location: "start", Code: meeting.ReasonTaken, Message: text}})
		}
	}
	if a.tooLate(r, slot.Start) {
		reasons = append(reasons, Reason{Fault: fault.Fault{
			Location: "start", Code: ReasonTooSoon, Message: "the start leaves no time to approve a request for " + r.Name,
		}})
	}
	violations := r.Check(policy.Proposal{Slot: slot, Persons: a.need.Persons, Now: a.now}, a.settings.Limits)
	if !a.MayBook(r) {
		violations = append(violations, meeting.NotAllowed(r))
	}
	if a.holds(r) || len(violations) > 0 { // as for a booking
		for _, c := range policy.QuotaClaims(a.ID, []*policy.Room{&r.Room}, slot, policy.Held{}) {
			others := held
			if c = c.In(a.groups()); c.RoomID == 0 {
				others = a.everywhere
			}
			violations = append(violations, c.Check(others)...)
		}
	}
	for _, f := range violations {
		reasons = append(reasons, Reason{Fault: f})
	}
	return reasons
}

// suggest returns the first times within span at which the actor can book the room, at most limit.
func (a *searcher) suggest(r *meeting.Room, length time.Duration, span clock.Slot, taken, held []clock.Slot, limit int) []Suggestion {
	span = r.Ahead(length, span, a.now, a.settings.Limits)
	if a.tooLate(r, span.Start) {
		span.Start = span.Start.Add(time.Microsecond)
	}
	if span = r.Lasting(length, span, a.settings.Limits); span.Empty() {
		return nil
	}
	var spent []clock.Slot
	if a.holds(r) {
		spent = r.Policy.Quota.For(a.groups()).Spent(span, length, held, clock.ZoneOrUTC(r.Zone))
	}
	var some []Suggestion
	for slot := range r.Openings(span, length, taken, spent) {
		if len(a.reasons(r, slot, nil, held)) == 0 {
			some = append(some, Suggestion{Room: r, Slot: slot, NeedsApproval: a.needsApproval(r)})
		}
		if len(some) == limit {
			break
		}
	}
	return some
}

// groups of the actor.
func (a *searcher) groups() []int64 {
	if a.Groups == nil {
		return nil
	}
	return *a.Groups
}

// missing returns what the room lacks.
func (n Need) missing(r *meeting.Room) []Reason {
	var reasons []Reason
	for _, f := range n.Features {
		if !slices.Contains(r.Features, f) {
			reasons = append(reasons, Reason{Feature: f, Fault: fault.Fault{
				Location: "features", Code: ReasonFeatures, Message: r.Name + " has no " + f,
			}})
		}
	}
	return reasons
}
