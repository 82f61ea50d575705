package meeting

import (
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
)

// Request is a decision that a meeting waits for: on the meeting itself while it is pending,
// or on a change of one that is confirmed.
type Request struct {
	Number      int64 // number of times that a level was asked; the version of its timers' messages
	First       int64 // the Number at which its first level was asked
	Level       int   // that is asked: 1 or 2
	RequestedAt time.Time
	Deadline    time.Time // for all levels together
	RemindAt    time.Time // zero: no reminder is due
	EscalateAt  time.Time // zero: no escalation is due
	EscalatedAt time.Time // zero: has not happened
	Agreed      []Agreement
	Notified    []int64        // users who were asked at this level; nil: not known, of a request of an earlier release
	Change      *PendingChange // nil: the meeting itself is requested

	// Awaited holds the users who are asked now, without those whose part is approved. The service
	// sets it where one meeting is read, or a list of them. It is never stored.
	Awaited []Decider
}

// Agreement is the approval of one user at one level, for the rooms that they decide on.
type Agreement struct {
	Level   int       `json:"level"`
	UserID  int64     `json:"user_id,omitempty"`
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Comment string    `json:"comment,omitempty"`
	RoomIDs []int64   `json:"room_ids,omitempty"` // empty: all that need it

	For []Represented `json:"for,omitempty"` // represented users; empty: none
}

// covers reports whether the agreement is for a room at a level.
func (a Agreement) covers(room int64, level int) bool {
	return a.Level == level && (len(a.RoomIDs) == 0 || slices.Contains(a.RoomIDs, room))
}

// agreedTo reports whether a room is approved at a level.
func (r *Request) agreedTo(room int64, level int) bool {
	return slices.ContainsFunc(r.Agreed, func(a Agreement) bool { return a.covers(room, level) })
}

// missing returns the rooms that still need approval at a level.
func (r *Request) missing(rooms []*Room, level int) []*Room {
	return slices.DeleteFunc(slices.Clone(rooms), func(room *Room) bool { return r.agreedTo(room.ID, level) })
}

// Decision is how the last request of a meeting ended.
type Decision struct {
	First       int64     `json:"first"` // and Number: those of the request
	Number      int64     `json:"number"`
	Result      Status    `json:"decision"` // Confirmed, Rejected, or Cancelled if it was withdrawn
	UserID      int64     `json:"user_id,omitempty"`
	Name        string    `json:"name,omitempty"` // of the user, or of the timer
	At          time.Time `json:"at"`
	RequestedAt time.Time `json:"asked_at"`         // of the request
	RoomIDs     []int64   `json:"room_ids"`         // of the request; none: no longer known
	Series      bool      `json:"series,omitempty"` // the move came from a change of the series; see [PendingChange]
	Reason      string    `json:"reason,omitempty"`

	For []Represented `json:"for,omitempty"` // represented users; empty: none
}

// PendingChange is the requested move of a confirmed meeting. Until the decision the meeting stays
// where it is.
type PendingChange struct {
	Slot      clock.Slot  `json:"slot"`
	Timezone  string      `json:"timezone"`
	RoomIDs   []int64     `json:"room_ids"`
	RoomNames []string    `json:"room_names"`
	Held      []Occupancy `json:"held,omitempty"`   // what it holds in addition to the meeting; see [ApprovalPlan]
	Series    bool        `json:"series,omitempty"` // requested by a change of the series, which has moved already
}

func (r *Request) clone() *Request {
	if r == nil {
		return nil
	}
	c := *r
	c.Agreed, c.Notified, c.Awaited = slices.Clone(r.Agreed), slices.Clone(r.Notified), slices.Clone(r.Awaited)
	if r.Change != nil {
		change := *r.Change
		change.RoomIDs, change.RoomNames, change.Held = slices.Clone(change.RoomIDs), slices.Clone(change.RoomNames), slices.Clone(change.Held)
		c.Change = &change
	}
	return &c
}

// Waits reports whether the meeting waits for a decision at an instant.
func (m *Meeting) Waits(at time.Time) bool {
	switch r := m.Request; {
	case r == nil:
		return false
	case r.Change == nil:
		return m.EffectiveStatus(at) == Pending
	default:
		return m.EffectiveStatus(at) == Confirmed && (at.Before(r.Deadline) || m.Approval.OnTimeout == Confirmed)
	}
}

// requestedRooms returns the rooms that a decision covers.
func (m *Meeting) RequestedRooms() []int64 {
	if m.Request != nil && m.Request.Change != nil {
		return m.Request.Change.RoomIDs
	}
	return m.RoomIDs
}

// RequestedWith reports whether one mail requests both: dates of a series that were requested
// together, in the same rooms.
func (m *Meeting) RequestedWith(o *Meeting) bool {
	return m.Request != nil && o.Request != nil && m.Request.RequestedAt.Equal(o.Request.RequestedAt) && slices.Equal(m.RequestedRooms(), o.RequestedRooms())
}

