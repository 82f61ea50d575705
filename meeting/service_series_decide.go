package meeting

import (
	"context"
	"slices"
	"time"
)

// ApproveSeries agrees to all requests of a series that wait, in one transaction: all are
// decided or none. See [Service.Approve].
func (s *Service) ApproveSeries(ctx context.Context, by Actor, id int64, ifMatch *int64, comment string) (*SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, true, comment, func(*Meeting) bool { return true })
}

// RejectSeries decides against all requests of a series that wait, in one transaction.
func (s *Service) RejectSeries(ctx context.Context, by Actor, id int64, ifMatch *int64, comment string) (*SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, false, comment, func(*Meeting) bool { return true })
}

// decideSeries decides on those of the waiting requests that are meant.
func (s *Service) decideSeries(ctx context.Context, by Actor, id int64, ifMatch *int64, approve bool, comment string, meant func(*Meeting) bool) (*SeriesResult, error) {
	if err := checkComment("body.comment", &comment); err != nil {
		return nil, err
	}
	by, err := s.standing(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.carryOut(ctx, by, func() (*SeriesChange, []*wanted, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if err := checkVersion(ifMatch, series.Version); err != nil {
			return nil, nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		at := s.clock()
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *Meeting) bool { return !m.Waits(at) || !meant(m) })
		if len(waiting) == 0 {
			return nil, nil, seriesDecided(ms, approve, at)
		}
		change := &SeriesChange{Series: series}
		var bases []*wanted
		for _, m := range waiting {
			c, err := s.preparingDecision(ctx, m)
			if err != nil {
				return nil, nil, err
			}
			if !by.MayReject(c.rooms) {
				return nil, nil, ErrForbidden
			}
			bases = append(bases, &wanted{base: new(*m)})
			if approve {
				err = m.Approve(c.rooms, c.ask, comment, by, at)
			} else {
				err = m.Reject(comment, by, at)
			}
			if err != nil {
				return nil, nil, err
			}
			change.Update = append(change.Update, m)
		}
		series.tellDecision(change.Update, by, at)
		return change, bases, nil
	})
}

// seriesDecided says that no request of a series waits, with the state of its next date.
func seriesDecided(ms []*Meeting, approve bool, at time.Time) error {
	e := &StateError{State: Ended, Wanted: "reject"}
	if approve {
		e.Wanted = "approve"
	}
	for _, m := range ms {
		if m.Slot.End.After(at) {
			e.State = m.EffectiveStatus(at)
			break
		}
	}
	return e
}

// tellDecision tells people once what was decided on several dates: the organizer of the
// decision, those who are invited of all dates, and the next level of one request.
func (s *Series) tellDecision(ms []*Meeting, by Actor, at time.Time) {
	var confirmed, asked []*Meeting
	for i, m := range ms {
		switch {
		case m.Request != nil:
			asked = append(asked, m)
		case m.Status == Confirmed && m.Slot.Start.After(at):
			confirmed = append(confirmed, m)
		}
		m.notices = slices.DeleteFunc(m.notices, func(n Notice) bool {
			invites := n.Kind == NoticeInvitation || n.Kind == NoticeChange
			return invites || i > 0 && n.Kind == NoticeDecision
		})
	}
	if len(confirmed) > 0 {
		s.notify(NoticeInvitation, confirmed, persons(s.Attendees), by, at, nil)
	}
	if len(asked) > 0 {
		together(asked)
		s.askTogether(asked, by)
	}
}

// askedTogether are the requests that one mail asked for: those of a series made at once.
func (s *Service) askedTogether(ctx context.Context, m *Meeting) (func(*Meeting) bool, error) {
	if m.SeriesID == 0 || m.Request == nil {
		return nil, nil
	}
	ms, err := s.store.SeriesMeetings(ctx, m.SeriesID)
	if err != nil {
		return nil, err
	}
	asked := m.Request.AskedAt
	same := func(o *Meeting) bool { return o.Request != nil && o.Request.AskedAt.Equal(asked) }
	count := 0
	for _, o := range ms {
		if same(o) {
			count++
		}
	}
	if count < 2 {
		return nil, nil
	}
	return same, nil
}
