package scheduling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// mostDates is how many declined dates of a series are answered one by one. More are one text.
const mostDates = 20

// refusedDate is a date of a series that is not booked in all rooms.
type refusedDate struct {
	key   string
	start time.Time          // by the rule
	lines map[int64][]string // for people, by the room that is not booked
}

// series books a series, or changes what is booked of it. Each room answers for itself: a date is booked in
// those of its rooms that can be booked.
func (e *event) series(ctx context.Context, head *itip.Event, dates *itip.Dates, places []*place) error {
	e.record.ExtendAt = time.Time{}
	if len(undecided(places)) == 0 {
		return e.release(ctx)
	}
	f := series.Fields{Fields: e.fields(head), OnConflict: meeting.SkipOnConflict}
	if !e.bound(dates, places) {
		return e.release(ctx)
	}
	if err := e.tookPlaceOnce(ctx, dates); err != nil {
		return err
	}
	importing.SetDates(dates, &f, func(o *itip.Event) booking.Fields { return e.differing(o, f.Fields) })
	state, same, err := e.booked(ctx, dates)
	if err != nil {
		return err
	}
	for _, p := range undecided(places) {
		if same && slices.Contains(state.RoomIDs, p.roomID) || !e.invited("", p.address) {
			continue
		}
		if err := e.tryRooms(ctx, f, p, places, dates, state, same); err != nil {
			return err
		}
	}
	asked := undecided(places)
	switch {
	case len(asked) == 0:
		return e.release(ctx)
	case e.message.DryRun:
	case state != nil:
		err = e.reconcile(ctx, f, dates, state, same, asked)
	case e.first != 0:
		err = e.repeat(ctx, f, dates, asked)
	default:
		err = e.bookSeries(ctx, f, dates, asked)
	}
	if err != nil {
		if err := e.seriesRefused(err, asked); err != nil {
			return err
		}
		return e.release(ctx)
	}
	for _, p := range asked {
		if p.status = Accepted; e.pending {
			p.status = Tentative
		}
	}
	return nil
}

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

// bound leaves out dates that are over, that nobody is invited to, and that are too far ahead. It
// declines the places and returns false if the series cannot be booked because of that.
func (e *event) bound(dates *itip.Dates, places []*place) bool {
	set := dates.Set
	window := e.conf.MaxAdvance
	for _, p := range places {
		if p.room != nil && p.room.Policy.MaxAdvance > 0 && (window == 0 || p.room.Policy.MaxAdvance < window) {
			window = p.room.Policy.MaxAdvance
		}
	}
	all := set.Dates(recurrence.AllDates)
	coming := 0
	for _, d := range all {
		if window > 0 && d.Slot.Start.After(e.at.Add(window)) {
			before, _, ok := set.Split(d.Wall)
			if e.conf.BeyondWindow == Decline || !ok || coming == 0 {
				e.declineAll(places, "max_advance", e.words.beyond)
				return false
			}
			*set = before
			e.extend()
			break
		}
		if slot, _ := e.own(d.Slot, dates, series.Fields{}); !slot.Start.After(e.at) || e.uninvited(e.dateKey(d.Slot.Start), places) {
			set.ExDates = append(set.ExDates, recurrence.WallTime{Time: d.Wall})
			continue
		}
		coming++
	}
	if e.endless() && e.conf.BeyondWindow == Decline {
		e.declineAll(places, "max_advance", e.words.beyond)
		return false
	}
	if e.endless() {
		e.extend()
	}
	dates.Differs = slices.DeleteFunc(dates.Differs, func(x itip.Differing) bool {
		return !slices.ContainsFunc(set.Dates(recurrence.AllDates), func(d recurrence.Date) bool { return d.Wall.Equal(x.Wall) })
	})
	if coming == 0 {
		e.declineAll(places, "over", e.words.over)
		return false
	}
	return true
}

// extend has the next dates booked a day later.
func (e *event) extend() {
	if e.conf.BeyondWindow == Extend {
		e.record.ExtendAt = e.at.Add(24 * time.Hour)
	}
}

