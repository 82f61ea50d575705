package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"punctual/account/fault"
	"punctual/delayjob"
	post "punctual/delayjob/webhook"
)

// Store stores webhooks and their deliveries. Methods for one row return [ErrNotFound] if it does
// not exist.
type Store interface {
	// CreateWebhook stores w and sets its ID. It returns [ErrTooMany] if there are limit webhooks.
	CreateWebhook(ctx context.Context, w *Webhook, limit int) error
	// UpdateWebhook locks the webhook, calls fn and stores the result.
	UpdateWebhook(ctx context.Context, id int64, fn func(*Webhook) error) (*Webhook, error)
	// DeleteWebhook deletes the webhook and its deliveries, unless fn returns an error.
	DeleteWebhook(ctx context.Context, id int64, fn func(*Webhook) error) error
	// Webhook returns one webhook.
	Webhook(ctx context.Context, id int64) (*Webhook, error)
	// Webhooks returns all webhooks by ID.
	Webhooks(ctx context.Context) ([]*Webhook, error)

	// Pick returns deliveries by ID, each with its webhook. It omits those that do not exist.
	Pick(ctx context.Context, ids []int64) (map[int64]Picked, error)
	// Record stores the state, attempts, due time, expiry, status, error and delivery time of
	// deliveries. It ignores those with another version or already delivered.
	Record(ctx context.Context, ds []*Delivery) error
	// Next returns, for each of firsts, which are leading, at most n of the oldest pending
	// deliveries that wait for it. They may be posted now, one after another. It returns none if
	// nothing waits, or the oldest may not be posted now, or another handler has recorded the
	// first one since.
	Next(ctx context.Context, firsts []*Delivery, now time.Time, n int) ([]Waiting, error)
	// Finish records leading deliveries as delivered, except those that another handler has
	// recorded since.
	Finish(ctx context.Context, firsts []*Delivery, now time.Time) error
	// UpdateDelivery locks the delivery, calls fn and stores the result.
	UpdateDelivery(ctx context.Context, id int64, fn func(*Delivery) error) (*Delivery, error)
	// Deliveries returns deliveries of a webhook, newest first.
	Deliveries(ctx context.Context, webhook int64, f Filter) ([]*Delivery, error)
	// New returns at most n pending deliveries with IDs after the given one, by ID.
	New(ctx context.Context, after int64, n int) ([]*Delivery, error)
	// LastDelivery returns the highest ID of a delivery, or 0.
	LastDelivery(ctx context.Context) (int64, error)
	// Due returns at most n pending deliveries due in w, ordered by due time and ID, starting
	// after the given one (nil: the first). It omits deliveries whose message is a dead letter.
	Due(ctx context.Context, w delayjob.Window, after *Delivery, n int) ([]*Delivery, error)
}

// Picked is a delivery and its webhook.
type Picked struct {
	Delivery *Delivery
	Webhook  *Webhook
	Ahead    int  // number of older events of the meeting still to be posted to the webhook, at most 1,000
	Behind   bool // whether there are later ones
}

// Waiting are deliveries of one meeting and their webhook.
type Waiting struct {
	Deliveries []*Delivery // by ID
	Webhook    *Webhook
}

// A Scheduler adds messages directly to the queue. It may lose messages: the loader finds them.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
}

// Service manages webhooks. Safe for concurrent use.
type Service struct {
	store     Store
	scheduler Scheduler
	sender    *post.Sender
	events    []string // known event types
	now       func() time.Time
}

// NewService returns a Service for these event types.
func NewService(store Store, scheduler Scheduler, sender *post.Sender, events []string, now func() time.Time) *Service {
	return &Service{store: store, scheduler: scheduler, sender: sender, events: events, now: now}
}

func (s *Service) micro() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Webhooks returns all webhooks by ID.
func (s *Service) Webhooks(ctx context.Context) ([]*Webhook, error) { return s.store.Webhooks(ctx) }

// Webhook returns one webhook, or [ErrNotFound].
func (s *Service) Webhook(ctx context.Context, id int64) (*Webhook, error) {
	return s.store.Webhook(ctx, id)
}

// Create stores a webhook for events from now on. An empty Secret is replaced by a random one. It
// returns an [*InvalidError] for invalid fields, including a URL that must not be posted to, and
// [ErrTooMany].
func (s *Service) Create(ctx context.Context, w Webhook) (*Webhook, error) {
	if w.Secret == "" {
		w.Secret = rand.Text()
	}
	w.Version, w.CreatedAt = 1, s.micro()
	w.UpdatedAt = w.CreatedAt
	if fs := append(s.checkURL(ctx, w.URL), w.faults(s.events)...); len(fs) > 0 {
		return nil, &InvalidError{Faults: fs}
	}
	if err := s.store.CreateWebhook(ctx, &w, MaxWebhooks); err != nil {
		return nil, err
	}
	return &w, nil
}

// Patch changes the fields of a webhook that are not nil.
type Patch struct {
	URL, Secret *string
	Events      *[]string
	Active      *bool
}

// Update changes a webhook. If ifMatch is not nil and not the current version, it returns a
// [*VersionError].
func (s *Service) Update(ctx context.Context, id int64, ifMatch *int64, p Patch) (*Webhook, error) {
	var urlFaults []Fault
	if p.URL != nil {
		urlFaults = s.checkURL(ctx, *p.URL) // may be slow, so not while the row is locked
	}
	return s.store.UpdateWebhook(ctx, id, func(w *Webhook) error {
		if err := fault.CheckVersion(ifMatch, w.Version); err != nil {
			return err
		}
		set(&w.URL, p.URL)
		set(&w.Secret, p.Secret)
		set(&w.Events, p.Events)
		set(&w.Active, p.Active)
		if w.Active {
			w.Stopped = ""
		}
		if fs := append(urlFaults, w.faults(s.events)...); len(fs) > 0 {
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

func (s *Service) checkURL(ctx context.Context, url string) []Fault {
	if err := s.sender.CheckURL(ctx, url); err != nil {
		return []Fault{fault.New("body.url", "refused", "%v", err)}
	}
	return nil
}

// Delete deletes a webhook and its pending deliveries. If ifMatch is not nil and not the current
// version, it returns a [*VersionError].
func (s *Service) Delete(ctx context.Context, id int64, ifMatch *int64) error {
	return s.store.DeleteWebhook(ctx, id, func(w *Webhook) error { return fault.CheckVersion(ifMatch, w.Version) })
}

// Deliveries returns one page of the deliveries of a webhook, newest first.
func (s *Service) Deliveries(ctx context.Context, id int64, f Filter) (Page, error) {
	if _, err := s.store.Webhook(ctx, id); err != nil {
		return Page{}, err
	}
	limit := f.limit()
	f.Limit = limit + 1 // one more shows whether there is a next page
	ds, err := s.store.Deliveries(ctx, id, f)
	if err != nil {
		return Page{}, err
	}
	if len(ds) <= limit {
		return Page{Items: ds}, nil
	}
	return Page{Items: ds[:limit], Next: ds[limit-1].ID}, nil
}

// Resend posts a delivery in a final state again, immediately. It returns a [*StateError] for a
// pending one.
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

// Ping posts an event of the type ping to a webhook, active or not, and returns the outcome.
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

const pingType = "ping"
