package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// A Transfer is a meeting, or a series with its dates, that was booked in another program and comes
// over with it. The rules of rooms do not apply to it, and nobody is notified.
type Transfer struct {
	Fields Fields // without a Rule: a single meeting. Import is set

	// Status is [meeting.Confirmed], [meeting.Pending], or [meeting.Rejected] for a meeting that keeps what was booked but takes
	// no room. A request that nobody decided before its start is rejected. Empty: confirmed.
	Status   meeting.Status
	Statuses map[time.Time]meeting.Status // of dates with another status, by what clocks show in the zone of the series
	Reason   string                       // of a rejection
}

// Transferred is what became of a [Transfer].
type Transferred struct {
	MeetingID meeting.ID // 0: none, or a series
	SeriesID  int64      // 0: none

	// Err says why nothing was saved; nil: it was. It is a [*meeting.InvalidError], [meeting.ErrOriginTaken], or
	// a [*meeting.SeriesConflictError], which names the dates whose rooms are taken, also of a single meeting.
	Err error
}

// Transfer saves meetings of another program, with few statements for all together. If one of them
// cannot be saved, the others are. It fails with [meeting.ErrForbidden] unless the actor is an admin or the
// system.
func (s *Service) Transfer(ctx context.Context, by meeting.Actor, ts []*Transfer) ([]Transferred, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	by.Quiet = true
	results := make([]Transferred, len(ts))
	l, err := s.transferLookUp(ctx, by, ts)
	if err != nil {
		return nil, err
	}
	var plans []*meeting.SeriesChange
	var places []int // of plans in ts
	for i, t := range ts {
		c, err := l.plan(t)
		if err != nil {
			if _, invalid := errors.AsType[*meeting.InvalidError](err); !invalid {
				return nil, err
			}
			results[i].Err = err
			continue
		}
		plans, places = append(plans, c), append(places, i)
	}
	free, err := s.transferConflicts(ctx, plans, func(i int, err error) { results[places[i]].Err = err })
	if err != nil {
		return nil, err
	}
	all := make([]*meeting.SeriesChange, len(free))
	for n, i := range free {
		all[n] = plans[i]
	}
	err = s.store.SaveTransfers(ctx, all)
	if transferRefused(err) { // by one of them, or by another booking at the same time: each alone
		for _, i := range free {
			if err := s.transferAlone(ctx, plans[i], &results[places[i]]); err != nil {
				return nil, err
			}
		}
		return results, nil
	}
	if err != nil {
		return nil, err
	}
	for _, i := range free {
		results[places[i]].saved(plans[i])
	}
	return results, nil
}

func (r *Transferred) saved(c *meeting.SeriesChange) {
	if c.Series != nil {
		r.SeriesID = c.Series.ID
	} else {
		r.MeetingID = c.Create[0].ID
	}
}

// transferRefused reports whether an error concerns single transfers.
func transferRefused(err error) bool {
	_, taken := errors.AsType[*meeting.ConflictError](err)
	_, invalid := errors.AsType[*meeting.InvalidError](err)
	return taken || invalid || errors.Is(err, meeting.ErrOriginTaken)
}

func (s *Service) transferAlone(ctx context.Context, c *meeting.SeriesChange, r *Transferred) error {
	free, err := s.transferConflicts(ctx, []*meeting.SeriesChange{c}, func(_ int, err error) { r.Err = err })
	if err != nil || len(free) == 0 {
		return err
	}
	err = s.store.SaveTransfers(ctx, []*meeting.SeriesChange{c})
	switch conflict, taken := errors.AsType[*meeting.ConflictError](err); {
	case taken && len(conflict.Conflicts) == 0: // its own dates overlap, or another booking was faster
		r.Err = &meeting.SeriesConflictError{Dates: []meeting.Skipped{{OriginalStart: c.Create[0].Slot.Start, Reason: meeting.ReasonTaken}}}
	case taken:
		r.Err = &meeting.SeriesConflictError{Dates: []meeting.Skipped{{OriginalStart: c.Create[0].Slot.Start, Reason: meeting.ReasonTaken, Conflicts: conflict.Conflicts}}}
	case transferRefused(err):
		r.Err = err
	case err != nil:
		return err
	default:
		r.saved(c)
	}
	return nil
}

// transferConflicts returns which plans find their rooms free, and calls taken with the others.
func (s *Service) transferConflicts(ctx context.Context, plans []*meeting.SeriesChange, taken func(i int, err error)) (free []int, err error) {
	var wanted []meeting.Occupancy
	for _, c := range plans {
		for _, m := range c.Create {
			wanted = append(wanted, m.Occupied...)
		}
	}
	found := make([][]meeting.Occupancy, len(wanted))
	if len(wanted) > 0 {
		if found, err = s.store.Taken(ctx, wanted, nil); err != nil {
			return nil, err
		}
	}
	if lapsed := lapsedOf(found, s.booking.Now()); len(lapsed) > 0 {
		if err := s.booking.Settle(ctx, lapsed); err != nil {
			return nil, err
		}
	}
	n := 0
	for i, c := range plans {
		var dates []meeting.Skipped
		for _, m := range c.Create {
			var conflicts []meeting.Occupancy
			for range m.Occupied {
				conflicts = meeting.Union(conflicts, meeting.Unlapsed(found[n], s.booking.Now()))
				n++
			}
			if len(conflicts) > 0 {
				start := m.OriginalStart
				if start.IsZero() {
					start = m.Slot.Start
				}
				dates = append(dates, meeting.Skipped{OriginalStart: start, Reason: meeting.ReasonTaken, Conflicts: conflicts})
			}
		}
		if len(dates) > 0 {
			taken(i, &meeting.SeriesConflictError{Dates: dates})
		} else {
			free = append(free, i)
		}
	}
	return free, nil
}

