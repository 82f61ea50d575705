package app

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"punctual/account"
	"punctual/app/audit"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/meeting"
	"punctual/meeting/linkpages"
	"punctual/meeting/mailroom"
	mailstore "punctual/meeting/mailroom/gormstore"
	"punctual/meeting/mailroom/imap"
	"punctual/meeting/mailroom/lmtp"
	"punctual/meeting/scheduling"
)

// mailroomParts are what receives mails for rooms.
type mailroomParts struct {
	store     *mailstore.Store
	process   *mailroom.Process
	perSender limiter
	server    *lmtp.Server // nil: does not listen
}

// wireMailroom adds the delay job that processes mails to a.jobs.
func (a *Application) wireMailroom(scheduler mailroom.Scheduler) {
	m := &a.mailroom
	m.store = mailstore.New(a.db.Gorm).Noting(audit.Trail{})
	m.perSender = a.newLimiter("mail:", account.Rate(a.config.Mailroom.Limits.PerSender))
	service := mailroom.NewService(m.store, mailroom.Options{
		Settings: a.mailroomSettings, Scheduler: scheduler, Limiter: m.perSender, Observer: newMailMetrics(a.metrics.registry),
		Delegates: a.mayActFor, Bouncer: bouncer{a.bounces}, Log: a.log, Now: time.Now,
	})
	m.process = mailroom.NewProcess(service, rooms{a.scheduling, a.links}, mailroom.ProcessOptions{
		Job: a.config.Queue.Options()[mailroom.Job], Down: database.Unavailable,
	})
	a.jobs = append(a.jobs, m.process)
}

// mailroomSettings are those in force now. A new domain needs a restart.
func (a *Application) mailroomSettings() mailroom.Settings {
	c := a.latest.Load()
	s := c.Mailroom.Settings()
	s.Domain = a.config.Mailroom.Settings().Domain
	if from, err := mail.ParseAddress(c.Email.From); err == nil {
		s.Reports = from.Address
	}
	return s
}

// openMailroom opens the listener, so that a taken port is reported at the start.
func (a *Application) openMailroom(ctx context.Context) (err error) {
	c := a.config.Mailroom
	if !c.On() || c.Listen == "" || !a.role.serves() {
		return nil
	}
	at, err := lmtp.ParseAddress(c.Listen)
	if err != nil {
		return fmt.Errorf("mailroom.listen: %w", err)
	}
	if a.mailroom.server, err = lmtp.Listen(ctx, at, c.Domain, c.Networks(), a.mailroom.process.Service, a.log); err != nil {
		return fmt.Errorf("listen on mailroom.listen: %w", err)
	}
	a.log.Info("receiving mails", "addr", c.Listen, "domain", c.Domain)
	return nil
}

// mailbox returns the reader of the IMAP mailbox, nil if there is none.
func (a *Application) mailbox() *imap.Reader {
	c := a.config.Mailroom
	if !c.On() || c.IMAP.Host == "" {
		return nil
	}
	return imap.NewReader(imap.Config(c.IMAP), a.mailroom.process.Service, a.log)
}

func (m *mailroomParts) apply(c *config.Config) {
	m.perSender.SetRate(account.Rate(c.Mailroom.Limits.PerSender))
}

// rooms hands calendar messages to the rooms.
type rooms struct {
	*scheduling.Service
	links *linkpages.Links
}

var _ mailroom.Processor = rooms{}

// Process implements [mailroom.Processor].
func (r rooms) Process(ctx context.Context, c mailroom.Calendar) (*mailroom.Outcome, error) {
	o, err := r.Service.Process(ctx, scheduling.Message{
		Via: meeting.OriginMail, Recipient: c.Recipient, From: c.From, Calendar: c.Calendar, ICS: c.Text,
		MessageID: c.MessageID, Received: c.Received, DryRun: c.DryRun,
	})
	if err != nil {
		return nil, err
	}
	state, ok := map[scheduling.State]mailroom.State{
		scheduling.Done: mailroom.Done, scheduling.Duplicate: mailroom.Done, scheduling.Outdated: mailroom.Outdated,
	}[o.State]
	if !ok {
		state = mailroom.Refused
	}
	out := &mailroom.Outcome{State: state, Reason: o.Reason, Text: o.Text, SeriesID: o.SeriesID, Answers: make([]mailroom.Answer, len(o.Answers))}
	for _, id := range o.MeetingIDs {
		out.MeetingIDs = append(out.MeetingIDs, int64(id))
	}
	for i, answer := range o.Answers {
		out.Answers[i] = mailroom.Answer{
			Address: answer.Address, RoomID: answer.RoomID, Date: answer.RecurrenceID, Status: string(answer.Status), Reason: answer.Reason, Text: answer.Text,
		}
		if mail := answer.Mail; mail != nil {
			out.Answers[i].Mail = &mailroom.Reply{From: mail.From, To: c.From, Subject: mail.Subject, Text: mail.Text, Calendar: mail.Calendar}
		}
	}
	return out, nil
}

