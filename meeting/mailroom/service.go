package mailroom

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"punctual/delayjob"
	"punctual/meeting/itip"
)

// Settings of the mailroom. They may change while it runs.
type Settings struct {
	Domain  string // of the addresses of rooms, in lower case; empty: the mailroom is off
	Reports string // address from which notifications are sent, and to which reports about them come
	Trust   Trust
	Limits  Limits
}

// Store stores mails. Methods for one mail return [ErrNotFound] if it does not exist.
type Store interface {
	// Known reports whether a room, a site or a meeting has the address with this local part.
	Known(ctx context.Context, local string) (bool, error)
	// Put stores mails, all or none, and sets the ID of each. It omits those whose recipient has a
	// mail with the same digest: their ID stays 0.
	Put(ctx context.Context, ms []*Mail) error
	// Update locks the mail, calls fn and stores the result. fn gets no Raw.
	Update(ctx context.Context, id int64, fn func(*Mail) error) (*Mail, error)
	// Mail returns a mail with its Raw.
	Mail(ctx context.Context, id int64) (*Mail, error)
	// List returns mails without Raw, newest first.
	List(ctx context.Context, f Filter) ([]*Mail, error)
	// Copies returns the IDs of the mails in quarantine that are the same mail for other recipients, and its own.
	Copies(ctx context.Context, m *Mail) ([]int64, error)
	// Ahead reports whether an older new mail about the same event waits that has not failed yet.
	Ahead(ctx context.Context, m *Mail) (bool, error)
	// Due returns at most n new mails due in w, without Raw, ordered by due time and ID, starting after
	// the given one (nil: the first).
	Due(ctx context.Context, w delayjob.Window, after *Mail, n int) ([]*Mail, error)
	// Bury makes new mails whose message is a dead letter dead.
	Bury(ctx context.Context) error
}

// A Scheduler adds messages directly to the queue. It may lose messages: the loader finds them.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
}

// A Limiter counts the mails of each sender.
type Limiter interface {
	// AllowN charges n mails to key, or none and returns false if fewer are left.
	AllowN(ctx context.Context, key string, n int) (ok bool, retryAfter time.Duration)
}

// An Observer counts.
type Observer interface {
	Received(v Verdict)       // a mail was stored
	Duplicate()               // a mail was delivered again
	Answered(d time.Duration) // a mail was processed this long after it was received
}

// Options of a [Service]. All are required.
type Options struct {
	Settings  func() Settings
	Scheduler Scheduler
	Limiter   Limiter
	Observer  Observer
	Delegates Delegates
	Bouncer   Bouncer
	Log       *slog.Logger
	Now       func() time.Time
}

// Delegates reports whether a sender is a delegate of a person, by email addresses. A person without an account
// cannot name delegates: anyone of the same organization may act for them.
type Delegates func(ctx context.Context, sender, person string) (bool, error)

// Service receives mails. Safe for concurrent use.
type Service struct {
	store Store
	Options
}

// NewService returns a Service.
func NewService(store Store, o Options) *Service { return &Service{store: store, Options: o} }

func (s *Service) micro() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// MaxSize returns the number of bytes that a mail may have.
func (s *Service) MaxSize() int64 { return s.Settings().Limits.Size }

// Known reports whether a mail to this address is received. An error means that the database failed.
func (s *Service) Known(ctx context.Context, address string) (bool, error) {
	if s.takesReports(address) {
		return true, nil
	}
	return s.isOurs(ctx, address)
}

// takesReports reports whether delivery reports come to an address.
func (s *Service) takesReports(address string) bool {
	settings := s.Settings()
	return settings.Domain != "" && settings.Reports != "" && strings.EqualFold(address, settings.Reports)
}

// isOurs reports whether a room, a site or a meeting has an address.
func (s *Service) isOurs(ctx context.Context, address string) (bool, error) {
	local, ok := s.local(address)
	if !ok {
		return false, nil
	}
	return s.store.Known(ctx, local)
}

// local returns the local part of an address of the mailroom.
func (s *Service) local(address string) (string, bool) {
	at := strings.LastIndexByte(address, '@')
	domain := s.Settings().Domain
	if at <= 0 || domain == "" || !strings.EqualFold(address[at+1:], domain) {
		return "", false
	}
	return strings.ToLower(strings.Trim(address[:at], `"`)), true
}

// Envelope says how a mail came.
type Envelope struct {
	Source     Source
	Sender     string   // empty: none
	Recipients []string // known addresses
}

// sender returns the address in lower case that the mail comes from on its way; empty: none. Mailboxes keep it in
// Return-Path.
func (e Envelope) sender(l *Letter) string {
	if e.Source == IMAP {
		return strings.Trim(l.Returned, "<>")
	}
	return shown(strings.ToLower(e.Sender))
}

