// Package chat sends notifications to the incoming webhooks of chat services, such as Slack.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/delayjob/webhook"
	"punctual/notify"
	"punctual/notify/render"
)

// Target is the incoming webhook of a user, a room or a site.
type Target struct {
	ID int64
	Owner
	Service string        // ID of a [Service]
	URL     string        // secret: whoever knows it can post
	Secret  string        // of a service that is Signed; "": none
	Kinds   []notify.Kind // that are posted, of a room or a site
	Locale  string        // of the posts; of a user, read only
	Name    string        // of the owner; read only
	Email   string        // of the user; read only
}

// Owner is whose a target is. Exactly one field is set.
type Owner struct{ UserID, RoomID, SiteID int64 }

// String returns the name of a room or a site in addresses, see [notify.ChannelAddress].
func (o Owner) String() string {
	if o.RoomID != 0 {
		return "room-" + strconv.FormatInt(o.RoomID, 10)
	}
	return "site-" + strconv.FormatInt(o.SiteID, 10)
}

// OwnerOf returns the room or the site whose channel has an address.
func OwnerOf(address string) (o Owner, ok bool) {
	of, id, _ := strings.Cut(strings.TrimPrefix(address, notify.ChannelAddress("")), "-")
	n, err := strconv.ParseInt(id, 10, 64)
	switch of {
	case "room":
		o.RoomID = n
	case "site":
		o.SiteID = n
	}
	return o, err == nil && o != Owner{}
}

// Channel is the target of a room or a site, by which it is decided what is posted there.
type Channel struct {
	Owner
	Name   string  // of the owner
	About  []int64 // rooms, of those in question
	Kinds  []notify.Kind
	Locale string
}

// A Poster posts to public addresses. [webhook.Sender] implements it.
type Poster interface {
	Forward(ctx context.Context, url string, body []byte) (webhook.Answer, error)
	CheckURL(ctx context.Context, url string) error
}

// Targets finds targets.
type Targets interface {
	// Target returns a target, or [notify.ErrNotFound].
	Target(ctx context.Context, id int64) (Target, error)
	// Of returns the target of an owner, or [notify.ErrNotFound].
	Of(ctx context.Context, o Owner) (Target, error)
}

// Sender implements [notify.Sender] for chat messages.
type Sender struct {
	lines   lines
	targets Targets
	poster  Poster
	render  *render.Renderer
	now     func() time.Time
}

// NewSender returns a Sender.
func NewSender(t Targets, p Poster, r *render.Renderer) *Sender {
	return &Sender{targets: t, poster: p, render: r, now: time.Now}
}

// Send implements [notify.Sender].
func (s *Sender) Send(ctx context.Context, n notify.Notification) error {
	wait, end := s.lines.enter(n.To.Address, time.Now())
	if wait > 0 {
		return notify.Later(wait, errors.New("other messages to this chat come first"))
	}
	rest := time.Duration(0)
	defer func() { end(rest) }() // also if it panics
	t, err := s.target(ctx, n)
	if errors.Is(err, notify.ErrNotFound) || err == nil && t.UserID != n.To.UserID {
		return notify.Off("not sent: the chat was disconnected")
	}
	if err != nil {
		return err
	}
	n.To.Address = t.Email // texts depend on who the reader is
	m, err := s.render.Chat(n, s.now())
	if err != nil {
		return notify.Permanent(err)
	}
	rest, err = s.post(ctx, t, m)
	return err
}

// target returns the target with the address of n.
func (s *Sender) target(ctx context.Context, n notify.Notification) (Target, error) {
	if n.Posted() {
		if o, ok := OwnerOf(n.To.Address); ok {
			return s.targets.Of(ctx, o)
		}
	} else if id, err := strconv.ParseInt(strings.TrimPrefix(n.To.Address, "chat-"), 10, 64); err == nil {
		return s.targets.Target(ctx, id)
	}
	return Target{}, notify.Permanent(fmt.Errorf("%q is not the address of a chat", n.To.Address))
}

// Test sends a test message, and returns why it was not accepted.
func (s *Sender) Test(ctx context.Context, t Target) error {
	m, err := s.render.ChatTest(t.Locale)
	if t.UserID == 0 {
		m, err = s.render.ChannelTest(t.Locale, t.Name)
	}
	if err != nil {
		return err
	}
	_, err = s.post(ctx, t, m)
	return err
}

// busyFor is how long to wait after a service refused a message because there were too many. The services
// count by the minute.
const busyFor = time.Minute

// postTimeout is how long a service may take to answer.
const postTimeout = 15 * time.Second

// post returns how long the service wants no more messages, with an error.
func (s *Sender) post(ctx context.Context, t Target, m render.Chat) (rest time.Duration, err error) {
	p := presetOf(t.Service)
	if p == nil {
		return 0, notify.Permanent(fmt.Errorf("unknown chat service %q", t.Service))
	}
	target, body, err := p.request(t.URL, t.Secret, m, s.now())
	if err != nil {
		return 0, notify.Permanent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	answer, err := s.poster.Forward(ctx, target, body)
	switch {
	case errors.Is(err, webhook.ErrRefused):
		return 0, notify.Permanent(err)
	case err != nil: // the host of one person says nothing about those of others
		return 0, err
	}
	return p.verdict(answer)
}

// verdict classifies a response, see [Sender.post].
func (p *preset) verdict(a webhook.Answer) (rest time.Duration, verdict error) {
	err := fmt.Errorf("%s returned %s", p.Name, a)
	gone := slices.ContainsFunc(p.Gone, func(s string) bool { return strings.Contains(a.Text, s) })
	switch {
	case a.Status == 429:
		rest = max(a.RetryAfter, busyFor)
		return rest, notify.Later(rest, err)
	case a.RetryAfter > 0 && (a.Status >= 500 || a.Status == 408 || a.Status == 425):
		return a.RetryAfter, notify.After(a.RetryAfter, err)
	case a.Status >= 500, a.Status == 408, a.Status == 425:
		return 0, err
	case a.Status/100 != 2 || gone:
		return 0, notify.Permanent(err)
	case p.Code == "":
		return 0, nil
	}
	var fields map[string]any
	if json.Unmarshal([]byte(a.Text), &fields) != nil {
		return 0, err
	}
	switch code := fmt.Sprint(fields[p.Code]); {
	case code == "0":
		return 0, nil
	case slices.Contains(p.Busy, code):
		return busyFor, notify.Later(busyFor, err)
	}
	return 0, notify.Permanent(err)
}
