package moving

import (
	"context"
	"errors"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/series"
)

// update gives a meeting or series that was imported before what the other program says now.
func (r *run) update(ctx context.Context, it *item) error {
	if r.options.DryRun {
		r.counted(it, Updated)
		return nil
	}
	origin := it.transfer.Fields.Import.Origin
	err := r.store.Atomically(ctx, func(ctx context.Context) error { // if a part is refused, it stays what it was
		if err := r.change(ctx, it); err != nil {
			return err
		}
		return r.store.SaveVersion(ctx, it.known.ID, origin.Sequence, it.known.Origin.Stamp)
	})
	_, over := errors.AsType[*meeting.StateError](err)
	switch {
	case over: // the past does not change
		r.counted(it, Unchanged)
		return r.store.SaveVersion(ctx, it.known.ID, origin.Sequence, it.known.Origin.Stamp)
	case err == nil:
		r.counted(it, Updated)
		return nil
	case r.options.OnConflict == Fail && taken(err):
		return &ConflictsError{1}
	case refused(err):
		for _, b := range it.bookings() {
			p := Problem{Result: Failed, Message: "it changed there, but not here: " + fault.Plain(err).Error(), Booking: r.shown(b)}
			r.report.Problems = append(r.report.Problems, p)
			r.report.count("meetings", Failed, 1)
		}
		return nil // it is tried again the next time
	default:
		return err
	}
}

// taken reports whether a room is taken.
func taken(err error) bool {
	_, conflict := errors.AsType[*meeting.ConflictError](err)
	_, dates := errors.AsType[*meeting.SeriesConflictError](err)
	return conflict || dates
}

// refused reports whether an error concerns one booking.
func refused(err error) bool {
	_, policy := errors.AsType[*meeting.PolicyError](err)
	_, invalid := errors.AsType[*meeting.InvalidError](err)
	return taken(err) || policy || invalid || errors.Is(err, meeting.ErrNotFound)
}

const overrideReason = "import: it was booked in the other program"

func (r *run) change(ctx context.Context, it *item) error {
	f := it.transfer.Fields
	f.Reminders = nil // they are set here
	f.Override = &meeting.Override{Reason: overrideReason}
	switch {
	case it.waits(): // a change by an import would approve it
		return r.replace(ctx, it)
	case it.known.MeetingID != 0 && f.Rule == nil:
		return r.changeMeeting(ctx, it.known.MeetingID, f.Fields, it.transfer.Status)
	case it.known.SeriesID != 0 && f.Rule != nil:
		return r.changeSeries(ctx, it, f)
	default: // a single meeting became a series, or the other way round
		return r.replace(ctx, it)
	}
}

// waits reports whether a request is among what is imported.
func (i *item) waits() bool {
	if i.transfer.Status == meeting.Pending {
		return true
	}
	for _, status := range i.transfer.Statuses {
		if status == meeting.Pending {
			return true
		}
	}
	return false
}

func (r *run) changeMeeting(ctx context.Context, id meeting.ID, f booking.Fields, status meeting.Status) error {
	before, err := r.meetings.Meeting(ctx, r.by, id)
	if err != nil {
		return err
	}
	if before.Status == meeting.Pending && status == meeting.Confirmed { // it was approved there
		if _, err := r.approval.Approve(ctx, r.by, id, nil, ""); err != nil {
			return err
		}
	}
	if before.Organizer.UserID != f.Import.Organizer.UserID {
		f.Organizer = &booking.OrganizerRef{UserID: f.Import.Organizer.UserID}
	}
	_, err = r.meetings.Update(ctx, r.by, id, nil, f)
	return err
}

func (r *run) changeSeries(ctx context.Context, it *item, f series.Fields) error {
	if _, err := r.series.Update(ctx, r.by, it.known.SeriesID, nil, f); err != nil {
		return err
	}
	for page := (meeting.Page{Limit: 500}); ; {
		ms, next, err := r.meetings.Meetings(ctx, r.by, meeting.MeetingQuery{SeriesID: it.known.SeriesID}, page)
		if err != nil {
			return err
		}
		for _, m := range ms {
			if m.Status.Over() || !m.Slot.Start.After(r.at) {
				continue
			}
			own, differs := f.Differing[m.OriginalWall]
			status, other := it.transfer.Statuses[m.OriginalWall]
			if !other {
				status = it.transfer.Status
			}
			if m.Status == meeting.Pending && status == meeting.Confirmed {
				if _, err := r.approval.Approve(ctx, r.by, m.ID, nil, ""); err != nil {
					return err
				}
			}
			if !differs {
				continue
			}
			own.Override, own.Reminders = f.Override, nil
			if _, err := r.meetings.Update(ctx, r.by, m.ID, nil, own); err != nil {
				return err
			}
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}

// replace cancels what a booking was and books what it is.
func (r *run) replace(ctx context.Context, it *item) error {
	const reason = "replaced by an import"
	var err error
	if it.known.MeetingID != 0 {
		_, err = r.meetings.Cancel(ctx, r.by, it.known.MeetingID, nil, reason)
	} else {
		_, err = r.series.Cancel(ctx, r.by, it.known.SeriesID, nil, meeting.ScopeAll, nil, reason)
	}
	if _, over := errors.AsType[*meeting.StateError](err); err != nil && !over {
		return err
	}
	if err := r.store.Forget(ctx, it.known.ID); err != nil {
		return err
	}
	results, err := r.series.Transfer(ctx, r.by, []*series.Transfer{it.transfer})
	if err != nil {
		return err
	}
	return results[0].Err
}
