package scheduling

import (
	"context"
	"slices"

	"punctual/meeting"
	"punctual/meeting/itip"
)

// cancel takes the seats of the message out of the event, or out of one of its dates. What has no seat
// left is cancelled. Of an event that was never seen it leaves a note that beats older invitations.
func (e *event) cancel(ctx context.Context, current []itip.Component, seats []seat) (State, error) {
	if e.message.Via == meeting.OriginCalDAV { // the calendar program deleted it, with all rooms
		for _, t := range e.known.Answers {
			if !slices.ContainsFunc(seats, func(s seat) bool { return s.address == t.Address }) {
				seats = append(seats, seat{address: t.Address, roomID: t.RoomID})
			}
		}
	}
	for _, c := range current {
		id := recurrenceID(c.Event)
		for _, s := range seats {
			told := Told{RecurrenceID: id, Address: s.address, RoomID: s.roomID, Version: versionOf(c.Event)}
			if before := e.known.told(id, s.address); before != nil {
				if told.Compare(before.Version) <= 0 {
					continue
				}
				told.RoomID, told.Number = before.RoomID, before.Number
			}
			e.record.Answers = append(e.record.Answers, told)
			e.know(told)
			e.outdate(told)
		}
	}
	if e.person.UserID != 0 && len(e.known.Instances) > 0 && !e.message.DryRun {
		if err := e.rearrange(ctx); err != nil {
			return "", err
		}
	}
	return e.finish(ctx)
}

// outdate keeps answers from being sent that a cancellation has overtaken: about the date or, of the whole event,
// about any of its dates.
func (e *event) outdate(cancelled Told) {
	for _, t := range e.known.Answers {
		if t.Address != cancelled.Address || t.Compare(cancelled.Version) > 0 || cancelled.RecurrenceID != "" && t.RecurrenceID != cancelled.RecurrenceID {
			continue
		}
		reply := &meeting.Reply{From: t.Address + "@" + e.conf.Domain, Event: e.object.UID, Date: t.RecurrenceID}
		e.record.Outdated = append(e.record.Outdated, e.proposal(reply.From, t.RecurrenceID), meeting.Notice{
			Kind: meeting.NoticeReply, Channel: meeting.Email, To: meeting.Person{Email: e.organizer}, Facts: meeting.Facts{Reply: reply},
		})
	}
}

// rearrange brings the meeting to the seats that are left.
func (e *event) rearrange(ctx context.Context) error {
	if err := e.findOrganizer(ctx, e.object.Head()); err != nil {
		return err
	}
	places, err := e.places(ctx, nil)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return e.release(ctx)
	}
	e.latest = e.known.Instances
	if e.object, err = e.merged(); err != nil {
		return err
	}
	return e.book(ctx, e.object, places)
}
