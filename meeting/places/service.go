// Package places administers sites, rooms, floor plans, meeting types, custom fields, blackouts and holidays, and keeps
// reports of faults in rooms.
package places

import (
	"log/slog"

	"punctual/meeting/booking"
)

// Service administers places and what can be booked there. Safe for concurrent use.
type Service struct {
	booking   *booking.Service
	store     Store
	directory booking.Directory
	scheduler booking.Scheduler
	log       *slog.Logger
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store, directory booking.Directory, scheduler booking.Scheduler, log *slog.Logger) *Service {
	return &Service{booking: b, store: store, directory: directory, scheduler: scheduler, log: log}
}
