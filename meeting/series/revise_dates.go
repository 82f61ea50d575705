package series

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// follow plans each date: existing dates, new dates, and dates to remove.
func (e *revision) follow(ctx context.Context, was, target *meeting.Series, terms meeting.Terms) error {
	ruled := e.fields.Rule != nil && target.Rule.String() != was.Rule.String()
	before, after := keyed(was.Dates(), ruled), keyed(target.Dates(), ruled)
	rooms, err := e.roomsOfAll(ctx, terms.Rooms)
	if err != nil {
		return err
	}
	if err := e.lookUpTypes(ctx, target); err != nil {
		return err
	}
	old := map[int64]string{}
	var last time.Time
	for key, d := range before {
		old[d.Wall.Unix()] = key
	}
	for _, d := range after {
		last = clock.Later(last, d.Wall)
	}
	keyOf := func(m *meeting.Meeting) (key string, dated bool) {
		if !m.OriginalStart.IsZero() {
			key, dated = old[m.OriginalWall.Unix()]
		}
		return key, dated
	}
	zone := clock.ZoneOrUTC(was.Timezone)
	// keptAside reports whether a meeting stays outside the rule: it was changed individually, and
	// is not a date of the rule.
	keptAside := func(m *meeting.Meeting) bool {
		key, dated := keyOf(m)
		_, stays := after[key]
		return !dated || !stays && ruled && !sameAs(m, was, before[key]) && !m.Wall(zone).After(last)
	}
	concerned := e.concerned()
	taken := map[int64]bool{} // dates of meetings that stay as they are
	for _, m := range e.all {
		if !m.OriginalStart.IsZero() && !m.Gone() && (slices.Contains(concerned, m) && keptAside(m) || !slices.Contains(concerned, m) && target.ID != 0) {
			taken[m.OriginalWall.Unix()] = true
		}
	}
	settled := map[string]bool{} // keys that have a meeting, or had one that was cancelled
	for _, m := range concerned {
		key, dated := keyOf(m)
		d, stays := after[key]
		switch {
		case dated && stays && taken[d.Wall.Unix()]: // a series has one meeting for each date
			settled[key] = true
			e.gone = append(e.gone, m)
			continue
		case dated && stays:
			settled[key] = true
		case !keptAside(m):
			e.gone = append(e.gone, m)
			continue
		default: // it was changed individually, or is no longer a date of the rule
			d = recurrence.Date{Wall: m.Wall(zone), Slot: clock.Slot{Start: m.Place()}}
		}
		w := &plannedDate{date: d, base: m}
		if stays {
			w.terms = e.revised(m, was, target, before[key], d.Slot, terms.Rooms, rooms)
		} else {
			w.terms = e.revised(m, was, target, recurrence.Date{}, clock.Slot{}, terms.Rooms, rooms)
		}
		w.room = !w.terms.Slot.Equal(m.Slot) || !slices.Equal(meeting.RoomIDs(w.terms.Rooms), m.RoomIDs)
		e.dates = append(e.dates, w)
	}
	for _, m := range e.all {
		if key, dated := keyOf(m); dated {
			settled[key] = true
			if d, stays := after[key]; stays && m.Gone() && m.Place().After(e.at) && !e.inFront(m) {
				e.moveCancelled(m, d, target)
			}
		}
	}
	e.leaving = e.gone
	e.appear(target, terms, before, after, settled, ruled)
	slices.SortFunc(e.dates, func(a, b *plannedDate) int { return a.terms.Slot.Start.Compare(b.terms.Slot.Start) })
	return nil
}

// keyed returns the dates by their place in the rule: the n-th date or, with another rule, the date
// of that day.
func keyed(dates []recurrence.Date, ruled bool) map[string]recurrence.Date {
	byKey := make(map[string]recurrence.Date, len(dates))
	for _, d := range dates {
		key := d.Key
		if ruled {
			key = d.Wall.Format(time.DateOnly)
			for n := 2; ; n++ {
				if _, there := byKey[key]; !there {
					break
				}
				key = fault.Index(d.Wall.Format(time.DateOnly), n)
			}
		}
		byKey[key] = d
	}
	return byKey
}

// moveCancelled assigns a canceled date to the same date of the changed rule, so that it stays
// canceled. Nothing else about it changes.
func (e *revision) moveCancelled(m *meeting.Meeting, d recurrence.Date, target *meeting.Series) {
	if !e.moves(m, d) && target.ID != 0 {
		return
	}
	m.OriginalStart, m.OriginalWall = d.Slot.Start, d.Wall
	m.SeriesID = target.ID
	e.change.Update = append(e.change.Update, m)
}

// appear adds new dates: after a new rule all dates without a meeting, otherwise those that the
// series did not have before.
func (e *revision) appear(target *meeting.Series, terms meeting.Terms, before, after map[string]recurrence.Date, settled map[string]bool, ruled bool) {
	for key, d := range after {
		_, known := before[key]
		if settled[key] || known && !ruled || !d.Slot.Start.After(e.at) || d.Wall.Before(e.from) {
			continue
		}
		if slices.ContainsFunc(e.dates, func(w *plannedDate) bool { return w.base != nil && w.base.OriginalWall.Equal(d.Wall) }) {
			continue
		}
		e.dates = append(e.dates, &plannedDate{date: d, terms: target.Terms(d, terms.Rooms, terms.Type, e.conf.Reminders), room: true})
	}
}

