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
	"punctual/meeting/recurrence"
)

// Update changes all dates of a series that have not begun, or those from one date on, which
// become a series of their own. Fields that were changed for a single date stay as they are there;
// see [revision]. ifMatch, unless nil, is the expected version of the series. If nothing differs,
// no version is raised.
func (s *Service) Update(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f Fields) (*booking.SeriesResult, error) {
	ifMatch, err := s.booking.SettleSeries(ctx, id, ifMatch)
	if err != nil {
		return nil, err
	}
	var unchanged *meeting.Series
	r, err := s.booking.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		e, err := s.revision(ctx, by, id, ifMatch, &f)
		if err != nil {
			return nil, err
		}
		unchanged = e.before
		if err := e.plan(ctx); err != nil {
			return nil, err
		}
		if err := e.checkLastChange(ctx); err != nil {
			return nil, err
		}
		e.change.MakeUndoable(by, e.conf.Undo, e.at)
		return e.change, nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		return s.booking.ShowSeriesResult(ctx, by, &booking.SeriesResult{Series: unchanged, Saved: true})
	}
	return r, err
}

// PreviewUpdate returns what [Service.Update] would save now, and writes nothing.
func (s *Service) PreviewUpdate(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f Fields) (*booking.SeriesResult, error) {
	f.Preview = true
	e, err := s.revision(ctx, by, id, ifMatch, &f)
	if err != nil {
		return nil, err
	}
	if err = e.plan(ctx); err == nil {
		err = e.checkLastChange(ctx)
	}
	_, taken := errors.AsType[*meeting.SeriesConflictError](err)
	switch {
	case errors.Is(err, booking.ErrUnchanged):
		return s.booking.ShowSeriesResult(ctx, by, &booking.SeriesResult{Series: e.before, Saved: true})
	case err != nil && !taken:
		return nil, err
	}
	return s.booking.ShowSeriesResult(ctx, by, booking.ResultOf(e.change, !taken))
}

// Cancel cancels all dates of a series that have not begun, or those from one date on.
func (s *Service) Cancel(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, scope meeting.Scope, from *clock.Time, reason string) (*booking.SeriesResult, error) {
	if err := booking.CheckComment("reason", &reason); err != nil {
		return nil, err
	}
	ifMatch, err := s.booking.SettleSeries(ctx, id, ifMatch)
	if err != nil {
		return nil, err
	}
	return s.booking.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		f := Fields{Scope: scope, From: from}
		e, err := s.revision(ctx, by, id, ifMatch, &f)
		if err != nil {
			return nil, err
		}
		c, err := e.cancel(reason)
		if err == nil {
			err = e.checkLastChange(ctx)
		}
		if err == nil {
			c.MakeUndoable(by, e.conf.Undo, e.at)
		}
		return c, err
	})
}

// AddDate books a date of the series' rule that was skipped, canceled or excluded.
func (s *Service) AddDate(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, originalStart *clock.Time, onConflict meeting.OnConflict) (*meeting.Meeting, error) {
	return s.AddDateLike(ctx, by, id, ifMatch, originalStart, booking.Fields{}, onConflict)
}

