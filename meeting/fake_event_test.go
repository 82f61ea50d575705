package meeting

import "context"

func (s *fakeStore) Events(context.Context, int64, int) ([]Event, uint64, error) { return nil, 0, nil }
func (s *fakeStore) Mark(context.Context) (uint64, error)                        { return 0, nil }
func (s *fakeStore) LastEvent(context.Context) (int64, error)                    { return 0, nil }
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
