package mailroom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/delayjob"
	"punctual/meeting/itip"
)

// Calendar is a calendar message for an address of the mailroom.
type Calendar struct {
	Recipient string // address in lower case
	From      string // address in lower case
	MessageID string
	Received  time.Time
	Calendar  *itip.Calendar
	Text      []byte // as received, in UTF-8
	DryRun    bool   // book and send nothing
}

// A Processor carries out calendar messages.
type Processor interface {
	// Process must be idempotent: after a crash it is called again. An error means that it should be
	// called again later.
	Process(ctx context.Context, c Calendar) (*Outcome, error)
	// Help mails a sender, once, that rooms cannot read winmail.dat, and what to change. c has no
	// calendar message.
	Help(ctx context.Context, c Calendar) (*Outcome, error)
	// Ask mails the sender, once for all copies of a mail, a link to confirm it. It returns what the mail is about.
	Ask(ctx context.Context, c Calendar, title string, m *Mail) (string, error)
}

// Outcome is the result of processing a calendar message.
type Outcome struct {
	State      State    `json:"state"`            // Done, Outdated or Refused
	Reason     string   `json:"reason,omitempty"` // code; empty: processed
	Text       string   `json:"text,omitempty"`   // the reason for people
	Answers    []Answer `json:"answers"`
	MeetingIDs []int64  `json:"meeting_ids"` // of single meetings
	SeriesID   int64    `json:"series_id,omitempty"`
}

// Answer is a room's response to an event or one of its dates.
type Answer struct {
	Address string `json:"address"`           // local part
	RoomID  int64  `json:"room_id,omitempty"` // 0: no room was found
	Date    string `json:"date,omitempty"`    // of a series, as in RECURRENCE-ID; empty: the whole event
	Status  string `json:"status"`            // ACCEPTED, TENTATIVE or DECLINED
	Reason  string `json:"reason,omitempty"`  // code
	Text    string `json:"text"`
	Mail    *Reply `json:"-"` // nil: none, or not known
}

// Reply is the mail that carries an answer.
type Reply struct{ From, To, Subject, Text, Calendar string }

// Process is the delay job itip.process. It processes one mail. Mails about the same event run in the
// order in which they were received, unless one fails.
type Process struct {
	*Service
	processor Processor
	options   ProcessOptions
}

// ProcessOptions configure a [Process]. Down is required.
type ProcessOptions struct {
	Job  delayjob.Options // overrides of the consumer
	Down func(error) bool // whether an error means that the database is down
}

// NewProcess returns the delay job.
func NewProcess(s *Service, p Processor, o ProcessOptions) *Process { return &Process{s, p, o} }

// Name implements [delayjob.DelayJob].
func (*Process) Name() string { return Job }

// Options implements [delayjob.Configurer].
func (*Process) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 8, MaxRuntime: time.Minute, Backoff: delayjob.Backoff{Base: time.Second, Cap: 5 * time.Minute}}
}

const loadPage = 500

// Load implements [delayjob.DelayJob].
func (p *Process) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		if w.From.IsZero() {
			if err := p.store.Bury(ctx); err != nil {
				yield(delayjob.Message{}, err)
				return
			}
		}
		var after *Mail
		for {
			page, err := p.store.Due(ctx, w, after, loadPage)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, m := range page {
				if !yield(m.Message(), nil) {
					return
				}
			}
			if len(page) < loadPage {
				return
			}
			after = page[len(page)-1]
		}
	}
}

// Execute implements [delayjob.DelayJob].
func (p *Process) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid key %q of a mail", m.Key))
	}
	mail, err := p.store.Mail(ctx, id)
	requeued := err == nil && mail.State == Dead && m.Attempt <= 1
	switch {
	case errors.Is(err, ErrNotFound):
		return delayjob.Drop("no such mail")
	case err != nil:
		return p.unlessDown(err)
	case mail.Version != m.Version:
		return delayjob.Drop("superseded by a retry")
	case mail.State != New && !requeued:
		return delayjob.Drop("already " + string(mail.State))
	}
	ahead, err := p.store.Ahead(ctx, mail)
	if err != nil {
		return p.unlessDown(err)
	}
	if ahead {
		return delayjob.Snooze(min(max(p.Now().Sub(mail.Due)/8, 20*time.Millisecond), 2*time.Second))
	}
	outcome, err := p.process(ctx, mail)
	if err != nil {
		return p.failed(ctx, mail, m.Attempt, err)
	}
	return p.record(ctx, mail, outcome)
}

