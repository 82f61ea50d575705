package meeting

import "context"

func (s *fakeStore) MeetingsByID(ctx context.Context, ids []ID) ([]*Meeting, error) {
	var ms []*Meeting
	for _, id := range ids {
		if m, err := s.Meeting(ctx, id); err == nil {
			ms = append(ms, m)
		}
	}
	return ms, nil
}

func (s *fakeStore) Outlines(ctx context.Context, ids []ID) ([]*Meeting, error) {
	return s.MeetingsByID(ctx, ids)
}
