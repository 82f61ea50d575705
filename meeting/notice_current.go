package meeting

import (
	"time"

	"punctual/meeting/clock"
)

// NoticeState is the state that decides whether a notice about a meeting is still current.
type NoticeState struct {
	Status  Status
	Slot    clock.Slot
	Request int64 // number of the pending request; 0: none
}

// Obsolete returns why a notice of a kind is outdated and must not be sent; empty: it is current.
// It compares time, reminder, request, decision and series of the facts. Notices about many dates
// of a series count as current: a newer one replaces them.
func (s NoticeState) Obsolete(kind NoticeKind, f Facts) string {
	sameStart, sameEnd := sameInstant(s.Slot.Start, f.Start), sameInstant(s.Slot.End, f.End)
	cancelled := s.Status == Cancelled || s.Status == Released || s.Status == Rejected
	switch kind {
	case NoticeReminder:
		announcesEnd := f.Before == BeforeEnd && f.Offset == 0
		switch {
		case s.Status == Ended && !(announcesEnd && sameEnd):
			return "the meeting has ended"
		case s.Status != Confirmed && s.Status != InProgress && s.Status != Ended:
			return "the meeting is " + string(s.Status)
		case f.Before == BeforeStart && !sameStart, f.Before == BeforeEnd && !sameEnd:
			return "the meeting has another time"
		}
	case NoticeApprovalRequest, NoticeApprovalReminder, NoticeEscalation:
		if f.Request != nil && f.Request.Number != s.Request {
			return "there is nothing to decide"
		}
	case NoticeInvitation, NoticeChange:
		switch {
		case f.Series != nil:
		case cancelled:
			return "the meeting is " + string(s.Status)
		case !sameStart:
			return "the meeting has another time"
		}
	case NoticeDecision:
		if f.Series == nil && f.Move == nil && f.Decision == Confirmed && s.Status == Cancelled {
			return "the meeting is cancelled"
		}
	}
	return ""
}

// ObsoletePost is like [NoticeState.Obsolete] for a post about several dates: it is outdated if it is for all of them.
func ObsoletePost(kind NoticeKind, dates []NoticeState) (reason string) {
	for _, s := range dates {
		asked := &Requested{Number: max(s.Request, 1)} // whatever waits now
		if reason = s.Obsolete(kind, Facts{Start: s.Slot.Start, End: s.Slot.End, Request: asked}); reason == "" {
			return ""
		}
	}
	return reason
}

// sameInstant compares instants as precisely as the databases keep them.
func sameInstant(a, b time.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}
