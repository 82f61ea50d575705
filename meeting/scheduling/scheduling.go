// Package scheduling answers calendar messages (iTIP, RFC 5546) for rooms: invitations, changes and
// cancellations from other calendar programs become meetings, and each invited room answers. Replies to
// invitations of this installation become the responses of its attendees.
package scheduling

import (
	"context"
	"log/slog"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/finding"
	"punctual/meeting/itip"
	"punctual/meeting/series"
)

// Message is a calendar message for rooms, from a sender who is trusted.
type Message struct {
	Via       meeting.OriginKind // mail or caldav
	Recipient string             // mail: the address that was mailed, of a room or a site; caldav: empty, which means all rooms of the event
	From      string             // who sent it: an email address in lower case
	Calendar  *itip.Calendar
	ICS       []byte // as received: answers copy times, time zones and IDs from it
	MessageID string // of the mail, for In-Reply-To; empty: none
	Received  time.Time
	DryRun    bool // writes nothing
}

// State is what became of a message.
type State string

const (
	Done      State = "done"
	Outdated  State = "outdated"  // a newer version was processed before; no answer
	Duplicate State = "duplicate" // the same version was processed before; the same answer, sent once
	Refused   State = "refused"   // the message is not processed; no answer
	Ignored   State = "ignored"   // nothing to do, such as a reply to a room
)

// Outcome is what became of a message, and the answers of its rooms.
type Outcome struct {
	State      State
	Reason     string // a code, of a message that was not processed
	Text       string // the reason for people
	Answers    []Answer
	MeetingIDs []meeting.ID // single meetings that exist because of the message
	SeriesID   int64        // 0: none
}

// Status of an answer, as in iTIP (PARTSTAT).
type Status string

const (
	Accepted  Status = "ACCEPTED"
	Tentative Status = "TENTATIVE"
	Declined  Status = "DECLINED"
)

// unanswered is the status of an address that is invited and was not answered: to a date that the event does
// not have at present, or before it was taken out of the whole event. It is never sent.
const unanswered = Status("NEEDS-ACTION")

// Answer is what an invited address says about an event, or about one date of a series.
type Answer struct {
	Address      string // local part, in lower case
	RoomID       int64  // that the address stands for; 0: none was found
	RecurrenceID string // the date in UTC, such as 20270210T090000Z; empty: the whole event
	Status       Status
	Reason       string // a code, such as room_conflict; empty: none
	Text         string // for people, in the organizer's language
	Alternatives []finding.Suggestion
	Mail         *meeting.Reply // nil: no mail is sent
}

// Known is the state of an event that was seen before.
type Known struct {
	ID        int64 // 0: not stored yet
	Origin    meeting.OriginKind
	MeetingID meeting.ID // 0: none
	SeriesID  int64      // 0: none
	ExtendAt  time.Time  // see [Record]
	Instances []Instance
	Answers   []Told
}

// Instance is the newest version of an event, or of one date that differs.
type Instance struct {
	RecurrenceID string // empty: the event itself
	Version
	ICS string // the event and its time zones
}

// Told is the latest answer of an address about an event or one of its dates.
type Told struct {
	RecurrenceID string
	Address      string
	RoomID       int64 // 0: none was found
	Version
	Status    Status // empty: the address is no longer invited; unanswered: there was nothing to answer
	Reason    string
	Text      string
	MessageID string // of the mail that was answered
	Recipient string // email address of the organizer; empty: no mail is sent
	Number    int64  // of answers so far
}

// Version orders the messages about an event or date.
type Version struct {
	Sequence int64
	Stamp    time.Time // zero: unknown
}

// Compare returns -1, 0 or 1.
func (v Version) Compare(o Version) int {
	if v.Sequence != o.Sequence {
		if v.Sequence < o.Sequence {
			return -1
		}
		return 1
	}
	return v.Stamp.Truncate(time.Second).Compare(o.Stamp.Truncate(time.Second))
}

// Record is what a message changed of an event. It is saved in one transaction, together with the
// answers to send.
type Record struct {
	UID, Organizer string
	Via            meeting.OriginKind
	MeetingID      meeting.ID
	SeriesID       int64
	Instances      []Instance // new versions
	Answers        []Told     // new answers
	Replies        []meeting.Notice
	Outdated       []meeting.Notice // pending replies about the same are not sent
	ExtendAt       time.Time        // when more dates of the series are booked; zero: never
}

