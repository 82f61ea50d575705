package feed

import (
	"context"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

var (
	now = time.Date(2027, 2, 10, 8, 0, 0, 0, time.UTC)
	ann = meeting.Actor{Kind: meeting.ActorUser, ID: 1, Email: "ann@example.net"}
)

type booked []*meeting.Meeting

func (b booked) Meetings(_ context.Context, _ meeting.Actor, q meeting.MeetingQuery, _ meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	for _, m := range b {
		if m.Slot.Overlaps(clock.Slot{Start: q.From, End: q.To}) && (q.OrganizerID == m.Organizer.UserID || q.AttendeeEmail == m.Attendees[0].Email) {
			ms = append(ms, m)
		}
	}
	return ms, "", nil
}

// add books an hour of a day for an organizer and a guest.
func (b *booked) add(day int, organizer int64, guest string, response meeting.Response) {
	start := now.AddDate(0, 0, day)
	*b = append(*b, &meeting.Meeting{
		ID: int64(len(*b) + 1), Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}, Organizer: meeting.Person{UserID: organizer},
		Attendees: []meeting.Attendee{{Person: meeting.Person{Email: guest}, Response: response}},
	})
}

// A feed of too many meetings is complete until the instant that it returns. What a person
// organizes does not crowd out what the person is invited to.
func TestRead_isCompleteUntilAnInstant(t *testing.T) {
	most := maxMeetings
	t.Cleanup(func() { maxMeetings = most })
	var b booked
	for day := 1; day < 200; day += 20 {
		b.add(day, ann.ID, "guest@example.net", meeting.Accepted)
		b.add(day, 2, ann.Email, meeting.Accepted)
		b.add(day, 2, ann.Email, meeting.Declined)
	}
	s := NewService(&b, func() time.Time { return now })
	whole, until, err := s.Read(t.Context(), ann, 0, true)
	if end := now.Truncate(24 * time.Hour).Add(future); err != nil || len(whole) != 20 || !until.Equal(end) {
		t.Fatalf("%d meetings until %v, %v", len(whole), until, err)
	}
	maxMeetings = 9
	some, until, err := s.Read(t.Context(), ann, 0, true)
	if err != nil || len(some) == 0 || len(some) > maxMeetings {
		t.Fatalf("%d meetings, %v", len(some), err)
	}
	want := 0
	for _, m := range whole {
		if m.Slot.Start.Before(until) {
			want++
		}
	}
	if len(some) != want {
		t.Errorf("%d meetings until %v, want %d", len(some), until, want)
	}

	// Many attendees count as well.
	maxMeetings = most
	bytes := maxBytes
	t.Cleanup(func() { maxBytes = bytes })
	maxBytes = 10 * 50 * attendeeBytes
	for _, m := range b {
		m.Attendees = slices.Repeat(m.Attendees, 50)
	}
	if some, until, err = s.Read(t.Context(), ann, 0, true); err != nil || len(some) == 0 || len(some) > 10 || !until.Before(now.Add(future)) {
		t.Errorf("%d meetings with many attendees until %v, %v", len(some), until, err)
	}
}
