package caldav

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// change applies an event to a meeting or series, and returns the resulting one. shown is the event as the
// program knew it: only differences from it are applied. To someone else's meeting, a user can only respond.
func (u *upload) change(target Member, shown string) (Member, error) {
	before, err := itip.Read(strings.NewReader(shown), limits)
	if err != nil || len(before.Objects) != 1 {
		return target, errors.Join(errors.New("read what was shown"), err)
	}
	old := before.Objects[0]
	if err := u.findMailed(old); err != nil {
		return target, err
	}
	e, err := u.entry(u.ctx(), u.collection(), target)
	if err != nil {
		return target, err
	}
	if e == nil {
		return target, ErrChanged
	}
	ms := e.Single
	if e.Series != nil {
		ms = e.All
	}
	if ms[0].Organizer.UserID != u.by.ID {
		return target, u.respond(target, old, ms)
	}
	u.by.Calendar = ms[0].Foreign == meeting.OriginCalDAV
	switch booked, err := u.stillBooks(); {
	case err != nil:
		return target, err
	case !booked:
		return Member{}, u.release(target)
	}
	if u.object.Master == nil {
		return target, precondition("allowed-organizer-scheduling-object-change", "the event must have its first date")
	}
	dates, err := u.dates(ms[0].RoomIDs)
	if err != nil {
		return target, err
	}
	switch {
	case target.SeriesID != 0:
		held := ms[0].RoomIDs
		if e.Series != nil {
			held = e.Series.Master.RoomIDs
		}
		err = u.changeSeries(target.SeriesID, held, dates, old)
	case dates.Set != nil && len(dates.Set.Dates(2)) > 1:
		target, err = u.repeat(ms[0], dates, old)
	default:
		err = u.changeMeeting(ms[0], old)
	}
	if _, refused := refusal(err); refused && u.allDecline() {
		return Member{}, u.release(target)
	}
	return target, err
}

// stillBooks reports whether the event takes place and invites rooms. A program that knows no attendees would take
// them out with each change, so that is refused.
func (u *upload) stillBooks() (bool, error) {
	if u.object.Head().Cancelled {
		return false, nil
	}
	people := false
	for _, ev := range u.object.Events() {
		if len(u.roomsOf(ev)) > 0 {
			return true, nil
		}
		people = people || ev.Organizer.Email != "" || len(ev.Attendees) > 0
	}
	if !people {
		return false, precondition("allowed-organizer-scheduling-object-change", "the event must keep its organizer and rooms; delete it to cancel the meeting")
	}
	return false, nil
}

// allDecline reports whether all rooms of the event decline.
func (u *upload) allDecline() bool {
	return len(u.declined) > 0 && len(without(u.roomsOf(u.object.Head()), u.declined)) == 0
}

// release cancels the meetings of the event. The event stays in the user's calendar.
func (u *upload) release(target Member) error {
	var err error
	if target.SeriesID != 0 {
		_, err = u.Series.Cancel(u.ctx(), u.by, target.SeriesID, nil, meeting.ScopeAll, nil, "")
	} else {
		_, err = u.Meetings.Cancel(u.ctx(), u.by, target.MeetingID, nil, "")
	}
	return err
}

func (u *upload) changeMeeting(m *meeting.Meeting, old *itip.Object) (err error) {
	now := u.object.Head()
	f, changed := u.differing(old.Head(), now)
	u.declined, err = u.inRooms(m.RoomIDs, u.roomsOf(now), f.Start != nil, &f, func() error {
		if !changed {
			return nil
		}
		_, err := u.Meetings.Update(u.ctx(), u.by, m.ID, nil, f)
		return err
	})
	return err
}

// repeat makes a meeting the first date of a series.
func (u *upload) repeat(m *meeting.Meeting, dates *itip.Dates, old *itip.Object) (Member, error) {
	target := Member{MeetingID: m.ID}
	now := u.object.Head()
	shared, _ := u.differing(old.Head(), now)
	f := series.Fields{Fields: shared}
	u.recurring(&f, dates)
	var err error
	u.declined, err = u.inRooms(m.RoomIDs, u.roomsOf(now), true, &f.Fields, func() error {
		return u.tolerating(&f, dates, func() error {
			made, err := u.Series.Repeat(u.ctx(), u.by, m.ID, nil, f)
			if err == nil {
				target = Member{SeriesID: made.Series.ID}
			}
			return err
		})
	})
	if err != nil {
		return target, err
	}
	return target, u.changeDates(target.SeriesID, nil)
}

