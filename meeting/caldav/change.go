package caldav

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
)

// change makes a meeting or series what the event says. shown is the event as the program knew it: only
// what differs from it is changed. Somebody else's meeting can only be answered.
func (u *upload) change(target Member, shown string) error {
	before, err := itip.Read(strings.NewReader(shown), limits)
	if err != nil || len(before.Objects) != 1 {
		return errors.Join(errors.New("read what was shown"), err)
	}
	old := before.Objects[0]
	entries, err := u.entries(u.ctx(), u.collection(), []Member{target})
	if err != nil {
		return err
	}
	e := entries[target.key()]
	if e == nil {
		return ErrChanged
	}
	ms := e.Single
	if e.Series != nil {
		ms = e.All
	}
	if ms[0].Organizer.UserID != u.by.ID {
		return u.respond(target, old, ms)
	}
	if (target.SeriesID == 0) != (len(u.object.Head().Rules)+len(u.object.Head().RDates)+len(u.object.Overrides) == 0) {
		return precondition("allowed-organizer-scheduling-object-change", "a meeting cannot become a series, nor a series a meeting; delete the event and create another")
	}
	if target.SeriesID == 0 {
		f, changed := u.differing(old.Head(), u.object.Head())
		if !changed {
			return nil
		}
		_, err := u.Meetings.Update(u.ctx(), u.by, target.MeetingID, nil, f)
		return err
	}
	return u.changeSeries(target.SeriesID, old)
}

// differing are the fields in which an event differs from what it was.
func (u *upload) differing(old, now *itip.Event) (f meeting.Fields, changed bool) {
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
// excluded.
func (u *upload) changeSeries(id int64, old *itip.Object) error {
	if old.Master == nil || u.object.Master == nil {
		return precondition("allowed-organizer-scheduling-object-change", "the event must have its rule")
	}
	dates, err := u.dates(u.rooms)
	if err != nil {
		return err
	}
	if dates.Set == nil {
		return precondition("allowed-organizer-scheduling-object-change", "the event must have its rule")
	}
	now, was := u.object.Master, old.Master
	shared, changed := u.differing(was, now)
	f := meeting.SeriesFields{Fields: shared, OnConflict: meeting.FailOnConflict, Scope: meeting.ScopeAll}
	if shared.Start != nil {
		f.Timezone = &dates.Zone
		f.Start, f.End = new(clock.Parse(dates.Set.Start.Format(clock.WallLayout))), new(clock.Parse(dates.Set.End.Format(clock.WallLayout)))
	}
	if !slices.Equal(now.Rules, was.Rules) {
		f.Rule, changed = new(dates.Set.Rule.String()), true
	}
	if changed {
		if _, err := u.Meetings.UpdateSeries(u.ctx(), u.by, id, nil, f); err != nil {
			return err
		}
	}
	ms, err := u.Store.SeriesMeetings(u.ctx(), id)
	if err != nil {
		return err
	}
	for _, x := range now.ExDates {
		gone := x.In(time.UTC)
		if slices.ContainsFunc(was.ExDates, func(y itip.Time) bool { return y.In(time.UTC).Equal(gone) }) {
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
	for _, o := range u.object.Overrides {
		m := dateOf(ms, o)
		if m == nil || m.Status.Over() {
			continue
		}
		before := overrideOf(old, o)
		if before == nil { // it was like the others
			like := *was
			like.Start, like.End = itip.Time{Wall: m.Slot.Start, Zone: utcZone}, itip.Time{Wall: m.Slot.End, Zone: utcZone}
			before = &like
		}
		own, differs := u.differing(before, o)
		if !differs {
			continue
		}
		if _, err := u.Meetings.Update(u.ctx(), u.by, m.ID, nil, own); err != nil {
			return err
		}
	}
	return nil
}

var utcZone = &itip.Zone{Name: "UTC", Location: time.UTC}

// dateOf returns the meeting that an override is about; nil: none.
func dateOf(ms []*meeting.Meeting, o *itip.Event) *meeting.Meeting {
	at := o.RecurrenceID.In(time.UTC)
	for _, m := range ms {
		if m.OriginalStart.Equal(at) || m.OriginalStart.IsZero() && m.Slot.Start.Equal(at) {
			return m
		}
	}
	return nil
}

func overrideOf(o *itip.Object, like *itip.Event) *itip.Event {
	for _, x := range o.Overrides {
		if x.RecurrenceID.In(time.UTC).Equal(like.RecurrenceID.In(time.UTC)) {
			return x
		}
	}
	return nil
}

// changeDates gives the dates of a new series that differ what is their own.
func (u *upload) changeDates(id int64, d *itip.Dates) error {
	if len(d.Differs) == 0 {
		return nil
	}
	ms, err := u.Store.SeriesMeetings(u.ctx(), id)
	if err != nil {
		return err
	}
	master := u.object.Head()
	for _, x := range d.Differs {
		if x.Event == nil {
			continue
		}
		m := dateOf(ms, x.Event)
		if m == nil {
			continue
		}
		like := *master
		like.Start, like.End = itip.Time{Wall: m.Slot.Start, Zone: utcZone}, itip.Time{Wall: m.Slot.End, Zone: utcZone}
		own, differs := u.differing(&like, x.Event)
		if !differs {
			continue
		}
		if _, err := u.Meetings.Update(u.ctx(), u.by, m.ID, nil, own); err != nil {
			return err
		}
	}
	return nil
}

var responses = map[string]meeting.Response{"ACCEPTED": meeting.Accepted, "DECLINED": meeting.Declined, "TENTATIVE": meeting.Tentative}

// respond takes over the user's responses to a meeting of somebody else. Other changes stay in the
// user's copy, but a different time is refused.
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

// remove cancels a meeting of the user, declines one of somebody else, or forgets an event without a
// meeting.
func (r *request) remove() error {
	if r.place.kind != object || r.place.room {
		return &davError{status: http.StatusForbidden, condition: "need-privileges"}
	}
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
	r.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *request) cancel(target Member) error {
	entries, err := r.entries(r.ctx(), r.collection(), []Member{target})
	if err != nil {
		return err
	}
	e := entries[target.key()]
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
		_, err = r.Meetings.CancelSeries(r.ctx(), r.by, target.SeriesID, nil, meeting.ScopeAll, nil, "")
	case own:
		_, err = r.Meetings.Cancel(r.ctx(), r.by, target.MeetingID, nil, "")
	case target.SeriesID != 0:
		_, err = r.Meetings.RespondSeries(r.ctx(), r.by, target.SeriesID, nil, meeting.Declined, "")
	default:
		_, err = r.Meetings.Respond(r.ctx(), r.by, target.MeetingID, nil, meeting.Declined, "")
	}
	return err
}
