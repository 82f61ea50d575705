package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Bounce marks an email address to which mails could not be delivered, or whose owner complained
// about one. Nothing is sent to it until an administrator clears the mark or it expires.
type Bounce struct {
	ID        int64
	Address   string // in lower case
	Source    BounceSource
	Reason    string    // in the words of the mail server or the provider
	MessageID string    // of the mail; "": not known
	At        time.Time // of the last bounce
}

// BounceSource says how a bounce became known.
type BounceSource string

const (
	RefusedRecipient BounceSource = "smtp"     // the mail server refused the recipient
	DeliveryReport   BounceSource = "report"   // a delivery report arrived in the mailroom
	ProviderEvent    BounceSource = "provider" // the provider posted an event
)

// Objection returns why nothing is sent to the address.
func (b Bounce) Objection() Objection {
	return Objection{State: Skipped, Reason: fmt.Sprintf("not sent: mail to this address bounced on %s: %s", b.At.UTC().Format(time.RFC3339), b.Reason)}
}

// gone are the enhanced status codes (RFC 3463) that say that an address does not exist or takes no
// mail: 5.1.x without those about the sender (5.1.7 to 5.1.9) and the valid address (5.1.5), and the
// disabled mailbox. Full mailboxes, sizes, spam and policies are not the address's fault.
var gone = regexp.MustCompile(`^5\.(1\.([0-46]|10)|2\.1)$`)

// AddressGone reports whether an enhanced status code, such as 5.1.1, says that an address does not
// exist or takes no mail at all.
func AddressGone(status string) bool { return gone.MatchString(status) }

// BounceStore stores bounces.
type BounceStore interface {
	// Mark stores a bounce in place of an earlier one of the same address.
	Mark(ctx context.Context, b Bounce) error

	// Marked returns the bounces of addresses, by address in lower case.
	Marked(ctx context.Context, addresses []string) (map[string]Bounce, error)

	// Notified reports whether a mail was recorded for an address, in any case.
	Notified(ctx context.Context, address string) (bool, error)

	// Bounces returns one page, the latest first.
	Bounces(ctx context.Context, f BounceFilter) (BouncePage, error)

	// ClearBounce removes a mark, or returns [ErrNotFound].
	ClearBounce(ctx context.Context, id int64) error
}

// BounceFilter selects bounces.
type BounceFilter struct {
	Text   string // in the address, ignoring case
	Cursor Cursor // Next of the previous page
	Limit  int    // 0: 50
}

// BouncePage is one page of a list.
type BouncePage struct {
	Items []Bounce
	Next  Cursor // zero: this is the last page
}

// Bounces marks the addresses that bounce. Safe for concurrent use.
type Bounces struct {
	store  BounceStore
	ledger Ledger
	now    func() time.Time
	log    *slog.Logger
}

// NewBounces returns a service.
func NewBounces(s BounceStore, l Ledger, now func() time.Time, log *slog.Logger) *Bounces {
	return &Bounces{store: s, ledger: l, now: now, log: log}
}

// Refused marks an address that the mail server refused while it received a mail. If the database is
// down, the next mail to the address is refused too.
func (s *Bounces) Refused(ctx context.Context, address, reason, messageID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.mark(ctx, Bounce{Address: address, Source: RefusedRecipient, Reason: reason, MessageID: messageID})
	if err != nil {
		s.log.WarnContext(ctx, "marking a bounced address failed", "message_id", messageID, "error", err)
	}
}

// Reported marks the recipient of a mail if a delivery report says that it failed. Anyone can
// forge a report, but only the recipient of a mail, and administrators, know its Message-ID. Reported
// ignores reports about other mails and other recipients. It returns the address that it marked, if any.
func (s *Bounces) Reported(ctx context.Context, messageID string, recipients []string, reason string) (address string, err error) {
	id := notificationOf(messageID)
	if id == 0 {
		return "", nil
	}
	n, err := s.ledger.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if n.Channel != Email || n.MessageID != messageID {
		return "", nil
	}
	for _, r := range recipients {
		if strings.EqualFold(r, n.To.Address) {
			return n.To.Address, s.mark(ctx, Bounce{Address: r, Source: DeliveryReport, Reason: reason, MessageID: messageID})
		}
	}
	return "", nil
}

// Event marks an address if the provider says that it bounced, or that its owner complained. It
// ignores addresses to which punctual sent nothing: other programs may use the same account.
func (s *Bounces) Event(ctx context.Context, address, reason, messageID string) error {
	known, err := s.store.Notified(ctx, address)
	if err != nil || !known {
		return err
	}
	return s.mark(ctx, Bounce{Address: address, Source: ProviderEvent, Reason: reason, MessageID: messageID})
}

const maxBounceReason = 300

func (s *Bounces) mark(ctx context.Context, b Bounce) error {
	b.Address, b.Reason, b.At = strings.ToLower(b.Address), shortenTo(maxBounceReason, b.Reason), s.now()
	b.MessageID = shortenTo(maxBounceReason, b.MessageID)
	if err := s.store.Mark(ctx, b); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "mail bounced, address marked", "source", b.Source, "message_id", b.MessageID)
	return nil
}

// Marked returns the bounces of addresses, by address in lower case.
func (s *Bounces) Marked(ctx context.Context, addresses []string) (map[string]Bounce, error) {
	return s.store.Marked(ctx, addresses)
}

// List returns one page of bounces, the latest first.
func (s *Bounces) List(ctx context.Context, f BounceFilter) (BouncePage, error) {
	return s.store.Bounces(ctx, f)
}

// Clear removes a mark, so that mails are sent again, or returns [ErrNotFound].
func (s *Bounces) Clear(ctx context.Context, id int64) error { return s.store.ClearBounce(ctx, id) }

var ofNotification = regexp.MustCompile(`^<punctual-notification-([1-9][0-9]{0,17})-[0-9a-f]{32}@`)

// notificationOf returns the ID of the notification that a Message-ID names, 0 if it names none. It
// leaves out those of earlier releases, whose shorter IDs could be guessed.
func notificationOf(messageID string) int64 {
	m := ofNotification.FindStringSubmatch(messageID)
	if m == nil {
		return 0
	}
	id, _ := strconv.ParseInt(m[1], 10, 64)
	return id
}
