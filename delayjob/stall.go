package delayjob

import (
	"context"
	"fmt"
	"time"
)

// A stall ends work that makes no progress. Without it, a pass would wait indefinitely for a server
// that vanished.
type stall struct {
	limit time.Duration
	timer *time.Timer
}

// watch runs work with a context that ends after limit without progress.
func watch(ctx context.Context, limit time.Duration, work func(ctx context.Context, s *stall) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("delayjob: no progress for %v", limit)
	s := &stall{limit: limit, timer: time.AfterFunc(limit, func() { cancel(stalled) })}
	defer s.timer.Stop()
	err := work(ctx, s)
	if err != nil && context.Cause(ctx) == stalled {
		return fmt.Errorf("%w: %w", stalled, err)
	}
	return err
}

func (s *stall) moved() { s.timer.Reset(s.limit) }
