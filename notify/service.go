package notify

import (
	"context"
	"time"

	"punctual/delayjob"
)

// A Scheduler takes a message straight to the queue. It is a courtesy: what it loses, the
// loader finds in the ledger.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
}

// Service is the ledger as people use it: to look, and to send something again.
type Service struct {
	ledger    Ledger
	scheduler Scheduler
	now       func() time.Time
}

// NewService makes a Service; now nil means time.Now.
func NewService(l Ledger, s Scheduler, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{ledger: l, scheduler: s, now: now}
}

// List returns one page of the ledger.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	return s.ledger.List(ctx, f)
}

// Get returns one notification, or [ErrNotFound].
func (s *Service) Get(ctx context.Context, id int64) (Notification, error) {
	return s.ledger.Get(ctx, id)
}

// Resend sends a notification again, now, whatever became of it: see [Ledger.Resend].
func (s *Service) Resend(ctx context.Context, id int64) (Notification, error) {
	n, err := s.ledger.Resend(ctx, id, s.now())
	if err != nil {
		return Notification{}, err
	}
	s.scheduler.Schedule(ctx, n.Message())
	return n, nil
}
