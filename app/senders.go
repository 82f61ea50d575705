package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"gorm.io/gorm"

	"punctual/app/config"
	"punctual/notify"
	"punctual/notify/chat"
	"punctual/notify/email"
	"punctual/notify/outbox"
	"punctual/notify/render"
	"punctual/notify/sms"
)

const outboxDir = "data/outbox"

type switchSender struct {
	mu      sync.Mutex
	current *usedSender
}

type usedSender struct {
	notify.Sender
	using    int
	replaced bool
}

func (s *switchSender) Send(ctx context.Context, n notify.Notification) error {
	s.mu.Lock()
	u := s.current
	u.using++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		u.using--
		last := u.replaced && u.using == 0
		s.mu.Unlock()
		if last {
			_ = u.close()
		}
	}()
	return u.Sender.Send(ctx, n)
}

func (s *switchSender) use(next notify.Sender) {
	s.mu.Lock()
	old := s.current
	s.current = &usedSender{Sender: next}
	idle := false
	if old != nil {
		old.replaced = true
		idle = old.using == 0
	}
	s.mu.Unlock()
	if idle {
		_ = old.close()
	}
}

// Close closes the current sender. Callers must not send afterwards.
func (s *switchSender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.close()
}

func (u *usedSender) close() error {
	if c, ok := u.Sender.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type senders struct {
	host        string // right side of Message-IDs; fixed at the start, for it must not change
	render      *render.Renderer
	budget      sms.Budget // of text messages
	baseURL     string
	connections int // to the mail server: one for each handler; 0: the default, which is that of the handlers too
	refused     func(ctx context.Context, address, reply, messageID string)
	email, sms  switchSender
}

// chatSender sends chat messages unless they are switched off.
type chatSender struct {
	*chat.Sender
	enabled func() bool
}

func (s chatSender) Send(ctx context.Context, n notify.Notification) error {
	if !s.enabled() {
		return notify.NoSender{Setting: "chat.enabled is false"}.Send(ctx, n)
	}
	return s.Sender.Send(ctx, n)
}

func newSenders(ctx context.Context, db *gorm.DB, c *config.Config, links render.Links, budget sms.Budget, refused func(ctx context.Context, address, reply, messageID string), log *slog.Logger) (*senders, error) {
	host, err := email.Domain(c.Email.From)
	if err != nil {
		return nil, err
	}
	identity, err := calendarIdentity(ctx, db, host)
	if err != nil {
		return nil, err
	}
	r, err := render.New(render.Config{
		BaseURL: c.HTTP.BaseURL, Identity: identity, Links: links,
		Failed: func(n notify.Notification, err error) {
			log.ErrorContext(ctx, "mail template failed, using the built-in one", "notification_id", n.ID, "error", err)
		},
	})
	if err != nil {
		return nil, err
	}
	templates, err := render.ReadOverrides(c.Notifications.Templates)
	if err != nil {
		return nil, err
	}
	r.Use(templates)
	s := &senders{host: host, render: r, budget: budget, refused: refused, baseURL: c.HTTP.BaseURL, connections: c.Queue.Jobs[notify.Email.Job()].Concurrency}
	if err := s.apply(c); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *senders) apply(c *config.Config) error {
	mails, err := s.newEmail(c.Email)
	if err != nil {
		return err
	}
	texts, err := s.newSMS(c.SMS)
	if err != nil {
		return err
	}
	s.email.use(mails)
	s.sms.use(texts)
	return nil
}

func (s *senders) newEmail(c config.Email) (notify.Sender, error) {
	switch c.Driver {
	case "smtp":
		return email.NewSMTP(c.From, email.SMTP{
			Host: c.SMTP.Host, Port: c.SMTP.Port, Username: c.SMTP.Username, Password: c.SMTP.Password, TLS: c.SMTP.TLS,
			Connections: s.connections, Refused: s.refused,
		}, s.render)
	case "outbox":
		box, err := outbox.Open(outboxDir)
		if err != nil {
			return nil, err
		}
		return email.NewOutbox(c.From, box, s.render)
	default:
		return notify.NoSender{Setting: "email.driver is off"}, nil
	}
}

func (s *senders) newSMS(c config.SMS) (notify.Sender, error) {
	var sender *sms.Sender
	var err error
	switch c.Driver {
	case "http":
		sender, err = sms.NewHTTP(c.Gateway(), s.render)
	case "twilio":
		sender, err = sms.NewTwilio(c.TwilioAccount(s.baseURL), s.render)
	case "aliyun":
		sender, err = sms.NewAliyun(c.AliyunAccount(), s.render)
	case "outbox":
		var box *outbox.Outbox
		if box, err = outbox.Open(outboxDir); err == nil {
			return sms.NewOutbox(box, s.render).Only(c.Countries), nil
		}
	default:
		return notify.NoSender{Setting: "sms.driver is off"}, nil
	}
	if err != nil {
		return nil, err
	}
	return sender.Only(c.Countries).Within(s.budget), nil
}

func (s *senders) Close() error { return errors.Join(s.email.Close(), s.sms.Close()) }
