package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

// ApproveSeries approves, in one transaction, all pending requests of a series that the actor
// decides on, or none. See [Service.Approve].
func (s *Service) ApproveSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, comment string) (*SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, true, comment, func(*meeting.Meeting) bool { return true })
}

// RejectSeries rejects, in one transaction, all pending requests of a series that the actor decides
// on.
func (s *Service) RejectSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, comment string) (*SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, false, comment, func(*meeting.Meeting) bool { return true })
}

// decideSeries decides on the selected pending requests.
func (s *Service) decideSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, approve bool, comment string, meant func(*meeting.Meeting) bool) (*SeriesResult, error) {
	if err := checkComment("comment", &comment); err != nil {
		return nil, err
	}
	by, err := s.deciding(ctx, by)
	if err != nil {
		return nil, err
	}
	if ifMatch, err = s.settleSeries(ctx, id, ifMatch); err != nil {
		return nil, err
	}
	return s.carryOut(ctx, by, func() (*meeting.SeriesChange, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := s.seesSeries(ctx, by, series, ms); err != nil {
			return nil, err
		}
		if err := fault.CheckVersion(ifMatch, series.Version); err != nil {
			return nil, err
		}
		at := s.clock()
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return !m.Waits(at) || !meant(m) })
		if len(waiting) == 0 {
			return nil, seriesDecided(ms, approve, at)
		}
		change := &meeting.SeriesChange{Series: series}
		look, err := s.preparingDecisions(ctx, waiting)
		if err != nil {
			return nil, err
		}
		notTheirs := error(meeting.ErrForbidden) // unless a date has a more specific error
		for _, m := range waiting {
			c := look(m)
			if !by.MayReject(c.rooms) {
				continue
			}
			base := new(*m)
			err := decide(m, approve, c, comment, by)
			if _, agreed := errors.AsType[*meeting.StateError](err); agreed {
				notTheirs = err
			} else if err != nil && !errors.Is(err, meeting.ErrForbidden) {
				return nil, err
			}
			if err != nil {
				continue
			}
			change.Before, change.Update = append(change.Before, base), append(change.Update, m)
		}
		if len(change.Update) == 0 {
			return nil, notTheirs
		}
		series.NotifyDecisions(change.Update, ms, by, at)
		change.MakeUndoable(by, s.conf().Undo, at)
		return change, nil
	})
}

// seriesDecided returns the error for a series without pending requests, with the state of its next
// date.
func seriesDecided(ms []*meeting.Meeting, approve bool, at time.Time) error {
	e := &meeting.StateError{State: meeting.Ended, Action: "reject"}
	if approve {
		e.Action = "approve"
	}
	for _, m := range ms {
		if m.Slot.End.After(at) {
			e.State = m.EffectiveStatus(at)
			break
		}
	}
	return e
}

// onTogether applies a timer, in one transaction, to all requests that were made together with that
// of a date of a series. If rooms or policies prevent a date, it gets otherwise, unless that is
// nil.
func (s *Service) onTogether(ctx context.Context, by meeting.Actor, of *meeting.Meeting, fn, otherwise timer) (meeting.Outcome, error) {
	refused := map[meeting.ID]bool{} // by quotas
	_, err := s.carryOutWithin(ctx, by, func() (*meeting.SeriesChange, error) {
		series, err := s.store.Series(ctx, of.SeriesID)
		if err != nil {
			return nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, of.SeriesID)
		if err != nil {
			return nil, err
		}
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return !m.RequestedWith(of) })
		look, err := s.preparingDecisions(ctx, waiting)
		if err != nil {
			return nil, err
		}
		var taken map[meeting.ID]bool
		if otherwise != nil {
			if taken, err = s.cannotTake(ctx, waiting, look); err != nil {
				return nil, err
			}
		}
		change := &meeting.SeriesChange{Series: series}
		for _, m := range waiting {
			base, act := new(*m), fn
			if taken[m.ID] || refused[m.ID] && otherwise != nil {
				act = otherwise
			}
			err := act(m, look(m), by)
			if impossible(err) && otherwise != nil {
				err = otherwise(m, look(m), by)
			}
			if errors.Is(err, errUnchanged) {
				continue
			} else if err != nil {
				return nil, err
			}
			change.Before, change.Update = append(change.Before, base), append(change.Update, m)
		}
		if len(change.Update) == 0 {
			return nil, errUnchanged
		}
		series.NotifyDecisions(change.Update, ms, by, s.clock())
		return change, nil
	}, func(e *meeting.PolicyError) {
		for _, id := range e.Meetings {
			refused[id] = true
		}
	})
	if errors.Is(err, errUnchanged) {
		return meeting.Done, nil
	}
	return meeting.Applied, err
}

// cannotTake returns the requests that hold nothing and whose rooms are taken.
func (s *Service) cannotTake(ctx context.Context, waiting []*meeting.Meeting, look prepared) (map[meeting.ID]bool, error) {
	var needed []meeting.Occupancy
	var of, all []meeting.ID
	for _, m := range waiting {
		all = append(all, m.ID)
		needs := m.Occupancies(look(m).rooms)
		if c := m.Request.Change; c != nil {
			needs = m.Keeping(c.Occupancies(look(m).rooms), c.Slot)
		}
		for _, o := range meeting.Uncovered(needs, m.Takes()) {
			needed, of = append(needed, o), append(of, m.ID)
		}
	}
	cannot := map[meeting.ID]bool{}
	if len(needed) == 0 {
		return cannot, nil
	}
	taken, err := s.store.Taken(ctx, needed, all)
	at := s.clock()
	for i, with := range taken {
		if len(meeting.Unlapsed(with, at)) > 0 {
			cannot[of[i]] = true
		}
	}
	return cannot, err
}
