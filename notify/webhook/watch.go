package webhook

import (
	"context"
	"log/slog"
	"time"

	"punctual/delayjob"
)

// Watcher gives the queue new deliveries as soon as it is told that something happened. What it
// misses, the loader finds.
type Watcher struct {
	store     Store
	scheduler Scheduler
	log       *slog.Logger
	poked     chan struct{} // one slot
}

// NewWatcher returns a watcher; it looks at nothing until Run.
func NewWatcher(store Store, scheduler Scheduler, log *slog.Logger) *Watcher {
	return &Watcher{store: store, scheduler: scheduler, log: log, poked: make(chan struct{}, 1)}
}

// Poke says that something may have happened. It never blocks.
func (w *Watcher) Poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

const (
	watchPage = 500
	watchRest = 25 * time.Millisecond // one look is enough for what happens at the same moment
	lookBack  = 200                   // what is committed later may have a lower ID
)

// Run looks whenever it is poked, until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	after := int64(-1) // not known yet
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-w.poked:
		}
		next, err := w.look(ctx, after)
		if err != nil && ctx.Err() == nil && !failing {
			w.log.Warn("new deliveries to webhooks are left to the loader", "error", err)
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

// look schedules what is new behind after and returns behind which delivery to look next.
func (w *Watcher) look(ctx context.Context, after int64) (int64, error) {
	if after < 0 { // what was there before this process is the loader's
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
