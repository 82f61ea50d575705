package booking_test

import (
	"context"

	"punctual/meeting"
)

func (s *fakeStore) MeetingsByID(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	var ms []*meeting.Meeting
	for _, id := range ids {
		if m, err := s.Meeting(ctx, id); err == nil {
			ms = append(ms, m)
		}
	}
	return ms, nil
}

func (s *fakeStore) Outlines(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	return s.MeetingsByID(ctx, ids)
}
