package meeting

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// What a calendar that others read holds, around now.
const (
	calendarPast   = 60 * 24 * time.Hour
	calendarFuture = 400 * 24 * time.Hour
	calendarMost   = 5000
)

// Calendar is what a calendar of another program shows: the meetings of a room or, where roomID
// is 0, those that the actor organizes or is invited to and did not decline; by start, those that
// take place, took place or are asked for. Of private meetings it has the time alone unless titles
// are wanted of the actor's own: an address is passed on more easily than a password.
func (s *Service) Calendar(ctx context.Context, by Actor, roomID int64, titles bool) ([]*Meeting, error) {
	at := s.clock().Truncate(24 * time.Hour) // so that what is asked for again is the same
	q := MeetingQuery{From: at.Add(-calendarPast), To: at.Add(calendarFuture), Statuses: []Status{Pending, Confirmed, InProgress, Ended}}
	var qs []MeetingQuery
	if roomID != 0 {
		q.RoomID = roomID
		qs = append(qs, q)
	} else {
		organized, invited := q, q
		organized.OrganizerID, invited.AttendeeEmail = by.ID, by.Email
		qs = append(qs, organized, invited)
	}
	found := map[ID]*Meeting{}
	for _, q := range qs {
		if err := s.collect(ctx, by, q, found); err != nil {
			return nil, err
		}
	}
	var ms []*Meeting
	for _, m := range found {
		if roomID == 0 && !by.organizes(m) && m.declinedBy(by) {
			continue
		}
		if m.Visibility == Private && !titles || roomID != 0 {
			m = m.View(Actor{}, nil)
		}
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b *Meeting) int { return cmp.Or(a.Slot.Start.Compare(b.Slot.Start), cmp.Compare(a.ID, b.ID)) })
	return ms, nil
}

// collect reads all pages of a list, as far as a calendar can take them.
func (s *Service) collect(ctx context.Context, by Actor, q MeetingQuery, into map[ID]*Meeting) error {
	p := Page{Limit: 500}
	for len(into) < calendarMost {
		ms, next, err := s.Meetings(ctx, by, q, p)
		if err != nil {
			return err
		}
		for _, m := range ms {
			into[m.ID] = m
		}
		if next == "" {
			return nil
		}
		p.Cursor = next
	}
	return nil
}

func (m *Meeting) declinedBy(a Actor) bool {
	i := slices.IndexFunc(m.Attendees, a.is)
	return i >= 0 && m.Attendees[i].Response == Declined
}
