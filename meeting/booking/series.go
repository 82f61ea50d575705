package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
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

// planTries limits how often a change is planned again because a concurrent change came first.
const planTries = 8

// PreviewSeries returns what [Service.BookSeries] would save now, and writes nothing.
func (s *Service) PreviewSeries(ctx context.Context, by meeting.Actor, f SeriesFields) (*SeriesResult, error) {
	by, err := importing(by, f.Import)
	if err != nil {
		return nil, err
	}
	f.preview = true
	c, err := s.planSeries(ctx, by, f)
	if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		return s.showSeriesResult(ctx, by, &SeriesResult{Series: c.Series, Meetings: c.Create, Skipped: taken.Dates})
	}
	if err != nil {
		return nil, err
	}
	return s.showSeriesResult(ctx, by, &SeriesResult{Series: c.Series, Meetings: c.Create, Skipped: c.Skipped, Saved: len(c.Create) > 0})
}

// BookSeries creates a series with a meeting for each of its dates, except skipped ones, or
// nothing. If a room that was free during planning is taken when the plan is saved, BookSeries
// plans again.
func (s *Service) BookSeries(ctx context.Context, by meeting.Actor, f SeriesFields) (*SeriesResult, error) {
	by, err := importing(by, f.Import)
	if err != nil {
		return nil, err
	}
	return s.carryOut(ctx, by, func() (*meeting.SeriesChange, error) {
		c, err := s.planSeries(ctx, by, f)
		if err == nil && len(c.Create) == 0 { // all dates would be skipped
			err = &meeting.SeriesConflictError{Dates: c.Skipped}
		}
		if err == nil {
			c.MakeUndoable(by, s.conf().Undo, c.Series.CreatedAt)
		}
		return c, err
	})
}

// carryOut plans a change and saves it.
func (s *Service) carryOut(ctx context.Context, by meeting.Actor, plan func() (*meeting.SeriesChange, error)) (*SeriesResult, error) {
	return s.carryOutWithin(ctx, by, plan, func(*meeting.PolicyError) {})
}

// carryOutWithin is carryOut for a plan that can leave out what exceeds quotas: it calls exceeds
// with those dates before it plans again.
func (s *Service) carryOutWithin(ctx context.Context, by meeting.Actor, plan func() (*meeting.SeriesChange, error), exceeds func(*meeting.PolicyError)) (*SeriesResult, error) {
	c, err := s.saveWithin(ctx, plan, exceeds)
	if err != nil {
		return nil, err
	}
	return s.showSeriesResult(ctx, by, resultOf(c, true))
}

// saveWithin plans a change and saves it; see carryOutWithin.
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
		if (taken || over || errors.Is(err, meeting.ErrRoomsChanged) || errors.Is(err, meeting.ErrOutdated)) && try < planTries && ctx.Err() == nil {
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
		s.announceSeries(ctx, c, notices)
		return c, nil
	}
}

