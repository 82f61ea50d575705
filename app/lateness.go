package app

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	failures "punctual/delayjob/gormstore"
)

// Counts are written down this often; what a process that is killed has not written is lost.
const (
	latenessEvery = time.Minute
	latenessKept  = 180 * 24 * time.Hour
	latenessTrim  = 24 * time.Hour
)

// lateness counts how late jobs begin, for the report: metrics forget it with their process.
// Where nothing runs it does nothing.
type lateness struct {
	store *failures.Lateness
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	counts  map[lateKey]*lateCount
	trimmed time.Time
}

type lateKey struct {
	job  string
	hour time.Time
	// bucket counts the lateBuckets; behind the last one is what is later than all.
	bucket int
}

type lateCount struct {
	n   int64
	max time.Duration
}

func newLateness(store *failures.Lateness, log *slog.Logger) *lateness {
	return &lateness{store: store, log: log, now: time.Now, counts: map[lateKey]*lateCount{}}
}

// lateBounds are the lateBuckets.
var lateBounds = func() []time.Duration {
	bounds := make([]time.Duration, len(lateBuckets))
	for i, s := range lateBuckets {
		bounds[i] = time.Duration(s * float64(time.Second)).Round(time.Microsecond)
	}
	return bounds
}()

// observe counts one execution.
func (l *lateness) observe(job string, late time.Duration) {
	late = max(0, late)
	i, _ := slices.BinarySearch(lateBounds, late)
	key := lateKey{job, l.now().UTC().Truncate(time.Hour), i}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(key, lateCount{1, late})
}

func (l *lateness) add(key lateKey, c lateCount) {
	have := l.counts[key]
	if have == nil {
		have = &lateCount{}
		l.counts[key] = have
	}
	have.n += c.n
	have.max = max(have.max, c.max)
}

// run writes the counts down until ctx ends, and then once more.
func (l *lateness) run(ctx context.Context) error {
	ticker := time.NewTicker(latenessEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.flush(ctx)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			l.flush(ctx)
			return nil
		}
	}
}

// flush writes the counts down. What could not be written is kept for the next time.
func (l *lateness) flush(ctx context.Context) {
	l.mu.Lock()
	counts := l.counts
	l.counts = map[lateKey]*lateCount{}
	l.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	if err := l.store.Add(ctx, lateCounts(counts)); err != nil {
		l.mu.Lock()
		for key, c := range counts {
			l.add(key, *c)
		}
		l.mu.Unlock()
		l.log.Warn("how late jobs ran is not written down yet", "error", err)
		return
	}
	l.trim(ctx)
}

// trim forgets what is old, once a day.
func (l *lateness) trim(ctx context.Context) {
	now := l.now()
	l.mu.Lock()
	due := now.Sub(l.trimmed) >= latenessTrim
	if due {
		l.trimmed = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	if err := l.store.Trim(ctx, now.Add(-latenessKept)); err != nil {
		l.log.Warn("how late jobs ran long ago is kept for another day", "error", err)
	}
}

// lateCounts are in the same order in every process.
func lateCounts(counts map[lateKey]*lateCount) []failures.LateCount {
	all := make([]failures.LateCount, 0, len(counts))
	for key, c := range counts {
		lc := failures.LateCount{Job: key.job, Hour: key.hour, Count: c.n, Max: c.max}
		if key.bucket < len(lateBounds) {
			lc.Bound = lateBounds[key.bucket]
		}
		all = append(all, lc)
	}
	slices.SortFunc(all, func(a, b failures.LateCount) int {
		return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Bound, b.Bound))
	})
	return all
}
