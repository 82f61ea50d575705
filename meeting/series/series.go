package series

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// Preview returns what [Service.Book] would save now, and writes nothing.
func (s *Service) Preview(ctx context.Context, by meeting.Actor, f Fields) (*booking.SeriesResult, error) {
	by, err := booking.Importer(by, f.Import)
	if err != nil {
		return nil, err
	}
	f.Preview = true
	c, err := s.planSeries(ctx, by, f)
	if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		return s.booking.ShowSeriesResult(ctx, by, &booking.SeriesResult{Series: c.Series, Meetings: c.Create, Skipped: taken.Dates})
	}
	if err != nil {
		return nil, err
	}
	return s.booking.ShowSeriesResult(ctx, by, &booking.SeriesResult{Series: c.Series, Meetings: c.Create, Skipped: c.Skipped, Saved: len(c.Create) > 0})
}

// Book creates a series with a meeting for each of its dates, except skipped ones, or
// nothing. If a room that was free during planning is taken when the plan is saved, Book
// plans again.
func (s *Service) Book(ctx context.Context, by meeting.Actor, f Fields) (*booking.SeriesResult, error) {
	by, err := booking.Importer(by, f.Import)
	if err != nil {
		return nil, err
	}
	return s.booking.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		c, err := s.planSeries(ctx, by, f)
		if err == nil && len(c.Create) == 0 { // all dates would be skipped
			err = &meeting.SeriesConflictError{Dates: c.Skipped}
		}
		if err == nil {
			c.MakeUndoable(by, s.booking.Settings().Undo, c.Series.CreatedAt)
		}
		return c, err
	})
}

// planSeries plans a new series. With a [*meeting.SeriesConflictError] it returns what could be saved.
func (s *Service) planSeries(ctx context.Context, by meeting.Actor, f Fields) (*meeting.SeriesChange, error) {
	p, err := s.planner(ctx, by, &f)
	if err != nil {
		return nil, err
	}
	known, err := s.booking.LookUp(ctx, by, &f.Fields, nil)
	if err != nil {
		return nil, err
	}
	if by, err = f.Booker(p.by, known, known.Rooms); err == nil && by.Delegate != nil {
		p.by, err = s.booking.WithDeputies(ctx, by)
	}
	if err != nil {
		return nil, err
	}
	p.conf = unbounded(f.Import, p.conf)
	series := &meeting.Series{Organizer: by.Person(), CreatedAt: p.at}
	terms, err := f.apply(series, known, p.conf.Limits, p.at)
	if err != nil {
		return nil, err
	}
	if booker := by.Acting(); series.Organizer.UserID != booker.ID {
		series.BookedBy = booker.Name
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
		if err := s.importedDates(ctx, by, series, f, dates); err != nil {
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

// State is a series with the state of its dates.
type State struct {
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

// Series returns a series. A private one is [meeting.ErrNotFound] to users who may not see it, so that they
// cannot learn which meetings belong together.
func (s *Service) Series(ctx context.Context, by meeting.Actor, id int64) (*State, error) {
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	viewer, rooms, err := s.booking.RoomsForView(ctx, by, series.Sample())
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
	at := s.booking.Now()
	for i, m := range ms {
		ms[i] = m.At(at)
	}
	state := &State{Counts: map[meeting.Status]int{}, NoShows: meeting.NoShowsInRow(ms, at), Absent: absent(series, ms, at)}
	if state.Series, err = s.booking.ShowSeries(ctx, by, series); err != nil {
		return nil, err
	}
	if ms, err = s.booking.Views(ctx, by, ms, at); err != nil {
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

// List lists series that were not canceled as a whole, latest first. Only admins can list
// other users' series.
func (s *Service) List(ctx context.Context, by meeting.Actor, q meeting.SeriesQuery, p meeting.Page) (series []*meeting.Series, next string, err error) {
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
		series[i] = s.booking.WithReminders(series[i]).View(by, nil) // the actor's own, or the actor is an admin: rooms do not matter
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
