package forecast

import (
	"context"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

var now = time.Date(2027, 2, 10, 8, 0, 0, 0, time.UTC)

// stored is a room with three requests for an hour, with the default reminders.
type stored struct{}

func (stored) ListRooms(context.Context, meeting.RoomQuery, meeting.Page) ([]*meeting.Room, string, error) {
	return []*meeting.Room{{Room: policy.Room{ID: 1, Active: true}, Approval: meeting.RoomApproval{Required: true}}}, "", nil
}

func (stored) ListMeetings(context.Context, meeting.MeetingQuery, meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	for i := range 3 {
		start := now.Add(time.Duration(i+1) * time.Hour)
		ms = append(ms, &meeting.Meeting{
			RoomIDs: []int64{1}, Status: meeting.Pending, Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}, DefaultReminders: true,
			Request: &meeting.Request{Number: 1, RequestedAt: now, Deadline: now.Add(10 * time.Minute)},
		})
	}
	return ms, "", nil
}

func TestForecast_countsWhatItLeavesOut(t *testing.T) {
	s := NewService(stored{}, func() meeting.Settings { return meeting.Settings{ApprovalTimeout: 10 * time.Minute} }, func() time.Time { return now })
	next := meeting.Settings{
		Limits: policy.Limits{MaxDuration: time.Minute}, ApprovalTimeout: 20 * time.Minute,
		Reminders: []meeting.Reminder{{Before: meeting.BeforeStart, Offset: time.Minute, Channels: []meeting.Channel{meeting.Email}}},
	}
	f, err := s.Forecast(t.Context(), meeting.Actor{Kind: meeting.ActorSystem}, next, 1)
	if err != nil || f.Looked != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	for kind, n := range map[string][2]int{
		"reminders": {len(f.Reminders), f.Totals.Reminders}, "requests": {len(f.Requests), f.Totals.Requests}, "refusals": {len(f.Refusals), f.Totals.Refusals},
	} {
		if n != [2]int{1, 3} {
			t.Errorf("%s: lists %d of %d, want 1 of 3", kind, n[0], n[1])
		}
	}
	if _, err := s.Forecast(t.Context(), meeting.Actor{Kind: meeting.ActorUser, Role: meeting.Manager}, next, 1); err != meeting.ErrForbidden {
		t.Errorf("a manager: %v", err)
	}
}