func (p *Process) process(ctx context.Context, m *Mail) (*Outcome, error) {
	limits := p.Settings().Limits
	letter, err := ReadLetter(m.Raw, limits)
	if m.Verdict == Unauthenticated && m.Version == 1 { // nobody has released it
		return p.ask(ctx, m, letter)
	}
	if err == nil && letter.Calendar == nil && letter.Winmail {
		return p.processor.Help(ctx, Calendar{Recipient: m.Recipient, From: m.From, MessageID: m.MessageID, Received: m.Received})
	}
	var c *itip.Calendar
	if err == nil {
		c, err = ReadCalendar(letter, limits)
	}
	if err != nil { // released from quarantine, or the limits have changed
		verdict, reason := refused(err)
		return &Outcome{State: Refused, Reason: string(verdict), Text: reason}, nil
	}
	return p.processor.Process(ctx, Calendar{
		Recipient: m.Recipient, From: m.From, MessageID: m.MessageID, Received: m.Received, Calendar: c, Text: letter.Calendar,
	})
}

func (p *Process) unlessDown(err error) error {
	if p.options.Down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

// failed records why an attempt failed, and after the last one that the mail is dead.
func (p *Process) failed(ctx context.Context, m *Mail, attempt int, err error) error {
	if p.options.Down(err) {
		return delayjob.Unavailable(err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	limit := p.Options().Merge(p.options.Job).WithDefaults(false).MaxAttempts
	last := limit > 0 && attempt >= limit
	_, recorded := p.store.Update(ctx, m.ID, func(now *Mail) error {
		if now.Version != m.Version {
			return nil
		}
		now.LastError = shown(err.Error())
		if last {
			now.State = Dead
		}
		return nil
	})
	if recorded != nil {
		return p.unlessDown(errors.Join(err, recorded))
	}
	if last {
		return delayjob.Dead(err)
	}
	return err
}

func (p *Process) record(ctx context.Context, m *Mail, o *Outcome) error {
	text, err := json.Marshal(o)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("write the outcome of mail %d: %w", m.ID, err))
	}
	now := p.micro()
	_, err = p.store.Update(ctx, m.ID, func(stored *Mail) error {
		if stored.Version == m.Version {
			stored.State, stored.Outcome, stored.LastError, stored.Processed = o.State, text, "", now
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return p.unlessDown(err)
	}
	if m.Version == 1 {
		p.Observer.Answered(now.Sub(m.Received))
	}
	return nil
}

// Tried is the result of a dry run for one recipient.
type Tried struct {
	Recipient string
	Verdict   Verdict
	Reason    string
	State     State    // in which it would be stored
	Outcome   *Outcome // what processing it would do, even if the verdict keeps it from being processed; nil: it has no calendar message
}

// Try is a dry run of a mail. It stores and sends nothing.
func (p *Process) Try(ctx context.Context, e Envelope, raw []byte) ([]Tried, error) {
	j, err := p.Judge(ctx, e, raw)
	if err != nil {
		return nil, err
	}
	all := make([]Tried, len(e.Recipients))
	for i, to := range e.Recipients {
		all[i] = Tried{Recipient: strings.ToLower(to), Verdict: j.Verdict, Reason: j.Reason, State: p.Settings().Trust.state(j.Verdict)}
		if j.Calendar == nil {
			continue
		}
		all[i].Outcome, err = p.processor.Process(ctx, Calendar{
			Recipient: all[i].Recipient, From: j.Letter.From, MessageID: j.Letter.MessageID, Received: p.micro(),
			Calendar: j.Calendar, Text: j.Letter.Calendar, DryRun: true,
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Addressed returns the recipients in the header of a mail that the mailroom knows.
func (s *Service) Addressed(ctx context.Context, raw []byte) ([]string, error) {
	letter, err := ReadLetter(raw, s.Settings().Limits)
	if err != nil && len(letter.To) == 0 {
		return nil, nil
	}
	var known []string
	for _, to := range letter.To {
		ok, err := s.Known(ctx, to)
		if err != nil {
			return nil, err
		}
		if ok && !slices.Contains(known, to) {
			known = append(known, to)
		}
	}
	return known, nil
}
