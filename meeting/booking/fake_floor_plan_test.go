package booking_test

import (
	"context"
	"slices"

	"punctual/meeting"
	"punctual/meeting/photo"
)

func (s *fakeStore) CreateFloorPlan(_ context.Context, p *meeting.FloorPlan, picture *photo.Picture) error {
	p.ID, p.Version = s.next(), 1
	s.plans[p.ID], s.planPictures[p.ID] = new(*p), picture
	return nil
}

func (s *fakeStore) FloorPlan(_ context.Context, id int64) (*meeting.FloorPlan, error) {
	if p, ok := s.plans[id]; ok {
		p := new(*p)
		p.Rooms = slices.Clone(p.Rooms)
		return p, nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) FloorPlans(ctx context.Context) (plans []*meeting.FloorPlan, err error) {
	for id := range s.plans {
		p, _ := s.FloorPlan(ctx, id)
		plans = append(plans, p)
	}
	return plans, nil
}

func (s *fakeStore) UpdateFloorPlan(ctx context.Context, id int64, picture *photo.Picture, fn func(*meeting.FloorPlan) error) (*meeting.FloorPlan, error) {
	p, err := s.FloorPlan(ctx, id)
	if err == nil {
		err = fn(p)
	}
	if err != nil {
		return nil, err
	}
	p.Version++
	s.plans[id] = new(*p)
	if picture != nil {
		s.planPictures[id] = picture
	}
	return p, nil
}

func (s *fakeStore) DeleteFloorPlan(ctx context.Context, id int64, fn func(*meeting.FloorPlan) error) error {
	p, err := s.FloorPlan(ctx, id)
	if err == nil {
		err = fn(p)
	}
	if err == nil {
		delete(s.plans, id)
	}
	return err
}

func (s *fakeStore) FloorPlanPicture(_ context.Context, id int64) (*photo.Picture, string, error) {
	if p, ok := s.plans[id]; ok {
		return s.planPictures[id], p.Picture, nil
	}
	return nil, "", meeting.ErrNotFound
}