// roomsOfAll returns the rooms of the affected meetings and the given rooms, by ID.
func (e *revision) roomsOfAll(ctx context.Context, given []*meeting.Room) (map[int64]*meeting.Room, error) {
	rooms, err := e.booking.RoomsOf(ctx, e.concerned())
	if err == nil {
		err = e.booking.AddBlackouts(ctx, rooms, e.at)
	}
	if err != nil {
		return nil, fmt.Errorf("look up rooms: %w", err)
	}
	byID := map[int64]*meeting.Room{}
	for _, r := range append(rooms, given...) {
		byID[r.ID] = r
	}
	return byID, nil
}

// sameAs reports whether the meeting equals the series' content for that date.
func sameAs(m *meeting.Meeting, s *meeting.Series, d recurrence.Date) bool {
	return m.Title == s.Title && m.Description == s.Description && m.IsAt(d, s) && m.Visibility == s.Visibility && m.Organizer.UserID == s.Organizer.UserID && m.TypeID == s.TypeID && meeting.SameValues(m.Custom, s.Custom) &&
		slices.Equal(m.RoomIDs, s.RoomIDs) && slices.EqualFunc(m.Attendees, s.Attendees, meeting.Attendee.SameAddress) &&
		m.DefaultReminders == s.DefaultReminders && meeting.SameReminders(m.Reminders, s.Reminders)
}

// revised returns the new terms of one date: fields that equaled the series' old value get its new
// value. Zero slots leave the time unchanged.
func (e *revision) revised(m *meeting.Meeting, was, target *meeting.Series, before recurrence.Date, after clock.Slot, given []*meeting.Room, rooms map[int64]*meeting.Room) meeting.Terms {
	t := meeting.Terms{
		Title: m.Title, Description: m.Description, Slot: m.Slot, Timezone: m.Timezone, Attendees: m.Attendees,
		Reminders: m.Reminders, DefaultReminders: m.DefaultReminders, Visibility: m.Visibility, Organizer: m.Organizer,
	}
	follow(&t.Title, was.Title, target.Title)
	follow(&t.Description, was.Description, target.Description)
	follow(&t.Timezone, was.Timezone, target.Timezone)
	follow(&t.Visibility, was.Visibility, target.Visibility)
	if m.Organizer.UserID == was.Organizer.UserID {
		t.Organizer = target.Organizer
	}
	t.Type = e.types[m.TypeID]
	if m.TypeID == was.TypeID {
		t.Type = e.types[target.TypeID]
	}
	t.Custom = meeting.FollowValues(m.Custom, was.Custom, target.Custom)
	timed, placed := m.IsAt(before, was), slices.Equal(m.RoomIDs, was.RoomIDs)
	if m.LeftBehind() { // it differs because the series has moved already
		timed = timed || e.fields.Start != nil || e.fields.End != nil
		placed = placed || e.fields.RoomIDs != nil
	}
	if timed && e.retimes() && !after.Start.IsZero() {
		t.Slot = after
	}
	if placed && len(given) > 0 {
		t.Rooms = given
	} else {
		for _, id := range m.RoomIDs {
			if r := rooms[id]; r != nil {
				t.Rooms = append(t.Rooms, r)
			}
		}
	}
	if m.DefaultReminders == was.DefaultReminders && (m.DefaultReminders || meeting.SameReminders(m.Reminders, was.Reminders)) {
		t.Reminders, t.DefaultReminders = target.Reminders, target.DefaultReminders
		if t.DefaultReminders {
			t.Reminders = e.conf.Reminders
		}
	}
	if e.fields.Attendees != nil {
		t.Attendees = followAttendees(m.Attendees, was.Attendees, target.Attendees)
	}
	return t
}

// follow returns the series' new value for a field that equals its old value, and the field's own
// value otherwise.
func follow[T comparable](field *T, was, is T) {
	if *field == was {
		*field = is
	}
}

// followAttendees returns the attendees of a date after the series' attendees changed. Responses
// for the date are kept.
func followAttendees(mine, was, is []meeting.Attendee) []meeting.Attendee {
	in := func(list []meeting.Attendee, a meeting.Attendee) int { return slices.IndexFunc(list, a.SameAddress) }
	var out []meeting.Attendee
	for _, a := range is {
		switch i := in(mine, a); {
		case i >= 0:
			if j := in(was, a); j >= 0 && mine[i].Person == was[j].Person {
				out = append(out, meeting.Attendee{Person: a.Person, Response: mine[i].Response, Comment: mine[i].Comment})
			} else {
				out = append(out, mine[i])
			}
		case in(was, a) < 0:
			out = append(out, meeting.Attendee{Person: a.Person, Response: meeting.NeedsAction})
		}
	}
	for _, a := range mine {
		if in(is, a) < 0 && in(was, a) < 0 {
			out = append(out, a)
		}
	}
	return out
}
