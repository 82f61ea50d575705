package approval

import (
	"context"
	"slices"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// EscalateApprovals escalates the requests of the given numbers.
func (s *Service) EscalateApprovals(ctx context.Context, refs ...meeting.Ref) ([]meeting.Outcome, error) {
	escalate := func(m *meeting.Meeting, c booking.Preparation, by meeting.Actor) error {
		if m.Request.EscalateAt.IsZero() {
			return booking.ErrUnchanged
		}
		m.Escalate(c.Plan.Others, c.Plan.Deciders[m.Request.Level-1], by, c.At)
		return nil
	}
	return s.booking.OnJointRequests(ctx, meeting.JobEscalate, refs, escalate, nil, func(refs []meeting.Ref) ([]meeting.Outcome, error) {
		return s.booking.OnRequests(ctx, meeting.JobEscalate, refs, escalate)
	})
}

// RemindApprovals reminds the approvers who have not decided on the requests of the given numbers
// that their deadlines are near. For dates of a series that were requested together, the first
// pending one stands for all.
func (s *Service) RemindApprovals(ctx context.Context, refs ...meeting.Ref) ([]meeting.Outcome, error) {
	requests, err := s.booking.RequestsMadeWith(ctx, refs)
	if err != nil {
		return nil, err
	}
	series := map[int64]*meeting.Series{}
	for _, r := range requests {
		id := r.Dates[0].SeriesID
		if series[id] == nil {
			if series[id], err = s.store.Series(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	return s.booking.OnRequests(ctx, meeting.JobApprovalRemind, refs, func(m *meeting.Meeting, c booking.Preparation, by meeting.Actor) error {
		if m.Request.RemindAt.IsZero() {
			return booking.ErrUnchanged
		}
		i := slices.IndexFunc(requests, func(r booking.JointRequest) bool {
			return r.Dates[0].RequestedWith(m) && r.Dates[0].SeriesID == m.SeriesID
		})
		if i < 0 {
			m.Remind(c.Plan.Deciders[m.Request.Level-1], by, c.At)
			return nil
		}
		if dates := requests[i].Dates; dates[0].ID == m.ID {
			m.Remind(c.Plan.Deciders[m.Request.Level-1], by, c.At)
			m.AskFor(series[m.SeriesID].Facts(dates, by).Series)
		} else {
			m.Remind(nil, by, c.At)
		}
		return nil
	})
}
