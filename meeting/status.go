package meeting

import "time"

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

// Over reports whether nothing can change any more.
func (s Status) Over() bool {
	switch s {
	case Ended, Rejected, Cancelled, Released:
		return true
	default:
		return false
	}
}

// EffectiveStatus is the status that is true at an instant, even if the job that writes it
// is a moment behind.
//
// A request past its deadline is rejected. Where the installation approves instead, it stays
// pending until the job has tried, since only the attempt tells whether the rooms are free.
func (m *Meeting) EffectiveStatus(at time.Time) Status {
	switch {
	case m.Status == Pending && m.overdue(at) && m.Approval.OnTimeout != Confirmed:
		return Rejected
	case (m.Status == Confirmed || m.Status == InProgress) && m.missed(at):
		return Released // also past its end: nobody came
	case (m.Status == Confirmed || m.Status == InProgress) && !at.Before(m.Slot.End):
		return Ended
	case m.Status == Confirmed && !at.Before(m.Slot.Start):
		return InProgress
	default:
		return m.Status
	}
}

// overdue reports whether the time to decide has passed.
func (m *Meeting) overdue(at time.Time) bool {
	return !m.Approval.Deadline.IsZero() && !at.Before(m.Approval.Deadline)
}

// At is the meeting as it is at an instant: its status, the reason of a rejection and the move
// that waits are those that hold then. The copy shares what it points to with m.
func (m *Meeting) At(at time.Time) *Meeting {
	seen := *m
	seen.Status = m.EffectiveStatus(at)
	if seen.Status == Rejected && m.Status == Pending {
		seen.Approval.Reason = ReasonTimeout
		seen.Approval.DecidedAt = m.Approval.Deadline
		seen.Occupied = nil
	}
	if seen.Status == Released && m.Status != Released {
		seen.EndedAt = m.CheckIn.Until
		seen.Occupied = nil
	}
	if !m.Waits(at) {
		seen.Request = nil
	}
	return &seen
}
