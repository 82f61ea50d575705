package booking_test

import (
	"context"

	"punctual/meeting"
	"punctual/meeting/photo"
)

func (s *fakeStore) Branding(context.Context) (*meeting.Branding, error) { return new(s.branding), nil }

func (s *fakeStore) UpdateBranding(_ context.Context, logo bool, picture *photo.Picture, fn func(*meeting.Branding) error) (*meeting.Branding, error) {
	b := new(s.branding)
	if err := fn(b); err != nil {
		return nil, err
	}
	b.Version++
	if logo {
		s.logo = picture
	}
	s.branding = *b
	return b, nil
}

func (s *fakeStore) Logo(context.Context) (*photo.Picture, string, error) {
	if s.logo == nil {
		return nil, "", meeting.ErrNotFound
	}
	return s.logo, s.branding.Logo, nil
}
