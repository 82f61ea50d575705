package meeting

import "time"

// BookTransfer returns a meeting that was booked in another program: confirmed, pending, or rejected for a
// reason. A rejected one takes no room. No rule applies and nobody is notified. A request waits until
// its start, and its approvers count as asked; if it has begun, it is rejected. remindBefore is how long before
// the deadline they are reminded; 0: never.
func BookTransfer(t Terms, status Status, reason string, remindBefore time.Duration, by Actor, at time.Time) *Meeting {
	begun := !t.Slot.Start.After(at)
	plan, requester := ApprovalPlan{}, by
	if status == Pending && !begun {
		requester = Actor{Kind: ActorTimer, Name: by.Name, Quiet: true} // who cannot approve, so that it waits
		plan = PlanApproval(ApprovalTerms{Hold: true, RemindBefore: remindBefore}, requester, t.Rooms...)
	}
	m := Book(t, plan, requester, at)
	m.claims, m.Notices = nil, nil
	m.History[0].Actor = by
	if m.Request != nil {
		m.Request.Notified = nil // not known: the approvers of today count as asked, and are not mailed
	}
	if status == Rejected || status == Pending && begun {
		if status == Pending {
			reason = "nobody decided on the request before its start"
		}
		m.rejectTransfer(reason, by, at)
	}
	return m
}

func (m *Meeting) rejectTransfer(reason string, by Actor, at time.Time) {
	m.Status, m.Occupied, m.StartedAt, m.EndedAt = Rejected, nil, time.Time{}, time.Time{}
	m.CheckIn = CheckInWindow{}
	m.Approval = Approval{DecidedAt: at, Comment: reason}
	created := m.History[0]
	created.Changes = turned("", Pending, created.Changes)
	m.History = []Entry{created}
	m.Record(Entry{At: at, Action: ActionRejected, Actor: by, Changes: turned(Pending, Rejected, nil), Reason: reason})
}