// tolerating books a series if no more of its dates are taken than the settings allow. Those dates decline.
func (u *upload) tolerating(f *series.Fields, dates *itip.Dates, try func() error) error {
	f.OnConflict = meeting.FailOnConflict
	err := try()
	taken, ok := errors.AsType[*meeting.SeriesConflictError](err)
	if !ok || dates.Set == nil || u.Settings().TooMany(len(taken.Dates), len(dates.Set.Dates(recurrence.AllDates))) {
		return err
	}
	f.OnConflict = meeting.SkipOnConflict
	if err := try(); err != nil {
		return err
	}
	for _, d := range taken.Dates {
		u.declineDate(d.OriginalStart, dates.Slot.Duration())
	}
	return nil
}

// inRooms tries a change in the rooms that an event invites, and returns those that decline because they cannot be
// booked. Rooms that the meeting holds stay booked unless it moves. If no room is left, it returns the reason as well.
func (u *upload) inRooms(held, invited []int64, moves bool, f *booking.Fields, try func() error) (declined []int64, err error) {
	if f.RoomIDs == nil && !moves { // who declined before still does
		return without(invited, held), try()
	}
	if slices.Contains(invited, noRoom) {
		declined = append(declined, noRoom)
	}
	for {
		rooms := without(invited, declined)
		if f.RoomIDs = &rooms; sameRooms(rooms, held) {
			f.RoomIDs = nil
		}
		err := try()
		if err == nil {
			return declined, nil
		}
		refused := slices.DeleteFunc(refusedRooms(err), func(id int64) bool { return !slices.Contains(rooms, id) || !moves && slices.Contains(held, id) })
		if len(refused) == 0 {
			return declined, err
		}
		replaced := false
		for _, id := range refused {
			other, failed := u.insteadOf(id, invited)
			if failed != nil {
				return declined, failed
			}
			if invited = append(slices.Clone(invited), other...); len(other) == 0 {
				declined = append(declined, id)
				continue
			}
			invited, replaced = without(invited, []int64{id}), true
		}
		if len(without(invited, declined)) == 0 && !replaced {
			return declined, err
		}
	}
}

func without(ids, others []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(others, id) })
}

// differing are the fields in which an event differs from what it was.
func (u *upload) differing(old, now *itip.Event) (f booking.Fields, changed bool) {
	was, is := u.fields(old), u.fields(now)
	if *was.Title != *is.Title {
		f.Title, changed = is.Title, true
	}
	if *was.Description != *is.Description {
		f.Description, changed = is.Description, true
	}
	if *was.Visibility != *is.Visibility {
		f.Visibility, changed = is.Visibility, true
	}
	if !samePeople(*was.Attendees, *is.Attendees) {
		f.Attendees, changed = is.Attendees, true
	}
	if rooms := u.roomsOf(now); !sameRooms(rooms, u.roomsOf(old)) {
		f.RoomIDs, changed = &rooms, true
	}
	if start, end := now.Start.In(time.UTC), now.End.In(time.UTC); !start.Equal(old.Start.In(time.UTC)) || !end.Equal(old.End.In(time.UTC)) {
		f.Start, f.End, changed = new(clock.At(start)), new(clock.At(end)), true
	}
	return f, changed
}

func samePeople(a, b []meeting.Person) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(p meeting.Person) bool {
		return !slices.ContainsFunc(b, func(q meeting.Person) bool { return fault.FoldEmail(p.Email) == fault.FoldEmail(q.Email) })
	})
}

func sameRooms(a, b []int64) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id int64) bool { return !slices.Contains(b, id) })
}

// roomsOf returns the rooms that an event invites.
func (u *upload) roomsOf(e *itip.Event) []int64 {
	rooms := []int64{}
	for _, a := range e.Attendees {
		if id := u.roomOf(a.Email); id != 0 && !slices.Contains(rooms, id) {
			rooms = append(rooms, id)
		}
	}
	return rooms
}

