package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"punctual/app/config"
	"punctual/delayjob"
	"punctual/delayjob/topics"
)

// unknownJobs finds messages that no strategy handles, such as those of a newer version of the
// program. They wait in the queue until somebody acts, so each job is logged once.
type unknownJobs struct {
	queue func() delayjob.Inspector // that in force
	log   *slog.Logger

	mu     sync.Mutex
	logged map[string]bool
}

const unknownJobsEvery = 30 * time.Second

// handled reports whether messages of a job are for a strategy or a topic.
func handled(job string) bool {
	return slices.Contains(config.JobNames, job) || strings.HasPrefix(job, topics.JobName(""))
}

// count counts the messages of each unknown job.
func (u *unknownJobs) count(ctx context.Context) (map[string]delayjob.Stats, error) {
	found, err := delayjob.Unknown(ctx, u.queue(), handled)
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
		u.log.Warn("no strategy for queued messages", "job", job, "messages", s.Messages(), "oldest_due", s.Oldest)
	}
	return found, err
}

// run looks for unknown jobs until ctx ends. While the queue does not answer, others report it.
func (u *unknownJobs) run(ctx context.Context) error {
	t := time.NewTicker(unknownJobsEvery)
	defer t.Stop()
	for {
		if _, err := u.count(ctx); err != nil {
			u.log.Debug("unknown jobs cannot be counted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
