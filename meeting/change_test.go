package meeting

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// restless is a store whose one meeting moves to another room between any two looks at it.
type restless struct {
	Store
	moves int // still to come
	looks int
}

func (s *restless) Meeting(context.Context, ID) (*Meeting, error) {
	if s.looks++; s.moves > 0 {
		s.moves--
	}
	at := time.Now().Add(time.Hour)
	return &Meeting{ID: 1, Status: Confirmed, RoomIDs: []int64{int64(1 + s.moves)}, Slot: clock.Slot{Start: at, End: at.Add(time.Hour)}, Version: 1}, nil
}

func (s *restless) UpdateMeeting(ctx context.Context, id ID, fn func(*Meeting) error) (*Meeting, []Notice, error) {
	m, err := s.Meeting(ctx, id)
	if err == nil {
		err = fn(m)
	}
	return m, nil, err
}

func (s *restless) Rooms(_ context.Context, ids []int64) ([]*Room, error) {
	rooms := make([]*Room, len(ids))
	for i, id := range ids {
		rooms[i] = &Room{Room: policy.Room{ID: id, Active: true}}
	}
	return rooms, nil
}

type deafScheduler struct{}

func (deafScheduler) Schedule(context.Context, ...delayjob.Message) {}
func (deafScheduler) Forget(context.Context, ...string)             {}

func TestService_changesAMeetingThatOthersKeepMoving(t *testing.T) {
	admin := Actor{Kind: ActorUser, ID: 1, Role: Admin}
	service := func(s Store) *Service {
		return NewService(s, nil, deafScheduler{}, func() Settings { return Settings{} }, time.Now, slog.New(slog.DiscardHandler))
	}

	t.Run("until it stands still", func(t *testing.T) {
		m, err := service(&restless{moves: 50}).Cancel(t.Context(), admin, 1, nil, "")
		if err != nil || m.Status != Cancelled {
			t.Errorf("got %+v, %v", m, err)
		}
	})
	t.Run("at once, if it says itself where to", func(t *testing.T) {
		s, title := &restless{moves: 50}, "New"
		_, err := service(s).Update(t.Context(), admin, 1, nil, Fields{Title: &title, RoomIDs: &[]int64{7}})
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

func (s *restless) CustomFields(context.Context) ([]*CustomField, error) { return nil, nil }
