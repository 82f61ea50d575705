package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"time"

	"punctual/account/fault"
	"punctual/delayjob"
	post "punctual/delayjob/webhook"
)

// Store keeps webhooks and their deliveries.
type Store interface {
	// CreateWebhook saves w and sets its ID; [ErrTooMany] if there are most already.
	CreateWebhook(ctx context.Context, w *Webhook, most int) error
	// UpdateWebhook locks the webhook, calls fn and saves what it made of it; [ErrNotFound].
	UpdateWebhook(ctx context.Context, id int64, fn func(*Webhook) error) (*Webhook, error)
	// DeleteWebhook deletes it and its deliveries, if fn does not refuse; [ErrNotFound].
	DeleteWebhook(ctx context.Context, id int64, fn func(*Webhook) error) error
	// Webhook is one; [ErrNotFound].
	Webhook(ctx context.Context, id int64) (*Webhook, error)
	// Webhooks are all, in the order of their IDs.
	Webhooks(ctx context.Context) ([]*Webhook, error)

	// Pick reads deliveries by ID, each with its webhook. Those that are not there are left out.
	Pick(ctx context.Context, ids []int64) (map[int64]Picked, error)
	// Record saves what became of deliveries: state, attempts, due time, expiry, status, error and
	// when it was delivered. It does nothing for one that has another version or was delivered.
	Record(ctx context.Context, ds []*Delivery) error
	// Next reads the oldest pending deliveries that wait for first, which is leading, at most n, and
	// their webhook: those that may be posted now, one after another. None: nothing waits, the
	// oldest may not be posted now, or first was recorded since by another.
	Next(ctx context.Context, first *Delivery, now time.Time, n int) ([]*Delivery, *Webhook, error)
	// Finish records a leading delivery as delivered, unless it was recorded since by another.
	Finish(ctx context.Context, first *Delivery, now time.Time) error
	// UpdateDelivery locks the delivery, calls fn and saves what it made of it; [ErrNotFound].
	UpdateDelivery(ctx context.Context, id int64, fn func(*Delivery) error) (*Delivery, error)
	// Deliveries of a webhook, the newest first.
	Deliveries(ctx context.Context, webhook int64, f Filter) ([]*Delivery, error)
	// New are pending deliveries with IDs behind after, in their order, at most n.
	New(ctx context.Context, after int64, n int) ([]*Delivery, error)
	// LastDelivery is the highest ID of a delivery; 0: there is none.
	LastDelivery(ctx context.Context) (int64, error)
	// Due are pending deliveries with a due time in w, by due time then ID, at most n, behind
	// after; nil: from the first. Those whose message is a dead letter are left out.
	Due(ctx context.Context, w delayjob.Window, after *Delivery, n int) ([]*Delivery, error)
	// Trim deletes what ended before a time.
	Trim(ctx context.Context, before time.Time) error
}

// Picked is a delivery as it stands.
type Picked struct {
	Delivery *Delivery
	Webhook  *Webhook
	Ahead    int  // older events of the same meeting that are still to be posted to the webhook, up to 1,000
	Behind   bool // whether later ones are
}

// Scheduler takes a message straight to the queue, as well as it can: what it loses, the loader finds.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
}

// Service is the use cases of webhooks. Safe for concurrent use.
type Service struct {
	store     Store
	scheduler Scheduler
	sender    *post.Sender
	events    []string // types that there are
	now       func() time.Time
}

// NewService returns a service that knows events of these types.
func NewService(store Store, scheduler Scheduler, sender *post.Sender, events []string, now func() time.Time) *Service {
	return &Service{store: store, scheduler: scheduler, sender: sender, events: events, now: now}
}

func (s *Service) micro() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Webhooks are all, in the order of their IDs.
func (s *Service) Webhooks(ctx context.Context) ([]*Webhook, error) { return s.store.Webhooks(ctx) }

// Webhook is one, or [ErrNotFound].
func (s *Service) Webhook(ctx context.Context, id int64) (*Webhook, error) {
	return s.store.Webhook(ctx, id)
}

