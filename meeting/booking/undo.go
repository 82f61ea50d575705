package booking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

// A user can undo their latest change of a meeting or a series for [meeting.Settings.Undo]. What the change
// notifies people of waits as long, and is never sent if the change is undone. A change that anyone
// was notified of can no longer be undone, so an undo has nothing to notify of.

// undoAllowance is how much longer a change can be undone if nobody is notified of it: the request of
// a user who undoes it at the last moment takes some time.
const undoAllowance = 2 * time.Second

// UndoStore is what an undo needs from persistence, on the terms of [Store].
type UndoStore interface {
	// LastChange and LastSeriesChange return the latest change of a meeting, or of a series, that
	// could be undone when it was made; [meeting.ErrNotFound] if there is none.
	LastChange(ctx context.Context, id meeting.ID) (*meeting.PastChange, error)
	LastSeriesChange(ctx context.Context, id int64) (*meeting.PastChange, error)
}

// Undo takes back the actor's latest change of a meeting: it is as before, or cancelled if the change
// created it. Nobody is notified, neither of the change nor of its undo. It fails with [meeting.ErrUndoExpired]
// if the time is over, with [meeting.ErrChangedSince] if the meeting has changed since, and with a
// [*meeting.ConflictError] if its rooms were taken meanwhile.
func (s *Service) Undo(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64) (*meeting.Meeting, error) {
	by, err := s.actingOn(ctx, by, id)
	if err != nil {
		return nil, err
	}
	c, err := s.undo(ctx, by, func() (*meeting.PastChange, error) {
		m, err := s.store.Meeting(ctx, id)
		if err != nil {
			return nil, err
		}
		p, err := s.lastChange(ctx, by, m)
		if err != nil || p.UserID != by.ID { // who has just given it away may not know of it
			if unknown := s.MayKnow(ctx, by, m); unknown != nil {
				return nil, unknown
			}
		}
		if err := cmp.Or(fault.CheckVersion(ifMatch, m.Version), err); err != nil {
			return nil, err
		}
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Update, func(m *meeting.Meeting) bool { return m.ID == id })
	return s.show(ctx, by, c.Update[i])
}

// UndoSeries takes back the actor's latest change of a series, with all its meetings; see [Service.Undo].
func (s *Service) UndoSeries(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) (*SeriesResult, error) {
	by, err := s.actingOnSeries(ctx, by, id)
	if err != nil {
		return nil, err
	}
	c, err := s.undo(ctx, by, func() (*meeting.PastChange, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, err
		}
		p, err := s.store.LastSeriesChange(ctx, id)
		switch {
		case errors.Is(err, meeting.ErrNotFound):
			if err := s.Refuse(ctx, by, series); errors.Is(err, meeting.ErrNotFound) {
				return nil, err
			}
			return nil, meeting.ErrUndoExpired
		case err != nil:
			return nil, err
		case p.UserID != by.Acting().ID:
			return nil, s.Refuse(ctx, by, series)
		}
		return p, fault.CheckVersion(ifMatch, series.Version)
	})
	if err != nil {
		return nil, err
	}
	return s.ShowSeriesResult(ctx, by, &SeriesResult{Series: c.Series, Meetings: c.Update, Saved: true})
}

// lastChange returns the latest change of a meeting: its booking, a change of it alone, or a change of
// its series that concerned no other meeting.
func (s *Service) lastChange(ctx context.Context, by meeting.Actor, m *meeting.Meeting) (*meeting.PastChange, error) {
	if m.SeriesID == 0 && m.JustBooked() {
		booked, _, err := s.store.History(ctx, m.ID, meeting.Page{Limit: 1})
		switch {
		case err != nil:
			return nil, err
		case len(booked) == 0:
			return nil, meeting.ErrUndoExpired
		}
		return &meeting.PastChange{
			Undoable: meeting.Undoable{UserID: booked[0].Actor.ID, At: m.CreatedAt, Until: m.CreatedAt.Add(s.Settings().Undo)},
			Meetings: []meeting.PastMeeting{{ID: m.ID, Version: m.Version}},
		}, nil
	}
	p, err := s.store.LastChange(ctx, m.ID)
	if errors.Is(err, meeting.ErrNotFound) && m.SeriesID != 0 {
		if p, err = s.store.LastSeriesChange(ctx, m.SeriesID); err == nil && (len(p.Meetings) != 1 || p.Meetings[0].ID != m.ID) {
			err = meeting.ErrNotFound
		}
	}
	if errors.Is(err, meeting.ErrNotFound) {
		err = meeting.ErrUndoExpired
	}
	return p, err
}

