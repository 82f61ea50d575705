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

// SeriesResult is what became of a series, or would: its meetings that a change made or
// touched, by start, and the dates that it has not.
type SeriesResult struct {
	Series   *Series
	Previous *Series // the one it was split off by this change; nil: none was
	Meetings []*Meeting
	Skipped  []Skipped
	Saved    bool // or, of a preview, whether it would be
}

// planTries bounds how often a change is planned anew because somebody else was quicker.
const planTries = 8

// PreviewSeries returns what [Service.BookSeries] would save now, and writes nothing.
func (s *Service) PreviewSeries(ctx context.Context, by Actor, f SeriesFields) (*SeriesResult, error) {
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

// BookSeries makes a series with a meeting for each of its dates, all or none but those that
// are skipped. What the plan found free may be taken when it is saved: then it is made anew.
func (s *Service) BookSeries(ctx context.Context, by Actor, f SeriesFields) (*SeriesResult, error) {
	return s.carryOut(ctx, by, func() (*SeriesChange, []*plannedDate, error) {
		c, dates, err := s.planSeries(ctx, by, f)
		if err == nil && len(c.Create) == 0 { // all would be skipped
			err = &SeriesConflictError{Dates: skipped(dates)}
		}
		return c, dates, err
	})
}

// carryOut plans a change and saves it.
func (s *Service) carryOut(ctx context.Context, by Actor, plan func() (*SeriesChange, []*plannedDate, error)) (*SeriesResult, error) {
	return s.carryOutWithin(ctx, by, plan, func(*PolicyError) {})
}

// carryOutWithin is carryOut for a plan that can leave out what exceeds quotas: exceeds is called
// with it before the change is planned anew.
func (s *Service) carryOutWithin(ctx context.Context, by Actor, plan func() (*SeriesChange, []*plannedDate, error), exceeds func(*PolicyError)) (*SeriesResult, error) {
	for try := 1; ; try++ {
		c, dates, err := plan()
		if err != nil {
			return nil, err
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
				return nil, err
			}
		}
		if (taken || over || errors.Is(err, ErrRoomsChanged) || errors.Is(err, ErrOutdated)) && try < planTries && ctx.Err() == nil {
			continue
		}
		if errors.Is(err, ErrOutdated) {
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
		s.announceSeries(ctx, c, before, notices)
		return s.showSeriesResult(ctx, by, c.result(dates, true))
	}
}

// settleFor settles what has lapsed in the way of a change that was planned.
func (s *Service) settleFor(ctx context.Context, c *SeriesChange) error {
	plannedDate, _ := c.wants()
	return s.settle(ctx, plannedDate)
}

// wants is what a change that was planned takes, and the meetings that are there and do.
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

// conflicts are what is in the way of a change that was planned.
func (s *Service) conflicts(ctx context.Context, c *SeriesChange) ([]Occupancy, error) {
	plannedDate, by := c.wants()
	taken, err := s.store.Taken(ctx, plannedDate, by)
	var found []Occupancy
	for _, os := range taken {
		found = union(found, os)
	}
	return found, err
}

// result of the change, or of its plan.
func (c *SeriesChange) result(dates []*plannedDate, saved bool) *SeriesResult {
	r := &SeriesResult{Series: c.Target(), Meetings: append(slices.Clone(c.Update), c.Create...), Skipped: skipped(dates), Saved: saved}
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
	s.announceAll(ctx, before, after, notices)
}

// planSeries plans a new series. With a [*SeriesConflictError] comes what could be saved of it.
func (s *Service) planSeries(ctx context.Context, by Actor, f SeriesFields) (*SeriesChange, []*plannedDate, error) {
	p, err := s.planner(ctx, by, &f)
	if err != nil {
		return nil, nil, err
	}
	known, err := s.lookUp(ctx, &f.Fields, nil)
	if err != nil {
		return nil, nil, err
	}
	series := &Series{
		Organizer: Person{UserID: by.ID, Email: by.Email, Name: by.Name}, CreatedAt: p.at,
	}
	terms, err := f.apply(series, known, p.conf.Limits, p.at)
	if err != nil {
		return nil, nil, err
	}
	p.onConflict = f.OnConflict
	var dates []*plannedDate
	for _, d := range series.Dates() {
		dates = append(dates, &plannedDate{date: d, terms: series.terms(d, terms.Rooms, p.conf.Reminders), room: true})
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

// book makes the meetings of new dates that can be booked. A request for several dates is decided
// at once: all wait until the same time, and people are notified of them once.
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
		m := Book(w.terms, plan, p.by, p.at)
		m.OriginalStart, m.OriginalWall = w.date.Slot.Start, w.date.Wall
		m.throughSeries("")
		made = append(made, m)
	}
	_, pending := byState(made)
	together(pending)
	return made, nil
}

// together makes the requests for several dates in the same rooms one: all wait until the first
// deadline, whose timers are those of all, and people are asked once.
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

// requestsOf parts dates by the rooms that they ask for: those in other rooms are decided by
// others.
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

// SeriesState is a series with what has become of its dates.
type SeriesState struct {
	*Series
	Counts map[Status]int // by effective status
	// NoShows is to how many of the latest dates nobody came, one after the other.
	NoShows int
	Next    []*Meeting // the next ones that will take place or may
	Absent  []Skipped  // coming dates that it has not: "cancelled", [ReasonSkipped] or [ReasonLeftOut]
}

// Reasons of dates that are absent.
const (
	ReasonSkipped = "skipped"  // it could not be when it was to be booked
	ReasonLeftOut = "left_out" // by an EXDATE
)

// nextDates are shown of a series.
const nextDates = 5

// Series finds a series. A private one is [ErrNotFound] to those who may not see it: which meetings
// belong together is hidden from them.
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

// seesSeries is nil if the actor sees the series or one of its dates. Else it is unknown to them.
func (s *Service) seesSeries(ctx context.Context, by Actor, series *Series, dates []*Meeting) error {
	all := append([]*Meeting{series.sample()}, dates...)
	viewer, rooms, err := s.roomsForView(ctx, by, all...)
	if err == nil && !slices.ContainsFunc(all, func(m *Meeting) bool { return viewer.MaySee(m, rooms) }) {
		err = ErrNotFound
	}
	return err
}

// refuse is the error of an actor who may not change the series. One that they may not see is
// unknown to them.
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

// ListSeries lists series that are not cancelled as a whole, the latest first. Only admins list
// those of others.
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
		series[i] = s.reminded(series[i]).View(by, nil) // one's own, or an admin's: no room decides who sees it
	}
	return series, next, nil
}

// absent are the coming dates of the rule that no meeting takes, and why.
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

// showSeries is the series as the actor may see it.
func (s *Service) showSeries(ctx context.Context, by Actor, series *Series) (*Series, error) {
	by, rooms, err := s.roomsForView(ctx, by, series.sample())
	if err != nil {
		return nil, err
	}
	return s.reminded(series).View(by, rooms), nil
}

// reminded gives a series that follows the installation's reminders those.
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
