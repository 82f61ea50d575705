package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// SeriesResult is the result of a change of a series, or its preview: the meetings that were
// created or changed, by start, and the dates that could not be booked.
type SeriesResult struct {
	Series   *Series
	Previous *Series // the series that it was split from by this change; nil: none
	Meetings []*Meeting
	Skipped  []Skipped
	Saved    bool      // for a preview: whether it would be
	Undoable *Undoable // until when the change can be undone; nil: it cannot
}

// planTries limits how often a change is planned again because a concurrent change came first.
const planTries = 8

// PreviewSeries returns what [Service.BookSeries] would save now, and writes nothing.
func (s *Service) PreviewSeries(ctx context.Context, by Actor, f SeriesFields) (*SeriesResult, error) {
	by, err := importing(by, f.Import)
	if err != nil {
		return nil, err
	}
	f.preview = true
	c, dates, err := s.planSeries(ctx, by, f)
	if taken, ok := errors.AsType[*SeriesConflictError](err); ok {
		return s.showSeriesResult(ctx, by, &SeriesResult{Series: c.Series, Meetings: c.Create, Skipped: taken.Dates})
	}
	if err != nil {
		return nil, err
	}
	return s.showSeriesResult(ctx, by, &SeriesResult{Series: c.Series, Meetings: c.Create, Skipped: skipped(dates), Saved: len(c.Create) > 0})
}

// BookSeries creates a series with a meeting for each of its dates, except skipped ones, or
// nothing. If a room that was free during planning is taken when the plan is saved, BookSeries
// plans again.
func (s *Service) BookSeries(ctx context.Context, by Actor, f SeriesFields) (*SeriesResult, error) {
	by, err := importing(by, f.Import)
	if err != nil {
		return nil, err
	}
	return s.carryOut(ctx, by, func() (*SeriesChange, []*plannedDate, error) {
		c, dates, err := s.planSeries(ctx, by, f)
		if err == nil && len(c.Create) == 0 { // all dates would be skipped
			err = &SeriesConflictError{Dates: skipped(dates)}
		}
		if err == nil {
			c.undoableBy(by, s.conf().Undo, c.Series.CreatedAt)
		}
		return c, dates, err
	})
}

// carryOut plans a change and saves it.
func (s *Service) carryOut(ctx context.Context, by Actor, plan func() (*SeriesChange, []*plannedDate, error)) (*SeriesResult, error) {
	return s.carryOutWithin(ctx, by, plan, func(*PolicyError) {})
}

// carryOutWithin is carryOut for a plan that can leave out what exceeds quotas: it calls exceeds
// with those dates before it plans again.
func (s *Service) carryOutWithin(ctx context.Context, by Actor, plan func() (*SeriesChange, []*plannedDate, error), exceeds func(*PolicyError)) (*SeriesResult, error) {
	c, dates, err := s.saveWithin(ctx, plan, exceeds)
	if err != nil {
		return nil, err
	}
	return s.showSeriesResult(ctx, by, c.result(dates, true))
}

// saveWithin plans a change and saves it; see carryOutWithin.
func (s *Service) saveWithin(ctx context.Context, plan func() (*SeriesChange, []*plannedDate, error), exceeds func(*PolicyError)) (*SeriesChange, []*plannedDate, error) {
	for try := 1; ; try++ {
		c, dates, err := plan()
		if err != nil {
			return nil, nil, err
		}
		before := make(map[ID]*Meeting, len(dates))
		for _, w := range dates {
			if w.base != nil {
				before[w.base.ID] = w.base
			}
		}
		notices, err := s.store.SaveSeries(ctx, c)
		conflict, taken := errors.AsType[*ConflictError](err)
		quota, over := errors.AsType[*PolicyError](err)
		if over {
			exceeds(quota)
		}
		if taken {
			if err := s.settleFor(ctx, c); err != nil {
				return nil, nil, err
			}
		}
		if (taken || over || errors.Is(err, ErrRoomsChanged) || errors.Is(err, ErrOutdated)) && try < planTries && ctx.Err() == nil {
			continue
		}
		if errors.Is(err, ErrOutdated) {
			return nil, nil, fmt.Errorf("series: others change it all the time: %w", err)
		}
		if taken && len(conflict.Conflicts) == 0 { // the database refuses all at once and names none
			if conflict.Conflicts, err = s.conflicts(ctx, c); err == nil {
				err = conflict
			}
		}
		if err != nil {
			return nil, nil, err
		}
		s.announceSeries(ctx, c, before, notices)
		return c, dates, nil
	}
}

// settleFor settles lapsed occupancies that conflict with a planned change.
func (s *Service) settleFor(ctx context.Context, c *SeriesChange) error {
	plannedDate, _ := c.wants()
	return s.settle(ctx, plannedDate)
}

// wants returns what a planned change takes, and its existing meetings.
func (c *SeriesChange) wants() (plannedDate []Occupancy, by []ID) {
	for _, m := range append(slices.Clone(c.Update), c.Create...) {
		plannedDate = append(append(plannedDate, m.Occupied...), m.requested...)
		if r := m.Request; r != nil && r.Change != nil {
			plannedDate = append(plannedDate, r.Change.Held...)
		}
		if m.ID != 0 {
			by = append(by, m.ID)
		}
	}
	return plannedDate, by
}

// conflicts returns what conflicts with a planned change.
func (s *Service) conflicts(ctx context.Context, c *SeriesChange) ([]Occupancy, error) {
	plannedDate, by := c.wants()
	taken, err := s.store.Taken(ctx, plannedDate, by)
	var found []Occupancy
	for _, os := range taken {
		found = union(found, os)
	}
	return found, err
}

// result returns the result of the change, or of its plan.
func (c *SeriesChange) result(dates []*plannedDate, saved bool) *SeriesResult {
	r := &SeriesResult{Series: c.Target(), Meetings: append(slices.Clone(c.Update), c.Create...), Skipped: skipped(dates), Saved: saved, Undoable: c.Undoable}
	if c.Split != nil {
		r.Previous = c.Series
	}
	return r
}

// announceSeries is announce for all meetings of a change at once.
func (s *Service) announceSeries(ctx context.Context, c *SeriesChange, before map[ID]*Meeting, notices []Notice) {
	after := map[ID]*Meeting{}
	for _, m := range append(slices.Clone(c.Update), c.Create...) {
		after[m.ID] = m
	}
	s.announceAll(ctx, before, after, notices, c.Undoable)
}

// planSeries plans a new series. With a [*SeriesConflictError] it returns what could be saved.
func (s *Service) planSeries(ctx context.Context, by Actor, f SeriesFields) (*SeriesChange, []*plannedDate, error) {
	p, err := s.planner(ctx, by, &f)
	if err != nil {
		return nil, nil, err
	}
	known, err := s.lookUp(ctx, &f.Fields, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := f.authorizeOrganizer(p.by, by.person(), known, known.rooms); err != nil {
		return nil, nil, err
	}
	p.conf = f.Import.unbounded(p.conf)
	series := &Series{Organizer: by.person(), CreatedAt: p.at}
	terms, err := f.apply(series, known, p.conf.Limits, p.at)
	if err != nil {
		return nil, nil, err
	}
	if series.Organizer.UserID != by.ID {
		series.bookedBy = by.Name
	}
	if f.Import.foreign() == "" {
		series.ReplyDomain = p.conf.ReplyDomain
	}
	p.onConflict = f.OnConflict
	var dates []*plannedDate
	for _, d := range series.Dates() {
		dates = append(dates, &plannedDate{date: d, terms: series.terms(d, terms.Rooms, terms.Type, p.conf.Reminders), room: true})
	}
	if f.Import != nil {
		series.Origin, series.Foreign = &f.Import.Origin, f.Import.foreign()
		if err := s.importedDates(ctx, series, f, dates); err != nil {
			return nil, nil, err
		}
	}
	if err := p.choose(ctx, f.Choices, clock.ZoneOrUTC(series.Timezone), dates); err != nil {
		return nil, nil, err
	}
	if err := p.validate(ctx, dates); err != nil {
		return nil, nil, err
	}
	c := &SeriesChange{Series: series}
	if c.Create, err = p.book(ctx, dates); err != nil {
		return nil, nil, err
	}
	series.notifyBooked(c.Create, by, p.at)
	return c, dates, p.conflictError(dates)
}

// book creates the meetings of new dates that can be booked. Requests for several dates are decided
// together: they share a deadline, and people are notified of them once.
func (p *planner) book(ctx context.Context, dates []*plannedDate) ([]*Meeting, error) {
	var made []*Meeting
	for _, w := range dates {
		if w.base != nil || w.skip != nil {
			continue
		}
		plan, err := p.approvalPlan(ctx, w.terms.Rooms)
		if err != nil {
			return nil, err
		}
		if w.terms.Import.once() {
			plan = ApprovalPlan{}
		}
		m := Book(w.terms, plan, p.by, p.at)
		m.OriginalStart, m.OriginalWall = w.date.Slot.Start, w.date.Wall
		m.throughSeries("")
		made = append(made, m)
	}
	_, pending := byState(made)
	together(pending)
	return made, nil
}

// together joins the requests for several dates in the same rooms: they share the first deadline
// and its timers, and approvers are notified once.
func together(ms []*Meeting) {
	for _, one := range requestsOf(ms) {
		first := slices.MinFunc(one, func(a, b *Meeting) int { return a.Request.Deadline.Compare(b.Request.Deadline) })
		for _, m := range one {
			if m == first {
				continue
			}
			r := *m.Request
			r.Deadline, r.RemindAt, r.EscalateAt = first.Request.Deadline, first.Request.RemindAt, first.Request.EscalateAt
			m.Request = &r
			if r.Change == nil {
				m.Approval.Deadline = r.Deadline
			}
			m.notices = slices.DeleteFunc(m.notices, Notice.asks)
		}
	}
}

// requestsOf groups dates by the requested rooms, because others may decide on other rooms.
func requestsOf(ms []*Meeting) [][]*Meeting {
	var parts [][]*Meeting
	for _, m := range ms {
		i := slices.IndexFunc(parts, func(p []*Meeting) bool { return slices.Equal(p[0].RequestedRooms(), m.RequestedRooms()) })
		if i < 0 {
			parts = append(parts, []*Meeting{m})
			continue
		}
		parts[i] = append(parts[i], m)
	}
	return parts
}

// throughSeries marks what was just recorded as part of a change of the series. People are notified
// of that change as a whole.
func (m *Meeting) throughSeries(reason string) {
	for i := range m.history {
		e := &m.history[i]
		said := reason
		if _, overridden := e.Changes["override"]; overridden {
			said = e.Reason
		}
		e.Reason = ReasonSeries
		if said != "" {
			e.Reason += ": " + said
		}
	}
	m.notices = slices.DeleteFunc(m.notices, func(n Notice) bool { return n.Kind != NoticeApprovalRequest })
}

// SeriesState is a series with the state of its dates.
type SeriesState struct {
	*Series
	Counts map[Status]int // by effective status
	// NoShows is the number of consecutive no-shows among the latest dates.
	NoShows int
	Next    []*Meeting // next confirmed or pending dates
	Absent  []Skipped  // coming dates without a meeting: "cancelled", [ReasonSkipped] or [ReasonLeftOut]
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
func (s *Service) Series(ctx context.Context, by Actor, id int64) (*SeriesState, error) {
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	viewer, rooms, err := s.roomsForView(ctx, by, series.sample())
	if err != nil {
		return nil, err
	}
	if !viewer.MaySee(series.sample(), rooms) {
		return nil, ErrNotFound
	}
	ms, err := s.store.SeriesMeetings(ctx, id)
	if err != nil {
		return nil, err
	}
	series.nameWalls(ms)
	at := s.clock()
	for i, m := range ms {
		ms[i] = m.At(at)
	}
	state := &SeriesState{Counts: map[Status]int{}, NoShows: noShowsInRow(ms, at), Absent: absent(series, ms, at)}
	if state.Series, err = s.showSeries(ctx, by, series); err != nil {
		return nil, err
	}
	if ms, err = s.Views(ctx, by, ms, at); err != nil {
		return nil, err
	}
	state.Attendees = responses(state.Attendees, slices.DeleteFunc(slices.Clone(ms), func(m *Meeting) bool { return m.Status.Over() }))
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
func (s *Service) seesSeries(ctx context.Context, by Actor, series *Series, dates []*Meeting) error {
	all := append([]*Meeting{series.sample()}, dates...)
	viewer, rooms, err := s.roomsForView(ctx, by, all...)
	if err == nil && !slices.ContainsFunc(all, func(m *Meeting) bool { return viewer.MaySee(m, rooms) }) {
		err = ErrNotFound
	}
	return err
}

// refuse returns the error for an actor who may not change the series: [ErrNotFound] if they may
// not see it either.
func (s *Service) refuse(ctx context.Context, by Actor, series *Series) error {
	viewer, rooms, err := s.roomsForView(ctx, by, series.sample())
	if err != nil {
		return err
	}
	if !viewer.MaySee(series.sample(), rooms) {
		return ErrNotFound
	}
	return ErrForbidden
}

// ListSeries lists series that were not canceled as a whole, latest first. Only admins can list
// other users' series.
func (s *Service) ListSeries(ctx context.Context, by Actor, q SeriesQuery, p Page) (series []*Series, next string, err error) {
	if !by.rules() {
		if q.OrganizerID != 0 && q.OrganizerID != by.ID {
			return nil, "", ErrForbidden
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
func absent(s *Series, ms []*Meeting, at time.Time) []Skipped {
	there, cancelled := map[int64]bool{}, map[int64]bool{}
	for _, m := range ms {
		if m.gone() {
			cancelled[m.OriginalWall.Unix()] = true
		} else {
			there[m.OriginalWall.Unix()] = true
		}
	}
	ruled := s.clone()
	ruled.ExDates = nil
	var out []Skipped
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
			reason = string(Cancelled)
		}
		out = append(out, Skipped{OriginalStart: d.Slot.Start, Reason: reason})
	}
	return out
}

// gone reports whether the meeting will not take place, so that its date may be added again.
func (m *Meeting) gone() bool { return m.Status == Cancelled || m.Status == Rejected }

// showSeries returns the series as the actor may see it.
func (s *Service) showSeries(ctx context.Context, by Actor, series *Series) (*Series, error) {
	by, rooms, err := s.roomsForView(ctx, by, series.sample())
	if err != nil {
		return nil, err
	}
	return s.reminded(series).View(by, rooms), nil
}

// reminded sets the installation's reminders in a series that follows them.
func (s *Service) reminded(series *Series) *Series {
	if series.DefaultReminders {
		series.Reminders = s.conf().Reminders
	}
	return series
}

func (s *Service) showSeriesResult(ctx context.Context, by Actor, r *SeriesResult) (*SeriesResult, error) {
	var err error
	if r.Series, err = s.showSeries(ctx, by, r.Series); err != nil {
		return nil, err
	}
	if r.Previous != nil {
		if r.Previous, err = s.showSeries(ctx, by, r.Previous); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Meetings, func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	r.Meetings, err = s.Views(ctx, by, r.Meetings, s.clock())
	return r, err
}
