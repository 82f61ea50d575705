// Package notify sends notifications by email and SMS: once each, on time, in the language and
// time zone of the recipient. A [Notification] carries the [Facts] for its text. Of package meeting,
// notify uses only these types.
//
// # Two stages
//
// The transaction that causes a notification records it in a [Ledger]. That is cheap, and a unique
// key prevents duplicates. A [Delivery], one delay job per channel, then sends the notifications
// one by one, which is slow and may fail. A mail server that hangs delays mails and nothing else.
//
// # After a crash
//
// A row goes from pending to sending before the provider is called, and to sent after the provider
// accepts. A crash in between leaves it sending. When the lease of the attempt expires, within
// three seconds, the row is sent again with the same Message-ID (email) or idempotency key (SMS),
// so that the receiving side can recognize the duplicate. No protocol avoids this case. If two
// processes hold the same message, for example after an outage of the queue, only one sends it,
// because the lease is in the ledger.
package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
)

// Kind of a notification: the value of the header X-Punctual-Kind.
type Kind = meeting.NoticeKind

const (
	Reminder         Kind = "reminder"
	Invitation       Kind = "invitation"
	Change           Kind = "change"
	Cancellation     Kind = "cancellation"
	ApprovalRequest  Kind = "approval_request"
	ApprovalReminder Kind = "approval_reminder"
	Escalation       Kind = "escalation"
	Decision         Kind = "decision"
	Released         Kind = "released"
	Declined         Kind = "declined"
	Reply            Kind = "reply" // of a room, to an invitation from another calendar program
	WaitlistOffer    Kind = "waitlist_offer"
	WaitlistBooked   Kind = "waitlist_booked"
	WaitlistExpired  Kind = "waitlist_expired"
	InviteUser       Kind = "invite_user"    // to a new user, with a link to choose a password
	PasswordReset    Kind = "password_reset" // to a user, with a link to choose a new password
	Handover         Kind = "handover"       // to a user, of the meetings of somebody who left
	FaultReport      Kind = "fault_report"   // to the facility contact of a room
	SignInAdded      Kind = "sign_in_added"  // to a user, whose account has a new passkey, app password or second factor
	TestMail         Kind = "test_mail"      // to an admin who tries the mail server
	DigestMail       Kind = "digest"         // to a user, of the meetings of some days
	SMSLimit         Kind = "sms_limit"      // to admins, of a day whose text messages reached the limit
)

// Channel of a notification.
type Channel string

const (
	Email Channel = "email"
	SMS   Channel = "sms"
	Chat  Channel = "chat" // incoming webhook of a chat service, of a user, a room or a site
)

// Job returns the name of the delay job that delivers the channel.
func (c Channel) Job() string { return "notify." + string(c) }

// State of a notification. All states except Pending and Sending are final until a resend.
type State string

const (
	Pending     State = "pending"      // waits for its due time or the next attempt
	Sending     State = "sending"      // an attempt is running, or crashed
	Sent        State = "sent"         // accepted by the provider
	Failed      State = "failed"       // rejected, or no attempts left
	Skipped     State = "skipped"      // channel off, recipient disabled, or the recipient does not want it
	SkippedLate State = "skipped_late" // expired before it was sent
	Cancelled   State = "cancelled"    // cancelled before it was sent
	Superseded  State = "superseded"   // not sent: replaced by a newer notification, or obsolete
)

// States returns all states.
func States() []State {
	return []State{Pending, Sending, Sent, Failed, Skipped, SkippedLate, Cancelled, Superseded}
}

