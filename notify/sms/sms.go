// Package sms sends notifications as text messages, through an HTTP gateway, Twilio, Alibaba
// Cloud, or into an outbox of files.
package sms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"punctual/account/fault"
	"punctual/notify"
	"punctual/notify/outbox"
	"punctual/notify/render"
)

// Sender implements [notify.Sender] for text messages.
type Sender struct {
	render    *render.Renderer
	countries []string
	budget    Budget // nil: no limit
	now       func() time.Time
	post      func(context.Context, notify.Notification, Message) error
}

// A Budget limits the segments of all messages, which is what providers charge.
type Budget interface {
	// Reserve returns the error that [Sender.Send] returns if a message of this many segments may not be
	// sent now. Otherwise release returns the segments, because they were not sent.
	Reserve(ctx context.Context, segments int) (release func(context.Context), err error)
}

// Message is the data for the templates of a provider.
type Message struct {
	ID   string // the same in every attempt, so that the provider can detect duplicates; see [Receipt]
	To   string // phone number in E.164 form
	Text string
	Kind string // of the notification

	render.Variables // parts of the text
}

// Only restricts s to numbers with these prefixes, such as "+49"; none: all except those that cost more.
func (s *Sender) Only(prefixes []string) *Sender {
	s.countries = prefixes
	return s
}

// Within restricts s to what b allows.
func (s *Sender) Within(b Budget) *Sender {
	s.budget = b
	return s
}

func newSender(r *render.Renderer, send func(context.Context, Message) error) *Sender {
	return &Sender{render: r, now: time.Now, post: func(ctx context.Context, _ notify.Notification, m Message) error { return send(ctx, m) }}
}

// NewHTTP returns a Sender for a gateway. It returns an error if c is invalid, a [*FieldError] if
// a single field is.
func NewHTTP(c Gateway, r *render.Renderer) (*Sender, error) {
	g, err := newGateway(c)
	if err != nil {
		return nil, err
	}
	return newSender(r, g.send), nil
}

// NewOutbox returns a Sender that writes each message to a file. A retry overwrites it.
func NewOutbox(box *outbox.Outbox, r *render.Renderer) *Sender {
	s := &Sender{render: r, now: time.Now}
	s.post = func(_ context.Context, n notify.Notification, m Message) error {
		err := box.Put(n.MessageID, ".txt", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "To: %s\r\nDate: %s\r\nMessage-ID: %s\r\nX-Punctual-Kind: %s\r\n"+
				"Content-Type: text/plain; charset=UTF-8\r\n\r\n%s\r\n",
				m.To, s.now().Format(time.RFC1123Z), n.MessageID, n.Kind, m.Text)
			return err
		})
		if err != nil { // a full disk is not the message's fault
			return notify.Unavailable(err)
		}
		return nil
	}
	return s
}

// Send implements [notify.Sender].
func (s *Sender) Send(ctx context.Context, n notify.Notification) error {
	to, ok := fault.E164(n.To.Address)
	if !ok {
		return notify.Permanent(fmt.Errorf("%q is not an international phone number", n.To.Address))
	}
	if !allowed(to, s.countries) {
		return notify.Off("not sent: sms.countries does not allow this number")
	}
	text, err := s.render.SMS(n, s.now())
	if err != nil {
		return notify.Permanent(err)
	}
	vars, err := s.render.Variables(n, s.now())
	if err != nil {
		return notify.Permanent(err)
	}
	release := func(context.Context) {}
	if s.budget != nil {
		if release, err = s.budget.Reserve(ctx, Segments(text)); err != nil {
			return err
		}
	}
	err = s.post(ctx, n, Message{ID: messageID(n), To: to, Text: text, Kind: string(n.Kind), Variables: vars})
	if refused(err) {
		release(context.WithoutCancel(ctx))
	}
	return err
}

// messageID returns the ID of a message. That of a resend differs, so that the provider does not treat it as
// a duplicate.
func messageID(n notify.Notification) string {
	id := strconv.FormatInt(n.ID, 10)
	if n.Version > 1 {
		id += "-" + strconv.FormatInt(n.Version, 10)
	}
	return id
}

// refused reports whether a provider did certainly not accept a message. After a time-out it may have.
func refused(err error) bool {
	_, answered := errors.AsType[*refusal](err)
	return answered || err != nil && (notify.IsPermanent(err) || notify.IsUnavailable(err) || notify.IsOff(err))
}

// refusal marks a response that rejects a message for now.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }
