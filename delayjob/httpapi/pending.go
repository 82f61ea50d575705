package httpapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"punctual/delayjob"
)

// pendingCounts replaces the counts of a queue that does not answer. It reads from the database
// what a freshly filled queue would hold. Messages that other processes handle are not included.
// Answers are cached for some seconds, and the rows read per job type are limited.
type pendingCounts struct {
	jobs    []delayjob.DelayJob
	dead    func(ctx context.Context) (map[string]int, error) // recorded, by job
	horizon time.Duration
	most    int // messages of one job type
	now     func() time.Time

	mu   sync.Mutex // held while it counts, so that concurrent callers share one answer
	last map[string]delayjob.Stats
	at   time.Time // when it was counted
}

const pendingFresh = 2 * time.Second

func (p *pendingCounts) count(ctx context.Context) (map[string]delayjob.Stats, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.last != nil && now.Sub(p.at) < pendingFresh {
		return p.last, nil
	}
	dead, err := p.dead(ctx)
	if err != nil {
		return nil, err
	}
	stats := map[string]delayjob.Stats{}
	for _, j := range p.jobs {
		s, err := p.ofJob(ctx, j, now)
		if err != nil {
			return nil, err
		}
		s.Dead = dead[j.Name()]
		stats[j.Name()] = s
	}
	p.last, p.at = stats, now
	return stats, nil
}

func (p *pendingCounts) ofJob(ctx context.Context, j delayjob.DelayJob, now time.Time) (s delayjob.Stats, err error) {
	for m, err := range j.Load(ctx, delayjob.Window{To: now.Add(p.horizon)}) {
		if err != nil {
			return s, fmt.Errorf("count what is pending of %s: %w", j.Name(), err)
		}
		if s.Oldest.IsZero() {
			s.Oldest = m.Due // they come in order
		}
		if m.Due.After(now) {
			s.Delayed++
		} else {
			s.Ready++
		}
		if s.Delayed+s.Ready == p.most {
			break
		}
	}
	return s, nil
}
