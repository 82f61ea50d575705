// Package notify sends notifications by email and SMS: once each, on time, in the language and
// time zone of the recipient. It does not import meetings. A [Notification] carries the [Facts]
// for its text.
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
)

// Kind of a notification: the value of the header X-Punctual-Kind.
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

// Channel of a notification.
type Channel string

const (
	Email Channel = "email"
	SMS   Channel = "sms"
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
	Skipped     State = "skipped"      // channel off, or recipient disabled
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
	Address  string // email address or phone number, by channel
	Locale   string // BCP 47; "" or unknown: English
	Timezone string // IANA name; "": the zone of the facts
}

// Facts are the data for the text of a notification, as of the time when it was created.
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
	Offset      int64      `json:"offset,omitempty"`      // of a reminder, in seconds
	Decision    string     `json:"decision,omitempty"`    // confirmed or rejected
	Reason      string     `json:"reason,omitempty"`      // "timeout", or the reason of a cancellation
	Comment     string     `json:"comment,omitempty"`     // of the approver
	Deadline    *time.Time `json:"deadline,omitempty"`    // of an approval request
	CheckInBy   *time.Time `json:"check_in_by,omitempty"` // of a reminder: when the check-in window ends
	NoShows     int        `json:"no_shows,omitempty"`    // of a release: consecutive no-shows of the series
	By          string     `json:"by,omitempty"`          // name of the user who changed, cancelled or decided
	ByFor       []string   `json:"by_for,omitempty"`      // names of the users for whom By decided as deputy
	Request     *Requested `json:"request,omitempty"`     // of an approval request, approval reminder or escalation
	Move        *Placement `json:"move,omitempty"`        // requested move, if the request or the decision is only about a move
	WaitID      int64      `json:"wait_id,omitempty"`     // of an offer from the waiting list

	ScheduleVersion int64 `json:"schedule_version,omitempty"` // of the meeting; 0 for a series

	SeriesID      int64      `json:"series_id,omitempty"`      // of the meeting
	OriginalStart *time.Time `json:"original_start,omitempty"` // of the occurrence; nil for an added date
	Series        *Series    `json:"series,omitempty"`         // if the notification covers all or several dates
}

// Series is a recurring meeting. Times without an offset are local times in the zone of the facts,
// in the format of iCalendar: 20270210T090000.
type Series struct {
	ID        int64        `json:"id"`
	Rooms     []string     `json:"rooms,omitempty"` // default: those of the facts
	Start     string       `json:"start"`           // of the first date
	End       string       `json:"end"`
	Rule      string       `json:"rule"`                // with UNTIL in UTC
	ExDates   []string     `json:"exdates,omitempty"`   // excluded dates of the rule
	RDates    []string     `json:"rdates,omitempty"`    // added dates
	Count     int64        `json:"count"`               // of future dates
	Dates     []time.Time  `json:"dates,omitempty"`     // the first future dates, to show
	Places    [][]string   `json:"places,omitempty"`    // rooms of each of Dates; none: the same for all
	Last      time.Time    `json:"last"`                // last date
	Overrides []Occurrence `json:"overrides,omitempty"` // dates that differ from the series
	Cancelled []Occurrence `json:"cancelled,omitempty"` // of a cancellation of some dates; none: of all
	Part      string       `json:"part,omitempty"`      // of a change that takes several notifications: ends, goes_on or added
	Split     *time.Time   `json:"split,omitempty"`     // where the series ends or continues: first date of the split-off series
}

// Occurrence is one date of a [Series].
type Occurrence struct {
	OriginalStart time.Time `json:"original_start"`
	Start         time.Time `json:"start"`
	End           time.Time `json:"end"`
	Title         string    `json:"title,omitempty"`       // "": that of the series
	Description   *string   `json:"description,omitempty"` // nil: that of the series
	Rooms         []string  `json:"rooms,omitempty"`       // none: those of the series
	Attendees     []Contact `json:"attendees"`             // nil: those of the series
}

// Requested is an approval request as shown to an approver.
type Requested struct {
	Number    int64    `json:"number"`               // identifies the request in links
	OnTimeout string   `json:"on_timeout,omitempty"` // outcome without a decision: rejected or confirmed
	Agreed    []string `json:"agreed,omitempty"`     // names of approvers of earlier levels
	For       []string `json:"for,omitempty"`        // names of the approvers for whom the reader is deputy
}

// Placement is a time and the names of rooms.
type Placement struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Rooms []string  `json:"rooms"`
}

// Contact is a name and an email address.
type Contact struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Response string `json:"response,omitempty"` // of an attendee: needs_action, accepted, declined or tentative
}

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
