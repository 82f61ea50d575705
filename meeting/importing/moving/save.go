package moving

import (
	"context"
	"errors"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/importing"
	"punctual/meeting/series"
)

// save imports a group of items in one transaction, as far as they are new.
func (r *run) save(ctx context.Context, group []*item) error {
	if len(group) == 0 {
		return nil
	}
	uids := make([]string, len(group))
	for i, it := range group {
		uids[i] = it.uid
	}
	known, err := r.known(ctx, uids)
	if err != nil {
		return err
	}
	var fresh []*item
	for _, it := range group {
		if it.series != nil {
			it.transfer = r.seriesTransfer(it.series, it.uid)
		} else {
			it.transfer = r.transfer(it.booking, it.uid)
		}
		it.known = known[it.uid]
		switch {
		case it.known == nil:
			fresh = append(fresh, it)
		case it.known.Origin.Sequence == it.transfer.Fields.Import.Origin.Sequence:
			r.counted(it, Unchanged)
		default:
			if err := r.update(ctx, it); err != nil {
				return err
			}
		}
		if err := r.steps.Next(ctx); err != nil {
			return err
		}
	}
	if err := r.create(ctx, fresh); err != nil {
		return err
	}
	for _, it := range group {
		if err := r.progress(ctx, it.size()); err != nil {
			return err
		}
	}
	return nil
}

// progress counts n bookings, and pauses if there are more.
func (r *run) progress(ctx context.Context, n int) error {
	r.done += n
	if r.options.Progress != nil {
		r.options.Progress(min(r.done, r.total), r.total)
	}
	if r.done >= r.total {
		return ctx.Err()
	}
	return r.steps.Next(ctx)
}

func (r *run) known(ctx context.Context, uids []string) (map[string]*importing.Known, error) {
	found, err := r.store.KnownObjects(ctx, uids)
	known := map[string]*importing.Known{}
	for _, k := range found {
		if k.Origin.Organizer == "" && k.Origin.Kind == meeting.OriginImport {
			known[k.Origin.UID] = k
		}
	}
	return known, err
}

func (r *run) counted(it *item, result Result) {
	if it.series != nil {
		r.report.count("series", result, 1)
	}
	r.report.count("meetings", result, it.size())
}

// create saves new items. Dates whose rooms are taken by meetings that were here before are conflicts.
func (r *run) create(ctx context.Context, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	if r.options.DryRun {
		return r.tryOut(ctx, items)
	}
	ts := make([]*series.Transfer, len(items))
	for i, it := range items {
		ts[i] = it.transfer
	}
	results, err := r.series.Transfer(ctx, r.by, ts)
	if err != nil {
		return err
	}
	var again []*item
	var lost []*Conflict
	for i, it := range items {
		err := results[i].Err
		taken, conflict := errors.AsType[*meeting.SeriesConflictError](err)
		switch {
		case err == nil:
			r.counted(it, Created)
		case errors.Is(err, meeting.ErrOriginTaken):
			r.counted(it, Unchanged)
		case conflict:
			rest, gone := it.without(taken.Dates)
			lost = append(lost, gone...)
			if rest != nil {
				rest.transfer = r.seriesTransfer(rest.series, rest.uid)
				again = append(again, rest)
			}
		case it.series != nil:
			r.note(it.series.series.Ref, "%q becomes %d single meetings: %v", it.series.series.Title, it.size(), fault.Plain(err))
			for _, b := range it.bookings() {
				single := &item{uid: b.UID, booking: b, transfer: r.transfer(b, b.UID)}
				again = append(again, single)
			}
		default:
			r.failed(it.booking, "%v", fault.Plain(err))
		}
	}
	if r.options.OnConflict == Fail && len(lost) > 0 {
		return &ConflictsError{len(lost)}
	}
	if err := r.create(ctx, again); err != nil {
		return err
	}
	return r.lose(ctx, lost)
}

// tryOut counts new items, and reports those whose rooms are taken by meetings that were here before.
func (r *run) tryOut(ctx context.Context, items []*item) error {
	var wanted []meeting.Occupancy
	var of []Conflict // of each wanted occupancy
	for _, it := range items {
		for _, b := range it.bookings() {
			if b.Pending && !b.Slot.Start.After(r.at) {
				continue // holds no room
			}
			for _, key := range b.Rooms {
				if room := r.rooms[key]; room.ID != 0 { // else it is new
					slot := b.Slot.Widen(room.Policy.BufferBefore, room.Policy.BufferAfter)
					wanted, of = append(wanted, meeting.Occupancy{RoomID: room.ID, Slot: slot}), append(of, Conflict{Lost: b, Room: key})
				}
			}
		}
	}
	held, err := r.series.Taken(ctx, wanted)
	if err != nil {
		return err
	}
	taken := map[*Booking]*Conflict{}
	for i, by := range held {
		if c := of[i]; len(by) > 0 && taken[c.Lost] == nil {
			c.Slot = by[0].Slot
			taken[c.Lost] = &c
		}
	}
	var lost []*Conflict
	for _, it := range items {
		n := 0
		for _, b := range it.bookings() {
			if c := taken[b]; c != nil {
				lost, n = append(lost, c), n+1
			}
		}
		r.report.count("meetings", Created, it.size()-n)
		if it.series != nil && n < it.size() {
			r.report.count("series", Created, 1)
		}
	}
	if r.options.OnConflict == Fail && len(lost) > 0 {
		return &ConflictsError{len(lost)}
	}
	return r.lose(ctx, lost)
}
