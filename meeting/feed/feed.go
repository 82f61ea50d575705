// Package feed returns the calendars that other programs subscribe to, of a user or of a room.
package feed

import (
	"cmp"
	"context"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// What a feed contains, around now.
const (
	past   = 60 * 24 * time.Hour
	future = 400 * 24 * time.Hour
	step   = 40 * 24 * time.Hour // read at once
)

// maxMeetings limits the meetings of a feed, and maxBytes their texts, where an attendee counts as
// attendeeBytes. Variables for tests.
var maxMeetings, maxBytes = 20_000, 16 << 20

const attendeeBytes = 100

// Meetings lists meetings, as [booking.Service.Meetings] does.
type Meetings interface {
	Meetings(ctx context.Context, by meeting.Actor, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
}

// Service returns calendar feeds.
type Service struct {
	meetings Meetings
	now      func() time.Time
}

// NewService returns a service.
func NewService(meetings Meetings, now func() time.Time) *Service {
	return &Service{meetings: meetings, now: now}
}

// Read returns the meetings of a room or, if roomID is 0, those that the actor organizes or is
// invited to and did not decline. They come by start. Private meetings show only their time, unless
// titles is set and they are the actor's own: the address of a feed leaks more easily than a
// password. The feed is complete until an instant, which is earlier if there are too many meetings.
func (s *Service) Read(ctx context.Context, by meeting.Actor, roomID int64, titles bool) (ms []*meeting.Meeting, until time.Time, err error) {
	at := s.now().UTC().Truncate(24 * time.Hour) // the same response all day
	end, size := at.Add(future), 0
	seen := map[meeting.ID]bool{} // a meeting that reaches into the next step is in both
	for from := at.Add(-past); from.Before(end); from = from.Add(step) {
		found, err := s.read(ctx, by, roomID, clock.Slot{Start: from, End: clock.Earlier(from.Add(step), end)})
		if err != nil {
			return nil, time.Time{}, err
		}
		var part []*meeting.Meeting
		for _, m := range found {
			if seen[m.ID] || roomID == 0 && m.DeclinedBy(by) {
				continue
			}
			seen[m.ID] = true
			if m.Visibility == meeting.Private && !titles || roomID != 0 {
				m = m.View(meeting.Actor{AtRoom: roomID}, nil)
			}
			part, size = append(part, m), size+len(m.Title)+len(m.Description)+attendeeBytes*len(m.Attendees)
		}
		if len(ms) > 0 && (len(ms)+len(part) > maxMeetings || size > maxBytes) {
			end = from
			break
		}
		ms = append(ms, part...)
	}
	slices.SortFunc(ms, byStart)
	return ms, end, nil
}

// Agenda returns the meetings in a span that the actor organizes or is invited to and did not decline, by
// start. Meetings that have ended are left out.
func (s *Service) Agenda(ctx context.Context, by meeting.Actor, span clock.Slot) ([]*meeting.Meeting, error) {
	found, err := s.read(ctx, by, 0, span)
	if err != nil {
		return nil, err
	}
	seen := map[meeting.ID]bool{}
	found = slices.DeleteFunc(found, func(m *meeting.Meeting) bool {
		again := seen[m.ID]
		seen[m.ID] = true
		return again || m.Status == meeting.Ended || m.DeclinedBy(by)
	})
	slices.SortFunc(found, byStart)
	return found, nil
}

func byStart(a, b *meeting.Meeting) int {
	return cmp.Or(a.Slot.Start.Compare(b.Slot.Start), cmp.Compare(a.ID, b.ID))
}

// read returns all meetings of a span, some of them twice.
func (s *Service) read(ctx context.Context, by meeting.Actor, roomID int64, span clock.Slot) ([]*meeting.Meeting, error) {
	q := meeting.MeetingQuery{From: span.Start, To: span.End, Statuses: []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress, meeting.Ended}}
	qs := []meeting.MeetingQuery{q}
	if roomID != 0 {
		qs[0].RoomID = roomID
	} else {
		qs = append(qs, q)
		qs[0].OrganizerID, qs[1].AttendeeEmail = by.ID, by.Email
	}
	var all []*meeting.Meeting
	for _, q := range qs {
		for p := (meeting.Page{Limit: 500}); len(all) <= 2*maxMeetings; {
			ms, next, err := s.meetings.Meetings(ctx, by, q, p)
			if err != nil {
				return nil, err
			}
			all = append(all, ms...)
			if p.Cursor = next; next == "" {
				break
			}
		}
	}
	return all, nil
}
