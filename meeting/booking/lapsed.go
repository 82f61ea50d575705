package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"punctual/account/fault"
	"punctual/meeting"
)

// A room may become free without a request: at the deadline of a request for approval, when the
// grace period of a required check-in ends, and when an offer of the waiting list ends. Timers
// record this, and they may be late or paused. So stores keep with every occupancy when it lapses.
// Readers ignore lapsed occupancies. A writer that conflicts with one first does what the timers
// would have done.

// settleTries limits how often a change is retried: a meeting whose request and check-in are both
// overdue is settled in two steps.
const settleTries = 4

// settling runs act. If only lapsed occupancies conflict with it, settling settles them and runs
// act again. The conflicts of its error have not lapsed.
func (s *Service) settling(ctx context.Context, act func() error) error {
	for try := 1; ; try++ {
		err := act()
		conflict, ok := errors.AsType[*meeting.ConflictError](err)
		if !ok || len(conflict.Conflicts) == 0 {
			return err
		}
		if in := meeting.Unlapsed(conflict.Conflicts, s.Now()); len(in) > 0 {
			return &meeting.ConflictError{Conflicts: in}
		}
		if try == settleTries {
			return err
		}
		if err := s.Settle(ctx, conflict.Conflicts); err != nil {
			return err
		}
	}
}

// Settle does once what the timers of lapsed occupancies in these places would have done, with the
// same history and notices.
func (s *Service) Settle(ctx context.Context, places []meeting.Occupancy, except ...meeting.ID) error {
	ctx = meeting.WithoutCaller(ctx)
	ids, waits, err := s.store.Lapsed(ctx, places, s.Now())
	if err != nil {
		return fmt.Errorf("look up what has lapsed: %w", err)
	}
	ids = slices.DeleteFunc(ids, func(id meeting.ID) bool { return slices.Contains(except, id) })
	ms, err := s.store.MeetingsByID(ctx, ids)
	if err != nil {
		return err
	}
	if err := s.settleMeetings(ctx, ms); err != nil {
		return err
	}
	expired := make([]meeting.Ref, len(waits))
	for i, id := range waits {
		w, err := s.store.Wait(ctx, id)
		if err != nil {
			return err
		}
		expired[i] = meeting.Ref{ID: id, Version: w.Version}
	}
	if len(expired) > 0 {
		if _, err := s.ExpireWaits(ctx, expired...); err != nil {
			return fmt.Errorf("settle offers: %w", err)
		}
	}
	return nil
}

// settleMeetings ends overdue requests of the meetings, or else their overdue check-ins.
func (s *Service) settleMeetings(ctx context.Context, ms []*meeting.Meeting) error {
	ctx = meeting.WithoutCaller(ctx)
	at := s.Now()
	var expired, missed []meeting.Ref
	for _, m := range ms {
		switch {
		case m.RequestExpired(at):
			expired = append(expired, meeting.Ref{ID: m.ID, Version: m.Request.Number})
		case !m.Status.Over() && m.EffectiveStatus(at) == meeting.Released:
			missed = append(missed, meeting.Ref{ID: m.ID, Version: m.ScheduleVersion})
		}
	}
	if len(expired) > 0 {
		if _, err := s.ExpireApprovals(ctx, expired...); err != nil {
			return fmt.Errorf("settle requests: %w", err)
		}
	}
	if len(missed) > 0 {
		if _, err := s.ReleaseNoShows(ctx, missed...); err != nil {
			return fmt.Errorf("settle no-shows: %w", err)
		}
	}
	return nil
}

// Settled reads a meeting that will be changed. It first ends an overdue request, unless that ends
// the meeting. read is the version that readers have seen; its content looked the same.
func (s *Service) Settled(ctx context.Context, id meeting.ID) (m *meeting.Meeting, read int64, err error) {
	if m, err = s.store.Meeting(ctx, id); err != nil {
		return nil, 0, err
	}
	read = m.Version
	if at := s.Now(); m.RequestExpired(at) && !m.EffectiveStatus(at).Over() {
		if err = s.settleMeetings(ctx, []*meeting.Meeting{m}); err == nil {
			m, err = s.store.Meeting(ctx, id)
		}
	}
	return m, read, err
}

// SettleSeries ends overdue requests of a series that will be changed. It returns the ifMatch to
// use then: readers saw the same content under the version before.
func (s *Service) SettleSeries(ctx context.Context, id int64, ifMatch *int64) (*int64, error) {
	at := s.Now()
	ms, err := s.store.SeriesMeetings(ctx, id)
	if err != nil {
		return nil, err
	}
	ms = slices.DeleteFunc(ms, func(m *meeting.Meeting) bool {
		return m.Status.Over() || !m.RequestExpired(at) && m.EffectiveStatus(at) != meeting.Released
	})
	if len(ms) == 0 {
		return ifMatch, nil
	}
	series, err := s.store.Series(ctx, id)
	if err != nil || fault.CheckVersion(ifMatch, series.Version) != nil { // the change is refused
		return ifMatch, err
	}
	if err := s.settleMeetings(ctx, ms); err != nil {
		return nil, err
	}
	if series, err = s.store.Series(ctx, id); err != nil || ifMatch == nil {
		return nil, err
	}
	return &series.Version, nil
}