// Store keeps events and answers.
type Store interface {
	// ByAddress returns the room or the site with a mail address; both are 0 if there is none.
	ByAddress(ctx context.Context, address string) (roomID, siteID int64, err error)
	// FeaturesAsked returns the features that an address of a site asks for.
	FeaturesAsked(ctx context.Context, siteID int64, address string) ([]string, error)
	// Exclusively runs fn while no other process does so for the same UID.
	Exclusively(ctx context.Context, uid string, fn func(context.Context) error) error
	// KnownEvent returns what is known of an event; without an ID if it was never seen.
	KnownEvent(ctx context.Context, uid, organizer string) (*Known, error)
	// OverCalDAV returns the meeting or series that a user's calendar program has booked over CalDAV for the event with a
	// UID; both are 0 if there is none.
	OverCalDAV(ctx context.Context, uid string, userID int64) (id meeting.ID, seriesID int64, err error)
	// EventOf returns the UID and organizer of the event that a meeting comes from, empty if there is none.
	EventOf(ctx context.Context, id meeting.ID) (uid, organizer string, err error)
	// SaveRecord saves what a message changed, and returns the notices with their IDs.
	SaveRecord(ctx context.Context, r *Record) ([]meeting.Notice, error)
	// Tell saves notices, and returns them with their IDs: 0 if there is one with the same key.
	Tell(ctx context.Context, notices []meeting.Notice) ([]meeting.Notice, error)
	// Changed returns meetings from other calendars that changed up to an instant and whose answers may
	// be outdated.
	Changed(ctx context.Context, until time.Time, after meeting.ID, limit int) ([]Change, error)
	// Extended returns series whose next dates are to be booked up to an instant, by ID.
	Extended(ctx context.Context, until time.Time, after int64, limit int) ([]Extension, error)
	// Extension returns a series that goes on; nil: it does not.
	Extension(ctx context.Context, id int64) (*Extension, error)
	// SeriesOfFirst returns the series that a meeting became the first date of; 0: none.
	SeriesOfFirst(ctx context.Context, id meeting.ID) (int64, error)
	// Replied returns the responses by mail of an attendee to an invitation.
	Replied(ctx context.Context, uid, email string) ([]Replied, error)
	SaveReply(ctx context.Context, r Replied) error
	// SettleChange removes the note of a change, unless the meeting changed since.
	SettleChange(ctx context.Context, c Change) error
}

// Change is a meeting that changed since its rooms last answered.
type Change struct {
	MeetingID meeting.ID
	At        time.Time
}

// Extension is a series with dates that are further ahead than rooms can be booked.
type Extension struct {
	ID             int64 // of the event
	UID, Organizer string
	At             time.Time // when it is looked at next
}

// Directory finds the users who organize events.
type Directory interface {
	ByEmail(ctx context.Context, emails []string) (map[string]meeting.Person, error)
	// Guest returns the user with an email address. It creates one without a password if there is none.
	Guest(ctx context.Context, email, name string) (meeting.Person, error)
}

// Settings of the mailroom that concern answers. They may change while the service runs.
type Settings struct {
	Domain  string // of the addresses of rooms; empty: the mailroom is off
	Percent int    // of the dates of a series that may be taken
	Count   int    // of dates of a series that may be taken

	BeyondWindow BeyondWindow
	Title        TitlePolicy
	Counter      bool          // rooms that decline a meeting also propose the first alternative (METHOD:COUNTER)
	Guests       bool          // unknown senders of Domains become users without a password
	Domains      []string      // in lower case
	MaxAdvance   time.Duration // how far ahead rooms can be booked; 0: without limit
	Undo         time.Duration
}

// TooMany reports whether so many dates are taken that the series is declined.
func (s Settings) TooMany(taken, of int) bool {
	return taken > 0 && (taken == of || taken > s.Count || taken*100 > s.Percent*of)
}

// BeyondWindow says what happens to dates of a series that are further ahead than rooms can be booked.
type BeyondWindow string

const (
	Decline BeyondWindow = "decline" // the series is declined
	Trim    BeyondWindow = "trim"    // these dates are never booked
	Extend  BeyondWindow = "extend"  // each date is booked as soon as it can be
)

// TitlePolicy says what meetings from other calendars are called here.
type TitlePolicy string

const (
	KeepTitle      TitlePolicy = "keep"
	OrganizerTitle TitlePolicy = "organizer" // the organizer's name
	HideTitle      TitlePolicy = "hide"      // the meeting is private
)

// Deps are what a [Service] works with.
type Deps struct {
	Meetings  *booking.Service
	Series    *series.Service
	Finding   *finding.Service
	Store     Store
	People    Directory
	Scheduler booking.Scheduler
	UID       func(meetingID, seriesID int64) string // of a meeting or series of ours in calendars
	Settings  func() Settings
	Now       func() time.Time
	Log       *slog.Logger
}

// Service answers calendar messages. Safe for concurrent use, also by several processes.
type Service struct{ Deps }

// NewService returns a service.
func NewService(d Deps) *Service { return &Service{d} }
