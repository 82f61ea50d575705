package importing

import (
	"context"
	"errors"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// create books a meeting or series.
func (r *run) create(ctx context.Context, t *task, b *eventBooking) error {
	t.item.Result = Created
	if b.dates.Set == nil {
		m, err := r.series.BookImport(ctx, r.by, b.fields.Fields)
		if err == nil {
			t.item.MeetingID = m.ID
		}
		return err
	}
	made, err := r.series.Book(ctx, r.by, b.fields)
	if err == nil {
		t.item.SeriesID, t.item.Dates = made.Series.ID, made.Skipped
	}
	return err
}

// preview notes what create would do.
func (r *run) preview(ctx context.Context, t *task, b *eventBooking) error {
	t.item.Result = Created
	if conflicts := r.takePlanned(*b.fields.RoomIDs, b.slots); len(conflicts) > 0 && r.options.OnConflict != meeting.OtherRoom {
		return &meeting.ConflictError{Conflicts: conflicts}
	}
	if b.dates.Set == nil {
		inTheWay, err := r.series.PreviewImport(ctx, r.by, b.fields.Fields)
		switch {
		case err != nil || inTheWay == nil:
			return err
		case len(inTheWay.Violations) > 0:
			return &meeting.PolicyError{Violations: inTheWay.Violations}
		default:
			return &meeting.ConflictError{Conflicts: inTheWay.Conflicts}
		}
	}
	would, err := r.series.Preview(ctx, r.by, b.fields)
	if err != nil {
		return err
	}
	if t.item.Dates = would.Skipped; !would.Saved {
		return &meeting.SeriesConflictError{Dates: would.Skipped}
	}
	return nil
}

// update gives a meeting or series a newer version of its event, as a whole: if a part of it is refused, the
// meeting stays what it was.
func (r *run) update(ctx context.Context, t *task, b *eventBooking, known *Known, origin meeting.Origin) error {
	return r.store.Atomically(ctx, func(ctx context.Context) error {
		var changed bool
		var err error
		switch {
		case known.MeetingID != 0 && b.dates.Set == nil:
			changed, err = r.updateMeeting(ctx, known.MeetingID, b.fields.Fields)
		case known.SeriesID != 0 && b.dates.Set != nil:
			changed, err = r.updateSeries(ctx, known.SeriesID, b)
		default: // a single meeting became a series, or the other way round
			return r.replace(ctx, t, b, known)
		}
		if err != nil {
			return err
		}
		if t.item.Result = Unchanged; changed {
			t.item.Result = Updated
		}
		return r.store.SaveVersion(ctx, known.ID, origin.Sequence, origin.Stamp)
	})
}

func (r *run) updateMeeting(ctx context.Context, id meeting.ID, f booking.Fields) (changed bool, err error) {
	before, err := r.meetings.Meeting(ctx, r.by, id)
	if err != nil {
		return false, err
	}
	f.Reminders = nil // they are set here
	after, err := r.meetings.Update(ctx, r.by, id, nil, f)
	return err == nil && after.Version != before.Version, err
}

// updateSeries changes the coming dates of a series, then those that differ.
func (r *run) updateSeries(ctx context.Context, id int64, b *eventBooking) (changed bool, err error) {
	before, err := r.series.Series(ctx, r.by, id)
	if err != nil {
		return false, err
	}
	f := b.fields
	f.Reminders = nil
	after, err := r.series.Update(ctx, r.by, id, nil, f)
	if err != nil {
		return false, err
	}
	changed = after.Series.Version != before.Version
	if len(f.Differing) == 0 {
		return changed, nil
	}
	for page := (meeting.Page{Limit: 500}); ; {
		ms, next, err := r.meetings.Meetings(ctx, r.by, meeting.MeetingQuery{SeriesID: id}, page)
		if err != nil {
			return false, err
		}
		for _, m := range ms {
			own, differs := f.Differing[m.OriginalWall]
			if !differs || m.Status.Over() || !m.Slot.Start.After(r.at) {
				continue
			}
			own.Override = f.Override
			now, err := r.meetings.Update(ctx, r.by, m.ID, nil, own)
			if err != nil {
				return false, err
			}
			changed = changed || now.Version != m.Version
		}
		if page.Cursor = next; next == "" {
			return changed, nil
		}
	}
}

// replace cancels what an event was and books what it is. The item names what there is then.
func (r *run) replace(ctx context.Context, t *task, b *eventBooking, known *Known) error {
	if err := r.callOff(ctx, known); err != nil {
		return err
	}
	if err := r.store.Forget(ctx, known.ID); err != nil {
		return err
	}
	if err := r.create(ctx, t, b); err != nil {
		return err
	}
	t.item.Result = Updated
	if known.MeetingID != 0 {
		t.item.MeetingID = 0
	} else {
		t.item.SeriesID = 0
	}
	return nil
}

// cancel calls off the meeting of an event that was cancelled.
func (r *run) cancel(ctx context.Context, t *task, known *Known, origin meeting.Origin) error {
	t.item.Result = Cancelled
	if r.options.DryRun {
		return nil
	}
	if err := r.callOff(ctx, known); err != nil {
		return err
	}
	return r.store.SaveVersion(ctx, known.ID, origin.Sequence, origin.Stamp)
}

// callOff cancels a meeting or series, unless it is over.
func (r *run) callOff(ctx context.Context, known *Known) error {
	const reason = "cancelled in the imported calendar"
	var err error
	if known.MeetingID != 0 {
		_, err = r.meetings.Cancel(ctx, r.by, known.MeetingID, nil, reason)
	} else {
		_, err = r.series.Cancel(ctx, r.by, known.SeriesID, nil, meeting.ScopeAll, nil, reason)
	}
	if _, over := errors.AsType[*meeting.StateError](err); over {
		return nil
	}
	return err
}
