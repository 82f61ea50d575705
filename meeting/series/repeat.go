package series

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
)

// Repeat makes a meeting the first date of a new series, and books the other dates of its rule.
// The fields may also change the meeting itself, except its organizer. It keeps its ID, and
// calendars keep its UID. ifMatch, unless nil, is the expected version of the meeting. A meeting that
// another calendar program goes on changing is a [*meeting.ForeignError].
//
// With [meeting.SkipOnConflict], a meeting that cannot move to a new time or room stays as it is.
func (s *Service) Repeat(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, f Fields) (*booking.SeriesResult, error) {
	return s.booking.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		m, read, err := s.booking.Settled(ctx, id)
		if err == nil {
			err = s.booking.MayKnow(ctx, by, m)
		}
		if err != nil {
			return nil, err
		}
		if err := fault.CheckVersion(ifMatch, read); err != nil {
			return nil, err
		}
		c, err := s.planRepeat(ctx, by, m, f)
		if err == nil && len(c.Create) == 0 {
			err = &meeting.SeriesConflictError{Dates: c.Skipped}
		}
		if err == nil {
			c.MakeUndoable(by, s.booking.Settings().Undo, c.Series.CreatedAt)
		}
		return c, err
	})
}

// PreviewRepeat returns what [Service.Repeat] would save now, and writes nothing.
func (s *Service) PreviewRepeat(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, f Fields) (*booking.SeriesResult, error) {
	f.Preview = true
	m, err := s.booking.Known(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
		return nil, err
	}
	c, err := s.planRepeat(ctx, by, m.At(s.booking.Now()), f)
	_, taken := errors.AsType[*meeting.SeriesConflictError](err)
	if err != nil && !taken {
		return nil, err
	}
	return s.booking.ShowSeriesResult(ctx, by, booking.ResultOf(c, !taken && len(c.Create) > 0))
}

// planRepeat plans the series of a meeting. With a [*meeting.SeriesConflictError] it returns what could be
// saved.
func (s *Service) planRepeat(ctx context.Context, by meeting.Actor, m *meeting.Meeting, f Fields) (*meeting.SeriesChange, error) {
	by, err := booking.Importer(by, f.Import)
	if err != nil {
		return nil, err
	}
	if by, err = s.booking.Acting(ctx, by, m); err != nil {
		return nil, err
	}
	p, err := s.planner(ctx, by, &f)
	if err == nil {
		err = f.CheckDelegate(by)
	}
	if err != nil {
		return nil, err
	}
	if !p.by.MayEdit(m) {
		return nil, meeting.ErrForbidden
	}
	if status := m.EffectiveStatus(p.at); status.Over() {
		return nil, &meeting.StateError{State: status, Action: "repeat"}
	}
	if m.Foreign != "" && !by.Calendar {
		return nil, &meeting.ForeignError{Kind: m.Foreign}
	}
	series, err := repeated(m, &f, p.at)
	if err != nil {
		return nil, err
	}
	known, err := s.booking.LookUp(ctx, by, &f.Fields, m)
	if err != nil {
		return nil, err
	}
	if series.DefaultReminders {
		series.Reminders = p.conf.Reminders
	}
	p.conf = unbounded(f.Import, p.conf)
	terms, err := f.apply(series, known, p.conf.Limits, p.at)
	if err != nil {
		return nil, err
	}
	dates, err := repeatedDates(series, m, terms, p.conf.Reminders)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Import != nil:
		series.Origin, series.Foreign = &f.Import.Origin, f.Import.Foreign()
		err = s.importedDates(ctx, by, series, f, dates)
	case m.Foreign != "":
		series.Origin, err = s.store.Origin(ctx, m.ID, 0)
	}
	if err != nil {
		return nil, err
	}
	p.onConflict = f.OnConflict
	if err := p.choose(ctx, f.Choices, clock.ZoneOrUTC(series.Timezone), dates); err != nil {
		return nil, err
	}
	if err := p.validate(ctx, dates); err != nil {
		return nil, err
	}
	c := &meeting.SeriesChange{Series: series, Before: []*meeting.Meeting{m}, Skipped: skipped(dates)}
	if err := p.repeat(ctx, c, dates); err != nil {
		return nil, err
	}
	return c, p.conflictError(dates)
}

// repeated returns a series whose first date is the meeting. The rule is missing.
func repeated(m *meeting.Meeting, f *Fields, at time.Time) (*meeting.Series, error) {
	if f.Rule == nil && !fault.List(f.Faults).Has("rrule") {
		f.Faults = append(f.Faults, meeting.Fault{Location: "rrule", Code: "required", Message: "is required"})
	}
	if m.SeriesID != 0 {
		return nil, fault.Invalid("rrule", "contradiction", "must not be set: the meeting is a date of series %d", m.SeriesID)
	}
	if f.Organizer != nil {
		f.Faults = append(f.Faults, meeting.Fault{Location: "organizer_email", Code: "contradiction", Message: "must not be set: change the organizer of the meeting or of the series"})
	}
	zone, err := fault.StoredZone(m.Timezone)
	if err != nil {
		return nil, fault.Invalid("timezone", "unknown_timezone", "%v", err)
	}
	start, end := clock.Wall(m.Slot.Start, zone), clock.Wall(m.Slot.End, zone)
	if f.Start == nil && !clock.InstantOrShift(start, zone).Equal(m.Slot.Start) {
		return nil, fault.Invalid("start", "ambiguous_time", "%s", secondPass(start, zone))
	}
	return &meeting.Series{
		FirstMeeting: m.ID, Organizer: m.Organizer, Title: m.Title, Description: m.Description, Timezone: m.Timezone, Start: start, End: end,
		RoomIDs: m.RoomIDs, RoomNames: m.RoomNames, Attendees: m.Attendees, Reminders: m.Reminders, DefaultReminders: m.DefaultReminders,
		Visibility: m.Visibility, TypeID: m.TypeID, Custom: m.Custom, Sequence: m.Revision(), Foreign: m.Foreign, ReplyDomain: m.ReplyDomain, CreatedAt: at,
	}, nil
}

