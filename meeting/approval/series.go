package approval

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
)

// ApproveSeries approves, in one transaction, all pending requests of a series that the actor
// decides on, or none. See [Service.Approve].
func (s *Service) ApproveSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, comment string) (*booking.SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, true, comment, func(*meeting.Meeting) bool { return true })
}

// RejectSeries rejects, in one transaction, all pending requests of a series that the actor decides
// on.
func (s *Service) RejectSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, comment string) (*booking.SeriesResult, error) {
	return s.decideSeries(ctx, by, id, ifMatch, false, comment, func(*meeting.Meeting) bool { return true })
}

// decideSeries decides on the selected pending requests.
func (s *Service) decideSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, approve bool, comment string, meant func(*meeting.Meeting) bool) (*booking.SeriesResult, error) {
	if err := booking.CheckComment("comment", &comment); err != nil {
		return nil, err
	}
	by, err := s.booking.ForDecision(ctx, by)
	if err != nil {
		return nil, err
	}
	if ifMatch, err = s.booking.SettleSeries(ctx, id, ifMatch); err != nil {
		return nil, err
	}
	return s.booking.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := s.booking.SeesSeries(ctx, by, series, ms); err != nil {
			return nil, err
		}
		if err := fault.CheckVersion(ifMatch, series.Version); err != nil {
			return nil, err
		}
		at := s.booking.Now()
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return !m.Waits(at) || !meant(m) })
		if len(waiting) == 0 {
			return nil, seriesDecided(ms, approve, at)
		}
		change := &meeting.SeriesChange{Series: series}
		look, err := s.booking.PrepareDecisions(ctx, waiting)
		if err != nil {
			return nil, err
		}
		notTheirs := error(meeting.ErrForbidden) // unless a date has a more specific error
		for _, m := range waiting {
			c := look(m)
			if !by.MayReject(c.Rooms) {
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
		change.MakeUndoable(by, s.booking.Settings().Undo, at)
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
