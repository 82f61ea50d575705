package notify

import (
	"context"
	"time"

	"punctual/delayjob"
)

// A Scheduler adds a message directly to the queue. It may lose messages: the loader finds them in
// the ledger.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
}

// Service lists and resends notifications.
type Service struct {
	ledger    Ledger
	scheduler Scheduler
	now       func() time.Time
}

// NewService returns a Service. A nil now means time.Now.
func NewService(l Ledger, s Scheduler, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{ledger: l, scheduler: s, now: now}
}

// List returns one page of notifications.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	return s.ledger.List(ctx, f)
}

// Get returns one notification, or [ErrNotFound].
func (s *Service) Get(ctx context.Context, id int64) (Notification, error) {
	return s.ledger.Get(ctx, id)
}

// Resend sends a notification again, immediately. See [Ledger.Resend] for errors.
func (s *Service) Resend(ctx context.Context, id int64) (Notification, error) {
	n, err := s.ledger.Resend(ctx, id, s.now())
	if err != nil {
		return Notification{}, err
	}
	s.scheduler.Schedule(ctx, n.Message())
	return n, nil
}

// Receive records reports of providers, see [Ledger.Receive].
func (s *Service) Receive(ctx context.Context, rs []Receipt) error {
	return s.ledger.Receive(ctx, rs)
}
