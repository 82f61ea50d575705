package scheduling

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// undecided are the places with a room whose answer is not known yet.
func undecided(places []*place) []*place {
	return slices.DeleteFunc(slices.Clone(places), func(p *place) bool { return p.status != "" || p.room == nil })
}

// tryRooms tries the room of a place and, if it stands for any room of a site, others until one can be booked.
func (e *event) tryRooms(ctx context.Context, f series.Fields, p *place, places []*place, dates *itip.Dates, state *series.State, same bool) error {
	err := e.tryRoom(ctx, f, p, dates, state, same)
	if err != nil || p.siteID == 0 || p.status != Declined {
		return err
	}
	need := finding.Need{Persons: len(*f.Attendees) + 1, SiteID: p.siteID, Features: p.wants}
	others, err := e.suggest(ctx, need, dates.Slot, dates.Slot, 10)
	if err != nil {
		return err
	}
	kept := *p
	for _, other := range others {
		if slices.ContainsFunc(places, func(o *place) bool { return o.roomID == other.Room.ID }) {
			continue
		}
		*p = place{seat: seat{p.address, other.Room.ID, p.siteID, p.wants}, room: other.Room}
		e.roomNames[p.roomID] = p.room.Name
		if err := e.tryRoom(ctx, f, p, dates, state, same); err != nil || p.status != Declined {
			return err
		}
	}
	*p = kept
	return nil
}

// tryRoom notes the dates on which a room cannot be booked. It declines the room if there are too many. state is
// the series that is booked, nil if there is none, and same says that it keeps its times.
func (e *event) tryRoom(ctx context.Context, f series.Fields, p *place, dates *itip.Dates, state *series.State, same bool) error {
	f.RoomIDs = &[]int64{p.roomID}
	moves := state != nil && !same
	var would *booking.SeriesResult
	var err error
	if moves {
		would, err = e.Series.PreviewUpdate(ctx, e.by, state.ID, nil, f)
	} else if e.first != 0 {
		would, err = e.Series.PreviewRepeat(ctx, e.by, e.first, nil, f)
	} else {
		would, err = e.Series.Preview(ctx, e.by, f)
	}
	if err != nil {
		return e.seriesRefused(err, []*place{p})
	}
	of := len(dates.Set.Dates(recurrence.AllDates))
	switch {
	case moves: // dates that differ from the rule are tried at their own times
		would.Skipped = slices.DeleteFunc(would.Skipped, func(s meeting.Skipped) bool {
			return slices.ContainsFunc(dates.Differs, func(x itip.Differing) bool { return dates.Set.Date(x.Wall).Slot.Start.Equal(s.OriginalStart) })
		})
	case state != nil && len(would.Skipped) > 0:
		if would.Skipped, err = e.takenByOthers(ctx, would.Skipped, state.ID, p.roomID); err != nil {
			return err
		}
	}
	if e.conf.TooMany(len(would.Skipped), of) {
		return e.seriesRefused(&meeting.SeriesConflictError{Dates: would.Skipped}, []*place{p})
	}
	for _, s := range would.Skipped {
		e.refuse(s.OriginalStart, p.roomID, e.skippedLines(s)...)
	}
	return nil
}

// takenByOthers leaves out dates for which the series has the room already.
func (e *event) takenByOthers(ctx context.Context, dates []meeting.Skipped, id, roomID int64) ([]meeting.Skipped, error) {
	booked, err := e.coming(ctx, id)
	own := func(taken meeting.Occupancy) bool {
		return slices.ContainsFunc(booked, func(m *meeting.Meeting) bool {
			return slices.Contains(m.RoomIDs, roomID) && m.Slot.Overlaps(taken.Slot)
		})
	}
	return slices.DeleteFunc(dates, func(s meeting.Skipped) bool {
		return len(s.Violations) == 0 && len(s.Conflicts) > 0 && !slices.ContainsFunc(s.Conflicts, func(o meeting.Occupancy) bool { return !own(o) })
	}), err
}

// wanted are the rooms in which a date is to be booked: without those that were taken out of it, or that
// cannot be booked then.
func (e *event) wanted(start time.Time, places []*place) []int64 {
	key := e.dateKey(start)
	var rooms []int64
	for _, p := range places {
		if e.invited(key, p.address) && e.refusal(key, p.roomID) == nil {
			rooms = append(rooms, p.roomID)
		}
	}
	return rooms
}

// seriesRooms are the rooms of a series: those that are invited to all of it, or else to any date.
func (e *event) seriesRooms(places []*place) []int64 {
	var all, some []int64
	for _, p := range places {
		if some = append(some, p.roomID); e.invited("", p.address) {
			all = append(all, p.roomID)
		}
	}
	if len(all) == 0 {
		return some
	}
	return all
}

// narrow notes which rooms an error of a date is about, and returns the others. It returns errors that say
// nothing about the date.
func (e *event) narrow(err error, start time.Time, rooms []int64) ([]int64, error) {
	var s meeting.Skipped
	if conflict, ok := errors.AsType[*meeting.ConflictError](err); ok {
		s.Conflicts = conflict.Conflicts
	} else if policy, ok := errors.AsType[*meeting.PolicyError](err); ok {
		s.Violations = policy.Violations
	} else if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok && len(taken.Dates) > 0 {
		s.Conflicts, s.Violations = taken.Dates[0].Conflicts, taken.Dates[0].Violations
	} else if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		s.Violations = invalid.Faults
	} else if _, over := errors.AsType[*meeting.StateError](err); !over {
		return nil, err
	}
	named := func(id int64) meeting.Skipped {
		return meeting.Skipped{
			Conflicts:  slices.DeleteFunc(slices.Clone(s.Conflicts), func(o meeting.Occupancy) bool { return o.RoomID != id }),
			Violations: slices.DeleteFunc(slices.Clone(s.Violations), func(f meeting.Fault) bool { return f.Figures.RoomID != id && f.Figures.RoomID != 0 }),
		}
	}
	var left []int64
	for _, id := range rooms {
		if of := named(id); len(of.Conflicts)+len(of.Violations) > 0 {
			e.refuse(start, id, e.skippedLines(of)...)
		} else {
			left = append(left, id)
		}
	}
	if len(left) == len(rooms) { // it names none of them
		for _, id := range rooms {
			e.refuse(start, id, e.skippedLines(s)...)
		}
		return nil, nil
	}
	return left, nil
}

func (e *event) declineAll(places []*place, reason, text string) {
	for _, p := range places {
		if p.status == "" {
			p.decline(reason, text)
		}
	}
}

// choose gives a series its rooms, and those of its dates that have others.
func (e *event) choose(f *series.Fields, dates *itip.Dates, places []*place) {
	rooms := e.seriesRooms(places)
	f.RoomIDs = &rooms
	for _, d := range dates.Set.Dates(recurrence.AllDates) {
		if some := e.wanted(d.Slot.Start, places); len(some) > 0 && !slices.Equal(some, rooms) {
			f.Choices = append(f.Choices, series.Choice{OriginalStart: new(clock.At(d.Slot.Start)), RoomIDs: some})
		}
	}
}
