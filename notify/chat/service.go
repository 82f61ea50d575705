package chat

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"punctual/account/fault"
	"punctual/notify"
)

// Store stores targets.
type Store interface {
	Targets // whose Of returns [ErrNone] if an owner has none, and [notify.ErrNotFound] if there is no such owner
	// Save stores the target in place of the one before, or returns [notify.ErrNotFound]. Without a URL, that of the
	// one before stays if the service is the same, with its secret unless t has one; else it returns [ErrNone].
	Save(ctx context.Context, t Target) error
	// Delete deletes the target of an owner, if there is one, or returns [notify.ErrNotFound].
	Delete(ctx context.Context, o Owner) error
}

// ErrNone reports that no chat is connected. It is a [notify.ErrNotFound].
var ErrNone = fmt.Errorf("no chat is connected: %w", notify.ErrNotFound)

// Connections connects the chats of users, rooms and sites.
type Connections struct {
	store  Store
	sender func() *Sender
	poster Poster
}

// NewConnections returns a service. sender returns the sender for test messages; nil: chat is switched off.
func NewConnections(s Store, p Poster, sender func() *Sender) *Connections {
	return &Connections{store: s, sender: sender, poster: p}
}

// Enabled reports whether the installation sends chat messages.
func (c *Connections) Enabled() bool { return c.sender() != nil }

// Of returns the chat of an owner, [ErrNone], or [notify.ErrNotFound] if there is no such owner.
func (c *Connections) Of(ctx context.Context, o Owner) (Target, error) { return c.store.Of(ctx, o) }

const maxSecret = 200

// Connect sets the chat of an owner. A room or a site keeps its address and secret if t has no address and the same
// service. It returns a [*fault.InvalidError] that names all invalid fields.
func (c *Connections) Connect(ctx context.Context, t Target) error {
	var faults fault.List
	kept := false
	if t.UserID == 0 {
		before, err := c.store.Of(ctx, t.Owner)
		if err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		kept = t.URL == "" && before.URL != "" && t.Service == before.Service
		t.Locale = faults.Locale("locale", t.Locale)
	}
	p := presetOf(t.Service)
	if p == nil {
		return fault.Invalid("service", "unknown_value", "must be one of the services")
	}
	switch u, err := url.Parse(t.URL); {
	case kept: // it was checked
	case t.URL == "":
		faults.Add("url", "required", "is required")
	case err != nil || u.Scheme != "https" || u.Host == "":
		faults.Add("url", "invalid_webhook", "must be an https URL")
	case !p.matches(u):
		faults.Add("url", "invalid_webhook", "must be the address of an incoming webhook of %s", p.Name)
	default:
		if err := c.poster.CheckURL(ctx, t.URL); err != nil {
			faults.Add("url", "refused", "%v", err)
		}
	}
	if t.Secret != "" && p.Sign == "" {
		faults.Add("secret", "not_allowed", "must be empty: webhooks of %s have no secret", p.Name)
	}
	if len(t.Secret) > maxSecret {
		faults.Add("secret", "too_long", "must have at most %d bytes", maxSecret)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return c.store.Save(ctx, t)
}

// Disconnect removes the chat of an owner. Notifications that wait for it are not sent.
func (c *Connections) Disconnect(ctx context.Context, o Owner) error {
	return c.store.Delete(ctx, o)
}

// Test sends a test message to the chat of an owner. It returns [notify.ErrNotFound] if there is none, and
// any other error if the service did not accept the message.
func (c *Connections) Test(ctx context.Context, o Owner) error {
	t, err := c.store.Of(ctx, o)
	if err != nil {
		return err
	}
	s := c.sender()
	if s == nil {
		return ErrOff
	}
	return s.Test(ctx, t)
}

// ErrOff reports that chat is switched off.
var ErrOff = errors.New("chat.enabled is false")
