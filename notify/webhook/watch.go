package webhook

import (
	"context"
	"log/slog"
	"time"

	"punctual/delayjob"
)

// Watcher schedules new deliveries as soon as something happens. The loader finds what it misses.
type Watcher struct {
	store     Store
	scheduler Scheduler
	log       *slog.Logger
	poked     chan struct{} // has one slot
}

// NewWatcher returns a Watcher, which does nothing until Run.
func NewWatcher(store Store, scheduler Scheduler, log *slog.Logger) *Watcher {
	return &Watcher{store: store, scheduler: scheduler, log: log, poked: make(chan struct{}, 1)}
}

// Poke reports that something may have happened. It never blocks.
func (w *Watcher) Poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

const (
	watchPage = 500
	watchRest = 25 * time.Millisecond // one look covers everything that happens at the same time
	lookBack  = 200                   // a later commit may have a lower ID
)

// Run checks for new deliveries after each Poke until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	after := int64(-1) // unknown
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-w.poked:
		}
		next, err := w.look(ctx, after)
		if err != nil && ctx.Err() == nil && !failing {
			w.log.Warn("scheduling new webhook deliveries failed, loader will retry", "error", err)
		}
		failing = err != nil
		after = next
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchRest):
		}
	}
}

func (w *Watcher) look(ctx context.Context, after int64) (int64, error) {
	if after < 0 { // older deliveries are left to the loader
		last, err := w.store.LastDelivery(ctx)
		if err != nil {
			return after, err
		}
		after = last
	}
	for from := max(0, after-lookBack); ; {
		ds, err := w.store.New(ctx, from, watchPage)
		if err != nil {
			return after, err
		}
		ms := make([]delayjob.Message, len(ds))
		for i, d := range ds {
			ms[i] = d.Message()
			from = max(from, d.ID)
		}
		w.scheduler.Schedule(ctx, ms...)
		after = max(after, from)
		if len(ds) < watchPage {
			return after, nil
		}
	}
}
