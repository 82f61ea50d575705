package topics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"punctual/account/fault"
)

// Webhook is the receiver of a topic's jobs. Due jobs are posted to it instead of being popped.
type Webhook struct {
	Topic       string
	URL         string
	Secret      string        // signs each post; never shown
	Concurrency int           // concurrent posts in each process
	Timeout     time.Duration // of one post
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const (
	DefaultConcurrency = 4
	MaxConcurrency     = 100
	DefaultTimeout     = 10 * time.Second
	MinTimeout         = 100 * time.Millisecond
	MaxTimeout         = 30 * time.Second
	MinSecret          = 16 // characters
	MaxSecret          = 200
	MaxWebhooks        = 500 // of all topics
)

// Webhook returns the webhook of a topic, or [ErrNotFound].
func (s *Service) Webhook(ctx context.Context, topic string) (*Webhook, error) {
	hooks, err := s.store.Webhooks(ctx, topic)
	if err != nil {
		return nil, err
	}
	if len(hooks) == 0 {
		return nil, ErrNotFound
	}
	return hooks[0], nil
}

// SetWebhook sets the webhook of a topic. A zero Secret, Concurrency or Timeout keeps the current
// value. A new webhook needs a Secret; the other two have defaults. If based is not nil, the stored
// version must match it. Every process applies the change within two seconds.
func (s *Service) SetWebhook(ctx context.Context, w Webhook, based *int64) (*Webhook, error) {
	var refused []Fault
	if err := s.sender.CheckURL(ctx, w.URL); err != nil {
		refused = []Fault{fault.New("body.url", "refused", "%v", err)}
	}
	if all, err := s.store.Webhooks(ctx); err != nil {
		return nil, err
	} else if len(all) >= MaxWebhooks && hookOf(all, w.Topic) == nil {
		return nil, &QuotaError{fmt.Sprintf("There are already %d webhooks, the maximum.", len(all)), time.Hour}
	}
	err := s.store.UpdateWebhook(ctx, w.Topic, func(old *Webhook) (*Webhook, error) {
		if err := old.based(based); err != nil {
			return nil, err
		}
		now := s.Now()
		w.Version, w.CreatedAt, w.UpdatedAt = 1, now, now
		had := Webhook{Concurrency: DefaultConcurrency, Timeout: DefaultTimeout}
		if old != nil {
			had, w.Version, w.CreatedAt = *old, old.Version+1, old.CreatedAt
		}
		w.Secret, w.Concurrency, w.Timeout = cmp.Or(w.Secret, had.Secret), cmp.Or(w.Concurrency, had.Concurrency), cmp.Or(w.Timeout, had.Timeout)
		faults := slices.Concat(refused, w.faults())
		if w.Secret == "" {
			faults = append(faults, fault.New("body.secret", "required", "is required for a new webhook"))
		}
		if len(faults) > 0 {
			return nil, &InvalidError{Faults: faults}
		}
		return &w, nil
	})
	if err != nil {
		return nil, err
	}
	s.hooksChanged()
	return &w, nil
}

// DeleteWebhook deletes the webhook of a topic, so that its jobs can be popped again.
func (s *Service) DeleteWebhook(ctx context.Context, topic string, based *int64) error {
	err := s.store.UpdateWebhook(ctx, topic, func(old *Webhook) (*Webhook, error) {
		if old == nil && based == nil {
			return nil, ErrNotFound
		}
		return nil, old.based(based)
	})
	if err == nil {
		s.hooksChanged()
	}
	return err
}

// hooksChanged makes the pushers of all processes read the webhooks at once.
func (s *Service) hooksChanged() {
	s.WebhooksChanged()
	if s.tellAll != nil {
		s.tellAll()
	}
}

// WebhooksChanged makes the pusher of this process read the webhooks at once. Call it when another
// process reports a change.
func (s *Service) WebhooksChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// TellOthers sets the function that notifies other processes of a changed webhook. Call it before
// any other method. The function may fail, because pushers also read the webhooks from time to
// time.
func (s *Service) TellOthers(tell func()) { s.tellAll = tell }

// based reports whether w has the version that a change is based on. w is nil if there is no
// webhook.
func (w *Webhook) based(version *int64) error {
	current := int64(0)
	if w != nil {
		current = w.Version
	}
	return fault.CheckVersion(version, current)
}

func (w *Webhook) faults() (fs []Fault) {
	if n := len(w.Secret); w.Secret != "" && (n < MinSecret || n > MaxSecret || strings.ContainsFunc(w.Secret, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) })) {
		fs = append(fs, fault.New("body.secret", "malformed", "must be %d to %d printable ASCII characters", MinSecret, MaxSecret))
	}
	if w.Concurrency < 1 || w.Concurrency > MaxConcurrency {
		fs = append(fs, fault.New("body.concurrency", "out_of_range", "must be from 1 to %d", MaxConcurrency))
	}
	if w.Timeout < MinTimeout || w.Timeout > MaxTimeout {
		fs = append(fs, fault.New("body.timeout_ms", "out_of_range", "must be from %d to %d", MinTimeout.Milliseconds(), MaxTimeout.Milliseconds()))
	}
	return fs
}

func hookOf(all []*Webhook, topic string) *Webhook {
	for _, w := range all {
		if w.Topic == topic {
			return w
		}
	}
	return nil
}
