package meeting

import (
	"context"
	"errors"
)

// Approve confirms a pending meeting. Where requests do not hold their rooms it may end in a
// [*ConflictError]; the request then stays pending.
func (s *Service) Approve(ctx context.Context, by Actor, id ID, ifMatch *int64, comment string) (*Meeting, error) {
	if err := checkComment("body.comment", &comment); err != nil {
		return nil, err
	}
	return s.change(ctx, by, id, nil, func(m *Meeting, c changing) error {
		if !by.MayApprove(c.rooms) {
			return ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return m.Approve(c.rooms, comment, by, c.at)
	})
}

// Reject decides against a pending meeting.
func (s *Service) Reject(ctx context.Context, by Actor, id ID, ifMatch *int64, comment string) (*Meeting, error) {
	if err := checkComment("body.comment", &comment); err != nil {
		return nil, err
	}
	return s.change(ctx, by, id, nil, func(m *Meeting, c changing) error {
		if !by.MayReject(c.rooms) {
			return ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return m.Reject(comment, by, c.at)
	})
}

// ExpireApproval ends the request that waited since the given schedule, as the settings say:
// it is rejected, or approved if its rooms are free. The caller knows that its deadline has
// come. It may be called again: a request that is decided, or has moved, stays as it is.
func (s *Service) ExpireApproval(ctx context.Context, ref Ref) (Outcome, error) {
	to := Rejected
	if s.conf().OnTimeout == Confirmed {
		to = Confirmed
	}
	outcome, err := s.expire(ctx, ref, to)
	_, taken := errors.AsType[*ConflictError](err)
	_, refused := errors.AsType[*PolicyError](err) // by a quota
	if taken || refused {
		return s.expire(ctx, ref, Rejected)
	}
	return outcome, err
}

func (s *Service) expire(ctx context.Context, ref Ref, to Status) (Outcome, error) {
	by := Timer(JobExpire)
	outcome := Applied
	_, err := s.change(ctx, by, ref.ID, nil, func(m *Meeting, c changing) error {
		switch {
		case m.ScheduleVersion != ref.Version:
			outcome = Stale
			return errUnchanged
		case m.Status != Pending:
			outcome = Done
			return errUnchanged
		default:
			outcome = Applied
			return m.Expire(to, c.rooms, by, c.at)
		}
	})
	if errors.Is(err, ErrNotFound) {
		return Stale, nil
	}
	return outcome, err
}