// Taken returns for each wanted occupancy what is in its way now.
func (s *Service) Taken(ctx context.Context, wanted []meeting.Occupancy) ([][]meeting.Occupancy, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	found, err := s.store.Taken(ctx, wanted, nil)
	for i := range found {
		found[i] = meeting.Unlapsed(found[i], s.booking.Now())
	}
	return found, err
}

func lapsedOf(found [][]meeting.Occupancy, at time.Time) (lapsed []meeting.Occupancy) {
	for _, os := range found {
		for _, o := range os {
			if !o.Lapses.IsZero() && !at.Before(o.Lapses) {
				lapsed = append(lapsed, o)
			}
		}
	}
	return lapsed
}

// transferLookUp holds what transfers refer to.
type transferLookUp struct {
	by    meeting.Actor
	at    time.Time
	conf  meeting.Settings
	known booking.Known
	types []*meeting.Type
}

func (s *Service) transferLookUp(ctx context.Context, by meeting.Actor, ts []*Transfer) (*transferLookUp, error) {
	l := &transferLookUp{by: by, at: s.booking.Now(), conf: unbounded(&meeting.Import{}, s.booking.Settings())}
	l.conf.Limits.MaxAdvance = 0 // it is booked
	l.known = booking.Known{Timezone: l.conf.Timezone, Reminders: l.conf.Reminders}
	var rooms []int64
	for _, t := range ts {
		rooms = append(rooms, roomsOf(t.Fields.Fields)...)
		for _, d := range t.Fields.Differing {
			rooms = append(rooms, roomsOf(d)...)
		}
	}
	slices.Sort(rooms)
	var err error
	if l.known.Rooms, err = s.booking.RoomsByID(ctx, slices.Compact(rooms)); err != nil {
		return nil, fmt.Errorf("look up rooms: %w", err)
	}
	if l.types, err = s.store.Types(ctx); err != nil {
		return nil, fmt.Errorf("look up types: %w", err)
	}
	l.known.Custom, err = s.booking.KnownCustomFields(ctx)
	return l, err
}

func roomsOf(f booking.Fields) []int64 {
	if f.RoomIDs == nil {
		return nil
	}
	return *f.RoomIDs
}

// plan returns the meetings of a transfer: a series, or without one a single meeting.
func (l *transferLookUp) plan(t *Transfer) (*meeting.SeriesChange, error) {
	f := t.Fields
	if f.Rule == nil {
		terms, err := f.Fields.Terms(nil, l.knownFor(&f.Fields))
		if err != nil {
			return nil, err
		}
		return &meeting.SeriesChange{Create: []*meeting.Meeting{l.book(terms, t, t.Status)}}, nil
	}
	series := &meeting.Series{Organizer: f.Import.Organizer, CreatedAt: l.at}
	terms, err := f.apply(series, l.knownFor(&f.Fields), l.conf.Limits, l.at)
	if err != nil {
		return nil, err
	}
	series.Organizer, series.ReplyDomain, series.Origin = f.Import.Organizer, l.conf.ReplyDomain, &f.Import.Origin
	c := &meeting.SeriesChange{Series: series}
	for _, d := range series.Dates() {
		own := series.Terms(d, terms.Rooms, terms.Type, l.conf.Reminders)
		if differs, ok := f.Differing[d.Wall]; ok {
			base := series.Sample()
			base.Slot = d.Slot
			if own, err = differs.Terms(base, l.knownFor(&differs)); err != nil {
				return nil, err
			}
		}
		own.Organizer = series.Organizer
		imported := *f.Import
		imported.Origin = meeting.Origin{Kind: f.Import.Origin.Kind} // the series has it
		own.Import = &imported
		status, other := t.Statuses[d.Wall]
		if !other {
			status = t.Status
		}
		m := l.book(own, t, status)
		m.OriginalStart, m.OriginalWall = d.Slot.Start, d.Wall
		c.Create = append(c.Create, m)
	}
	return c, nil
}

func (l *transferLookUp) knownFor(f *booking.Fields) booking.Known {
	k := l.known
	if f.Import != nil {
		k.People = f.Import.People
	}
	if f.TypeID != nil {
		if i := slices.IndexFunc(l.types, func(t *meeting.Type) bool { return t.ID == *f.TypeID }); i >= 0 {
			k.Type = l.types[i]
		}
	}
	return k
}

// book makes a meeting of any status.
func (l *transferLookUp) book(t meeting.Terms, of *Transfer, status meeting.Status) *meeting.Meeting {
	m := meeting.BookTransfer(t, status, of.Reason, l.conf.RemindBefore, l.by, l.at)
	m.ReplyDomain = l.conf.ReplyDomain
	return m
}
