package series

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// revision is a change of a series while it is planned: the state before and after.
//
// A date follows its series field by field: a field that equals the series' old value gets its new
// value, others stay. Start and end are one field, and so are the rooms. Each attendee is a field:
// an attendee added to the series is added to every date, a removed one is removed from every date.
// Attendees who were added to or removed from a single date stay so.
type revision struct {
	*planner
	fields Fields
	before *meeting.Series
	all    []*meeting.Meeting // of the series
	from   time.Time          // local time of the first date that it covers; zero: all
	fromAt time.Time          // start of that date
	change *meeting.SeriesChange
	dates  []*plannedDate
	types  map[int64]*meeting.Type // that the dates have or get

	gone, kept []*meeting.Meeting // removed dates; remaining dates, changed or not
	asked      []*meeting.Meeting // now pending, or with a pending move
	moved      bool               // dates of the rule start at other times
	visible    bool               // time, place or content changes for people
}

func (s *Service) revision(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f *Fields) (*revision, error) {
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	if by, err = s.booking.Acting(ctx, by, series.Sample()); err != nil {
		return nil, err
	}
	if !by.MayEdit(series.Sample()) && !f.namesOnlyOrganizer() {
		return nil, s.booking.Refuse(ctx, by, series)
	}
	if err := cmp.Or(f.mayChange(series, by), f.CheckDelegate(by)); err != nil {
		return nil, err
	}
	if err := fault.CheckVersion(ifMatch, series.Version); err != nil {
		return nil, err
	}
	zone, err := fault.StoredZone(series.Timezone)
	if err != nil && f.From != nil {
		return nil, s.booking.UnknownZone(series.Timezone)
	}
	from, err := f.scope(zone)
	if err != nil {
		return nil, err
	}
	p, err := s.planner(ctx, by, f)
	if err != nil {
		return nil, err
	}
	e := &revision{planner: p, fields: *f, before: series, fromAt: from, change: &meeting.SeriesChange{}}
	if series.DefaultReminders {
		series.Reminders = e.conf.Reminders
	}
	if e.all, err = s.store.SeriesMeetings(ctx, id); err != nil {
		return nil, err
	}
	series.NameWalls(e.all)
	for i, m := range e.all {
		if f.Preview { // otherwise they are settled
			e.all[i] = m.At(e.at)
		}
	}
	if !from.IsZero() {
		d, ok := series.DateAt(from, e.all)
		if !ok {
			return nil, fault.Invalid("from", "unknown_date", "must be the original_start of a date of this series")
		}
		e.from = d.Wall
	}
	if slices.ContainsFunc(e.concerned(), func(m *meeting.Meeting) bool { return m.Visibility.HidesFrom(by) }) {
		return nil, meeting.ErrForbidden
	}
	return e, nil
}

// concerned returns the meetings that the change may touch: those in its scope that have neither
// begun nor ended in any way.
func (e *revision) concerned() []*meeting.Meeting {
	var ms []*meeting.Meeting
	for _, m := range e.all {
		if status := m.EffectiveStatus(e.at); (status == meeting.Pending || status == meeting.Confirmed) && m.Slot.Start.After(e.at) && !e.inFront(m) {
			ms = append(ms, m)
		}
	}
	return ms
}

// inFront reports whether the meeting is earlier than the dates that the change covers.
func (e *revision) inFront(m *meeting.Meeting) bool {
	return m.Wall(clock.ZoneOrUTC(e.before.Timezone)).Before(e.from)
}

// retimes reports whether the change is about the times of the dates. Only then do dates follow
// rules of the zone that changed after they were booked.
func (e *revision) retimes() bool {
	f := e.fields
	return f.Start != nil || f.End != nil || f.Timezone != nil || f.Rule != nil || f.RDates != nil
}

