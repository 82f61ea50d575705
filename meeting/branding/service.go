// Package branding keeps the name, the logo and the message of the organization, which all pages show.
package branding

import "punctual/meeting/booking"

// Service shows and changes the branding. Safe for concurrent use.
type Service struct {
	booking *booking.Service
	store   Store
}

// NewService returns a service with the settings and the clock of the bookings.
func NewService(b *booking.Service, store Store) *Service {
	return &Service{booking: b, store: store}
}
