// Package email sends notifications as emails, over SMTP or into an outbox of files.
package email

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wneessen/go-mail"

	"punctual/notify"
	"punctual/notify/outbox"
	"punctual/notify/render"
)

// Sender implements [notify.Sender] for emails.
type Sender struct {
	from   *netmail.Address
	render *render.Renderer
	now    func() time.Time
	post   func(context.Context, notify.Notification, *mail.Msg) error
	close  func() error
}

// NewSMTP returns a Sender with a pool of connections to a mail server. It connects on demand.
// Close ends the connections.
func NewSMTP(from string, c SMTP, r *render.Renderer) (*Sender, error) {
	p, err := newPool(c)
	if err != nil {
		return nil, err
	}
	s, err := newSender(from, r)
	if err != nil {
		return nil, err
	}
	s.post = func(ctx context.Context, n notify.Notification, m *mail.Msg) error {
		refused, err := p.send(ctx, m)
		for _, e := range refused {
			if c.Refused != nil {
				c.Refused(ctx, e.to, e.reply(), n.MessageID)
			}
		}
		return err
	}
	s.close = p.Close
	return s, nil
}

// NewOutbox returns a Sender that writes each mail to a file named by its Message-ID, so that a
// retry overwrites it.
func NewOutbox(from string, box *outbox.Outbox, r *render.Renderer) (*Sender, error) {
	s, err := newSender(from, r)
	if err != nil {
		return nil, err
	}
	s.post = func(_ context.Context, n notify.Notification, m *mail.Msg) error {
		err := box.Put(n.MessageID, ".eml", func(w io.Writer) error {
			_, err := m.WriteTo(w)
			return err
		})
		if err != nil { // a full disk is not the mail's fault
			return notify.Unavailable(err)
		}
		return nil
	}
	return s, nil
}

// Write writes n as an email that is sent at now, as mail programs store it.
func Write(w io.Writer, from string, r *render.Renderer, n notify.Notification, now time.Time) error {
	s, err := newSender(from, r)
	if err != nil {
		return err
	}
	s.now = func() time.Time { return now }
	m, err := s.compose(n)
	if err != nil {
		return err
	}
	_, err = m.WriteTo(w)
	return err
}

func newSender(from string, r *render.Renderer) (*Sender, error) {
	addr, err := netmail.ParseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("sender %q: %w", from, err)
	}
	return &Sender{from: addr, render: r, now: time.Now, close: func() error { return nil }}, nil
}

// Domain returns the domain of an address such as "Punctual <rooms@example.org>", for Message-IDs.
func Domain(from string) (string, error) {
	addr, err := netmail.ParseAddress(from)
	if err != nil {
		return "", fmt.Errorf("sender %q: %w", from, err)
	}
	return addr.Address[strings.LastIndexByte(addr.Address, '@')+1:], nil
}

// Send implements [notify.Sender].
func (s *Sender) Send(ctx context.Context, n notify.Notification) error {
	m, err := s.compose(n)
	if err != nil {
		return notify.Permanent(err)
	}
	return s.post(ctx, n, m)
}

// Close releases the connections of the Sender. It must not be used afterward.
func (s *Sender) Close() error { return s.close() }

