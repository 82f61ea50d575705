package meeting

import (
	"slices"
	"time"

	"punctual/meeting/clock"
)

// Link names one request to one person: what a mail carries so that its reader can decide
// without signing in. It is good once, for that request and level, while they may decide.
type Link struct {
	MeetingID ID
	Number    int64 // of the [Request]
	UserID    int64 // of the reader
}

// LinkState is what a link still leads to.
type LinkState string

const (
	LinkOpen      LinkState = "open"      // the reader may decide
	LinkAgreed    LinkState = "agreed"    // the reader's part is agreed to, others decide
	LinkDecided   LinkState = "decided"   // see Verdict
	LinkWithdrawn LinkState = "withdrawn" // the meeting was cancelled, or something else is requested
	LinkExpired   LinkState = "expired"   // nobody decided in time
	LinkClosed    LinkState = "closed"    // the reader may no longer decide on it
)

// Linked is what a link leads to.
type Linked struct {
	State    LinkState
	Reader   Person
	Meeting  *Meeting     // as the reader may see it; its Request is set while State is open or agreed
	Part     []string     // names of the rooms on which the reader decides, if others decide on the rest
	Dates    []clock.Slot // of a series, that the decision is about; none: the meeting alone
	Decision *Decision    // when it is decided or withdrawn; nil: no longer known
}

// lead returns the state of a link at an instant. Rooms are those of the request.
func (m *Meeting) lead(l Link, by Actor, rooms []*Room, at time.Time) LinkState {
	switch r, v := m.Request, m.Approval.Decision; {
	case r != nil && r.Number == l.Number && !m.Waits(at):
		return LinkExpired
	case r != nil && r.Number == l.Number && !by.MayReject(rooms):
		return LinkClosed
	case r != nil && r.Number == l.Number && m.settledFor(by, rooms):
		return LinkAgreed
	case r != nil && r.Number == l.Number:
		return LinkOpen
	case r != nil && r.First <= l.Number && l.Number < r.Number:
		return LinkAgreed
	case v == nil || l.Number < v.First || l.Number > v.Number || v.Result == Cancelled:
		return LinkWithdrawn
	case v.Reason == ReasonTimeout && v.Result == Rejected:
		return LinkExpired
	default:
		return LinkDecided
	}
}

// settledFor reports whether, at the level that is asked, all rooms are agreed to for which the
// actor decides.
func (m *Meeting) settledFor(by Actor, rooms []*Room) bool {
	mine := m.part(by, rooms)
	return len(mine) > 0 && len(m.Request.missing(mine, m.Request.Level)) == 0
}

// part is those of the rooms to which the actor may agree at the level that is asked.
func (m *Meeting) part(by Actor, rooms []*Room) []*Room {
	return slices.DeleteFunc(levelsOf(rooms).at(m.Request.Level), func(r *Room) bool {
		return !by.mayAgree(r, m.Request.Level, !m.Request.EscalatedAt.IsZero())
	})
}