func (e *event) declineAll(places []*place, reason, text string) {
	for _, p := range places {
		if p.status == "" {
			p.decline(reason, text)
		}
	}
}

// endless reports whether the rule has no end.
func (e *event) endless() bool {
	return e.object.Master != nil && slices.ContainsFunc(e.object.Master.Rules, func(rule string) bool {
		return !strings.Contains(rule, "UNTIL=") && !strings.Contains(rule, "COUNT=")
	})
}

// uninvited reports whether no place is invited to a date.
func (e *event) uninvited(id string, places []*place) bool {
	return !slices.ContainsFunc(places, func(p *place) bool { return e.invited(id, p.address) })
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

// tookPlaceOnce finds out whether the meeting of an event that begins to repeat can become the first date of the
// series, so that it keeps its ID. If it cannot, it makes way.
func (e *event) tookPlaceOnce(ctx context.Context, dates *itip.Dates) error {
	id := e.record.MeetingID
	if id == 0 {
		return nil
	}
	if e.record.SeriesID != 0 { // it is the date that was left of the series, which goes on
		e.record.MeetingID = 0
		return nil
	}
	m, err := e.Meetings.Meeting(ctx, e.by, id)
	if err != nil && !errors.Is(err, meeting.ErrNotFound) {
		return err
	}
	all := dates.Set.Dates(2)
	if err == nil && !m.Status.Over() && m.Slot.Start.After(e.at) && e.known.instance("") != nil && len(all) == 2 && all[0].Wall.Equal(dates.Set.Start) {
		e.first = id
		return nil
	}
	if err := e.release(ctx); err != nil {
		return err
	}
	e.record.MeetingID = 0
	return nil
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

// repeat makes the meeting of an event that begins to repeat the first date of a series.
func (e *event) repeat(ctx context.Context, f series.Fields, dates *itip.Dates, places []*place) error {
	e.choose(&f, dates, places)
	made, err := e.Series.Repeat(ctx, e.by, e.first, nil, f)
	if err != nil {
		return err
	}
	e.record.MeetingID, e.record.SeriesID, e.first = 0, made.Series.ID, 0
	state, err := e.Series.Series(ctx, e.by, made.Series.ID)
	if err != nil {
		return err
	}
	f.Choices = nil
	return e.reconcile(ctx, f, dates, state, true, places)
}

// keepOne leaves the date of a series that its event still has, now that it takes place once, and cancels the others. It
// keeps its ID. A series without a coming date is released.
func (e *event) keepOne(ctx context.Context, slot clock.Slot) error {
	if e.record.MeetingID != 0 {
		return nil
	}
	e.record.ExtendAt = time.Time{}
	booked, err := e.coming(ctx, e.record.SeriesID)
	if err != nil {
		return err
	}
	if len(booked) == 0 {
		err := e.release(ctx)
		e.record.SeriesID = 0
		return err
	}
	slices.SortFunc(booked, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	kept := booked[0]
	for _, m := range booked {
		if m.Slot.Start.Equal(slot.Start) {
			kept = m
		}
	}
	e.record.MeetingID = kept.ID
	for _, m := range booked {
		if m == kept || e.message.DryRun {
			continue
		}
		if err := e.drop(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// bookSeries books a series anew.
func (e *event) bookSeries(ctx context.Context, f series.Fields, dates *itip.Dates, places []*place) error {
	f.Reminders = &[]meeting.Reminder{}
	e.choose(&f, dates, places)
	made, err := e.Series.Book(ctx, e.by, f)
	if err != nil {
		return err
	}
	e.record.SeriesID = made.Series.ID
	e.pending = slices.ContainsFunc(made.Meetings, waits)
	for _, s := range made.Skipped { // also what was taken just now
		ruled := dates.Set.Date(clock.Wall(s.OriginalStart, dates.Set.Zone)).Slot
		slot, own := e.own(ruled, dates, f)
		if _, err := e.bookDate(ctx, made.Series.ID, ruled, slot, own, e.wanted(s.OriginalStart, places)); err != nil {
			return err
		}
	}
	return nil
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

// refuse notes that a date is not booked in a room.
func (e *event) refuse(start time.Time, roomID int64, lines ...string) {
	key := e.dateKey(start)
	r := e.refusal(key, 0)
	if r == nil {
		r = &refusedDate{key: key, start: start, lines: map[int64][]string{}}
		e.refusedDates = append(e.refusedDates, r)
	}
	if _, noted := r.lines[roomID]; !noted {
		r.lines[roomID] = lines
	}
}

// refusal returns the note about a date in a room, or in any room if that is 0; nil: there is none.
func (e *event) refusal(key string, roomID int64) *refusedDate {
	i := slices.IndexFunc(e.refusedDates, func(r *refusedDate) bool {
		_, noted := r.lines[roomID]
		return r.key == key && (noted || roomID == 0)
	})
	if i < 0 {
		return nil
	}
	return e.refusedDates[i]
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

// skippedLines says why a date is not booked.
func (e *event) skippedLines(s meeting.Skipped) []string {
	zone := clock.ZoneOrUTC(cmp.Or(e.person.Timezone, e.zoneName))
	lines := e.violations(s.Violations)
	for _, c := range s.Conflicts {
		lines = append(lines, e.words.conflict(e.roomNames[c.RoomID], c.Slot, zone))
	}
	return lines
}

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

// seriesRefused declines the places because a series cannot be booked.
func (e *event) seriesRefused(err error, places []*place) error {
	reason, lines := "", []string(nil)
	if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		reason = cmp.Or(taken.Dates[0].Reason, meeting.ReasonTaken)
		lines = append(lines, fmt.Sprintf(e.words.dates, len(taken.Dates)))
		for i, s := range taken.Dates {
			if i == mostDates {
				lines = append(lines, "...")
				break
			}
			lines = append(lines, e.skippedLines(s)...)
		}
	} else if policy, ok := errors.AsType[*meeting.PolicyError](err); ok {
		reason, lines = policy.Violations[0].Code, e.violations(policy.Violations)
	} else if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		reason, lines = invalid.Faults[0].Code, e.violations(invalid.Faults)
	} else if conflict, ok := errors.AsType[*meeting.ConflictError](err); ok {
		reason, lines = meeting.ReasonTaken, e.skippedLines(meeting.Skipped{Conflicts: conflict.Conflicts})
	} else if _, over := errors.AsType[*meeting.StateError](err); over {
		reason, lines = "over", []string{e.words.over}
	} else {
		return err
	}
	for _, p := range places {
		if p.status == "" {
			p.decline(reason, lines...)
		}
	}
	return nil
}

// answerDates declines the dates of a series that are not booked, each for itself.
func (e *event) answerDates(p *place, v Version) {
	if p.status == Declined {
		return
	}
	for _, r := range e.refusedDates {
		lines, refused := r.lines[p.roomID]
		if !refused {
			continue
		}
		if slices.ContainsFunc(e.record.Answers, func(t Told) bool { return t.RecurrenceID == r.key && t.Address == p.address }) {
			continue
		}
		before := e.known.told(r.key, p.address)
		told := Told{RecurrenceID: r.key, Address: p.address, RoomID: p.roomID, Version: v, Status: Declined, Reason: meeting.ReasonTaken, Text: strings.Join(lines, "\n"), Number: 1}
		if before != nil {
			if before.Status == Declined { // it was answered
				continue
			}
			told.Number = before.Number + 1
		}
		one := &place{seat: p.seat, room: p.room, status: Declined, lines: lines}
		if e.message.Via == meeting.OriginMail {
			told.MessageID, told.Recipient = e.message.MessageID, e.organizer
		}
		a := Answer{Address: p.address, RoomID: p.roomID, RecurrenceID: r.key, Status: Declined, Reason: told.Reason, Text: told.Text}
		if told.Recipient != "" && len(e.refusedDates) <= mostDates {
			c, date := e.componentOf(r.key, &meeting.Meeting{OriginalStart: r.start})
			a.Mail = e.mail(c, date, one, told)
			e.record.Replies = append(e.record.Replies, e.notice(a.Mail, told, c.Event))
		}
		e.record.Answers = append(e.record.Answers, told)
		e.out.Answers = append(e.out.Answers, a)
	}
}