func (s *Sender) compose(n notify.Notification) (*mail.Msg, error) {
	to, err := netmail.ParseAddress(n.To.Address)
	if err != nil || to.Name != "" {
		return nil, fmt.Errorf("%q is not an email address", n.To.Address)
	}
	now := s.now()
	if n.Facts.Reply != nil {
		return s.reply(n, to.Address, now), nil
	}
	content, err := s.render.Mail(n, now)
	if err != nil {
		return nil, err
	}
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	m.FromMailAddress(s.from)
	m.ToMailAddress(&netmail.Address{Name: headerText(n.To.Name), Address: to.Address})
	if org, err := netmail.ParseAddress(n.Facts.Organizer.Email); err == nil && org.Address != to.Address {
		m.ReplyToMailAddress(&netmail.Address{Name: headerText(n.Facts.Organizer.Name), Address: org.Address})
	}
	m.Subject(literal(content.Subject))
	m.SetDateWithValue(now)
	m.SetMessageIDWithValue(strings.Trim(n.MessageID, "<>"))
	setHeaders(m, n)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader("X-Auto-Response-Suppress", "OOF, AutoReply")
	m.SetGenHeader("Content-Language", content.Lang)
	setUnsubscribe(m, content)
	m.SetBodyString(mail.TypeTextPlain, content.Text)
	m.AddAlternativeString(mail.TypeTextHTML, content.HTML)
	if content.Calendar != "" {
		m.AddAlternativeString(mail.ContentType("text/calendar; method="+content.Method), content.Calendar)
		name := cmp.Or(map[string]string{"CANCEL": "cancel.ics"}[content.Method], "invite.ics")
		if err := m.AttachReader(name, bytes.NewReader([]byte(content.Calendar)), mail.WithFileContentType("application/ics")); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// setHeaders sets the headers of punctual.
func setHeaders(m *mail.Msg, n notify.Notification) {
	m.SetGenHeader("X-Punctual-Kind", string(n.Kind))
	if n.Proof != "" {
		m.SetGenHeader("X-Punctual-Report", n.Proof) // package mailroom reads it in delivery reports
	}
}

// setUnsubscribe lets mail programs switch off mails of this kind with one click (RFC 8058), which needs an
// HTTPS address. Mails with a calendar have only a link in their text: a click beside an invitation would
// also end the cancellations that keep the calendar correct.
func setUnsubscribe(m *mail.Msg, content render.Mail) {
	if content.Unsubscribe == "" || content.Calendar != "" {
		return
	}
	m.SetGenHeader("List-Unsubscribe", "<"+content.Unsubscribe+">")
	if strings.HasPrefix(content.Unsubscribe, "https://") {
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
}

// reply is the answer of a room to an invitation: a text, and the answer for calendar programs if the
// invitation could be read. It comes from the address of the room.
func (s *Sender) reply(n notify.Notification, to string, now time.Time) *mail.Msg {
	r := n.Facts.Reply
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	m.FromMailAddress(&netmail.Address{Name: headerText(r.Name), Address: r.From})
	if !strings.EqualFold(to, n.Except) {
		m.ToMailAddress(&netmail.Address{Name: headerText(n.To.Name), Address: to})
	}
	if cc, err := netmail.ParseAddress(r.CC); err == nil && !strings.EqualFold(cc.Address, n.Except) {
		m.CcMailAddress(&netmail.Address{Address: cc.Address})
	}
	m.Subject(literal(headerText(r.Subject)))
	m.SetDateWithValue(now)
	m.SetMessageIDWithValue(strings.Trim(n.MessageID, "<>"))
	if id := headerText(r.InReplyTo); id != "" {
		m.SetGenHeader("In-Reply-To", id)
		m.SetGenHeader("References", id)
	}
	setHeaders(m, n)
	m.SetGenHeader("Auto-Submitted", "auto-replied")
	m.SetGenHeader("X-Auto-Response-Suppress", "All")
	m.SetGenHeader("Content-Language", r.Lang)
	m.SetBodyString(mail.TypeTextPlain, r.Text)
	if r.Calendar != "" {
		m.AddAlternativeString(mail.ContentType("text/calendar; method="+cmp.Or(r.Method, "REPLY")), r.Calendar)
	}
	return m
}

// headerText removes control characters from a name. go-mail encodes words but only quotes ASCII.
// Many mail readers decode text that looks encoded even inside quotes, so an invisible joiner
// breaks such text up.
func headerText(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}), " ")
	return strings.ReplaceAll(s, "=?", "=\u2060?")
}

// encodedBytes fit into one encoded word of at most 75 characters.
const encodedBytes = 45

// literal encodes text that looks encoded, so that mail readers show it unchanged.
func literal(s string) string {
	if !strings.Contains(s, "=?") {
		return s
	}
	var words []string
	for part := ""; s != ""; {
		_, size := utf8.DecodeRuneInString(s)
		part, s = part+s[:size], s[size:]
		if len(part)+utf8.UTFMax > encodedBytes || s == "" {
			words, part = append(words, "=?UTF-8?b?"+base64.StdEncoding.EncodeToString([]byte(part))+"?="), ""
		}
	}
	return strings.Join(words, " ")
}
