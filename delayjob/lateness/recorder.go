package lateness

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Kept is how long counts are kept.
const Kept = 180 * 24 * time.Hour

const (
	flushEvery = time.Minute // the counts of the last minute are lost with a process that is killed
	trimEvery  = 24 * time.Hour
)

// Recorder counts how late jobs begin, for the report: metrics are lost with their process.
type Recorder struct {
	store Store
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	counts  map[key]*tally
	trimmed time.Time
}

type key struct {
	job    string
	hour   time.Time
	bucket int // index in Bounds; len(Bounds): later than all
}

type tally struct {
	n   int64
	max time.Duration
}

// NewRecorder returns a recorder that writes to store and takes the time from now.
func NewRecorder(store Store, now func() time.Time, log *slog.Logger) *Recorder {
	return &Recorder{store: store, log: log, now: now, counts: map[key]*tally{}}
}

// Observe counts one execution of a job.
func (l *Recorder) Observe(job string, late time.Duration) {
	late = max(0, late)
	i, _ := slices.BinarySearch(Bounds, late)
	k := key{job, l.now().UTC().Truncate(time.Hour), i}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, tally{1, late})
}

func (l *Recorder) add(k key, c tally) {
	have := l.counts[k]
	if have == nil {
		have = &tally{}
		l.counts[k] = have
	}
	have.n += c.n
	have.max = max(have.max, c.max)
}

// Run writes the counts to the store every minute until ctx ends, and then once more.
func (l *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.Flush(ctx)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			l.Flush(ctx)
			return nil
		}
	}
}

// Flush writes the counts to the store. If that fails, they are kept for the next time.
func (l *Recorder) Flush(ctx context.Context) {
	l.mu.Lock()
	counts := l.counts
	l.counts = map[key]*tally{}
	l.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	if err := l.store.Add(ctx, sorted(counts)); err != nil {
		l.mu.Lock()
		for k, c := range counts {
			l.add(k, *c)
		}
		l.mu.Unlock()
		l.log.Warn("storing lateness counts failed, retrying", "error", err)
		return
	}
	l.trim(ctx)
}

// trim deletes old counts, once a day.
func (l *Recorder) trim(ctx context.Context) {
	now := l.now()
	l.mu.Lock()
	due := now.Sub(l.trimmed) >= trimEvery
	if due {
		l.trimmed = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	if err := l.store.Trim(ctx, now.Add(-Kept)); err != nil {
		l.log.Warn("deleting old lateness counts failed, retrying in a day", "error", err)
	}
}

// sorted returns the counts in the same order in every process, so that two of them do not wait for
// each other in the database.
func sorted(counts map[key]*tally) []Count {
	all := make([]Count, 0, len(counts))
	for k, c := range counts {
		lc := Count{Job: k.job, Hour: k.hour, Count: c.n, Max: c.max}
		if k.bucket < len(Bounds) {
			lc.Bound = Bounds[k.bucket]
		}
		all = append(all, lc)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Bound, b.Bound))
	})
	return all
}
