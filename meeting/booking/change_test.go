package booking_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// restless is a store whose one meeting moves to another room between any two looks at it.
type restless struct {
	booking.Store
	moves int // still to come
	looks int
}

func (s *restless) Meeting(context.Context, meeting.ID) (*meeting.Meeting, error) {
	if s.looks++; s.moves > 0 {
		s.moves--
	}
	at := time.Now().Add(time.Hour)
	return &meeting.Meeting{ID: 1, Status: meeting.Confirmed, RoomIDs: []int64{int64(1 + s.moves)}, Slot: clock.Slot{Start: at, End: at.Add(time.Hour)}, Version: 1}, nil
}

func (s *restless) UpdateMeeting(ctx context.Context, id meeting.ID, fn func(*meeting.Meeting) error) (*meeting.Meeting, []meeting.Notice, error) {
	m, err := s.Meeting(ctx, id)
	if err == nil {
		err = fn(m)
	}
	return m, nil, err
}

func (s *restless) Rooms(_ context.Context, ids []int64) ([]*meeting.Room, error) {
	rooms := make([]*meeting.Room, len(ids))
	for i, id := range ids {
		rooms[i] = &meeting.Room{Room: policy.Room{ID: id, Active: true}}
	}
	return rooms, nil
}

type deafScheduler struct{}

func (deafScheduler) Schedule(context.Context, ...delayjob.Message) {}
func (deafScheduler) Forget(context.Context, ...string)             {}

func TestService_changesAMeetingThatOthersKeepMoving(t *testing.T) {
	admin := meeting.Actor{Kind: meeting.ActorUser, ID: 1, Role: meeting.Admin}
	service := func(s booking.Store) *booking.Service {
		return booking.NewService(s, nil, deafScheduler{}, func() meeting.Settings { return meeting.Settings{} }, time.Now, slog.New(slog.DiscardHandler))
	}

	t.Run("until it stands still", func(t *testing.T) {
		m, err := service(&restless{moves: 50}).Cancel(t.Context(), admin, 1, nil, "")
		if err != nil || m.Status != meeting.Cancelled {
			t.Errorf("got %+v, %v", m, err)
		}
	})
	t.Run("at once, if it says itself where to", func(t *testing.T) {
		s, title := &restless{moves: 50}, "New"
		_, err := service(s).Update(t.Context(), admin, 1, nil, booking.Fields{Title: &title, RoomIDs: &[]int64{7}})
		if err != nil || s.looks != 2 {
			t.Errorf("%d looks, %v", s.looks, err)
		}
	})
	t.Run("as long as somebody waits for it", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := service(&restless{moves: 1 << 40}).Cancel(ctx, admin, 1, nil, ""); err == nil {
			t.Error("no error")
		}
	})
}

func (s *restless) CustomFields(context.Context) ([]*meeting.CustomField, error) { return nil, nil }
