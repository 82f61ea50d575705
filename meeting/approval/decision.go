package approval

import (
	"context"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
)

// Approve approves a pending meeting, or the pending change of a confirmed one; see
// [meeting.Meeting.Approve]. It returns a [*meeting.PolicyError] if a room was closed after the request and, where
// requests do not hold their rooms, a [*meeting.ConflictError]. The request then stays pending.
func (s *Service) Approve(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment string) (*meeting.Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, true, nil)
}

// Reject rejects a pending meeting, or the pending change of a confirmed one.
func (s *Service) Reject(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment string) (*meeting.Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, false, nil)
}

// decide approves or rejects the request of a meeting if it is still the meant one; nil: any.
func (s *Service) decide(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment *string, approve bool, meant func(*meeting.Meeting) error) (*meeting.Meeting, error) {
	if err := booking.CheckComment("comment", comment); err != nil {
		return nil, err
	}
	by, err := s.booking.ForDecision(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.booking.ChangeWith(ctx, by, id, s.preparingDecision, false, func(m *meeting.Meeting, c booking.Preparation) error {
		if !by.MayReject(c.Rooms) {
			return meeting.ErrForbidden
		}
		if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
			return err
		}
		if meant != nil {
			if err := meant(m); err != nil {
				return err
			}
		}
		if err := decide(m, approve, c, *comment, by); err != nil {
			return err
		}
		m.MakeUndoable(by, s.booking.Settings().Undo, c.At)
		return nil
	})
}

// decide applies the decision of an actor who may decide at some level.
func decide(m *meeting.Meeting, approve bool, c booking.Preparation, comment string, by meeting.Actor) error {
	if approve {
		return m.Approve(c.Plan, comment, by, c.At)
	}
	return m.Reject(c.Rooms, comment, by, c.At)
}

// preparingDecision looks up the rooms of a request and the approvers of the next level.
func (s *Service) preparingDecision(ctx context.Context, m *meeting.Meeting) (booking.Preparation, error) {
	look, err := s.booking.PrepareDecisions(ctx, []*meeting.Meeting{m})
	if err != nil {
		return booking.Preparation{}, err
	}
	return look(m), nil
}
