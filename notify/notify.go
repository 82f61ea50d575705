// Package notify tells people things: by e-mail and by SMS, once each, on time, in their
// own language and time zone. It knows no meetings, only the [Facts] of a [Notification].
//
// # Two stages
//
// What is to be told is recorded in a [Ledger], in the transaction that caused it: that is
// cheap, and a unique key makes a second record of the same thing impossible. A [Delivery],
// a delay job for each channel, then sends one record at a time, which is slow and may fail.
// So a mail server that hangs delays mails and nothing else.
//
// # What a crash costs
//
// A record goes from pending to sending before the provider is called and to sent after it
// accepted. A crash in between leaves it sending; when the lease of the attempt has run out,
// within three seconds, it is sent again with the same Message-ID (e-mail) or idempotency key
// (SMS), by which the receiving side can tell the copy. That is the one visible duplicate, and
// no protocol without it exists. Two processes that both hold the message, as after an outage
// of the queue, do not send it twice: the lease is the ledger's own.
package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"punctual/delayjob"
)

// Kind of a notification: the value of X-Punctual-Kind.
type Kind string

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
	WaitlistOffer    Kind = "waitlist_offer"
	WaitlistBooked   Kind = "waitlist_booked"
	WaitlistExpired  Kind = "waitlist_expired"
)

// Channel by which somebody is told.
type Channel string

const (
	Email Channel = "email"
	SMS   Channel = "sms"
)

// Job is the name of the delay job that delivers the channel.
func (c Channel) Job() string { return "notify." + string(c) }

// State of a notification. Pending and Sending are on their way, the others are final until
// somebody asks for a resend.
type State string

const (
	Pending     State = "pending"      // waits for its time, or for the next attempt
	Sending     State = "sending"      // handed to the provider, or a crash while it was
	Sent        State = "sent"         // accepted by the provider
	Failed      State = "failed"       // refused for good, or the attempts are used up
	Skipped     State = "skipped"      // the channel was off, or the recipient's account is disabled
	SkippedLate State = "skipped_late" // its time had passed
	Cancelled   State = "cancelled"    // withdrawn before it was sent
	Superseded  State = "superseded"   // not sent: a newer notification replaces it, or it is no longer true
)

// States are all there are.
func States() []State {
	return []State{Pending, Sending, Sent, Failed, Skipped, SkippedLate, Cancelled, Superseded}
}

// A Notification is one thing to tell one person by one channel, and what became of it.
type Notification struct {
	ID        int64  // 0: not recorded
	DedupeKey string // a second record with the same key is ignored
	Kind      Kind
	Channel   Channel
	MeetingID int64 // 0: of no meeting
	To        Recipient
	Facts     Facts
	Due       time.Time // when to send
	Expires   time.Time // when it is too late to send; zero: never

	State     State // empty on insert: Pending
	Version   int64 // of the delivery: 1, raised by each resend
	Attempts  int   // how often it was tried
	MessageID string
	LastError string
	Failures  []Failure // of its attempts, the first fifty; kept when it is sent again
	SendingAt time.Time // last attempt; zero: none
	SentAt    time.Time // zero: not sent
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Failure is an attempt that came to nothing.
type Failure struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"` // from 1
	Error   string    `json:"error"`
}

// Recipient of a notification.
type Recipient struct {
	UserID   int64 // 0: not a user of this installation
	Name     string
	Address  string // e-mail address or phone number, by channel
	Locale   string // BCP 47; empty or unknown: English
	Timezone string // IANA; empty: that of the facts
}