// plan computes the effects of the fields. With a [*meeting.SeriesConflictError] the change holds what
// could be saved.
func (e *revision) plan(ctx context.Context) error {
	if !e.before.CancelledAt.IsZero() { // until a date is added again
		return &meeting.StateError{State: meeting.Cancelled, Action: "change"}
	}
	first, target, err := e.parts()
	if err != nil {
		return err
	}
	was := target.Clone() // the target before the change
	known, err := e.booking.LookUp(ctx, e.by, &e.fields.Fields, target.Sample())
	if err != nil {
		return err
	}
	if err := e.fields.AuthorizeOrganizer(e.by, target.Organizer, known, known.Rooms); err != nil {
		return err
	}
	known.Starts = map[int64]time.Time{}
	for _, m := range e.all {
		known.Starts[m.OriginalStart.UnixMicro()] = m.OriginalWall
	}
	terms, err := e.fields.apply(target, known, unbounded(e.fields.Import, e.conf).Limits, e.at)
	if err != nil {
		return err
	}
	e.onConflict = e.fields.OnConflict
	e.change.Series = first
	if target != first {
		e.change.Split = target
	}
	if err := e.follow(ctx, was, target, terms); err != nil {
		return err
	}
	if len(e.dates)+len(e.gone) == 0 {
		return &meeting.StateError{State: meeting.Ended, Action: "change"}
	}
	if err := e.choose(ctx, e.fields.Choices, clock.ZoneOrUTC(target.Timezone), e.dates); err != nil {
		return err
	}
	if err := e.validate(ctx, e.dates); err != nil {
		return err
	}
	e.change.Skipped = skipped(e.dates)
	if err := e.settle(ctx, target); err != nil {
		return err
	}
	if err := e.conflictError(e.dates); err != nil {
		return err
	}
	if len(e.change.Create) == 0 && !e.touched(was, target) {
		return booking.ErrUnchanged
	}
	e.notifyChange(was, first, target)
	return nil
}

// parts returns the parts of the series that stay and that change; both are the same if all of it
// changes.
func (e *revision) parts() (first, target *meeting.Series, err error) {
	all := e.before.Clone()
	all.UpdatedAt = e.at
	if e.from.IsZero() {
		return all, all, nil
	}
	dates := e.before.Dates()
	i := slices.IndexFunc(dates, func(d recurrence.Date) bool { // dates that have begun stay
		return !d.Wall.Before(e.from) && !e.begins(d).Before(e.at)
	})
	if i < 0 {
		return nil, nil, &meeting.StateError{State: meeting.Ended, Action: "change"}
	}
	e.from, e.fromAt = dates[i].Wall, e.begins(dates[i])
	first, second := e.before.Split(dates[i], e.at)
	if second == nil {
		return all, all, nil
	}
	return first, second, nil
}

// begins returns when a date of the series begins: as booked, or else by the rule.
func (e *revision) begins(d recurrence.Date) time.Time {
	for _, m := range e.all {
		if m.OriginalWall.Equal(d.Wall) && !m.Gone() {
			return m.OriginalStart
		}
	}
	return d.Slot.Start
}

// settle applies the plan to the meetings: it changes those that can change, leaves those that
// cannot, cancels those that are removed, and books new ones.
func (e *revision) settle(ctx context.Context, target *meeting.Series) error {
	for _, w := range e.dates {
		if w.base == nil {
			continue
		}
		e.change.Before = append(e.change.Before, w.base)
		if err := e.settleOne(ctx, w, target); err != nil {
			return err
		}
	}
	for _, m := range e.gone {
		dropped := m.Clone()
		if err := dropped.Cancel("", e.by, e.at); err != nil {
			return err
		}
		own := slices.Clone(dropped.Notices)
		dropped.ThroughSeries("")
		dropped.Notices = e.personal(own)
		for i := range dropped.Notices {
			dropped.Notices[i].Facts.SetOccurrence(dropped) // while it is still a date of the series
		}
		dropped.OriginalStart, dropped.OriginalWall = time.Time{}, time.Time{}
		e.change.Update = append(e.change.Update, dropped)
	}
	made, err := e.book(ctx, e.dates)
	e.change.Create = made
	return err
}