// Help implements [mailroom.Processor].
func (r rooms) Help(ctx context.Context, c mailroom.Calendar) (*mailroom.Outcome, error) {
	text, err := r.Service.Help(ctx, scheduling.Message{Recipient: c.Recipient, From: c.From, MessageID: c.MessageID})
	return &mailroom.Outcome{State: mailroom.Refused, Reason: string(mailroom.Winmail), Text: text, Answers: []mailroom.Answer{}}, err
}

// Ask implements [mailroom.Processor].
func (r rooms) Ask(ctx context.Context, c mailroom.Calendar, title string, m *mailroom.Mail) (string, error) {
	return r.AskSender(ctx, scheduling.Message{Recipient: c.Recipient, From: c.From, MessageID: c.MessageID}, title, r.links.MailURL(m.ID), m.Digest)
}

// mailConfirmations are the mails that senders confirm by a link.
type mailConfirmations struct{ *mailroom.Service }

var _ linkpages.Mails = mailConfirmations{}

// Unconfirmed implements [linkpages.Mails].
func (m mailConfirmations) Unconfirmed(ctx context.Context, id int64) (*linkpages.UnconfirmedMail, error) {
	return confirmation(m.Service.Unconfirmed(ctx, id))
}

// Confirm implements [linkpages.Mails].
func (m mailConfirmations) Confirm(ctx context.Context, id int64) (*linkpages.UnconfirmedMail, error) {
	return confirmation(m.Service.Confirm(ctx, id))
}

func confirmation(m *mailroom.Mail, err error) (*linkpages.UnconfirmedMail, error) {
	_, settled := errors.AsType[*mailroom.StateError](err)
	switch {
	case errors.Is(err, mailroom.ErrNotFound):
		return nil, meeting.ErrNotFound
	case err != nil && !settled:
		return nil, err
	}
	return &linkpages.UnconfirmedMail{Subject: m.Subject, Room: m.Recipient, Confirmed: m.Version > 1, Late: settled && m.Version == 1}, nil
}

// mailMetrics implements [mailroom.Observer].
type mailMetrics struct {
	received *prometheus.CounterVec // verdict
	answered prometheus.Histogram
}

func newMailMetrics(registry *prometheus.Registry) mailMetrics {
	m := mailMetrics{
		received: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "punctual_mails_received_total", Help: "Mails for rooms by verdict; duplicate: received before."}, []string{"verdict"}),
		answered: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "punctual_mail_answer_seconds", Help: "From the receipt of a mail for a room until its answer is stored.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
	}
	registry.MustRegister(m.received, m.answered)
	return m
}

func (m mailMetrics) Received(v mailroom.Verdict) { m.received.WithLabelValues(string(v)).Inc() }
func (m mailMetrics) Duplicate()                  { m.received.WithLabelValues("duplicate").Inc() }
func (m mailMetrics) Answered(d time.Duration)    { m.answered.Observe(max(0, d.Seconds())) }

// mayActFor implements [mailroom.Delegates].
func (a *Application) mayActFor(ctx context.Context, sender, person string) (bool, error) {
	found, err := a.people.ActiveUsersByEmail(ctx, []string{sender, person})
	if err != nil {
		return false, fmt.Errorf("look up a delegate: %w", err)
	}
	of := func(email string) *account.User {
		if i := slices.IndexFunc(found, func(u *account.User) bool { return strings.EqualFold(u.Email, email) }); i >= 0 {
			return found[i]
		}
		return nil
	}
	delegate, principal := of(sender), of(person)
	if principal == nil {
		return true, nil
	}
	return delegate != nil && slices.ContainsFunc(delegate.ActsFor, func(f account.ActsFor) bool { return f.UserID == principal.ID }), nil
}