// settleFor settles lapsed occupancies that conflict with a planned change.
func (s *Service) settleFor(ctx context.Context, c *meeting.SeriesChange) error {
	needed, _ := c.Wants()
	return s.settle(ctx, needed)
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

// resultOf returns the result of the change, or of its plan.
func resultOf(c *meeting.SeriesChange, saved bool) *SeriesResult {
	r := &SeriesResult{Series: c.Target(), Meetings: append(slices.Clone(c.Update), c.Create...), Skipped: c.Skipped, Saved: saved, Undoable: c.Undoable}
	if c.Split != nil {
		r.Previous = c.Series
	}
	return r
}

// announceSeries is announce for all meetings of a change at once.
func (s *Service) announceSeries(ctx context.Context, c *meeting.SeriesChange, notices []meeting.Notice) {
	before, after := map[meeting.ID]*meeting.Meeting{}, map[meeting.ID]*meeting.Meeting{}
	for _, m := range c.Before {
		before[m.ID] = m
	}
	for _, m := range append(slices.Clone(c.Update), c.Create...) {
		after[m.ID] = m
	}
	s.announceAll(ctx, before, after, notices, c.Undoable)
}

// planSeries plans a new series. With a [*SeriesConflictError] it returns what could be saved.
func (s *Service) planSeries(ctx context.Context, by meeting.Actor, f SeriesFields) (*meeting.SeriesChange, error) {
	p, err := s.planner(ctx, by, &f)
	if err != nil {
		return nil, err
	}
	known, err := s.lookUp(ctx, &f.Fields, nil)
	if err != nil {
		return nil, err
	}
	if err := f.authorizeOrganizer(p.by, by.Person(), known, known.rooms); err != nil {
		return nil, err
	}
	p.conf = unbounded(f.Import, p.conf)
	series := &meeting.Series{Organizer: by.Person(), CreatedAt: p.at}
	terms, err := f.apply(series, known, p.conf.Limits, p.at)
	if err != nil {
		return nil, err
	}
	if series.Organizer.UserID != by.ID {
		series.BookedBy = by.Name
	}
	if f.Import.Foreign() == "" {
		series.ReplyDomain = p.conf.ReplyDomain
	}
	p.onConflict = f.OnConflict
	var dates []*plannedDate
	for _, d := range series.Dates() {
		dates = append(dates, &plannedDate{date: d, terms: series.Terms(d, terms.Rooms, terms.Type, p.conf.Reminders), room: true})
	}
	if f.Import != nil {
		series.Origin, series.Foreign = &f.Import.Origin, f.Import.Foreign()
		if err := s.importedDates(ctx, series, f, dates); err != nil {
			return nil, err
		}
	}
	if err := p.choose(ctx, f.Choices, clock.ZoneOrUTC(series.Timezone), dates); err != nil {
		return nil, err
	}
	if err := p.validate(ctx, dates); err != nil {
		return nil, err
	}
	c := &meeting.SeriesChange{Series: series, Skipped: skipped(dates)}
	if c.Create, err = p.book(ctx, dates); err != nil {
		return nil, err
	}
	series.NotifyBooked(c.Create, by, p.at)
	return c, p.conflictError(dates)
}

// book creates the meetings of new dates that can be booked. Requests for several dates are decided
// together: they share a deadline, and people are notified of them once.
func (p *planner) book(ctx context.Context, dates []*plannedDate) ([]*meeting.Meeting, error) {
	var made []*meeting.Meeting
	for _, w := range dates {
		if w.base != nil || w.skip != nil {
			continue
		}
		plan, err := p.approvalPlan(ctx, w.terms.Rooms)
		if err != nil {
			return nil, err
		}
		if w.terms.Import.Once() {
			plan = meeting.ApprovalPlan{}
		}
		m := meeting.Book(w.terms, plan, p.by, p.at)
		m.OriginalStart, m.OriginalWall = w.date.Slot.Start, w.date.Wall
		m.ThroughSeries("")
		made = append(made, m)
	}
	_, pending := meeting.ConfirmedAndPending(made)
	meeting.JoinRequests(pending)
	return made, nil
}

// SeriesState is a series with the state of its dates.
type SeriesState struct {
	*meeting.Series
	Counts map[meeting.Status]int // by effective status
	// NoShows is the number of consecutive no-shows among the latest dates.
	NoShows int
	Next    []*meeting.Meeting // next confirmed or pending dates
	Absent  []meeting.Skipped  // coming dates without a meeting: "cancelled", [ReasonSkipped] or [ReasonLeftOut]
}

// Reasons for absent dates.
const (
	ReasonSkipped = "skipped"  // it was not available when the series was booked
	ReasonLeftOut = "left_out" // by an EXDATE
)

// nextDates is how many next dates of a series are shown.
const nextDates = 5

// Series returns a series. A private one is [ErrNotFound] to users who may not see it, so that they
// cannot learn which meetings belong together.
func (s *Service) Series(ctx context.Context, by meeting.Actor, id int64) (*SeriesState, error) {
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	viewer, rooms, err := s.roomsForView(ctx, by, series.Sample())
	if err != nil {
		return nil, err
	}
	if !viewer.MaySee(series.Sample(), rooms) {
		return nil, meeting.ErrNotFound
	}
	ms, err := s.store.SeriesMeetings(ctx, id)
	if err != nil {
		return nil, err
	}
	series.NameWalls(ms)
	at := s.clock()
	for i, m := range ms {
		ms[i] = m.At(at)
	}
	state := &SeriesState{Counts: map[meeting.Status]int{}, NoShows: meeting.NoShowsInRow(ms, at), Absent: absent(series, ms, at)}
	if state.Series, err = s.showSeries(ctx, by, series); err != nil {
		return nil, err
	}
	if ms, err = s.Views(ctx, by, ms, at); err != nil {
		return nil, err
	}
	state.Attendees = meeting.WithResponses(state.Attendees, slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return m.Status.Over() }))
	for _, m := range ms {
		state.Counts[m.Status]++
		if !m.Status.Over() && m.Slot.Start.After(at) && len(state.Next) < nextDates {
			state.Next = append(state.Next, m)
		}
	}
	return state, nil
}

