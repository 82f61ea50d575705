package scheduling

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// booked returns the series that is booked for the event; nil: none. same says that it has the times that the event
// now wants. Dates may have been added, but none before the first one.
func (e *event) booked(ctx context.Context, dates *itip.Dates) (state *series.State, same bool, err error) {
	if e.record.SeriesID == 0 {
		return nil, false, nil
	}
	state, err = e.Series.Series(ctx, e.by, e.record.SeriesID)
	if errors.Is(err, meeting.ErrNotFound) || err == nil && !state.CancelledAt.IsZero() {
		if !e.message.DryRun {
			e.record.SeriesID = 0
		}
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	before := e.known.instance("")
	return state, before != nil && itip.Pattern(before.ICS) == itip.Pattern(e.instanceOf("").ICS) && state.Start.Equal(dates.Set.Start), nil
}

// reconcile brings the booked dates of a series to what the event says now. Dates that stay keep their meetings, also
// if the series gets other times: nobody else can take a room meanwhile.
func (e *event) reconcile(ctx context.Context, f series.Fields, dates *itip.Dates, state *series.State, same bool, places []*place) error {
	id := state.ID
	text := series.Fields{OnConflict: meeting.SkipOnConflict}
	text.Title, text.Description, text.Attendees, text.Visibility, text.Import = f.Title, f.Description, f.Attendees, f.Visibility, f.Import
	if rule := dates.Set.Rule.String(); rule != state.Rule.String() && !e.record.ExtendAt.IsZero() { // the window moved
		text.Rule = &rule
	}
	slices.SortStableFunc(places, func(a, b *place) int { // as they are booked, then those that are new
		at := func(p *place) uint { return uint(slices.Index(state.RoomIDs, p.roomID)) }
		return cmp.Compare(at(a), at(b))
	})
	if rooms := e.seriesRooms(places); !slices.Equal(rooms, state.RoomIDs) {
		text.RoomIDs = &rooms
	}
	if !slices.Equal(dates.Set.RDates, state.RDates) {
		text.RDates, text.ExDates = f.RDates, f.ExDates
	}
	if !same {
		text.Start, text.End, text.Timezone, text.Rule, text.RDates, text.ExDates = f.Start, f.End, f.Timezone, f.Rule, f.RDates, f.ExDates
	}
	left, err := e.leftDates(ctx, state)
	if err != nil {
		return err
	}
	_, err = e.Series.Update(ctx, e.by, id, nil, text)
	switch _, over := errors.AsType[*meeting.StateError](err); {
	case over && !same: // no date is left that could move
		e.record.SeriesID = 0
		return e.bookSeries(ctx, f, dates, places)
	case err != nil && !over:
		return err
	}
	coming, err := e.coming(ctx, id)
	if err != nil {
		return err
	}
	active := map[int64]*meeting.Meeting{} // by local time of the date
	for _, m := range coming {
		active[m.OriginalWall.Unix()] = m
		e.pending = e.pending || waits(m)
	}
	there := map[int64]bool{}
	for _, d := range dates.Set.Dates(recurrence.AllDates) {
		if slot, _ := e.own(d.Slot, dates, f); !slot.Start.After(e.at) {
			continue
		}
		there[d.Wall.Unix()] = true
		if err := e.reconcileDate(ctx, id, d, dates, f, active[d.Wall.Unix()], places, left[d.Wall.Unix()]); err != nil {
			return err
		}
	}
	for wall, m := range active {
		if !there[wall] {
			if err := e.drop(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// leftDates returns the rooms of a series that dates do not have, by local time of the date.
func (e *event) leftDates(ctx context.Context, state *series.State) (map[int64][]int64, error) {
	booked, err := e.coming(ctx, state.ID)
	left := map[int64][]int64{}
	for _, m := range booked {
		left[m.OriginalWall.Unix()] = slices.DeleteFunc(slices.Clone(state.RoomIDs), func(id int64) bool { return slices.Contains(m.RoomIDs, id) })
	}
	return left, err
}

// reconcileDate brings one date to what the event says. m is its meeting; nil: there is none. Rooms that left it
// come back if they are invited to it again.
func (e *event) reconcileDate(ctx context.Context, id int64, d recurrence.Date, dates *itip.Dates, f series.Fields, m *meeting.Meeting, places []*place, left []int64) (err error) {
	rooms := e.wanted(d.Slot.Start, places)
	slot, own := e.own(d.Slot, dates, f)
	if m == nil {
		if m, err = e.bookDate(ctx, id, d.Slot, slot, own, rooms); m == nil {
			return err
		}
		rooms = m.RoomIDs
	}
	key := e.dateKey(d.Slot.Start)
	rooms = slices.DeleteFunc(slices.Clone(rooms), func(room int64) bool {
		return slices.Contains(left, room) && !slices.ContainsFunc(places, func(p *place) bool {
			return p.roomID == room && (e.asked[asked{key, p.address}] || e.joined[p.address])
		})
	})
	if own.Import = f.Import; !slot.Equal(m.Slot) {
		own.Start, own.End = new(clock.At(slot.Start)), new(clock.At(slot.End))
	}
	for len(rooms) > 0 {
		if !slices.Equal(rooms, m.RoomIDs) {
			own.RoomIDs = &rooms
		}
		after, err := e.Meetings.Update(ctx, e.by, m.ID, nil, own)
		if err == nil {
			e.pending = e.pending || waits(after)
			return nil
		}
		if rooms, err = e.narrow(err, d.Slot.Start, rooms); err != nil {
			return err
		}
	}
	return e.drop(ctx, m)
}

// own is when a date of the series takes place and what it is: its own, or else what all share.
func (e *event) own(ruled clock.Slot, dates *itip.Dates, f series.Fields) (clock.Slot, booking.Fields) {
	for _, x := range dates.Differs {
		switch {
		case !dates.Set.Date(x.Wall).Slot.Start.Equal(ruled.Start):
		case x.Event == nil: // only its length differs
			ruled = x.Slot
		default:
			return x.Slot, e.differing(x.Event, f.Fields)
		}
	}
	return ruled, booking.Fields{Title: f.Title, Description: f.Description, Attendees: f.Attendees}
}

func (e *event) drop(ctx context.Context, m *meeting.Meeting) error {
	_, err := e.Meetings.Cancel(ctx, e.by, m.ID, nil, "")
	if _, over := errors.AsType[*meeting.StateError](err); over || errors.Is(err, meeting.ErrNotFound) {
		return nil
	}
	return err
}

// bookDate books a date of a series, which the rule has at one time and which takes place at another, in those of the
// rooms that can be booked. It returns no meeting if there is none.
func (e *event) bookDate(ctx context.Context, id int64, ruled, slot clock.Slot, own booking.Fields, rooms []int64) (*meeting.Meeting, error) {
	if !slot.Equal(ruled) {
		own.Start, own.End = new(clock.At(slot.Start)), new(clock.At(slot.End))
	}
	for len(rooms) > 0 {
		own.RoomIDs = &rooms
		m, err := e.Series.AddDateLike(ctx, e.by, id, nil, new(clock.At(ruled.Start)), own, meeting.FailOnConflict)
		if err == nil {
			e.pending = e.pending || waits(m)
			return m, nil
		}
		if rooms, err = e.narrow(err, ruled.Start, rooms); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// coming are the dates of a series that take place and have not begun.
func (e *event) coming(ctx context.Context, id int64) ([]*meeting.Meeting, error) {
	var all []*meeting.Meeting
	for p := (meeting.Page{Limit: 500}); ; {
		ms, next, err := e.Meetings.Meetings(ctx, e.by, meeting.MeetingQuery{SeriesID: id}, p)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if !m.Status.Over() && m.Slot.Start.After(e.at) {
				all = append(all, m)
			}
		}
		if p.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// differing are the fields of one date that is not like the others.
func (e *event) differing(o *itip.Event, series booking.Fields) booking.Fields {
	own := e.fields(o)
	own.Import, own.Visibility = nil, nil
	if o.Title == "" {
		own.Title = series.Title
	}
	if o.Description == "" {
		own.Description = series.Description
	}
	if len(o.Attendees) == 0 {
		own.Attendees = series.Attendees
	}
	return own
}
