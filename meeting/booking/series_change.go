package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"punctual/meeting"
)

// SeriesResult is the result of a change of a series, or its preview: the meetings that were
// created or changed, by start, and the dates that could not be booked.
type SeriesResult struct {
	Series   *meeting.Series
	Previous *meeting.Series // the series that it was split from by this change; nil: none
	Meetings []*meeting.Meeting
	Skipped  []meeting.Skipped
	Saved    bool              // for a preview: whether it would be
	Undoable *meeting.Undoable // until when the change can be undone; nil: it cannot
}

// PlanTries limits how often a change is planned again because a concurrent change came first.
const PlanTries = 8

// PlanAndSave plans a change and saves it.
func (s *Service) PlanAndSave(ctx context.Context, by meeting.Actor, plan func() (*meeting.SeriesChange, error)) (*SeriesResult, error) {
	return s.planAndSaveWithin(ctx, by, plan, func(*meeting.PolicyError) {})
}

// planAndSaveWithin is PlanAndSave for a plan that can leave out what exceeds quotas: it calls exceeds
// with those dates before it plans again.
func (s *Service) planAndSaveWithin(ctx context.Context, by meeting.Actor, plan func() (*meeting.SeriesChange, error), exceeds func(*meeting.PolicyError)) (*SeriesResult, error) {
	c, err := s.saveWithin(ctx, plan, exceeds)
	if err != nil {
		return nil, err
	}
	return s.ShowSeriesResult(ctx, by, ResultOf(c, true))
}

// saveWithin plans a change and saves it; see planAndSaveWithin.
func (s *Service) saveWithin(ctx context.Context, plan func() (*meeting.SeriesChange, error), exceeds func(*meeting.PolicyError)) (*meeting.SeriesChange, error) {
	for try := 1; ; try++ {
		c, err := plan()
		if err != nil {
			return nil, err
		}
		notices, err := s.store.SaveSeries(ctx, c)
		conflict, taken := errors.AsType[*meeting.ConflictError](err)
		quota, over := errors.AsType[*meeting.PolicyError](err)
		if over {
			exceeds(quota)
		}
		if taken {
			if err := s.settleFor(ctx, c); err != nil {
				return nil, err
			}
		}
		if (taken || over || errors.Is(err, meeting.ErrRoomsChanged) || errors.Is(err, meeting.ErrOutdated)) && try < PlanTries && ctx.Err() == nil {
			continue
		}
		if errors.Is(err, meeting.ErrOutdated) {
			return nil, fmt.Errorf("series: others change it all the time: %w", err)
		}
		if taken && len(conflict.Conflicts) == 0 { // the database refuses all at once and names none
			if conflict.Conflicts, err = s.conflicts(ctx, c); err == nil {
				err = conflict
			}
		}
		if err != nil {
			return nil, err
		}
		s.AnnounceSeries(ctx, c, notices)
		return c, nil
	}
}

// settleFor settles lapsed occupancies that conflict with a planned change.
func (s *Service) settleFor(ctx context.Context, c *meeting.SeriesChange) error {
	needed, _ := c.Wants()
	return s.Settle(ctx, needed)
}

// conflicts returns what conflicts with a planned change.
func (s *Service) conflicts(ctx context.Context, c *meeting.SeriesChange) ([]meeting.Occupancy, error) {
	needed, by := c.Wants()
	taken, err := s.store.Taken(ctx, needed, by)
	var found []meeting.Occupancy
	for _, os := range taken {
		found = meeting.Union(found, os)
	}
	return found, err
}

// ResultOf returns the result of the change, or of its plan.
func ResultOf(c *meeting.SeriesChange, saved bool) *SeriesResult {
	r := &SeriesResult{Series: c.Target(), Meetings: append(slices.Clone(c.Update), c.Create...), Skipped: c.Skipped, Saved: saved, Undoable: c.Undoable}
	if c.Split != nil {
		r.Previous = c.Series
	}
	return r
}

// AnnounceSeries is announce for all meetings of a change at once.
func (s *Service) AnnounceSeries(ctx context.Context, c *meeting.SeriesChange, notices []meeting.Notice) {
	before, after := map[meeting.ID]*meeting.Meeting{}, map[meeting.ID]*meeting.Meeting{}
	for _, m := range c.Before {
		before[m.ID] = m
	}
	for _, m := range append(slices.Clone(c.Update), c.Create...) {
		after[m.ID] = m
	}
	s.announceAll(ctx, before, after, notices, c.Undoable)
}

// SeesSeries returns nil if the actor may see the series or one of its dates, otherwise
// [meeting.ErrNotFound].
func (s *Service) SeesSeries(ctx context.Context, by meeting.Actor, series *meeting.Series, dates []*meeting.Meeting) error {
	all := append([]*meeting.Meeting{series.Sample()}, dates...)
	viewer, rooms, err := s.RoomsForView(ctx, by, all...)
	if err == nil && !slices.ContainsFunc(all, func(m *meeting.Meeting) bool { return viewer.MaySee(m, rooms) }) {
		err = meeting.ErrNotFound
	}
	return err
}

// Refuse returns the error for an actor who may not change the series: [meeting.ErrNotFound] if they may
// not see it either.
func (s *Service) Refuse(ctx context.Context, by meeting.Actor, series *meeting.Series) error {
	viewer, rooms, err := s.RoomsForView(ctx, by, series.Sample())
	if err != nil {
		return err
	}
	if !viewer.MaySee(series.Sample(), rooms) {
		return meeting.ErrNotFound
	}
	return meeting.ErrForbidden
}

// ShowSeries returns the series as the actor may see it.
func (s *Service) ShowSeries(ctx context.Context, by meeting.Actor, series *meeting.Series) (*meeting.Series, error) {
	by, rooms, err := s.RoomsForView(ctx, by, series.Sample())
	if err != nil {
		return nil, err
	}
	return s.WithReminders(series).View(by, rooms), nil
}

// WithReminders sets the installation's reminders in a series that follows them.
func (s *Service) WithReminders(series *meeting.Series) *meeting.Series {
	if series.DefaultReminders {
		series.Reminders = s.Settings().Reminders
	}
	return series
}

// ShowSeriesResult returns a result as the actor may see it now.
func (s *Service) ShowSeriesResult(ctx context.Context, by meeting.Actor, r *SeriesResult) (*SeriesResult, error) {
	var err error
	if r.Series, err = s.ShowSeries(ctx, by, r.Series); err != nil {
		return nil, err
	}
	if r.Previous != nil {
		if r.Previous, err = s.ShowSeries(ctx, by, r.Previous); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Meetings, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	r.Meetings, err = s.Views(ctx, by, r.Meetings, s.Now())
	return r, err
}