// changeSeries changes what all dates share, then the dates that differ, and cancels those that are
// excluded. A series that becomes a single event keeps the date at that time.
func (u *upload) changeSeries(id int64, held []int64, dates *itip.Dates, old *itip.Object) (err error) {
	if old.Master == nil {
		return precondition("allowed-organizer-scheduling-object-change", "the event must have its rule")
	}
	now, was := u.object.Master, old.Master
	shared, changed := u.differing(was, now)
	f := series.Fields{Fields: shared, OnConflict: meeting.FailOnConflict, Scope: meeting.ScopeAll}
	moves := shared.Start != nil || !slices.Equal(now.Rules, was.Rules) || !sameDates(startsOf(now.RDates), startsOf(was.RDates))
	if moves {
		u.recurring(&f, dates)
	}
	u.declined, err = u.inRooms(held, u.roomsOf(now), moves, &f.Fields, func() error {
		if !changed && !moves {
			return nil
		}
		save := func() error {
			_, err := u.Series.Update(u.ctx(), u.by, id, nil, f)
			return err
		}
		if !moves {
			return save()
		}
		return u.tolerating(&f, dates, func() error {
			if err := save(); err != nil || f.OnConflict != meeting.SkipOnConflict {
				return err
			}
			return u.leaveFormerTimes(id, dates)
		})
	})
	if err != nil {
		return err
	}
	if dates.Set == nil {
		return u.cancelOthers(id, dates.Slot)
	}
	if err := u.changeExcluded(id, was, now); err != nil {
		return err
	}
	return u.changeDates(id, old)
}

// leaveFormerTimes cancels the dates of a series that could not move with it.
func (u *upload) leaveFormerTimes(id int64, dates *itip.Dates) error {
	ms, err := u.Store.SeriesMeetings(u.ctx(), id)
	if err != nil {
		return err
	}
	for _, m := range ms {
		if m.Status.Over() || !m.Slot.Start.After(u.Now()) || slices.ContainsFunc(dates.Set.Dates(recurrence.AllDates), func(d recurrence.Date) bool { return d.Slot == m.Slot }) ||
			overrideAt(u.object, m.OriginalStart) != nil {
			continue
		}
		if _, err := u.Meetings.Cancel(u.ctx(), u.by, m.ID, nil, ""); err != nil {
			return err
		}
	}
	return nil
}

// cancelOthers cancels the coming dates of a series but one.
func (u *upload) cancelOthers(id int64, kept clock.Slot) error {
	ms, err := u.Store.SeriesMeetings(u.ctx(), id)
	if err != nil {
		return err
	}
	for _, m := range ms {
		if m.Slot.Start.Equal(kept.Start) || m.Status.Over() || !m.Slot.Start.After(u.Now()) {
			continue
		}
		if _, err := u.Meetings.Cancel(u.ctx(), u.by, m.ID, nil, ""); err != nil {
			return err
		}
	}
	return nil
}

// changeExcluded cancels dates that are excluded now, and books those that no longer are.
func (u *upload) changeExcluded(id int64, was, now *itip.Event) error {
	ms, err := u.Store.SeriesMeetings(u.ctx(), id)
	if err != nil {
		return err
	}
	for _, x := range now.ExDates {
		gone := x.In(time.UTC)
		if hasDate(was.ExDates, gone) {
			continue
		}
		for _, m := range ms {
			if m.OriginalStart.Equal(gone) && !m.Status.Over() {
				if _, err := u.Meetings.Cancel(u.ctx(), u.by, m.ID, nil, ""); err != nil {
					return err
				}
			}
		}
	}
	for _, x := range was.ExDates {
		at := x.In(time.UTC)
		if hasDate(now.ExDates, at) || !at.After(u.Now()) || overrideAt(u.object, at) != nil {
			continue
		}
		if added, declined, err := u.addDate(id, at, u.roomsOf(now), booking.Fields{}); err != nil {
			return err
		} else if !added && len(declined) > 0 {
			u.declineDate(at, now.End.In(time.UTC).Sub(now.Start.In(time.UTC)))
		}
	}
	return nil
}

// addDate books a date of the rule that was left out, with fields of its own, in those of the rooms that can be booked.
// It is not added if all rooms decline, or if the rule does not have it.
func (u *upload) addDate(id int64, at time.Time, rooms []int64, own booking.Fields) (added bool, declined []int64, err error) {
	declined, err = u.inRooms(nil, rooms, true, &own, func() error {
		_, err := u.Series.AddDateLike(u.ctx(), u.by, id, nil, new(clock.At(at)), own, meeting.FailOnConflict)
		return err
	})
	if _, refused := refusal(err); refused {
		return false, declined, nil
	}
	return err == nil, declined, err
}

func hasDate(all []itip.Time, at time.Time) bool {
	return slices.ContainsFunc(all, func(t itip.Time) bool { return t.In(time.UTC).Equal(at) })
}

