package series

import (
	"context"
	"time"

	"punctual/meeting"
)

// PlanMoves plans the moves of count single dates of a series, about which people are notified once.
// move returns a coming date in its new state, and whether people see a difference; nil: it stays. It
// fails with [meeting.ErrOutdated] if there are fewer such dates.
func (s *Service) PlanMoves(ctx context.Context, by meeting.Actor, id int64, count int, at time.Time, move func(*meeting.Meeting) (m *meeting.Meeting, visible bool, err error)) (*meeting.SeriesChange, error) {
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := s.store.SeriesMeetings(ctx, id)
	if err != nil {
		return nil, err
	}
	series.NameWalls(all)
	target := series.Clone()
	target.UpdatedAt = at
	e := &revision{
		planner: &planner{Service: s, by: by, at: at}, before: series, all: all, moved: true, visible: true,
		change: &meeting.SeriesChange{Series: target},
	}
	visible := false
	for _, m := range e.concerned() {
		moved, differs, err := move(m)
		if err != nil {
			return nil, err
		}
		if moved == nil {
			e.kept = append(e.kept, m)
			continue
		}
		moved.Notices = e.personal(moved.Notices)
		visible = visible || differs
		e.kept = append(e.kept, moved)
		e.change.Before, e.change.Update = append(e.change.Before, m), append(e.change.Update, moved)
	}
	if len(e.change.Update) < count {
		return nil, meeting.ErrOutdated
	}
	if visible {
		e.notifyChange(series.Clone(), target, target)
	}
	return e.change, nil
}
