package booking_test

import (
	"context"
	"slices"

	"punctual/meeting"
)

func (s *fakeStore) CreateFaultReport(_ context.Context, r *meeting.FaultReport, notices []meeting.Notice, fn func(int64) error) error {
	var open int64
	for _, o := range s.faults {
		if o.RoomID == r.RoomID && o.DoneAt.IsZero() {
			open++
		}
	}
	if err := fn(open); err != nil {
		return err
	}
	r.ID, r.Version = s.next(), 1
	s.faults = append(s.faults, new(*r))
	s.notices = append(s.notices, notices...)
	return nil
}

func (s *fakeStore) ChatChannels(context.Context, []int64) ([]meeting.ChatChannel, error) {
	return nil, nil
}

func (s *fakeStore) FaultReport(_ context.Context, id int64) (*meeting.FaultReport, error) {
	for _, r := range s.faults {
		if r.ID == id {
			return new(*r), nil
		}
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) ListFaultReports(_ context.Context, q meeting.FaultReportQuery, _ meeting.Page) (rs []*meeting.FaultReport, next string, err error) {
	for _, r := range slices.Backward(s.faults) {
		if (q.RoomID == 0 || q.RoomID == r.RoomID) && (!q.Open || r.DoneAt.IsZero()) && (!q.Done || !r.DoneAt.IsZero()) {
			rs = append(rs, new(*r))
		}
	}
	return rs, "", nil
}

func (s *fakeStore) UpdateFaultReport(ctx context.Context, id int64, fn func(*meeting.FaultReport, *meeting.Room) error) (*meeting.FaultReport, error) {
	r, err := s.FaultReport(ctx, id)
	if err != nil {
		return nil, err
	}
	rooms, err := s.Rooms(ctx, []int64{r.RoomID})
	if err == nil {
		err = fn(r, rooms[0])
	}
	if err != nil {
		return nil, err
	}
	r.Version++
	s.faults[slices.IndexFunc(s.faults, func(o *meeting.FaultReport) bool { return o.ID == id })] = new(*r)
	return r, nil
}
