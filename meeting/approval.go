package meeting

import (
	"cmp"
	"slices"
	"time"
)

// ReasonTimeout is the [Approval] reason of a request that nobody decided in time.
const ReasonTimeout = "timeout"

// needApproval are those of the rooms that need somebody's agreement. A meeting needs it as
// soon as one of its rooms does.
func needApproval(rooms []*Room) []*Room {
	var need []*Room
	for _, r := range rooms {
		if r.Approval.Required {
			need = append(need, r)
		}
	}
	return need
}

// MayApprove reports whether the actor may agree to a meeting in these rooms alone: an admin,
// or a manager whom each of them that needs approval names as approver.
func (a Actor) MayApprove(rooms []*Room) bool {
	if a.rules() {
		return true
	}
	need := needApproval(rooms)
	return len(need) > 0 && !slices.ContainsFunc(need, func(r *Room) bool { return !a.approves(r) })
}

// MayReject reports whether the actor may decide against a meeting in these rooms: an admin,
// or an approver of any of them.
func (a Actor) MayReject(rooms []*Room) bool {
	return a.rules() || slices.ContainsFunc(rooms, a.approves)
}

// approves reports whether the room names the actor as approver.
func (a Actor) approves(r *Room) bool {
	return a.Kind == ActorUser && a.Role == Manager && slices.Contains(r.Approval.ApproverIDs, a.ID)
}

// approvers who may each agree to a meeting in these rooms alone. None means that only the
// admins can: a room names nobody, or the rooms have no approver in common.
func approvers(rooms []*Room) []int64 {
	var common []int64
	for i, r := range needApproval(rooms) {
		if i == 0 {
			common = slices.Clone(r.Approval.ApproverIDs)
			continue
		}
		common = slices.DeleteFunc(common, func(id int64) bool { return !slices.Contains(r.Approval.ApproverIDs, id) })
	}
	return common
}

// deadline of a request made at an instant: when the strictest room's time-out ends, but
// not after the start. A timeout of 0 is the installation's.
func deadline(rooms []*Room, start, at time.Time, timeout time.Duration) time.Time {
	var wait time.Duration
	for _, r := range needApproval(rooms) {
		own := r.Approval.Timeout
		if own == 0 {
			own = timeout
		}
		wait = stricter(wait, own)
	}
	if wait == 0 {
		return start
	}
	if by := at.Add(wait); by.Before(start) {
		return by
	}
	return start
}

// Approve confirms the request. A request that does not hold its rooms takes them now, so
// that saving it may end in a [*ConflictError].
func (m *Meeting) Approve(rooms []*Room, comment string, by Actor, at time.Time) error {
	if err := m.undecided("approve", at); err != nil {
		return err
	}
	m.confirm(rooms, comment, by, at)
	return nil
}

// Reject decides against the request; its slot is free again.
func (m *Meeting) Reject(comment string, by Actor, at time.Time) error {
	if err := m.undecided("reject", at); err != nil {
		return err
	}
	m.decide(Rejected, comment, by, at)
	return nil
}

// Expire ends a request that nobody decided in time: to is [Rejected], or [Confirmed] where
// the installation wants that. It looks at the state alone: whoever calls it knows by the
// engine's clock that the deadline has come.
func (m *Meeting) Expire(to Status, rooms []*Room, by Actor, at time.Time) error {
	if m.Status != Pending {
		return &StateError{State: m.Status, Wanted: "expire"}
	}
	m.Approval.Reason = ReasonTimeout
	if to == Confirmed {
		m.confirm(rooms, "", by, at)
	} else {
		m.decide(Rejected, "", by, at)
	}
	return nil
}

func (m *Meeting) undecided(wanted string, at time.Time) error {
	if s := m.EffectiveStatus(at); s != Pending {
		return &StateError{State: s, Wanted: wanted}
	}
	return nil
}

// decide gives a request its outcome, and its organizer the news.
func (m *Meeting) decide(to Status, comment string, by Actor, at time.Time) {
	m.Status = to
	m.UpdatedAt = at
	m.Approval.DecidedAt = at
	m.Approval.DecidedBy = by.ID
	m.Approval.Comment = comment
	action := ActionConfirmed
	if to == Rejected {
		action = ActionRejected
		m.Occupied = nil
	}
	m.record(Entry{At: at, Action: action, Actor: by, Reason: cmp.Or(m.Approval.Reason, comment)})
	m.notifyDecision(by, at)
}

// confirm decides for the request. It takes its rooms if it does not hold them already.
func (m *Meeting) confirm(rooms []*Room, comment string, by Actor, at time.Time) {
	m.decide(Confirmed, comment, by, at)
	if m.Occupied == nil {
		m.occupy(rooms)
	}
	m.notifyAttendees(NoticeInvitation, m.Attendees, by, at)
}
