// Package waitlist keeps the waiting list: users join it, and get offers when what they wait for is free.
package waitlist

import "punctual/meeting/booking"

// Service keeps the waiting list. Safe for concurrent use.
type Service struct {
	booking   *booking.Service
	store     Store
	directory booking.Directory
	scheduler booking.Scheduler
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store, directory booking.Directory, scheduler booking.Scheduler) *Service {
	return &Service{booking: b, store: store, directory: directory, scheduler: scheduler}
}