// AddDateLike is [Service.AddDate] with fields of its own, such as another time or other rooms. Fields that are nil are
// those of the series.
func (s *Service) AddDateLike(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, originalStart *clock.Time, own booking.Fields, onConflict meeting.OnConflict) (*meeting.Meeting, error) {
	f := Fields{OnConflict: onConflict}
	var found fault.List
	if f.conflicts(&found); originalStart == nil {
		found.Add("original_start", "required", "is required")
	}
	if len(found) > 0 {
		return nil, &meeting.InvalidError{Faults: found}
	}
	ifMatch, err := s.booking.SettleSeries(ctx, id, ifMatch)
	if err != nil {
		return nil, err
	}
	r, err := s.booking.PlanAndSave(ctx, by, func() (*meeting.SeriesChange, error) {
		e, err := s.revision(ctx, by, id, ifMatch, &f)
		if err != nil {
			return nil, err
		}
		if e.before.Foreign != "" && !by.Calendar {
			return nil, &meeting.ForeignError{Kind: e.before.Foreign}
		}
		c, err := e.add(ctx, *originalStart, own)
		if err == nil {
			c.MakeUndoable(by, e.conf.Undo, e.at)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	r.Meetings[0].Undoable = r.Undoable
	return r.Meetings[0], nil
}

// cancel cancels the dates that the change covers.
func (e *revision) cancel(reason string) (*meeting.SeriesChange, error) {
	series := e.before.Clone()
	series.UpdatedAt = e.at
	dates := e.concerned()
	if len(dates) == 0 {
		state := meeting.Ended
		if !series.CancelledAt.IsZero() {
			state = meeting.Cancelled
		}
		return nil, &meeting.StateError{State: state, Action: "cancel"}
	}
	if e.from.IsZero() {
		series.CancelledAt = e.at
	}
	e.change.Series = series
	for _, seen := range dates {
		m := seen.Clone()
		if err := m.Cancel(reason, e.by, e.at); err != nil {
			return nil, err
		}
		own := slices.Clone(m.Notices)
		m.ThroughSeries(reason)
		m.Notices = e.personal(own)
		e.change.Before, e.change.Update = append(e.change.Before, seen), append(e.change.Update, m)
	}
	to := series.Attendees
	if !slices.ContainsFunc(dates, func(m *meeting.Meeting) bool { return m.Status == meeting.Confirmed }) {
		to = nil // they were never invited
	}
	e.cancelled(series, dates, reason, e.everybody(to))
	return e.change, nil
}

// add books the meeting of a date.
func (e *revision) add(ctx context.Context, start clock.Time, own booking.Fields) (*meeting.SeriesChange, error) {
	if _, err := fault.StoredZone(e.before.Timezone); err != nil {
		return nil, e.booking.UnknownZone(e.before.Timezone)
	}
	series := e.before.Clone()
	series.UpdatedAt, series.CancelledAt = e.at, time.Time{}
	ruled := series.Clone()
	ruled.ExDates = nil
	d, ok, err := ruled.DateNamed(start, e.all)
	if err != nil {
		return nil, &meeting.InvalidError{Faults: []meeting.Fault{{Location: "original_start", Code: "invalid_time", Message: err.Error()}}}
	}
	if !ok {
		return nil, &meeting.InvalidError{Faults: []meeting.Fault{{Location: "original_start", Code: "unknown_date", Message: "must be a date of this series"}}}
	}
	for _, m := range e.all {
		if !m.OriginalStart.IsZero() && m.OriginalWall.Equal(d.Wall) && !m.Gone() {
			return nil, &meeting.StateError{State: m.EffectiveStatus(e.at), Action: "add the date"}
		}
	}
	series.ExDates = slices.DeleteFunc(series.ExDates, func(x recurrence.WallTime) bool { return x.Matches(d.Wall) })
	inRooms := series.RoomIDs
	if own.RoomIDs != nil {
		inRooms = *own.RoomIDs
	}
	rooms, err := e.booking.RoomsByID(ctx, inRooms)
	if err == nil {
		err = e.booking.AddBlackouts(ctx, rooms, e.at)
	}
	if err != nil {
		return nil, err
	}
	if len(rooms) < len(inRooms) {
		return nil, &meeting.InvalidError{Faults: []meeting.Fault{{Location: "original_start", Code: "unknown_room", Message: "a room of the series no longer exists"}}}
	}
	kind, err := e.booking.LookUpType(ctx, &booking.Fields{}, series.Sample())
	if err != nil {
		return nil, err
	}
	w := &plannedDate{date: d, terms: series.Terms(d, rooms, kind, e.conf.Reminders), room: true}
	if err := e.differ(ctx, series, w, own); err != nil {
		return nil, err
	}
	e.dates = []*plannedDate{w}
	if err := e.validate(ctx, e.dates); err != nil {
		return nil, err
	}
	if w.skip != nil {
		return nil, &meeting.SeriesConflictError{Dates: skipped(e.dates)}
	}
	e.change.Series = series
	if e.change.Create, err = e.book(ctx, e.dates); err != nil {
		return nil, err
	}
	if m := e.change.Create[0]; m.Status == meeting.Confirmed {
		series.Notify(meeting.SeriesNotice{
			Kind: meeting.NoticeInvitation, Dates: e.change.Create, Calendar: append(e.shown(), m), Each: true,
			More: func(f *meeting.Facts) { f.Series.Part = meeting.PartAdded },
		}, meeting.InvitationRecipients(series.Organizer, series.Attendees), e.by, e.at)
	}
	return e.change, nil
}

// differ gives a new date what is its own.
func (e *revision) differ(ctx context.Context, series *meeting.Series, w *plannedDate, own booking.Fields) error {
	base := series.Sample()
	base.Slot = w.date.Slot
	own.RoomIDs, own.Reminders = nil, nil
	known, err := e.booking.LookUp(ctx, e.by, &own, base)
	if err != nil {
		return err
	}
	t, err := own.Terms(base, known)
	if err != nil {
		return err
	}
	w.terms.Title, w.terms.Description, w.terms.Slot, w.terms.Attendees, w.terms.Visibility = t.Title, t.Description, t.Slot, t.Attendees, t.Visibility
	return nil
}