// Receive stores a mail for each recipient with its verdict, and returns the stored mails. After that the
// mail cannot be lost. A mail that was received before is not stored again. [ErrNoResponse] refuses a mail
// permanently; any other error means that the database failed.
func (s *Service) Receive(ctx context.Context, e Envelope, raw []byte) ([]*Mail, error) {
	judged, err := s.Judge(ctx, e, raw)
	if err != nil {
		return nil, err
	}
	if judged.Letter.Report == nil {
		left, err := s.withoutReports(ctx, e.Recipients)
		if err != nil {
			return nil, err
		}
		if len(left) < len(e.Recipients) {
			s.Log.InfoContext(ctx, "ignoring a mail to the sender of notifications, which is no delivery report", "from", judged.Letter.From, "message_id", judged.Letter.MessageID)
		}
		e.Recipients = left
		if len(e.Recipients) == 0 && e.Source == LMTP {
			return nil, ErrNoResponse
		}
	} else if judged.Verdict == Loop {
		if judged.Reason, err = s.noteReport(ctx, judged.Letter.Report); err != nil {
			return nil, err
		}
	}
	if e.Source == LMTP && judged.Verdict == NoCalendar && judged.Letter.Automatic == "" && !slices.ContainsFunc(e.Recipients, isRoom) {
		return nil, ErrNoResponse
	}
	now := s.micro()
	ms := make([]*Mail, len(e.Recipients))
	for i, to := range e.Recipients {
		m := judged.mail(e, raw)
		m.Recipient, m.Version, m.Received, m.Due = strings.ToLower(to), 1, now, now
		m.State = s.Settings().Trust.state(m.Verdict)
		if m.Verdict == Winmail && isRoom(to) && s.Settings().Trust.authenticated(judged.Letter) == "" {
			m.State = New // its sender is told what to change
		}
		if isRoom(to) && s.asks(e, judged) {
			m.State = New // its sender is asked
		}
		ms[i] = &m
	}
	s.limit(ctx, judged, ms)
	if err := s.store.Put(ctx, ms); err != nil {
		return nil, err
	}
	var stored []*Mail
	var due []delayjob.Message
	for _, m := range ms {
		if m.ID == 0 {
			s.Observer.Duplicate()
			continue
		}
		s.Observer.Received(m.Verdict)
		stored = append(stored, m)
		if m.State == New {
			due = append(due, m.Message())
		}
	}
	if len(due) > 0 {
		s.Scheduler.Schedule(ctx, due...)
	}
	return stored, nil
}

// withoutReports leaves out the address that takes only reports.
func (s *Service) withoutReports(ctx context.Context, recipients []string) (left []string, err error) {
	for _, to := range recipients {
		ours := true
		if s.takesReports(to) {
			if ours, err = s.isOurs(ctx, to); err != nil {
				return nil, err
			}
		}
		if ours {
			left = append(left, to)
		}
	}
	return left, nil
}

var ofMeeting = regexp.MustCompile(`^(?i:meeting|series)-[0-9]+@`)

// isRoom reports whether a known address is that of a room or a site, and not of a meeting.
func isRoom(address string) bool { return !ofMeeting.MatchString(address) }

// limit quarantines the mails of a sender beyond the limit.
func (s *Service) limit(ctx context.Context, j *Judged, ms []*Mail) {
	if !slices.ContainsFunc(ms, func(m *Mail) bool { return m.State == New }) {
		return
	}
	if j.Verdict == Unauthenticated { // does not use up what the person in From may send
		if ok, _ := s.Limiter.AllowN(ctx, "unproven "+j.Letter.From, len(ms)); !ok {
			for _, m := range ms {
				m.State = Quarantined
			}
		}
		return
	}
	if ok, _ := s.Limiter.AllowN(ctx, j.Letter.From, len(ms)); ok {
		return
	}
	for _, m := range ms {
		m.Verdict, m.Reason, m.State = TooMany, "the sender exceeds mailroom.limits.per_sender", Quarantined
	}
}

func (t Trust) state(v Verdict) State {
	switch v {
	case Trusted:
		return New
	case Unauthenticated, NotOrganizer, NotAttendee:
		if t.Refuse {
			return Refused
		}
		return Quarantined
	case TooMany:
		return Quarantined
	}
	return Refused
}

// Judged is the verdict on a mail.
type Judged struct {
	Letter   *Letter
	Calendar *itip.Calendar // nil: none that can be read
	Verdict  Verdict
	Reason   string // empty: trusted
}

func (j *Judged) mail(e Envelope, raw []byte) Mail {
	m := Mail{
		Source: e.Source, Sender: e.sender(j.Letter), From: j.Letter.From, Subject: j.Letter.Subject, MessageID: j.Letter.MessageID,
		Digest: digest(raw), Verdict: j.Verdict, Reason: shown(j.Reason), Raw: raw, Size: int64(len(raw)),
	}
	if j.Calendar != nil {
		m.Method = shown(j.Calendar.Method)
		if len(j.Calendar.Objects) > 0 {
			m.UID = shown(j.Calendar.Objects[0].UID)
		}
	}
	return m
}

