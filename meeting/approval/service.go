// Package approval decides on requests for approval, one by one, for a series or by links in mails, and notifies approvers.
package approval

import "punctual/meeting/booking"

// Service decides on requests and notifies approvers. Safe for concurrent use.
type Service struct {
	booking *booking.Service
	store   Store
}

// NewService returns a service on top of the bookings.
func NewService(b *booking.Service, store Store) *Service {
	return &Service{booking: b, store: store}
}
