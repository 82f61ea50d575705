package chat

import (
	"context"
	"errors"
	"net/url"

	"punctual/account/fault"
)

// Store stores targets.
type Store interface {
	Targets
	// OfUser returns the target of a user, or [notify.ErrNotFound].
	OfUser(ctx context.Context, userID int64) (Target, error)
	// Save stores the target of t.UserID in place of the one before.
	Save(ctx context.Context, t Target) error
	// Delete deletes the target of a user, if there is one.
	Delete(ctx context.Context, userID int64) error
}

// Connections lets users connect their chat.
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

// OfUser returns the chat of a user, or [notify.ErrNotFound].
func (c *Connections) OfUser(ctx context.Context, userID int64) (Target, error) {
	return c.store.OfUser(ctx, userID)
}

const maxSecret = 200

// Connect sets the chat of a user. It returns a [*fault.InvalidError] that names all invalid fields.
func (c *Connections) Connect(ctx context.Context, t Target) error {
	var faults fault.List
	p := presetOf(t.Service)
	if p == nil {
		return fault.Invalid("service", "unknown_value", "must be one of the services")
	}
	switch u, err := url.Parse(t.URL); {
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

// Disconnect removes the chat of a user. Notifications that wait for it are not sent.
func (c *Connections) Disconnect(ctx context.Context, userID int64) error {
	return c.store.Delete(ctx, userID)
}

// Test sends a test message to the chat of a user. It returns [notify.ErrNotFound] if there is none, and
// any other error if the service did not accept the message.
func (c *Connections) Test(ctx context.Context, userID int64) error {
	t, err := c.store.OfUser(ctx, userID)
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