// Judge decides whether a mail is trusted. An error means that the database failed.
func (s *Service) Judge(ctx context.Context, e Envelope, raw []byte) (*Judged, error) {
	settings := s.Settings()
	letter, err := ReadLetter(raw, settings.Limits)
	j := &Judged{Letter: letter}
	j.Verdict, j.Reason = refused(err)
	if err != nil {
		return j, nil
	}
	if letter.Calendar != nil {
		j.Calendar, err = ReadCalendar(letter, settings.Limits)
	}
	if reason := loops(e, letter, j.Calendar); reason != "" {
		j.Verdict, j.Reason = Loop, reason
		return j, nil
	}
	if letter.Calendar == nil {
		j.Verdict, j.Reason = NoCalendar, "has no calendar message"
		if letter.Winmail {
			j.Verdict, j.Reason = Winmail, "its calendar message is in winmail.dat, which only Outlook reads"
		}
		return j, nil
	}
	if err != nil {
		j.Calendar = nil
		j.Verdict, j.Reason = refused(err)
		return j, nil
	}
	if j.Verdict, j.Reason, err = s.judgeSender(ctx, letter, j.Calendar); err != nil {
		return nil, err
	}
	return j, nil
}

// ReadCalendar reads the calendar message of a letter. Some programs name the method only in the type of the part.
func ReadCalendar(l *Letter, limits Limits) (*itip.Calendar, error) {
	of := itip.DefaultLimits
	of.Size, of.Events = limits.Size, limits.Events
	c, err := itip.Read(strings.NewReader(string(l.Calendar)), of)
	if err == nil && c.Method == "" {
		c.Method = l.Method
	}
	return c, err
}

func refused(err error) (Verdict, string) {
	if err == nil {
		return Trusted, ""
	}
	if _, ok := errors.AsType[*complexError](err); ok {
		return TooComplex, err.Error()
	}
	return Unreadable, err.Error()
}

// loops returns why a mail must not be answered by a program, or "". An automatic REQUEST, such as that
// of a ticket system, is processed. So is a response, which is never answered.
func loops(e Envelope, l *Letter, c *itip.Calendar) string {
	switch {
	case l.Report != nil:
		return "is a delivery report"
	case c != nil && responds(c.Method):
		return ""
	case e.Sender == "" && e.Source == LMTP, e.Source == IMAP && l.Returned == "<>":
		return "has no envelope sender, so it is a report about another mail"
	case l.Automatic == "auto-replied":
		return "is an automatic reply"
	case l.Bulk && l.Calendar == nil:
		return "is from a mailing list"
	}
	return ""
}

// responds reports whether a method is that of a response to an invitation.
func responds(method string) bool { return method == "REPLY" || method == "COUNTER" }

func (s *Service) judgeSender(ctx context.Context, l *Letter, c *itip.Calendar) (Verdict, string, error) {
	if l.Bulk && c.Method != "REQUEST" && !responds(c.Method) {
		return Loop, "is from a mailing list", nil
	}
	senders := []string{l.From}
	if !responds(c.Method) {
		for _, o := range c.Objects {
			senders = append(senders, o.Head().Organizer.Email)
		}
	}
	for _, one := range senders {
		if local, ours := s.local(one); ours {
			known, err := s.store.Known(ctx, local)
			if err != nil {
				return "", "", err
			}
			if known {
				return Loop, "comes from " + one + ", an address of this mailroom", nil
			}
		}
	}
	if reason := s.Settings().Trust.authenticated(l); reason != "" {
		return Unauthenticated, reason, nil
	}
	refused := Trusted
	switch c.Method {
	case "REQUEST", "CANCEL", "ADD", "DECLINECOUNTER":
		if refused = NotOrganizer; !organizes(l.From, c) {
			return refused, l.From + " is neither the organizer of the meeting nor acts for them (SENT-BY in the same organization)", nil
		}
	case "REPLY", "COUNTER":
		if refused = NotAttendee; !attends(l.From, c) {
			return refused, l.From + " is neither the attendee who responds nor acts for them (SENT-BY in the same organization)", nil
		}
	}
	for _, person := range actsFor(l.From, c) {
		if may, err := s.Delegates(ctx, strings.ToLower(l.From), strings.ToLower(person)); err != nil {
			return "", "", err
		} else if !may {
			return refused, l.From + " is not a delegate of " + person, nil
		}
	}
	return Trusted, "", nil
}

// List returns mails without Raw, newest first.
func (s *Service) List(ctx context.Context, f Filter) ([]*Mail, error) { return s.store.List(ctx, f) }

// Mail returns a mail with its Raw, or [ErrNotFound].
func (s *Service) Mail(ctx context.Context, id int64) (*Mail, error) { return s.store.Mail(ctx, id) }

// Release releases a mail from quarantine, or retries a dead one. It returns [ErrNotFound] or, for a
// mail in another state, a [*StateError].
func (s *Service) Release(ctx context.Context, id int64) (*Mail, error) {
	m, err := s.store.Update(ctx, id, func(m *Mail) error {
		if m.State != Quarantined && m.State != Dead {
			return &StateError{m.State}
		}
		m.State, m.Due, m.LastError = New, s.micro(), ""
		m.Version++
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Scheduler.Schedule(ctx, m.Message())
	return m, nil
}