// undo takes back a change that find returns.
func (s *Service) undo(ctx context.Context, by meeting.Actor, find func() (*meeting.PastChange, error)) (*meeting.SeriesChange, error) {
	c, err := s.saveWithin(ctx, func() (*meeting.SeriesChange, error) {
		p, err := find()
		if err != nil {
			return nil, err
		}
		at := s.Now()
		switch length := s.Settings().Undo; {
		case p.UserID != by.Acting().ID:
			return nil, meeting.ErrForbidden
		case length <= 0 || at.After(p.Until.Add(undoAllowance)):
			return nil, meeting.ErrUndoExpired
		}
		return s.planUndo(ctx, by, p, at)
	}, func(*meeting.PolicyError) {})
	return c, err
}

// planUndo restores what a change replaced.
func (s *Service) planUndo(ctx context.Context, by meeting.Actor, p *meeting.PastChange, at time.Time) (*meeting.SeriesChange, error) {
	c := &meeting.SeriesChange{Undoes: p}
	if err := s.restoreSeries(ctx, c, p.Series, at); err != nil {
		return nil, err
	}
	ids := make([]meeting.ID, len(p.Meetings))
	for i, past := range p.Meetings {
		ids[i] = past.ID
	}
	current, err := s.store.MeetingsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := map[meeting.ID]*meeting.Meeting{}
	var want []int64
	for _, m := range current {
		byID[m.ID] = m
	}
	for _, past := range p.Meetings {
		if past.Before != nil {
			want = append(want, past.Before.RoomIDs...)
		}
	}
	slices.Sort(want)
	rooms, err := s.RoomsByID(ctx, slices.Compact(want))
	if err != nil {
		return nil, err
	}
	for _, past := range p.Meetings {
		m := byID[past.ID]
		if m == nil || m.Version != past.Version {
			return nil, meeting.ErrChangedSince
		}
		c.Before = append(c.Before, m)
		if past.Before == nil {
			m = m.Clone()
			m.CallOff(meeting.ReasonUndone, by, at)
		} else {
			m = m.Restored(past.Before, rooms, by, at)
		}
		c.Update = append(c.Update, m)
	}
	return c, nil
}

// restoreSeries adds to a change the series as it was. One that the past change created is cancelled.
func (s *Service) restoreSeries(ctx context.Context, c *meeting.SeriesChange, past *meeting.PastSeries, at time.Time) error {
	if past == nil {
		return nil
	}
	series, err := s.store.Series(ctx, past.ID)
	if err != nil {
		return err
	}
	if series.Version != past.Version {
		return meeting.ErrChangedSince
	}
	c.Series = series
	if past.Before == nil {
		series.CancelledAt = at
	} else {
		before := past.Before.Clone()
		before.Version, before.Sequence, before.RoomNames = series.Version, series.Sequence, series.RoomNames
		organizer, err := s.directory.People(ctx, []int64{before.Organizer.UserID}) // who may be another one again
		if err != nil {
			return err
		}
		if len(organizer) == 1 {
			before.Organizer = organizer[0]
		}
		c.Series = before
	}
	c.Series.UpdatedAt = at
	if past.SplitID != 0 {
		if c.Split, err = s.store.Series(ctx, past.SplitID); err != nil {
			return err
		}
		c.Split.CancelledAt, c.Split.UpdatedAt = at, at
	}
	return nil
}