// repeatedDates returns the dates of the series. The first is the meeting. Nobody has responded to
// the others.
func repeatedDates(s *meeting.Series, m *meeting.Meeting, terms meeting.Terms, defaults []meeting.Reminder) ([]*plannedDate, error) {
	var dates []*plannedDate
	for i, d := range s.Dates() {
		t := s.Terms(d, terms.Rooms, terms.Type, defaults)
		if i == 0 {
			if !d.Wall.Equal(s.Start) {
				return nil, fault.Invalid("exdates", "contradiction", "must not exclude the first date, which is the meeting itself")
			}
			moves := !t.Slot.Equal(m.Slot) || !slices.Equal(meeting.RoomIDs(t.Rooms), m.RoomIDs)
			dates = append(dates, &plannedDate{date: d, base: m, terms: t, room: moves})
			continue
		}
		t.Attendees = unanswered(t.Attendees)
		dates = append(dates, &plannedDate{date: d, terms: t, room: true})
	}
	if len(dates) < 2 {
		return nil, fault.Invalid("rrule", "no_dates", "must make at least two dates")
	}
	return dates, nil
}

// unanswered returns the attendees without their responses.
func unanswered(as []meeting.Attendee) []meeting.Attendee {
	out := make([]meeting.Attendee, len(as))
	for i, a := range as {
		out[i] = meeting.Attendee{Person: a.Person, Response: meeting.NeedsAction}
	}
	return out
}

// repeat plans the meetings of the series, and notifies people once.
func (p *planner) repeat(ctx context.Context, c *meeting.SeriesChange, dates []*plannedDate) error {
	first := dates[0]
	m := first.base.Clone()
	if err := p.repeatFirst(ctx, m, first, c.Series); err != nil {
		return err
	}
	c.Update = []*meeting.Meeting{m}
	err := (&revision{planner: p, all: []*meeting.Meeting{first.base}, change: c}).checkLastChange(ctx)
	if err != nil {
		return err
	}
	if c.Create, err = p.book(ctx, dates); err != nil {
		return err
	}
	confirmed, asked := meeting.ConfirmedAndPending(c.Create)
	if m.Request != nil && (first.base.Request == nil || first.base.Request.Number != m.Request.Number) {
		asked = append([]*meeting.Meeting{m}, asked...)
		meeting.JoinRequests(asked)
	}
	c.Series.AskTogether(asked, p.by)
	if m.Status != meeting.Pending {
		confirmed = append([]*meeting.Meeting{m}, confirmed...)
	}
	if len(confirmed) == 0 || len(c.Create) == len(asked) && !looksChanged(m, first.base) {
		return nil // until the other dates are approved, nothing changes for people
	}
	was := first.base.Attendees
	if first.base.Status == meeting.Pending {
		was = nil // they were never invited
	}
	stay, added, _ := meeting.SplitAttendees(was, c.Series.Attendees)
	to := append([]meeting.Person{c.Series.Organizer}, meeting.Persons(stay)...)
	c.Series.Notify(meeting.SeriesNotice{Kind: meeting.NoticeChange, Dates: confirmed, Calendar: confirmed}, to, p.by, p.at)
	c.Series.Notify(meeting.SeriesNotice{Kind: meeting.NoticeInvitation, Dates: confirmed, Calendar: confirmed}, meeting.Persons(added), p.by, p.at)
	return nil
}

// repeatFirst makes the meeting the first date of the series. Those who are not part of the series
// are notified of the single meeting, as they know it.
func (p *planner) repeatFirst(ctx context.Context, m *meeting.Meeting, w *plannedDate, s *meeting.Series) error {
	t := w.terms
	if w.skip != nil {
		t = t.Staying(m)
	}
	var plan meeting.ApprovalPlan
	if w.skip == nil {
		var err error
		if plan, err = p.approvalPlan(ctx, t.Rooms); err != nil {
			return err
		}
	}
	if _, err := m.Revise(t, plan, p.by, p.at); err != nil {
		return err
	}
	m.UpdatedAt = p.at
	m.OriginalStart, m.OriginalWall = w.date.Slot.Start, w.date.Wall
	m.NoteRule(s, p.by, p.at)
	m.Notices = slices.DeleteFunc(m.Notices, func(n meeting.Notice) bool { return n.Kind != meeting.NoticeApprovalRequest && s.Concerns(n.To) })
	for i := range m.Notices {
		m.Notices[i].Single = !m.Notices[i].AsksForDecision()
	}
	return nil
}

// looksChanged reports whether the meeting's time, place or content differs for people.
func looksChanged(m *meeting.Meeting, was *meeting.Meeting) bool {
	return !m.Slot.Equal(was.Slot) || !slices.Equal(m.RoomIDs, was.RoomIDs) || m.Title != was.Title || m.Description != was.Description ||
		m.Status != was.Status || !slices.EqualFunc(m.Attendees, was.Attendees, meeting.Attendee.SameAddress)
}
