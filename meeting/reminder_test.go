package meeting

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting/clock"
)

func reminded() *Meeting {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	return &Meeting{
		ID: 42, Title: "Review", Status: Confirmed, ScheduleVersion: 3, UpdatedAt: start.Add(-20 * time.Minute),
		Slot:      clock.Slot{Start: start, End: start.Add(time.Hour)},
		Organizer: Person{UserID: 1, Email: "Ann@example.org", Phone: "+49300001"},
		Attendees: []Attendee{
			{Person: Person{Email: "ann@example.org"}}, {Person: Person{Email: "bob@example.org", Phone: "+49300002"}},
			{Person: Person{Email: "no@example.org"}, Response: Declined},
		},
	}
}

func TestMeeting_RemindNotices(t *testing.T) {
	m := reminded()
	ns := m.RemindNotices(Reminder{BeforeStart, 15 * time.Minute, []Channel{Email, SMS}}, m.Slot.Start.Add(-15*time.Minute))
	var keys []string
	for _, n := range ns {
		keys = append(keys, n.DedupeKey)
		if n.Late || n.MeetingID != 42 || n.Facts.Offset != 900 || n.Facts.Before != BeforeStart {
			t.Errorf("%+v", n)
		}
	}
	want := []string{
		"reminder:42:start:900:1802250000:email:ann@example.org", "reminder:42:start:900:1802250000:email:bob@example.org",
		"reminder:42:start:900:1802250000:sms:+49300001", "reminder:42:start:900:1802250000:sms:+49300002",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("got %q\nwant %q", keys, want)
	}
}

func TestMeeting_RemindNotices_late(t *testing.T) {
	const moment = time.Microsecond
	tests := []struct {
		name   string
		before Anchor
		offset time.Duration
		late   time.Duration // after it was due
		want   bool
	}{
		{"on time", BeforeStart, time.Hour, 0, false},
		{"within five minutes", BeforeStart, time.Hour, 5*time.Minute - moment, false},
		{"after five minutes", BeforeStart, time.Hour, 5 * time.Minute, true},
		{"the meeting has begun", BeforeStart, time.Minute, time.Minute, true},
		{"at the start itself", BeforeStart, 0, 30 * time.Second, false},
		{"well after the start", BeforeStart, 0, 2 * time.Minute, true},
		{"before the end", BeforeEnd, 5 * time.Minute, 2*time.Minute - moment, false},
		{"too late before the end", BeforeEnd, 5 * time.Minute, 2 * time.Minute, true},
		{"the meeting has ended", BeforeEnd, time.Minute, time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := reminded()
			r := Reminder{tt.before, tt.offset, []Channel{Email}}
			for _, n := range m.RemindNotices(r, r.Due(m).Add(tt.late)) {
				if n.Late != tt.want {
					t.Errorf("late: %v", n.Late)
				}
			}
		})
	}
}

func TestMeeting_Messages(t *testing.T) {
	m := reminded()
	m.Reminders = []Reminder{{BeforeStart, time.Hour, nil}, {BeforeStart, 15 * time.Minute, nil}, {BeforeEnd, 0, nil}}
	for status, want := range map[Status][]string{
		Pending:    {"approval.expire:42"},
		Confirmed:  {"meeting.remind:42:start:900", "meeting.remind:42:end:0", "meeting.start:42", "meeting.end:42"},
		InProgress: {"meeting.remind:42:start:900", "meeting.remind:42:end:0", "meeting.end:42"},
		Ended:      nil, Cancelled: nil, Rejected: nil, Released: nil,
	} {
		m.Status = status
		m.Request = nil
		if status == Pending {
			m.Request = &Request{Number: 3, Deadline: m.Slot.Start}
		}
		var got []string
		for _, msg := range m.Messages() {
			got = append(got, msg.ID())
			if msg.Version != 3 || msg.Due.IsZero() {
				t.Errorf("%+v", msg)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", status, got, want)
		}
	}
}
