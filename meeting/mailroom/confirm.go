package mailroom

import (
	"context"
	"errors"
	"strings"
	"time"

	"punctual/account/fault"
)

// With trust.unauthenticated: confirm, an unproven invitation causes a mail with a link to the address in From. The
// address may be forged, so that strangers get this mail. It is therefore not sent for mails that failed DMARC, that are
// automatic, or that have no envelope sender (in a mailbox: Return-Path), nor more often than limits.per_sender.

// ConfirmWithin is how long a sender can confirm an invitation.
const ConfirmWithin = 72 * time.Hour

// asks reports whether the sender of a mail is asked to confirm it.
func (s *Service) asks(e Envelope, j *Judged) bool {
	l := j.Letter
	if _, ours := s.local(l.From); ours || !s.Settings().Trust.Confirm || j.Verdict != Unauthenticated || j.Reason == failedDMARC {
		return false
	}
	return e.sender(l) != "" && l.Automatic == "" && !l.Bulk && fault.IsEmail(l.From) && !responds(j.Calendar.Method) && organizes(l.From, j.Calendar)
}

// ask asks the sender of a mail to confirm it. The mail waits in quarantine.
func (p *Process) ask(ctx context.Context, m *Mail, l *Letter) (*Outcome, error) {
	out := &Outcome{State: Quarantined, Answers: []Answer{}}
	if !p.Settings().Trust.Confirm { // no longer
		return out, nil
	}
	var err error
	out.Text, err = p.processor.Ask(ctx, Calendar{Recipient: m.Recipient, From: m.From, MessageID: m.MessageID, Received: m.Received}, strings.TrimSpace(l.Subject), m)
	return out, err
}

// Unconfirmed returns a mail that its sender was asked to confirm. It returns [ErrNotFound] if there is none, and a
// [*StateError] with the mail if it was confirmed, or released, or it is too late.
func (s *Service) Unconfirmed(ctx context.Context, id int64) (*Mail, error) {
	m, err := s.store.Mail(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case m.Verdict != Unauthenticated:
		return nil, ErrNotFound
	case m.State != Quarantined && m.State != New, m.Version > 1: // the mail may be read before it is back in quarantine
		return m, &StateError{m.State}
	case s.Now().Sub(m.Received) > ConfirmWithin:
		return m, &StateError{Quarantined}
	}
	return m, nil
}

// Confirm releases a mail that its sender confirmed, for all its recipients.
func (s *Service) Confirm(ctx context.Context, id int64) (*Mail, error) {
	m, err := s.Unconfirmed(ctx, id)
	if err != nil {
		return m, err
	}
	ids, err := s.store.Copies(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := s.Release(ctx, id); err != nil {
			if _, released := errors.AsType[*StateError](err); !released {
				return nil, err
			}
		}
	}
	return m, nil
}
