package booking_test

import (
	"context"
	"slices"
	"strings"

	"punctual/meeting"
)

func (s *fakeStore) CreateCustomField(_ context.Context, c *meeting.CustomField) error {
	c.ID, c.Version = s.next(), 1
	s.customFields[c.ID] = new(*c)
	return nil
}

func (s *fakeStore) CustomField(_ context.Context, id int64) (*meeting.CustomField, error) {
	if c, ok := s.customFields[id]; ok {
		return new(*c), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) CustomFields(context.Context) (fields []*meeting.CustomField, err error) {
	for _, c := range s.customFields {
		fields = append(fields, new(*c))
	}
	slices.SortFunc(fields, func(a, b *meeting.CustomField) int { return strings.Compare(a.Name, b.Name) })
	return fields, nil
}

func (s *fakeStore) UpdateCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) (*meeting.CustomField, error) {
	c, err := s.CustomField(ctx, id)
	if err == nil {
		err = fn(c)
	}
	if err != nil {
		return nil, err
	}
	c.Version++
	s.customFields[id] = new(*c)
	return c, nil
}

func (s *fakeStore) DeleteCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) error {
	c, err := s.CustomField(ctx, id)
	if err == nil {
		err = fn(c)
	}
	if err == nil {
		delete(s.customFields, id)
	}
	return err
}