// Facts are what the text of a notification needs, as they were when it was recorded.
type Facts struct {
	MeetingID   int64      `json:"meeting_id"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Start       time.Time  `json:"start"`
	End         time.Time  `json:"end"`
	Timezone    string     `json:"timezone"` // of the rooms, for recipients without one
	Rooms       []string   `json:"rooms"`
	Organizer   Contact    `json:"organizer"`
	Attendees   []Contact  `json:"attendees,omitempty"`
	Sequence    int64      `json:"sequence"`              // iCalendar SEQUENCE
	Before      string     `json:"before,omitempty"`      // of a reminder: start or end
	Offset      int64      `json:"offset,omitempty"`      // of a reminder, seconds
	Decision    string     `json:"decision,omitempty"`    // confirmed or rejected
	Reason      string     `json:"reason,omitempty"`      // "timeout", or what the canceller wrote
	Comment     string     `json:"comment,omitempty"`     // of who decided
	Deadline    *time.Time `json:"deadline,omitempty"`    // of an approval request
	CheckInBy   *time.Time `json:"check_in_by,omitempty"` // of a reminder: somebody must check in until then
	NoShows     int        `json:"no_shows,omitempty"`    // of a release: how often in a row nobody came to its series
	By          string     `json:"by,omitempty"`          // name of who changed, cancelled or decided
	ByFor       []string   `json:"by_for,omitempty"`      // names of those in whose place they decided
	Request     *Requested `json:"request,omitempty"`     // of an approval request, a reminder of it, an escalation
	Move        *Placement `json:"move,omitempty"`        // where it was to move: the request or the decision is about that alone
	WaitID      int64      `json:"wait_id,omitempty"`     // of an offer to somebody who waits

	ScheduleVersion int64 `json:"schedule_version,omitempty"` // of the meeting; of a notification about a series it says nothing

	SeriesID      int64      `json:"series_id,omitempty"`      // that the meeting belongs to
	OriginalStart *time.Time `json:"original_start,omitempty"` // which of its dates it is; null: none of its rule
	Series        *Series    `json:"series,omitempty"`         // if it is about all its dates, or many
}

// Series is a recurring meeting. Times without an offset are those of clocks in the zone of
// the facts, as iCalendar writes them: 20270210T090000.
type Series struct {
	ID        int64        `json:"id"`
	Rooms     []string     `json:"rooms,omitempty"` // of the series; none: those of the facts
	Start     string       `json:"start"`           // of the first date
	End       string       `json:"end"`
	Rule      string       `json:"rule"`                // its UNTIL in UTC
	ExDates   []string     `json:"exdates,omitempty"`   // all dates of the rule that the series has not
	RDates    []string     `json:"rdates,omitempty"`    // dates that it has besides
	Count     int64        `json:"count"`               // dates to come
	Dates     []time.Time  `json:"dates,omitempty"`     // the first of them, to show
	Places    [][]string   `json:"places,omitempty"`    // the rooms of each of Dates; none: all are in the same
	Last      time.Time    `json:"last"`                // the last of them
	Overrides []Occurrence `json:"overrides,omitempty"` // dates that are not as the series has them
	Cancelled []Occurrence `json:"cancelled,omitempty"` // of a cancellation of some dates; none: of all
	Part      string       `json:"part,omitempty"`      // of a change that several notifications tell of: ends, goes_on or added
	Split     *time.Time   `json:"split,omitempty"`     // where it ends or goes on: the first date of what is a series of its own now
}

// Occurrence is one date of a [Series].
type Occurrence struct {
	OriginalStart time.Time `json:"original_start"`
	Start         time.Time `json:"start"`
	End           time.Time `json:"end"`
	Title         string    `json:"title,omitempty"`       // empty: the series'
	Description   *string   `json:"description,omitempty"` // nil: the series'
	Rooms         []string  `json:"rooms,omitempty"`       // none: the series'
	Attendees     []Contact `json:"attendees"`             // nil: the series'
}

// Requested is a request for a decision as the one who is asked reads of it.
type Requested struct {
	Number    int64    `json:"number"`               // names it in links
	OnTimeout string   `json:"on_timeout,omitempty"` // what becomes of it when nobody decides: rejected or confirmed
	Agreed    []string `json:"agreed,omitempty"`     // names of those who have agreed at a level before
	For       []string `json:"for,omitempty"`        // names of those for whom the reader stands in
}

// Placement is a time and the names of rooms.
type Placement struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Rooms []string  `json:"rooms"`
}

// Contact is a name with its e-mail address.
type Contact struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Response string `json:"response,omitempty"` // of an attendee: needs_action, accepted, declined or tentative
}

// Message is what makes the channel's delay job deliver n at its due time.
func (n Notification) Message() delayjob.Message {
	return message(n.Channel, Point{Due: n.Due, ID: n.ID, Version: n.Version, Kind: n.Kind, Organizer: n.Organizer()})
}

// message makes a message for a row. Its body stands for the organizer whose turn it must be, see
// [turns]. A reminder has none: it never waits, for it is of use at its time alone.
func message(c Channel, p Point) delayjob.Message {
	m := delayjob.Message{Job: c.Job(), Key: strconv.FormatInt(p.ID, 10), Version: p.Version, Due: p.Due}
	if p.Kind != Reminder && p.Organizer != "" {
		sum := sha256.Sum256([]byte(p.Organizer))
		m.Body = []byte(hex.EncodeToString(sum[:6]))
	}
	return m
}

// Expired reports whether at is too late to send n.
func (n Notification) Expired(at time.Time) bool {
	return !n.Expires.IsZero() && at.After(n.Expires)
}

// messageID names n in the world, the same in every attempt: the recorded one, else one made
// of what never changes. The hash keeps the IDs of two databases behind one host apart.
func (n Notification) messageID(host string) string {
	if n.MessageID != "" {
		return n.MessageID
	}
	sum := sha256.Sum256([]byte(n.DedupeKey + "\x00" + n.CreatedAt.UTC().Format(time.RFC3339Nano)))
	return fmt.Sprintf("<punctual-notification-%d-%s@%s>", n.ID, hex.EncodeToString(sum[:8]), host)
}