// About reports whether the decision is on the request made at an instant for these rooms.
func (v *Decision) About(requestedAt time.Time, rooms []int64) bool {
	return v.RequestedAt.Equal(requestedAt) && (v.RoomIDs == nil || rooms == nil || slices.Equal(v.RoomIDs, rooms))
}

// requestApproval makes a request for the meeting itself or for a change of it. Making the request
// approves what the actor may approve, which may not be every level.
func (m *Meeting) requestApproval(plan ApprovalPlan, c *PendingChange, by Actor, at time.Time) {
	start := m.Slot.Start
	if c != nil && c.Slot.Start.Before(start) {
		start = c.Slot.Start
	}
	m.Approval.OnTimeout = plan.Outcome()
	m.Approval.Requested++
	r := &Request{
		Number: m.Approval.Requested, First: m.Approval.Requested, Level: FirstLevel,
		RequestedAt: at, Deadline: plan.Deadline(start, at), Notified: []int64{}, Change: c,
	}
	m.Request = r
	if m.closed(plan.rooms, at) != nil { // an override
		m.Approval.OnTimeout = Rejected
	}
	level, _ := m.agree(plan.levels, "", by, at)
	r = m.Request
	r.Level = level
	if remind := r.Deadline.Add(-plan.RemindBefore); plan.RemindBefore > 0 && remind.After(at) {
		r.RemindAt = remind
	}
	r.escalateAfter(plan.escalateAfter())
	m.NotifyDeciders(NoticeApprovalRequest, plan.Deciders[r.Level-1], by, at)
}

// escalateAfter sets the time of escalation, if it is before the deadline.
func (r *Request) escalateAfter(d time.Duration) {
	r.EscalateAt = time.Time{}
	if due := r.RequestedAt.Add(d); d > 0 && due.Before(r.Deadline) {
		r.EscalateAt = due
	}
}

// requestNextLevel asks the next level, by the same deadline.
func (m *Meeting) requestNextLevel(plan ApprovalPlan, level int, comment string, by Actor, at time.Time) {
	m.Record(Entry{At: at, Action: ActionChanged, Actor: by, Reason: comment,
		Changes: map[string]Change{"approval.level": {From: m.Request.Level, To: level}}})
	m.UpdatedAt = at
	m.Approval.Requested++
	r := *m.Request
	r.Number, r.Level, r.RequestedAt, r.EscalatedAt, r.Notified = m.Approval.Requested, level, at, time.Time{}, []int64{}
	r.escalateAfter(plan.escalateAfter())
	m.Request = &r
	m.NotifyDeciders(NoticeApprovalRequest, plan.Deciders[level-1], by, at)
}

// conclude ends the request. people are the users whom the actor represented.
func (m *Meeting) conclude(decision Status, reason string, people []Represented, by Actor, at time.Time) {
	r := m.Request
	if r.Change == nil || decision == Confirmed {
		m.Approval.Agreed = r.Agreed
	}
	m.Approval.Decision = &Decision{First: r.First, Number: r.Number, Result: decision, UserID: by.ID, Name: by.Name, At: at, RequestedAt: r.RequestedAt, RoomIDs: m.RequestedRooms(), Reason: reason, For: people}
	m.Approval.Decision.Series = r.Change != nil && r.Change.Series
	m.Request = nil
}

// withdraw ends a request, if there is one, without a decision: the meeting is canceled, or another
// change is requested.
func (m *Meeting) withdraw(reason string, by Actor, at time.Time) {
	if m.Request != nil {
		m.conclude(Cancelled, reason, nil, by, at)
	}
}

// apply makes the requested change.
func (m *Meeting) apply(c *PendingChange, rooms []*Room, reason string, by Actor, at time.Time) {
	before := *m
	m.Slot, m.Timezone = c.Slot, c.Timezone
	m.RoomIDs, m.RoomNames = RoomIDs(rooms), RoomNames(rooms)
	m.Limits = append(slices.Clip(m.Limits), LimitsOf(rooms)...)
	m.NoteClocks(&before)
	m.requestResponses(before.Slot, by, at)
	m.CheckIn = checkInWindow(m.Slot, rooms)
	if !before.Slot.Start.Equal(m.Slot.Start) {
		m.CheckedInAt = time.Time{} // it was for the previous time
	}
	m.occupy(rooms, &before)
	changes := decidedFor(map[string]Change{"pending_change": {From: c.summary()}}, m.Approval.Decision.For)
	before.ComparePlacement(m, changes)
	m.Record(Entry{At: at, Action: ActionChanged, Actor: by, Changes: changes, Reason: reason})
	m.notifyDecision(Confirmed, m.Approval.Reason, m.Approval.Comment, nil, by, at)
	m.notifyAttendees(NoticeChange, m.Attendees, by, at)
	if m.Organizer.CalendarMails {
		m.notifyOrganizer(NoticeChange, by, at)
	}
}

