// Package sms sends notifications as short messages: through a gateway that speaks HTTP, or
// into an outbox of files.
package sms

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"punctual/notify"
	"punctual/notify/outbox"
	"punctual/notify/render"
)

// Sender implements [notify.Sender] for short messages.
type Sender struct {
	render    *render.Renderer
	countries []string
	now       func() time.Time
	post      func(context.Context, notify.Notification, Message) error
}

// Message is what the templates of a gateway see.
type Message struct {
	ID   string // the same in every attempt: the gateway may tell a copy by it
	To   string // phone number: digits, with a leading + if it was given
	Text string
	Kind string // of the notification
}

// Only returns s with the prefixes of numbers that it sends to, such as "+49"; none: all but
// those of [Premium].
func (s *Sender) Only(prefixes []string) *Sender {
	s.countries = prefixes
	return s
}

// NewHTTP returns a Sender over a gateway. It fails if c is no working description of one, with a
// [*FieldError] if a single field is at fault.
func NewHTTP(c Gateway, r *render.Renderer) (*Sender, error) {
	g, err := newGateway(c)
	if err != nil {
		return nil, err
	}
	return &Sender{render: r, now: time.Now, post: func(ctx context.Context, _ notify.Notification, m Message) error {
		return g.send(ctx, m)
	}}, nil
}

// NewOutbox returns a Sender that writes each message to a file, so that another attempt
// overwrites it.
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
	to, err := phone(n.To.Address)
	if err != nil {
		return notify.Permanent(err)
	}
	if !allowed(to, s.countries) {
		return notify.Off("not sent: sms.countries does not allow this number")
	}
	text, err := s.render.SMS(n, s.now())
	if err != nil {
		return notify.Permanent(err)
	}
	id := strconv.FormatInt(n.ID, 10)
	if n.Version > 1 { // somebody wants it sent again: a gateway must not take it for a copy
		id += "-" + strconv.FormatInt(n.Version, 10)
	}
	return s.post(ctx, n, Message{ID: id, To: to, Text: text, Kind: string(n.Kind)})
}

// phone strips from a number what people write for legibility.
func phone(s string) (string, error) {
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \u00A0-./()", r) {
			return -1
		}
		return r
	}, s)
	digits := strings.TrimPrefix(bare, "+")
	if len(digits) < 3 || len(digits) > 20 || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", fmt.Errorf("%q is not a phone number", s)
	}
	return bare, nil
}