// seesSeries returns nil if the actor may see the series or one of its dates, otherwise
// [ErrNotFound].
func (s *Service) seesSeries(ctx context.Context, by meeting.Actor, series *meeting.Series, dates []*meeting.Meeting) error {
	all := append([]*meeting.Meeting{series.Sample()}, dates...)
	viewer, rooms, err := s.roomsForView(ctx, by, all...)
	if err == nil && !slices.ContainsFunc(all, func(m *meeting.Meeting) bool { return viewer.MaySee(m, rooms) }) {
		err = meeting.ErrNotFound
	}
	return err
}

// refuse returns the error for an actor who may not change the series: [ErrNotFound] if they may
// not see it either.
func (s *Service) refuse(ctx context.Context, by meeting.Actor, series *meeting.Series) error {
	viewer, rooms, err := s.roomsForView(ctx, by, series.Sample())
	if err != nil {
		return err
	}
	if !viewer.MaySee(series.Sample(), rooms) {
		return meeting.ErrNotFound
	}
	return meeting.ErrForbidden
}

// ListSeries lists series that were not canceled as a whole, latest first. Only admins can list
// other users' series.
func (s *Service) ListSeries(ctx context.Context, by meeting.Actor, q meeting.SeriesQuery, p meeting.Page) (series []*meeting.Series, next string, err error) {
	if !by.IsAdmin() {
		if q.OrganizerID != 0 && q.OrganizerID != by.ID {
			return nil, "", meeting.ErrForbidden
		}
		q.OrganizerID = by.ID
	}
	series, next, err = s.store.ListSeries(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	for i := range series {
		series[i] = s.reminded(series[i]).View(by, nil) // the actor's own, or the actor is an admin: rooms do not matter
	}
	return series, next, nil
}

// absent returns the coming dates of the rule without a meeting, and the reasons.
func absent(s *meeting.Series, ms []*meeting.Meeting, at time.Time) []meeting.Skipped {
	there, cancelled := map[int64]bool{}, map[int64]bool{}
	for _, m := range ms {
		if m.Gone() {
			cancelled[m.OriginalWall.Unix()] = true
		} else {
			there[m.OriginalWall.Unix()] = true
		}
	}
	ruled := s.Clone()
	ruled.ExDates = nil
	var out []meeting.Skipped
	for _, d := range ruled.Dates() {
		wall := d.Wall.Unix()
		if !d.Slot.Start.After(at) || there[wall] {
			continue
		}
		reason := ReasonSkipped
		switch {
		case slices.ContainsFunc(s.ExDates, func(x recurrence.WallTime) bool { return x.Matches(d.Wall) }):
			reason = ReasonLeftOut
		case cancelled[wall]:
			reason = string(meeting.Cancelled)
		}
		out = append(out, meeting.Skipped{OriginalStart: d.Slot.Start, Reason: reason})
	}
	return out
}

// showSeries returns the series as the actor may see it.
func (s *Service) showSeries(ctx context.Context, by meeting.Actor, series *meeting.Series) (*meeting.Series, error) {
	by, rooms, err := s.roomsForView(ctx, by, series.Sample())
	if err != nil {
		return nil, err
	}
	return s.reminded(series).View(by, rooms), nil
}

// reminded sets the installation's reminders in a series that follows them.
func (s *Service) reminded(series *meeting.Series) *meeting.Series {
	if series.DefaultReminders {
		series.Reminders = s.conf().Reminders
	}
	return series
}

func (s *Service) showSeriesResult(ctx context.Context, by meeting.Actor, r *SeriesResult) (*SeriesResult, error) {
	var err error
	if r.Series, err = s.showSeries(ctx, by, r.Series); err != nil {
		return nil, err
	}
	if r.Previous != nil {
		if r.Previous, err = s.showSeries(ctx, by, r.Previous); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Meetings, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	r.Meetings, err = s.Views(ctx, by, r.Meetings, s.clock())
	return r, err
}
