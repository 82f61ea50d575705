package meeting

import (
	"slices"
	"time"

	"punctual/meeting/clock"
)

// Statuses in the order of a meeting's life.
var Statuses = []Status{Pending, Confirmed, InProgress, Ended, Rejected, Cancelled, Released}

// Valid reports whether s is one of [Statuses].
func (s Status) Valid() bool {
	switch s {
	case Pending, Confirmed, InProgress, Ended, Rejected, Cancelled, Released:
		return true
	default:
		return false
	}
}

// Over reports whether the status is final: nothing can change from here.
func (s Status) Over() bool {
	switch s {
	case Ended, Rejected, Cancelled, Released:
		return true
	default:
		return false
	}
}

// EffectiveStatus returns the status that is true at an instant, even if the job that writes it is
// late.
//
// A request past its deadline is rejected, or confirmed if the time-out approves and it holds its
// rooms. A request that does not hold them stays pending until the job has tried, because only the
// attempt shows whether they are free.
func (m *Meeting) EffectiveStatus(at time.Time) Status {
	status := m.Status
	if status == Pending && m.overdue(at) {
		switch {
		case m.Approval.OnTimeout != Confirmed:
			return Rejected
		case len(m.Occupied) > 0:
			status = Confirmed
		}
	}
	switch {
	case status != Confirmed && status != InProgress:
		return status
	case m.missed(at):
		return Released // also past its end: nobody checked in
	case !at.Before(m.Slot.End):
		return Ended
	case !at.Before(m.Slot.Start):
		return InProgress
	default:
		return status
	}
}

// overdue reports whether the deadline of the request has passed.
func (m *Meeting) overdue(at time.Time) bool {
	return !m.Approval.Deadline.IsZero() && !at.Before(m.Approval.Deadline)
}

// At returns the meeting as it is at an instant: its status, the reason of a rejection, and the
// pending move are those that apply then. The copy shares what it points to with m.
func (m *Meeting) At(at time.Time) *Meeting {
	seen := *m
	seen.advance(m, at)
	return &seen
}

// advance makes m, a copy of stored, what it is at an instant.
func (m *Meeting) advance(stored *Meeting, at time.Time) {
	m.Status = stored.EffectiveStatus(at)
	if stored.Status == Pending && m.Status != Pending {
		m.Approval.Reason = ReasonTimeout
		m.Approval.DecidedAt = stored.Approval.Deadline
	}
	if m.Status == Released && stored.Status != Released {
		m.EndedAt = stored.CheckIn.Until
	}
	if lapses := stored.Lapses(); !lapses.IsZero() && !at.Before(lapses) {
		m.Occupied = nil
	}
	if !stored.Waits(at) {
		m.Request = nil
	}
}

// Lapses is when the meeting's rooms become free if nothing happens before its end; zero: never.
func (m *Meeting) Lapses() time.Time {
	switch {
	case m.Status == Pending && m.Approval.OnTimeout != Confirmed:
		return m.Approval.Deadline
	case m.Status.Over() || !m.AwaitsCheckIn() || !m.CheckIn.Until.Before(m.Slot.End):
		return time.Time{}
	default:
		return m.CheckIn.Until
	}
}

// ChangeLapses returns when the rooms held by a pending move become free if nobody decides. If the
// time-out approves, this is never later than the start, because a meeting in progress cannot move.
func (m *Meeting) ChangeLapses() time.Time {
	if m.Approval.OnTimeout == Confirmed {
		return m.Slot.Start
	}
	return clock.Earlier(m.Request.Deadline, m.Slot.Start)
}

// lapsed reports whether the occupancy no longer holds its room.
func (o Occupancy) lapsed(at time.Time) bool { return !o.Lapses.IsZero() && !at.Before(o.Lapses) }

// Unlapsed returns the occupancies that have not lapsed at an instant.
func Unlapsed(os []Occupancy, at time.Time) []Occupancy {
	return slices.DeleteFunc(slices.Clone(os), func(o Occupancy) bool { return o.lapsed(at) })
}

// RequestExpired reports whether the meeting's request has been decided by its time-out, though the timer
// has not recorded that.
func (m *Meeting) RequestExpired(at time.Time) bool {
	return m.Request != nil && !m.Status.Over() && !at.Before(m.Request.Deadline) && !m.Waits(at)
}

// ChangesAt returns the first instant after at, and at most latest, from which [Meeting.At] can return something
// else.
func (m *Meeting) ChangesAt(at, latest time.Time) time.Time {
	instants := []time.Time{m.Slot.Start, m.Slot.End, m.Approval.Deadline, m.CheckIn.Until}
	if m.Request != nil {
		instants = append(instants, m.Request.Deadline)
	}
	for _, t := range instants {
		if t.After(at) {
			latest = clock.Earlier(latest, t)
		}
	}
	return latest
}

// ReasonTimeout is the reason of an [Approval] that no person decided.
const ReasonTimeout = "timeout"

// Gone reports whether the meeting will not take place, so that its date may be added again.
func (m *Meeting) Gone() bool { return m.Status == Cancelled || m.Status == Rejected }
