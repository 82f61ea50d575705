// Package door decides what devices at the doors of rooms show and what people can do there.
package door

import "punctual/meeting/booking"

// Service shows rooms to devices at their doors and acts for people there. Safe for concurrent use.
type Service struct {
	booking *booking.Service
	store   Store
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store) *Service {
	return &Service{booking: b, store: store}
}
