// Package series books, changes and cancels recurring meetings. It finds out which dates can be booked.
package series

import "punctual/meeting/booking"

// Service books, changes and cancels series. Safe for concurrent use.
type Service struct {
	booking *booking.Service
	store   Store
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store) *Service {
	return &Service{booking: b, store: store}
}
