package meeting

import (
	"context"
	"slices"
	"strings"
)

func (s *fakeStore) CreateCustomField(_ context.Context, c *CustomField) error {
	c.ID, c.Version = s.next(), 1
	s.customFields[c.ID] = new(*c)
	return nil
}

func (s *fakeStore) CustomField(_ context.Context, id int64) (*CustomField, error) {
	if c, ok := s.customFields[id]; ok {
		return new(*c), nil
	}
	return nil, ErrNotFound
}

func (s *fakeStore) CustomFields(context.Context) (fields []*CustomField, err error) {
	for _, c := range s.customFields {
		fields = append(fields, new(*c))
	}
	slices.SortFunc(fields, func(a, b *CustomField) int { return strings.Compare(a.Name, b.Name) })
	return fields, nil
}

func (s *fakeStore) UpdateCustomField(ctx context.Context, id int64, fn func(*CustomField) error) (*CustomField, error) {
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

func (s *fakeStore) DeleteCustomField(ctx context.Context, id int64, fn func(*CustomField) error) error {
	c, err := s.CustomField(ctx, id)
	if err == nil {
		err = fn(c)
	}
	if err == nil {
		delete(s.customFields, id)
	}
	return err
}