func (e *revision) settleOne(ctx context.Context, w *plannedDate, target *meeting.Series) error {
	m := w.base.Clone()
	t := w.terms
	if w.skip != nil {
		t = t.Staying(m)
	}
	var plan meeting.ApprovalPlan
	if w.skip == nil {
		var err error
		if plan, err = e.approvalPlan(ctx, t.Rooms); err != nil {
			return err
		}
	}
	changed, err := m.Revise(t, plan, e.by, e.at)
	if err != nil {
		return err
	}
	own := slices.Clone(m.Notices)
	m.ThroughSeries("")
	m.Notices = e.personal(own)
	if m.Request != nil && (w.base.Request == nil || w.base.Request.Number != m.Request.Number) {
		e.asked = append(e.asked, m)
		if c := m.Request.Change; c != nil {
			with := *c
			with.Series = true
			m.Request.Change = &with
		}
	}
	moved := !m.OriginalStart.IsZero() && e.moves(m, w.date)
	if moved {
		m.OriginalStart, m.OriginalWall = w.date.Slot.Start, w.date.Wall
		e.visible, e.moved = true, true // calendars identify the date by it, even if the meeting itself waits at its old time
	}
	if changed || moved || target.ID == 0 {
		m.SeriesID = target.ID
		e.change.Update = append(e.change.Update, m)
	}
	if !m.Slot.Equal(w.base.Slot) || !slices.Equal(m.RoomIDs, w.base.RoomIDs) || m.Title != w.base.Title || m.Description != w.base.Description || m.Status != w.base.Status {
		e.visible = true
	}
	e.kept = append(e.kept, m)
	return nil
}

// moves reports whether a date becomes another date of the rule, or begins at another time. Changed
// rules of the zone alone do not count.
func (e *revision) moves(m *meeting.Meeting, to recurrence.Date) bool {
	return !to.Slot.Start.Equal(m.OriginalStart) && (e.retimes() || !to.Wall.Equal(m.OriginalWall))
}

// touched reports whether the series itself or a meeting changes.
func (e *revision) touched(was, target *meeting.Series) bool {
	if len(e.change.Update) > 0 && target.ID != 0 {
		return true
	}
	if target.ID == 0 {
		for _, m := range e.change.Update {
			if len(m.History) > 0 {
				return true
			}
		}
	}
	same := was.Title == target.Title && was.Description == target.Description && was.Timezone == target.Timezone &&
		was.Start.Equal(target.Start) && was.End.Equal(target.End) && was.Rule.String() == target.Rule.String() &&
		slices.Equal(was.ExDates, target.ExDates) && slices.Equal(was.RDates, target.RDates) && slices.Equal(was.RoomIDs, target.RoomIDs) &&
		slices.Equal(was.Attendees, target.Attendees) && was.Visibility == target.Visibility && was.Organizer.UserID == target.Organizer.UserID && was.TypeID == target.TypeID && meeting.SameValues(was.Custom, target.Custom) &&
		was.DefaultReminders == target.DefaultReminders && meeting.SameReminders(was.Reminders, target.Reminders)
	return !same
}

// lookUpTypes finds the types of the series and of its dates.
func (e *revision) lookUpTypes(ctx context.Context, target *meeting.Series) error {
	if target.TypeID == 0 && !slices.ContainsFunc(e.all, func(m *meeting.Meeting) bool { return m.TypeID != 0 }) {
		return nil
	}
	types, err := e.store.Types(ctx)
	if err != nil {
		return fmt.Errorf("look up types: %w", err)
	}
	e.types = map[int64]*meeting.Type{}
	for _, t := range types {
		e.types[t.ID] = t
	}
	return nil
}