// ComparePlacement records the differences between two times and places.
func (m *Meeting) ComparePlacement(other *Meeting, changes map[string]Change) {
	if !m.Slot.Start.Equal(other.Slot.Start) {
		changes["start"] = Change{From: m.Slot.Start.UTC(), To: other.Slot.Start.UTC()}
	}
	if !m.Slot.End.Equal(other.Slot.End) {
		changes["end"] = Change{From: m.Slot.End.UTC(), To: other.Slot.End.UTC()}
	}
	if !slices.Equal(m.RoomIDs, other.RoomIDs) {
		changes["room_ids"] = Change{From: m.RoomIDs, To: other.RoomIDs}
	}
}

// givenUp returns the requested change, for the history entry of what ends it; nil if the request
// was for the meeting itself, or there was none.
func (r *Request) givenUp() map[string]Change {
	if r == nil || r.Change == nil {
		return nil
	}
	return map[string]Change{"pending_change": {From: r.Change.summary()}}
}

// summary of the change, for the history.
func (c *PendingChange) summary() map[string]any {
	return map[string]any{"start": c.Slot.Start.UTC(), "end": c.Slot.End.UTC(), "room_ids": c.RoomIDs}
}

// same reports whether both changes have the same result.
func (c *PendingChange) same(o *PendingChange) bool {
	return c != nil && c.Slot.Start.Equal(o.Slot.Start) && c.Slot.End.Equal(o.Slot.End) && slices.Equal(c.RoomIDs, o.RoomIDs)
}

// Occupancies that the meeting will have.
func (c *PendingChange) Occupancies(rooms []*Room) []Occupancy {
	return (&Meeting{Slot: c.Slot}).Occupancies(rooms)
}

// Uncovered returns occupancies without the parts that others cover.
func Uncovered(needs, has []Occupancy) []Occupancy {
	var rest []Occupancy
	for _, n := range needs {
		left := []clock.Slot{n.Slot}
		for _, o := range has {
			if o.RoomID == n.RoomID {
				left = cut(left, o.Slot)
			}
		}
		for _, s := range left {
			rest = append(rest, Occupancy{RoomID: n.RoomID, Slot: s})
		}
	}
	return rest
}

// cut removes a slot from others.
func cut(from []clock.Slot, out clock.Slot) []clock.Slot {
	var rest []clock.Slot
	for _, s := range from {
		if !s.Overlaps(out) {
			rest = append(rest, s)
			continue
		}
		if s.Start.Before(out.Start) {
			rest = append(rest, clock.Slot{Start: s.Start, End: out.Start})
		}
		if out.End.Before(s.End) {
			rest = append(rest, clock.Slot{Start: out.End, End: s.End})
		}
	}
	return rest
}

// Remind notifies the deciders who have not decided yet that the deadline is near. It does so once.
func (m *Meeting) Remind(deciders []Decider, by Actor, at time.Time) {
	r := *m.Request
	r.RemindAt = time.Time{}
	m.Request = &r
	m.NotifyDeciders(NoticeApprovalReminder, deciders, by, at)
}

// Escalate asks other deciders in addition, because those already asked are slow to respond. It
// skips deciders who were already asked.
func (m *Meeting) Escalate(others, asked []Decider, by Actor, at time.Time) {
	r := *m.Request
	r.EscalateAt, r.EscalatedAt = time.Time{}, at
	m.Request = &r
	m.UpdatedAt = at
	others = slices.DeleteFunc(slices.Clone(others), func(d Decider) bool {
		return slices.ContainsFunc(asked, func(a Decider) bool { return a.UserID == d.UserID })
	})
	to := make([]string, len(others))
	for i, d := range others {
		to[i] = d.Name
	}
	m.Record(Entry{At: at, Action: ActionChanged, Actor: by, Reason: "escalated", Changes: map[string]Change{
		"approval.escalated_at": {To: at}, "approval.escalated_to": {To: strings.Join(to, ", ")},
	}})
	m.NotifyDeciders(NoticeEscalation, others, by, at)
}

// NewApprovers returns users who became approvers after the request was made, and were not asked
// yet.
func (r *Request) NewApprovers(plan ApprovalPlan) []Decider {
	asked := plan.Deciders[r.Level-1]
	if !r.EscalatedAt.IsZero() {
		asked = sameDeciders(append(slices.Clip(asked), plan.Others...))
	}
	return slices.DeleteFunc(r.undecided(asked), func(d Decider) bool { return slices.Contains(r.Notified, d.UserID) })
}

// undecided leaves out users whose rooms are all approved already.
func (r *Request) undecided(ds []Decider) []Decider {
	return slices.DeleteFunc(slices.Clone(ds), func(d Decider) bool {
		return len(d.RoomIDs) > 0 && !slices.ContainsFunc(d.RoomIDs, func(id int64) bool { return !r.agreedTo(id, r.Level) })
	})
}

// DecidedWith reports whether both meetings wait for the same decision, or got the same one.
func (m *Meeting) DecidedWith(o *Meeting) bool {
	if m.Request != nil || o.Request != nil {
		return m.RequestedWith(o)
	}
	a, b := m.Approval.Decision, o.Approval.Decision
	return a != nil && b != nil && a.Result == b.Result && a.At.Equal(b.At) && a.About(b.RequestedAt, b.RoomIDs)
}
