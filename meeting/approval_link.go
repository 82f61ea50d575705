package meeting

import (
	"slices"
	"time"

	"punctual/meeting/clock"
)

// Link names a request and one reader of a mail, who can decide by it without signing in. It works
// once, for that request and level, while the reader may decide.
type Link struct {
	MeetingID ID
	Number    int64 // of the [Request]
	UserID    int64 // of the reader
}

// LinkState is the state of a link's request for its reader.
type LinkState string

const (
	LinkOpen      LinkState = "open"      // the reader may decide
	LinkAgreed    LinkState = "agreed"    // the reader's part is approved, others decide
	LinkDecided   LinkState = "decided"   // see Verdict
	LinkWithdrawn LinkState = "withdrawn" // the meeting was cancelled, or something else is requested
	LinkExpired   LinkState = "expired"   // nobody decided in time
	LinkClosed    LinkState = "closed"    // the reader may no longer decide on it
)

// Linked is the content of the page behind a link.
type Linked struct {
	State    LinkState
	Reader   Person
	Meeting  *Meeting     // as the reader may see it; its Request is set while State is open or agreed
	Part     []string     // names of the rooms that the reader decides on, if others decide on the rest
	Dates    []clock.Slot // of a series, covered by the decision; empty: the meeting alone
	Decision *Decision    // set once it is decided or withdrawn; nil: no longer known
}

// LinkState returns the state of a link at an instant. rooms are those of the request.
func (m *Meeting) LinkState(l Link, by Actor, rooms []*Room, at time.Time) LinkState {
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

// settledFor reports whether all rooms that the actor decides on are approved at the current level.
func (m *Meeting) settledFor(by Actor, rooms []*Room) bool {
	mine := m.PartOf(by, rooms)
	return len(mine) > 0 && len(m.Request.missing(mine, m.Request.Level)) == 0
}

// PartOf returns the rooms that the actor may approve at the current level.
func (m *Meeting) PartOf(by Actor, rooms []*Room) []*Room {
	return slices.DeleteFunc(LevelsOf(rooms).At(m.Request.Level), func(r *Room) bool {
		return !by.mayAgree(r, m.Request.Level, !m.Request.EscalatedAt.IsZero())
	})
}
