// Package zones finds meetings whose time differs after the rules of a time zone changed, and moves them.
package zones

import (
	"punctual/meeting/booking"
	"punctual/meeting/series"
)

// Service finds and moves meetings after the rules of time zones changed. Safe for concurrent use.
type Service struct {
	booking   *booking.Service
	store     Store
	series    *series.Service
	scheduler booking.Scheduler
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store, series *series.Service, scheduler booking.Scheduler) *Service {
	return &Service{booking: b, store: store, series: series, scheduler: scheduler}
}
