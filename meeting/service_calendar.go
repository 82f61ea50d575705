package meeting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"punctual/meeting/clock"
)

// What a calendar that others read holds, around now.
const (
	calendarPast   = 60 * 24 * time.Hour
	calendarFuture = 400 * 24 * time.Hour
	calendarStep   = 40 * 24 * time.Hour // is read at once
)

// calendarMost bounds the meetings of a calendar, and calendarBytes their texts. Variables for tests.
var calendarMost, calendarBytes = 20_000, 16 << 20

// Calendar is what a calendar of another program shows: the meetings of a room or, where roomID
// is 0, those that the actor organizes or is invited to and did not decline; by start, those that
// take place, took place or are asked for. Of private meetings it has the time alone unless titles
// are wanted of the actor's own: an address is passed on more easily than a password. It is
// complete up to an instant, which is earlier than usual where there are too many.
func (s *Service) Calendar(ctx context.Context, by Actor, roomID int64, titles bool) (ms []*Meeting, until time.Time, err error) {
	at := s.clock().Truncate(24 * time.Hour) // so that what is asked for again is the same
	end, size := at.Add(calendarFuture), 0
	seen := map[ID]bool{} // what goes on from one step into the next is listed in both
	for from := at.Add(-calendarPast); from.Before(end); from = from.Add(calendarStep) {
		found, err := s.calendarPart(ctx, by, roomID, clock.Slot{Start: from, End: clock.Earlier(from.Add(calendarStep), end)})
		if err != nil {
			return nil, time.Time{}, err
		}
		var part []*Meeting
		for _, m := range found {
			if seen[m.ID] || roomID == 0 && !by.organizes(m) && m.declinedBy(by) {
				continue
			}
			seen[m.ID] = true
			if m.Visibility == Private && !titles || roomID != 0 {
				m = m.View(Actor{}, nil)
			}
			part, size = append(part, m), size+len(m.Title)+len(m.Description)
		}
		if len(ms) > 0 && (len(ms)+len(part) > calendarMost || size > calendarBytes) {
			end = from
			break
		}
		ms = append(ms, part...)
	}
	slices.SortFunc(ms, func(a, b *Meeting) int { return cmp.Or(a.Slot.Start.Compare(b.Slot.Start), cmp.Compare(a.ID, b.ID)) })
	return ms, end, nil
}

// calendarPart is all that a calendar may show of a span, as often as it is found.
func (s *Service) calendarPart(ctx context.Context, by Actor, roomID int64, span clock.Slot) ([]*Meeting, error) {
	q := MeetingQuery{From: span.Start, To: span.End, Statuses: []Status{Pending, Confirmed, InProgress, Ended}}
	qs := []MeetingQuery{q}
	if roomID != 0 {
		qs[0].RoomID = roomID
	} else {
		qs = append(qs, q)
		qs[0].OrganizerID, qs[1].AttendeeEmail = by.ID, by.Email
	}
	var all []*Meeting
	for _, q := range qs {
		for p := (Page{Limit: 500}); len(all) <= 2*calendarMost; {
			ms, next, err := s.Meetings(ctx, by, q, p)
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

func (m *Meeting) declinedBy(a Actor) bool {
	i := slices.IndexFunc(m.Attendees, a.is)
	return i >= 0 && m.Attendees[i].Response == Declined
}