func startsOf(ps []itip.Period) []itip.Time {
	var all []itip.Time
	for _, p := range ps {
		all = append(all, p.Start)
	}
	return all
}

func sameDates(a, b []itip.Time) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t itip.Time) bool { return !hasDate(b, t.In(time.UTC)) })
}

var utcZone = &itip.Zone{Name: "UTC", Location: time.UTC}

// at returns the event at another time.
func at(e *itip.Event, slot clock.Slot) *itip.Event {
	like := *e
	like.Start, like.End = itip.Time{Wall: slot.Start.UTC(), Zone: utcZone}, itip.Time{Wall: slot.End.UTC(), Zone: utcZone}
	return &like
}

// dateOf returns the meeting that an override is about, if possible one that takes place; nil: none.
func dateOf(ms []*meeting.Meeting, o *itip.Event) (found *meeting.Meeting) {
	at := o.RecurrenceID.In(time.UTC)
	for _, m := range ms {
		if m.OriginalStart.Equal(at) || m.OriginalStart.IsZero() && m.Slot.Start.Equal(at) {
			if found == nil || found.Status.Over() {
				found = m
			}
		}
	}
	return found
}

// overrideAt returns what an object says about the date that begins at an instant by its rule; nil: nothing.
func overrideAt(o *itip.Object, at time.Time) *itip.Event {
	if o == nil {
		return nil
	}
	for _, x := range o.Overrides {
		if x.RecurrenceID.In(time.UTC).Equal(at) {
			return x
		}
	}
	return nil
}

func overrideOf(o *itip.Object, like *itip.Event) *itip.Event {
	return overrideAt(o, like.RecurrenceID.In(time.UTC))
}

// changeDates gives the dates of a series that differ what is their own, and those that no longer do what is the
// series'. old is the event as it was; nil: the series is new.
func (u *upload) changeDates(id int64, old *itip.Object) error {
	if len(u.object.Overrides) == 0 && (old == nil || len(old.Overrides) == 0) {
		return nil
	}
	ms, err := u.Store.SeriesMeetings(u.ctx(), id)
	if err != nil {
		return err
	}
	for _, o := range u.object.Overrides {
		if err := u.changeDate(id, dateOf(ms, o), overrideOf(old, o), o); err != nil {
			return err
		}
	}
	if old == nil {
		return nil
	}
	master := u.object.Master
	for _, o := range old.Overrides {
		begins := o.RecurrenceID.In(time.UTC)
		if overrideOf(u.object, o) != nil || hasDate(master.ExDates, begins) || !begins.After(u.Now()) {
			continue
		}
		usual := at(master, clock.Slot{Start: begins, End: begins.Add(master.End.In(time.UTC).Sub(master.Start.In(time.UTC)))})
		usual.RecurrenceID = o.RecurrenceID
		if err := u.changeDate(id, dateOf(ms, o), o, usual); err != nil {
			return err
		}
	}
	return nil
}

// changeDate makes a date of a series what an event says. m is its meeting, and before what the event said; nil: there
// is none. A date that no room can be booked for is cancelled; the user's event keeps it.
func (u *upload) changeDate(id int64, m *meeting.Meeting, before, o *itip.Event) (err error) {
	begins := o.RecurrenceID.In(time.UTC)
	gone := m == nil || m.Status.Over()
	switch {
	case o.Cancelled && !gone:
		_, err = u.Meetings.Cancel(u.ctx(), u.by, m.ID, nil, "")
		return err
	case o.Cancelled || gone && !begins.After(u.Now()) || m != nil && m.Status == meeting.Ended:
		return nil
	case gone:
		if before != nil {
			if f, _ := u.differing(before, o); f.Start == nil && f.RoomIDs == nil {
				u.decline(o, u.roomsOf(o))
				return nil
			}
		}
		usual := at(u.object.Master, clock.Slot{Start: begins, End: begins.Add(u.object.Master.End.In(time.UTC).Sub(u.object.Master.Start.In(time.UTC)))})
		own, _ := u.differing(usual, o) // it is judged at its own time
		_, declined, err := u.addDate(id, begins, u.roomsOf(o), own)
		if len(declined) > 0 {
			u.decline(o, declined)
		}
		return err
	}
	if before == nil { // it was like the others
		before = at(u.object.Master, m.Slot)
	}
	f, differs := u.differing(before, o)
	if !differs {
		return nil
	}
	invited := u.roomsOf(o)
	declined, err := u.inRooms(m.RoomIDs, invited, f.Start != nil, &f, func() error {
		_, err := u.Meetings.Update(u.ctx(), u.by, m.ID, nil, f)
		return err
	})
	u.decline(o, declined)
	if _, refused := refusal(err); refused && len(declined) > 0 && len(without(u.roomsOf(o), declined)) == 0 {
		_, err = u.Meetings.Cancel(u.ctx(), u.by, m.ID, nil, "")
	}
	return err
}

var responses = map[string]meeting.Response{"ACCEPTED": meeting.Accepted, "DECLINED": meeting.Declined, "TENTATIVE": meeting.Tentative}

// respond stores the user's responses to someone else's meeting. Other changes stay in the user's copy, but
// a different time is refused.
func (u *upload) respond(target Member, old *itip.Object, ms []*meeting.Meeting) error {
	moved := func(a, b *itip.Event) bool {
		return a != nil && b != nil && (!a.Start.In(time.UTC).Equal(b.Start.In(time.UTC)) || !a.End.In(time.UTC).Equal(b.End.In(time.UTC)))
	}
	for _, o := range u.object.Overrides {
		if moved(overrideOf(old, o), o) {
			return precondition("allowed-attendee-scheduling-object-change", "only the organizer can move the meeting")
		}
	}
	if moved(old.Master, u.object.Master) {
		return precondition("allowed-attendee-scheduling-object-change", "only the organizer can move the meeting")
	}
	mine := func(e *itip.Event) string {
		if e != nil {
			for _, a := range e.Attendees {
				if strings.EqualFold(a.Email, u.by.Email) {
					return a.Status
				}
			}
		}
		return ""
	}
	if now := mine(u.object.Master); u.object.Master != nil && now != mine(old.Master) && responses[now] != "" {
		var err error
		if target.SeriesID != 0 {
			_, err = u.Meetings.RespondSeries(u.ctx(), u.by, target.SeriesID, nil, responses[now], "")
		} else {
			_, err = u.Meetings.Respond(u.ctx(), u.by, target.MeetingID, nil, responses[now], "")
		}
		if err != nil {
			return err
		}
	}
	for _, o := range u.object.Overrides {
		before := overrideOf(old, o)
		if before == nil {
			before = old.Master
		}
		m := dateOf(ms, o)
		if now := mine(o); m != nil && now != mine(before) && responses[now] != "" {
			if _, err := u.Meetings.Respond(u.ctx(), u.by, m.ID, nil, responses[now], ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove cancels the user's own meeting, declines someone else's, or deletes an event without a meeting.
func (r *request) remove() error {
	if r.place.kind != object || r.place.room {
		return &davError{status: http.StatusForbidden, condition: "need-privileges"}
	}
	err := r.Store.Atomically(r.ctx(), func(ctx context.Context) error { return r.within(ctx).delete() })
	if err == nil {
		r.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (r *request) delete() error {
	existing, _, err := r.conditions()
	if err != nil {
		return err
	}
	if existing == nil {
		return meeting.ErrNotFound
	}
	target := memberOf(existing.Object)
	if target.ObjectID == 0 {
		if err := r.cancel(target); err != nil {
			if text, ok := refusal(err); ok {
				return &davError{status: http.StatusForbidden, detail: text}
			}
			return err
		}
	}
	all, err := r.Store.Objects(r.ctx(), r.by.ID)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Name == r.place.name {
			if err := r.Store.DeleteObject(r.ctx(), o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *request) cancel(target Member) error {
	e, err := r.entry(r.ctx(), r.collection(), target)
	if err != nil {
		return err
	}
	if e == nil {
		return meeting.ErrNotFound
	}
	ms := e.Single
	if e.Series != nil {
		ms = e.All
	}
	own := ms[0].Organizer.UserID == r.by.ID
	switch {
	case own && target.SeriesID != 0:
		_, err = r.Series.Cancel(r.ctx(), r.by, target.SeriesID, nil, meeting.ScopeAll, nil, "")
	case own:
		_, err = r.Meetings.Cancel(r.ctx(), r.by, target.MeetingID, nil, "")
	case target.SeriesID != 0:
		_, err = r.Meetings.RespondSeries(r.ctx(), r.by, target.SeriesID, nil, meeting.Declined, "")
	default:
		_, err = r.Meetings.Respond(r.ctx(), r.by, target.MeetingID, nil, meeting.Declined, "")
	}
	return err
}
