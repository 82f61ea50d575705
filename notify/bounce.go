package notify

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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
	SentAt    time.Time // of the mail; zero: not known
}

// BounceSource says how a bounce became known.
type BounceSource string

const (
	RefusedRecipient BounceSource = "smtp"     // the mail server refused the recipient
	DeliveryReport   BounceSource = "report"   // a delivery report arrived in the mailroom
	ProviderEvent    BounceSource = "provider" // the provider posted an event
)

// Objection returns why nothing is sent to the address. Organizers may read it, so it leaves out what the
// server said.
func (b Bounce) Objection() Objection {
	return Objection{State: Skipped, Reason: "not sent: mail to this address bounced on " + b.At.UTC().Format(time.RFC3339)}
}

// IgnoresBounces reports whether a kind is sent to marked addresses too: a person has just asked for it.
func IgnoresBounces(k Kind) bool { return k == PasswordReset || k == InviteUser }

// gone are the enhanced status codes (RFC 3463) that say that an address does not exist. Of 5.1.x, it
// leaves out those about the sender (5.1.7 to 5.1.9) and the valid address (5.1.5), and 5.1.0, with which
// Postfix and Exchange also refuse senders. Disabled and full mailboxes, sizes, spam and policies may change.
var gone = regexp.MustCompile(`^5\.1\.([1-46]|10)$`)

// AddressGone reports whether an enhanced status code, such as 5.1.1, says that an address does not exist.
func AddressGone(status string) bool { return gone.MatchString(status) }

// BounceStore stores bounces.
type BounceStore interface {
	// Mark stores a bounce in place of an earlier one of the same address, and returns whether it did. It
	// ignores mails that were sent before an administrator cleared the mark.
	Mark(ctx context.Context, b Bounce) (bool, error)

	// Marked returns the bounces of addresses, by address in lower case.
	Marked(ctx context.Context, addresses []string) (map[string]Bounce, error)

	// Notified reports whether a mail was recorded for an address, in any case.
	Notified(ctx context.Context, address string) (bool, error)

	// Bounces returns one page, the latest first.
	Bounces(ctx context.Context, f BounceFilter) (BouncePage, error)

	// ClearBounce removes a mark at a time, or returns [ErrNotFound].
	ClearBounce(ctx context.Context, id int64, at time.Time) error
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
	verify func(text, signature []byte) bool
	now    func() time.Time
	log    *slog.Logger
}

// NewBounces returns a service. verify checks signatures of [DeliveryOptions].Sign.
func NewBounces(s BounceStore, l Ledger, verify func(text, signature []byte) bool, now func() time.Time, log *slog.Logger) *Bounces {
	return &Bounces{store: s, ledger: l, verify: verify, now: now, log: log}
}

// Refused marks an address that the mail server refused while it received a mail. If the database is
// down, the next mail to the address is refused too.
func (s *Bounces) Refused(ctx context.Context, address, reason, messageID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, err := s.mark(ctx, Bounce{Address: address, Source: RefusedRecipient, Reason: reason, MessageID: messageID})
	if err != nil {
		s.log.WarnContext(ctx, "marking a bounced address failed", "message_id", messageID, "error", err)
	}
}

// maxReportAge is how long after a mail a delivery report about it counts. Servers try for up to five days.
const maxReportAge = 10 * 24 * time.Hour

// Reported marks the addresses of a mail that failed according to a delivery report: failed has the
// reasons by address in lower case. Anyone can forge a report, but only who has the mail, with its whole
// header, knows its [Notification.Proof]. Reported ignores reports about other mails, other recipients and
// old mails. It returns the addresses that it marked.
func (s *Bounces) Reported(ctx context.Context, proof string, failed map[string]string) (marked []string, err error) {
	id, signature := parseProof(proof)
	if id == 0 {
		return nil, nil
	}
	n, err := s.ledger.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sent := n.SentAt
	if sent.IsZero() { // the report was faster than the outcome
		sent = n.SendingAt
	}
	if n.Channel != Email || !s.verify(n.proofText(), signature) || sent.Before(s.now().Add(-maxReportAge)) {
		return nil, nil
	}
	for _, address := range n.Addresses() {
		reason, ok := failed[strings.ToLower(address)]
		if !ok {
			continue
		}
		stored, err := s.mark(ctx, Bounce{Address: address, Source: DeliveryReport, Reason: reason, MessageID: n.MessageID, SentAt: sent})
		if err != nil {
			return marked, err
		}
		if stored {
			marked = append(marked, address)
		}
	}
	return marked, nil
}

// Event marks an address if the provider says that it bounced, or that its owner complained. It
// ignores addresses to which punctual sent nothing: other programs may use the same account.
func (s *Bounces) Event(ctx context.Context, address, reason, messageID string) error {
	known, err := s.store.Notified(ctx, address)
	if err != nil || !known {
		return err
	}
	_, err = s.mark(ctx, Bounce{Address: address, Source: ProviderEvent, Reason: reason, MessageID: messageID})
	return err
}

const maxBounceReason = 300

func (s *Bounces) mark(ctx context.Context, b Bounce) (stored bool, err error) {
	b.Address, b.Reason, b.At = strings.ToLower(b.Address), shortenTo(maxBounceReason, b.Reason), s.now()
	b.MessageID = shortenTo(maxBounceReason, b.MessageID)
	if stored, err = s.store.Mark(ctx, b); stored {
		s.log.InfoContext(ctx, "mail bounced, address marked", "source", b.Source, "message_id", b.MessageID)
	}
	return stored, err
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
func (s *Bounces) Clear(ctx context.Context, id int64) error {
	return s.store.ClearBounce(ctx, id, s.now())
}

// proof returns the ID of n and a signature over this delivery of it. A mail carries it in a header of its
// own: replies to the mail, which others read, repeat the Message-ID but not this.
func (n Notification) proof(sign func([]byte) []byte) string {
	return strconv.FormatInt(n.ID, 10) + "." + base64.RawURLEncoding.EncodeToString(sign(n.proofText()))
}

// proofText is what the proof of n signs. With the version, a report about an earlier delivery proves nothing.
func (n Notification) proofText() []byte {
	return fmt.Appendf(nil, "delivery-report\x00%d\x00%d\x00%s", n.ID, n.Version, strings.ToLower(n.To.Address))
}

// parseProof returns the ID and the signature of a proof, 0 if it is none.
func parseProof(proof string) (id int64, signature []byte) {
	before, after, _ := strings.Cut(proof, ".")
	id, err := strconv.ParseInt(before, 10, 64)
	signature, invalid := base64.RawURLEncoding.DecodeString(after)
	if err != nil || invalid != nil || id <= 0 || len(signature) != sha256.Size {
		return 0, nil
	}
	return id, signature
}
