package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"punctual/delayjob"
)

// UnknownJobs finds messages of job types that this version does not know, such as those of a newer one.
// They wait in the queue until an operator acts. Each job type is logged once.
type UnknownJobs struct {
	Queue func() delayjob.Inspector // returns the queue in force
	Known func(job string) bool
	Log   *slog.Logger

	mu     sync.Mutex
	logged map[string]bool
}

const unknownJobsEvery = 30 * time.Second

// Count returns the number of messages of each unknown job type.
func (u *UnknownJobs) Count(ctx context.Context) (map[string]delayjob.Stats, error) {
	found, err := delayjob.Unknown(ctx, u.Queue(), u.Known)
	u.mu.Lock()
	defer u.mu.Unlock()
	for job, s := range found {
		if u.logged[job] {
			continue
		}
		if u.logged == nil {
			u.logged = map[string]bool{}
		}
		u.logged[job] = true
		u.Log.Warn("unknown job type in queue", "job", job, "messages", s.Messages(), "oldest_due", s.Oldest)
	}
	return found, err
}

// Run looks for unknown jobs until ctx ends.
func (u *UnknownJobs) Run(ctx context.Context) error {
	t := time.NewTicker(unknownJobsEvery)
	defer t.Stop()
	for {
		if _, err := u.Count(ctx); err != nil {
			u.Log.Debug("unknown jobs cannot be counted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
