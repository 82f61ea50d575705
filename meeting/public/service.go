// Package public decides what people see of rooms and meetings without signing in: the public calendar.
package public

import "punctual/meeting/booking"

// Service shows the public calendar, and keeps what admins chose for it. Safe for concurrent use.
type Service struct {
	booking *booking.Service
	store   Store
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store) *Service {
	return &Service{booking: b, store: store}
}
