package meeting

import (
	"context"
	"errors"
	"time"
)

// CheckIn notes that somebody came to a meeting, so that its rooms are not given back. Who
// checks in to a meeting where somebody did already finds it as it is.
func (s *Service) CheckIn(ctx context.Context, by Actor, id ID, ifMatch *int64) (*Meeting, error) {
	return s.change(ctx, by, id, nil, func(m *Meeting, c changing) error {
		if !by.MayCheckIn(m, c.rooms) {
			return ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		first, err := m.Arrive(by, c.at)
		if err == nil && !first {
			return errUnchanged
		}
		return err
	})
}

// End ends a meeting that takes place; the rest of its time is free for others at once.
func (s *Service) End(ctx context.Context, by Actor, id ID, ifMatch *int64) (*Meeting, error) {
	return s.change(ctx, by, id, nil, func(m *Meeting, c changing) error {
		if !by.MayEdit(m) {
			return ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return m.Finish(c.rooms, by, c.at)
	})
}

// Extend moves the end of a meeting to a later time, if nothing is in the way: a
// [*ConflictError] says what is.
func (s *Service) Extend(ctx context.Context, by Actor, id ID, ifMatch *int64, f Fields) (*Meeting, error) {
	conf := s.conf()
	return s.change(ctx, by, id, &f, func(m *Meeting, c changing) error {
		if !by.MayEdit(m) {
			return ErrForbidden
		}
		if status := m.EffectiveStatus(c.at); status != Confirmed && status != InProgress {
			return &StateError{State: status, Wanted: "extend"}
		}
		before := m.Slot.End
		if err := s.revise(m, by, ifMatch, f, conf, c); err != nil && !errors.Is(err, errUnchanged) {
			return err
		}
		if !m.Slot.End.After(before) {
			return &InvalidError{[]Fault{{Location: "body.end", Code: "not_later", Message: "is not after the present end"}}}
		}
		return nil
	})
}

// Release gives back the rooms of a meeting to which nobody came.
func (s *Service) Release(ctx context.Context, by Actor, id ID, ifMatch *int64, reason string) (*Meeting, error) {
	if err := checkComment("body.reason", &reason); err != nil {
		return nil, err
	}
	return s.change(ctx, by, id, nil, func(m *Meeting, c changing) error {
		if !by.MayRelease(c.rooms) {
			return ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return m.Release(reason, by, c.at)
	})
}

// ReleaseNoShow gives back the rooms of a meeting of the given schedule to which nobody
// checked in. The caller knows that its grace is over. It may be called again: a meeting to
// which somebody came, that has moved or is over, stays as it is.
func (s *Service) ReleaseNoShow(ctx context.Context, ref Ref) (Outcome, error) {
	by := Timer(JobNoShow)
	outcome := Applied
	_, err := s.change(ctx, by, ref.ID, nil, func(m *Meeting, c changing) error {
		at := latest(c.at, m.CheckIn.Until) // this machine's clock may be behind the engine's
		switch {
		case m.ScheduleVersion != ref.Version || m.CheckIn.Until.IsZero():
			outcome = Stale
			return errUnchanged
		case m.Status.Over() || !m.CheckedInAt.IsZero() || !at.Before(m.Slot.End):
			outcome = Done
			return errUnchanged
		default:
			outcome = Applied
			return m.Forfeit(by, at)
		}
	})
	if errors.Is(err, ErrNotFound) {
		return Stale, nil
	}
	return outcome, err
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
