package booking_test

import (
	"context"
	"slices"
	"strings"

	"punctual/meeting"
)

func (s *fakeStore) CreateType(_ context.Context, t *meeting.Type) error {
	t.ID, t.Version = s.next(), 1
	s.types[t.ID] = new(*t)
	return nil
}

func (s *fakeStore) Type(_ context.Context, id int64) (*meeting.Type, error) {
	if t, ok := s.types[id]; ok {
		return new(*t), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) Types(context.Context) (types []*meeting.Type, err error) {
	for _, t := range s.types {
		types = append(types, new(*t))
	}
	slices.SortFunc(types, func(a, b *meeting.Type) int { return strings.Compare(a.Name, b.Name) })
	return types, nil
}

func (s *fakeStore) UpdateType(ctx context.Context, id int64, fn func(*meeting.Type) error) (*meeting.Type, error) {
	t, err := s.Type(ctx, id)
	if err == nil {
		err = fn(t)
	}
	if err != nil {
		return nil, err
	}
	t.Version++
	s.types[id] = new(*t)
	return t, nil
}

func (s *fakeStore) DeleteType(ctx context.Context, id int64, fn func(*meeting.Type) error) error {
	t, err := s.Type(ctx, id)
	if err == nil {
		err = fn(t)
	}
	if err == nil {
		delete(s.types, id)
	}
	return err
}
