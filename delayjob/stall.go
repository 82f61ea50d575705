package delayjob

import (
	"context"
	"fmt"
	"time"
)

// A stall watches over work that moves on bit by bit and may take as long as it likes, but
// not stand still: a server that vanished without a word would be waited for for ever.
type stall struct {
	limit time.Duration
	timer *time.Timer
}

// watch runs work with a context that ends when nothing has moved for so long, and says so in
// its error.
func watch(ctx context.Context, limit time.Duration, work func(ctx context.Context, s *stall) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("delayjob: nothing moved for %v", limit)
	s := &stall{limit: limit, timer: time.AfterFunc(limit, func() { cancel(stalled) })}
	defer s.timer.Stop()
	err := work(ctx, s)
	if err != nil && context.Cause(ctx) == stalled {
		return fmt.Errorf("%w: %w", stalled, err)
	}
	return err
}

// moved tells that the work is alive.
func (s *stall) moved() { s.timer.Reset(s.limit) }
