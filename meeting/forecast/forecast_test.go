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

// stored is a room with three meetings of an hour.
type stored struct{}

func (stored) ListRooms(context.Context, meeting.RoomQuery, meeting.Page) ([]*meeting.Room, string, error) {
	return []*meeting.Room{{Room: policy.Room{ID: 1, Active: true}}}, "", nil
}

func (stored) ListMeetings(context.Context, meeting.MeetingQuery, meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	for i := range 3 {
		start := now.Add(time.Duration(i+1) * time.Hour)
		ms = append(ms, &meeting.Meeting{RoomIDs: []int64{1}, Status: meeting.Confirmed, Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}})
	}
	return ms, "", nil
}

func TestForecast_countsWhatItLeavesOut(t *testing.T) {
	s := NewService(stored{}, func() meeting.Settings { return meeting.Settings{} }, func() time.Time { return now })
	next := meeting.Settings{Limits: policy.Limits{MaxDuration: time.Minute}}
	f, err := s.Forecast(t.Context(), meeting.Actor{Kind: meeting.ActorSystem}, next, 1)
	if err != nil || f.Looked != 3 || len(f.Refusals) != 1 || f.Totals.Refusals != 3 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := s.Forecast(t.Context(), meeting.Actor{Kind: meeting.ActorUser, Role: meeting.Manager}, next, 1); err != meeting.ErrForbidden {
		t.Errorf("a manager: %v", err)
	}
}
