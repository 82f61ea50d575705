package branding

import (
	"context"

	"punctual/meeting"
	"punctual/meeting/photo"
)

// Store is the persistence of the branding, on the terms of [booking.Store].
type Store interface {
	Branding(ctx context.Context) (*meeting.Branding, error) // of version 0 if nothing was ever set
	// UpdateBranding also replaces the logo if logo is set; a nil picture removes it.
	UpdateBranding(ctx context.Context, logo bool, picture *photo.Picture, fn func(*meeting.Branding) error) (*meeting.Branding, error)
	Logo(ctx context.Context) (picture *photo.Picture, version string, err error) // [meeting.ErrNotFound] without one
}