// Create saves a webhook, which receives the events from now on. If w has no secret, Create generates
// one. The URL must lead to a server that may be posted to.
func (s *Service) Create(ctx context.Context, w Webhook) (*Webhook, error) {
	if w.Secret == "" {
		w.Secret = rand.Text()
	}
	w.Version, w.CreatedAt = 1, s.micro()
	w.UpdatedAt = w.CreatedAt
	if fs := append(s.urlFaults(ctx, w.URL), w.faults(s.events)...); len(fs) > 0 {
		return nil, &InvalidError{Faults: fs}
	}
	if err := s.store.CreateWebhook(ctx, &w, MaxWebhooks); err != nil {
		return nil, err
	}
	return &w, nil
}

// Patch of a webhook; nil fields stay.
type Patch struct {
	URL, Secret *string
	Events      *[]string
	Active      *bool
}

// Update changes a webhook. If based is not nil, it is the version that must be there.
func (s *Service) Update(ctx context.Context, id int64, based *int64, p Patch) (*Webhook, error) {
	var unfit []Fault
	if p.URL != nil {
		unfit = s.urlFaults(ctx, *p.URL) // may take long: not while the row is locked
	}
	return s.store.UpdateWebhook(ctx, id, func(w *Webhook) error {
		if err := w.based(based); err != nil {
			return err
		}
		set(&w.URL, p.URL)
		set(&w.Secret, p.Secret)
		set(&w.Events, p.Events)
		set(&w.Active, p.Active)
		if w.Active {
			w.Stopped = ""
		}
		if fs := append(unfit, w.faults(s.events)...); len(fs) > 0 {
			return &InvalidError{Faults: fs}
		}
		w.Version++
		w.UpdatedAt = s.micro()
		return nil
	})
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Service) urlFaults(ctx context.Context, url string) []Fault {
	if err := s.sender.CheckURL(ctx, url); err != nil {
		return []Fault{fault.New("body.url", "refused", "%v", err)}
	}
	return nil
}

// Delete deletes a webhook and its pending deliveries. If based is not nil, it is the version that
// must be there.
func (s *Service) Delete(ctx context.Context, id int64, based *int64) error {
	return s.store.DeleteWebhook(ctx, id, func(w *Webhook) error { return w.based(based) })
}

// Deliveries of a webhook, the newest first.
func (s *Service) Deliveries(ctx context.Context, id int64, f Filter) (Page, error) {
	if _, err := s.store.Webhook(ctx, id); err != nil {
		return Page{}, err
	}
	limit := f.limit()
	f.Limit = limit + 1 // one more tells whether there is a next page
	ds, err := s.store.Deliveries(ctx, id, f)
	if err != nil {
		return Page{}, err
	}
	if len(ds) <= limit {
		return Page{Items: ds}, nil
	}
	return Page{Items: ds[:limit], Next: ds[limit-1].ID}, nil
}

// Resend delivers again, now, what has ended; a *[StateError] for what is on its way.
func (s *Service) Resend(ctx context.Context, webhook, id int64) (*Delivery, error) {
	d, err := s.store.UpdateDelivery(ctx, id, func(d *Delivery) error {
		if d.WebhookID != webhook {
			return ErrNotFound
		}
		if d.State == Pending {
			return &StateError{d.State}
		}
		now := s.micro()
		d.State, d.Due, d.Expires, d.UpdatedAt = Pending, now, now.Add(Patience), now
		d.Version++
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.scheduler.Schedule(ctx, d.Message())
	return d, nil
}

// Ping posts to a webhook, active or not, an event of the type ping, and tells the answer or why
// there was none.
func (s *Service) Ping(ctx context.Context, id int64) (Outcome, error) {
	w, err := s.store.Webhook(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	body, err := json.Marshal(map[string]any{"id": 0, "type": pingType, "at": s.micro()})
	if err != nil {
		return Outcome{}, err
	}
	begun := time.Now()
	o := send(ctx, s.sender, w, &Delivery{Event: pingType}, body)
	o.Took = time.Since(begun)
	return o, nil
}

const (
	pingType  = "ping"
	trimEvery = 6 * time.Hour
	keep      = 30 * 24 * time.Hour // of what has ended
)

// RunTrimmer deletes what ended long ago, until ctx ends.
func (s *Service) RunTrimmer(ctx context.Context, log *slog.Logger) error {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	for {
		if err := s.store.Trim(ctx, s.now().Add(-keep)); err != nil && ctx.Err() == nil {
			log.Warn("old deliveries to webhooks are kept for now", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
