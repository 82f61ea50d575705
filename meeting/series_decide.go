package meeting

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ApproveSeries approves, in one transaction, all pending requests of a series that the actor
// decides on, or none. See [Service.Approve].
func (s *Service) ApproveSeries(ctx context.Context, by Actor, id int64, ifMatch *int64, comment string) (*SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, true, comment, func(*Meeting) bool { return true })
}

// RejectSeries rejects, in one transaction, all pending requests of a series that the actor decides
// on.
func (s *Service) RejectSeries(ctx context.Context, by Actor, id int64, ifMatch *int64, comment string) (*SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, false, comment, func(*Meeting) bool { return true })
}

// decideSeries decides on the selected pending requests.
func (s *Service) decideSeries(ctx context.Context, by Actor, id int64, ifMatch *int64, approve bool, comment string, meant func(*Meeting) bool) (*SeriesResult, error) {
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
	return s.carryOut(ctx, by, func() (*SeriesChange, []*plannedDate, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if err := s.seesSeries(ctx, by, series, ms); err != nil {
			return nil, nil, err
		}
		if err := checkVersion(ifMatch, series.Version); err != nil {
			return nil, nil, err
		}
		at := s.clock()
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *Meeting) bool { return !m.Waits(at) || !meant(m) })
		if len(waiting) == 0 {
			return nil, nil, seriesDecided(ms, approve, at)
		}
		change := &SeriesChange{Series: series}
		var bases []*plannedDate
		look, err := s.preparingDecisions(ctx, waiting)
		if err != nil {
			return nil, nil, err
		}
		notTheirs := error(ErrForbidden) // unless a date has a more specific error
		for _, m := range waiting {
			c := look(m)
			if !by.MayReject(c.rooms) {
				continue
			}
			base := new(*m)
			err := m.decide(approve, c, comment, by)
			if _, agreed := errors.AsType[*StateError](err); agreed {
				notTheirs = err
			} else if err != nil && !errors.Is(err, ErrForbidden) {
				return nil, nil, err
			}
			if err != nil {
				continue
			}
			bases, change.Update = append(bases, &plannedDate{base: base}), append(change.Update, m)
		}
		if len(change.Update) == 0 {
			return nil, nil, notTheirs
		}
		series.notifyDecisions(change.Update, ms, by, at)
		change.undoableBy(by, s.conf().Undo, at)
		return change, bases, nil
	})
}

// seriesDecided returns the error for a series without pending requests, with the state of its next
// date.
func seriesDecided(ms []*Meeting, approve bool, at time.Time) error {
	e := &StateError{State: Ended, Action: "reject"}
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
func (s *Service) onTogether(ctx context.Context, by Actor, of *Meeting, fn, otherwise timer) (Outcome, error) {
	refused := map[ID]bool{} // by quotas
	_, err := s.carryOutWithin(ctx, by, func() (*SeriesChange, []*plannedDate, error) {
		series, err := s.store.Series(ctx, of.SeriesID)
		if err != nil {
			return nil, nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, of.SeriesID)
		if err != nil {
			return nil, nil, err
		}
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *Meeting) bool { return !m.requestedWith(of) })
		look, err := s.preparingDecisions(ctx, waiting)
		if err != nil {
			return nil, nil, err
		}
		var taken map[ID]bool
		if otherwise != nil {
			if taken, err = s.cannotTake(ctx, waiting, look); err != nil {
				return nil, nil, err
			}
		}
		change := &SeriesChange{Series: series}
		var bases []*plannedDate
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
				return nil, nil, err
			}
			bases, change.Update = append(bases, &plannedDate{base: base}), append(change.Update, m)
		}
		if len(change.Update) == 0 {
			return nil, nil, errUnchanged
		}
		series.notifyDecisions(change.Update, ms, by, s.clock())
		return change, bases, nil
	}, func(e *PolicyError) {
		for _, id := range e.Meetings {
			refused[id] = true
		}
	})
	if errors.Is(err, errUnchanged) {
		return Done, nil
	}
	return Applied, err
}

// cannotTake returns the requests that hold nothing and whose rooms are taken.
func (s *Service) cannotTake(ctx context.Context, waiting []*Meeting, look prepared) (map[ID]bool, error) {
	var plannedDate []Occupancy
	var of, all []ID
	for _, m := range waiting {
		all = append(all, m.ID)
		needs := m.occupancies(look(m).rooms)
		if c := m.Request.Change; c != nil {
			needs = m.keeping(c.occupancies(look(m).rooms), c.Slot)
		}
		for _, o := range beyond(needs, m.takes()) {
			plannedDate, of = append(plannedDate, o), append(of, m.ID)
		}
	}
	cannot := map[ID]bool{}
	if len(plannedDate) == 0 {
		return cannot, nil
	}
	taken, err := s.store.Taken(ctx, plannedDate, all)
	at := s.clock()
	for i, with := range taken {
		if len(unlapsed(with, at)) > 0 {
			cannot[of[i]] = true
		}
	}
	return cannot, err
}

// notifyDecisions notifies people once of what was decided on several dates. It notifies the organizer
// of each kind of decision, the attendees of all dates, and the approvers of one request. all are
// the series' meetings: its calendars also show dates that were approved before.
func (s *Series) notifyDecisions(decided, all []*Meeting, by Actor, at time.Time) {
	s.decideTogether(decided, by)
	var confirmed, asked []*Meeting
	for _, m := range decided {
		switch {
		case m.Request != nil:
			asked = append(asked, m)
		case m.Status == Confirmed && m.Slot.Start.After(at):
			confirmed = append(confirmed, m)
		}
		m.notices = slices.DeleteFunc(m.notices, func(n Notice) bool {
			return (n.Kind == NoticeInvitation || n.Kind == NoticeChange) && s.concerns(n.To)
		})
	}
	if len(confirmed) > 0 {
		on := slices.DeleteFunc(slices.Clone(all), func(m *Meeting) bool { return m.gone() || m.Status == Pending })
		s.notify(seriesNotice{kind: NoticeInvitation, dates: confirmed, calendar: on}, inviting(s.Organizer, s.Attendees), by, at)
	}
	if len(asked) > 0 {
		together(asked)
		s.askTogether(asked, by)
	}
}

// decideTogether makes the notice of the first meeting's decision cover all meetings with the same
// decision.
func (s *Series) decideTogether(ms []*Meeting, by Actor) {
	type decision struct {
		status Status
		stays  bool // a rejected move
	}
	of := func(n Notice) decision { return decision{n.Facts.Decision, n.Facts.Move != nil} }
	alike := map[decision][]*Meeting{}
	for _, m := range ms {
		for _, n := range m.notices {
			if n.Kind == NoticeDecision {
				alike[of(n)] = append(alike[of(n)], m)
			}
		}
	}
	for _, m := range ms {
		m.notices = slices.DeleteFunc(m.notices, func(n Notice) bool { return n.Kind == NoticeDecision && alike[of(n)][0] != m })
		for i := range m.notices {
			if n := &m.notices[i]; n.Kind == NoticeDecision && len(alike[of(*n)]) > 1 {
				n.Facts.Series = s.facts(alike[of(*n)], by).Series
			}
		}
	}
}
