// Package sms sends notifications as text messages, through an HTTP gateway or into an outbox of
// files.
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

// Sender implements [notify.Sender] for text messages.
type Sender struct {
	render    *render.Renderer
	countries []string
	now       func() time.Time
	post      func(context.Context, notify.Notification, Message) error
}

// Message is the data for the templates of a gateway.
type Message struct {
	ID   string // the same in every attempt, so that the gateway can detect duplicates
	To   string // phone number: digits, with a leading + if it had one
	Text string
	Kind string // of the notification
}

// Only restricts s to numbers with these prefixes, such as "+49"; none: all except those of
// [Premium].
func (s *Sender) Only(prefixes []string) *Sender {
	s.countries = prefixes
	return s
}

// NewHTTP returns a Sender for a gateway. It returns an error if c is invalid, a [*FieldError] if
// a single field is.
func NewHTTP(c Gateway, r *render.Renderer) (*Sender, error) {
	g, err := newGateway(c)
	if err != nil {
		return nil, err
	}
	return &Sender{render: r, now: time.Now, post: func(ctx context.Context, _ notify.Notification, m Message) error {
		return g.send(ctx, m)
	}}, nil
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
	if n.Version > 1 { // a resend: the gateway must not treat it as a duplicate
		id += "-" + strconv.FormatInt(n.Version, 10)
	}
	return s.post(ctx, n, Message{ID: id, To: to, Text: text, Kind: string(n.Kind)})
}

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
