package scheduling

import (
	"context"
	"slices"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/itip"
)

// Some calendar programs book over CalDAV and mail the invitation, too. What is booked follows from CalDAV alone, which
// has the newer version: the mail is answered with the state of its meeting.

// repeatsCalDAV answers a mail about an event that the organizer's program keeps over CalDAV. It reports false for other
// mails.
func (e *event) repeatsCalDAV(ctx context.Context, seats []seat) (State, bool, error) {
	if e.message.Via != meeting.OriginMail || e.known.ID != 0 && e.known.Origin != meeting.OriginCalDAV || e.person.UserID == 0 {
		return "", false, nil
	}
	id, seriesID, err := e.Store.OverCalDAV(ctx, e.object.UID, e.person.UserID)
	if err != nil || id == 0 && seriesID == 0 {
		return "", false, err
	}
	e.by, e.record.MeetingID, e.record.SeriesID = system, id, seriesID
	defer e.found()
	if e.message.Calendar.Method == "CANCEL" {
		return Ignored, true, nil
	}
	var booked []*meeting.Meeting
	if seriesID != 0 {
		booked, err = e.coming(ctx, seriesID)
	} else {
		var m *meeting.Meeting
		if m, err = e.Meetings.Meeting(ctx, system, id); err == nil {
			booked = []*meeting.Meeting{m}
		}
	}
	if err != nil {
		return "", true, err
	}
	state := Outdated
	for _, c := range e.message.Calendar.Components(e.message.ICS, e.object.UID) {
		m := e.meetingOf(c.Event, booked)
		if m == nil {
			continue // the program has changed it since, or is about to
		}
		state = Done
		for _, s := range seats {
			if err := e.answerFor(ctx, c, s, m); err != nil {
				return "", true, err
			}
		}
	}
	if e.message.DryRun {
		return state, true, nil
	}
	notices, err := e.Store.Tell(ctx, e.record.Replies)
	if err != nil {
		return "", true, err
	}
	e.Scheduler.Schedule(ctx, booking.Deliveries(slices.DeleteFunc(notices, func(n meeting.Notice) bool { return n.ID == 0 }))...)
	return state, true, nil
}

// meetingOf returns the meeting of an event or date at the time that it names; nil: there is none.
func (e *event) meetingOf(about *itip.Event, booked []*meeting.Meeting) *meeting.Meeting {
	for _, m := range booked {
		start := about.Start.In(e.floating())
		if m.Slot.Start.Equal(start) && m.Slot.End.Equal(about.End.In(e.floating())) {
			return m
		}
		if about.RecurrenceID == nil && len(about.Rules) > 0 && !m.OriginalStart.Before(start) {
			return m
		}
	}
	return nil
}

// answerFor notes what a room says about a meeting that was booked over CalDAV.
func (e *event) answerFor(ctx context.Context, c itip.Component, s seat, m *meeting.Meeting) error {
	p := &place{seat: s}
	for _, id := range m.RoomIDs {
		room, err := e.Meetings.Room(ctx, id)
		if err != nil {
			return err
		}
		if id == s.roomID || s.roomID == 0 && room.SiteID == s.siteID {
			p.roomID, p.room = id, room
		}
	}
	if p.room == nil && s.roomID != 0 {
		room, err := e.Meetings.Room(ctx, s.roomID)
		if err != nil {
			return err
		}
		p.room = room
	}
	switch p.status = statusOf(m, p.roomID); p.status {
	case "":
		p.decline("over", e.words.over)
	case Declined:
		p.lines = e.reasons(ctx, m)
	}
	e.answer(c, p)
	return nil
}