// A Notification is one message to one recipient on one channel, and its state.
type Notification struct {
	ID        int64  // 0: not stored yet
	DedupeKey string // a second insert with the same key is ignored
	Kind      Kind
	Channel   Channel
	MeetingID int64 // 0: no meeting
	To        Recipient
	Facts     Facts
	Due       time.Time // when to send
	Expires   time.Time // when it is too late to send; zero: never

	State     State // "" on insert means Pending
	Version   int64 // of the delivery: 1, incremented by each resend
	Attempts  int
	MessageID string
	LastError string
	Failures  []Failure // of its attempts, at most 50; kept by a resend
	SendingAt time.Time // last attempt; zero: none
	SentAt    time.Time // zero: not sent
	CreatedAt time.Time
	UpdatedAt time.Time

	Reception       Reception
	ReceptionAt     time.Time // zero: not reported
	ReceptionReason string    // of Undelivered

	// Uninvited is set by [Ledger.Begin] for a change that replaces an invitation which was not sent. It is
	// not stored.
	Uninvited bool

	// Except and Proof are set by a [Delivery] and not stored.
	Except string // one of Addresses to which nothing is sent, because it bounced; "": none
	Proof  string // by which a delivery report about the mail is recognized; "": not signed
}

// Failure is a failed attempt.
type Failure struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"` // from 1
	Error   string    `json:"error"`
}

// Recipient of a notification.
type Recipient struct {
	UserID   int64 // 0: not a user
	Name     string
	Address  string // email address, phone number, [ChatAddress] or [ChannelAddress], by channel
	Locale   string // BCP 47; "" or unknown: English
	Timezone string // IANA name; "": the zone of the facts
}

// Posted reports whether n is for the channel of a room or a site, and not for a person.
func (n Notification) Posted() bool { return n.Channel == Chat && n.To.UserID == 0 }

// Addresses returns to whom n goes: its recipient, and who gets a copy of a room's reply.
func (n Notification) Addresses() []string {
	all := []string{n.To.Address}
	if n.Facts.Reply != nil && n.Facts.Reply.CC != "" {
		all = append(all, n.Facts.Reply.CC)
	}
	return all
}

// ChatAddress returns the address of the chat target of a user. It does not reveal the webhook.
func ChatAddress(id int64) string { return "chat-" + strconv.FormatInt(id, 10) }

// ChannelAddress returns the address of the channel of a room or a site, such as "room-5". Unlike the ID of a chat
// target, these names mean the same after an import.
func ChannelAddress(of string) string { return "chat-" + of }

// The data for the text of a notification, as of the time when it was created.
type (
	Facts      = meeting.Facts
	Series     = meeting.SeriesFacts
	SeriesPart = meeting.SeriesPart
	FieldFact  = meeting.FieldFact
	Occurrence = meeting.Occurrence
	Requested  = meeting.Requested
	Placement  = meeting.Placement
	Contact    = meeting.Contact
	AgendaItem = meeting.AgendaItem
)

// Message returns the message for the delay job of the channel, due at the due time of n.
func (n Notification) Message() delayjob.Message {
	return message(n.Channel, Point{Due: n.Due, ID: n.ID, Version: n.Version, Kind: n.Kind, Organizer: n.Organizer()})
}

// message returns the message of a row. Its body identifies the organizer for [turns]. A reminder
// has no body: it never waits for a turn, because it is useful only on time.
func message(c Channel, p Point) delayjob.Message {
	m := delayjob.Message{Job: c.Job(), Key: strconv.FormatInt(p.ID, 10), Version: p.Version, Due: p.Due}
	if p.Kind != Reminder && p.Organizer != "" {
		sum := sha256.Sum256([]byte(p.Organizer))
		m.Body = []byte(hex.EncodeToString(sum[:6]))
	}
	return m
}

// Expired reports whether it is too late at the given time to send n.
func (n Notification) Expired(at time.Time) bool {
	return !n.Expires.IsZero() && at.After(n.Expires)
}

// messageID returns the Message-ID of n, the same in every attempt: the stored one, or else one
// derived from fields that never change. The hash distinguishes databases that share a host name.
func (n Notification) messageID(host string) string {
	if n.MessageID != "" {
		return n.MessageID
	}
	sum := sha256.Sum256([]byte(n.DedupeKey + "\x00" + n.CreatedAt.UTC().Format(time.RFC3339Nano)))
	return fmt.Sprintf("<punctual-notification-%d-%s@%s>", n.ID, hex.EncodeToString(sum[:8]), host)
}
