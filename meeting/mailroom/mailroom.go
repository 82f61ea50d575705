// Package mailroom receives mails for rooms and sites, and decides which of them are trusted.
//
// A mail goes through three steps. Receive stores it, one row per recipient, together with the
// verdict on it; only then is it accepted from the sending server. The delay job
// itip.process hands the calendar message of each trusted mail to package scheduling, which books and
// replies. An administrator sees every mail, releases those in quarantine and retries those that
// failed.
//
// The packages lmtp and imap beneath it are the two ways in.
package mailroom

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"punctual/delayjob"
)

// State is what became of a mail.
type State string

const (
	New         State = "new"         // waits to be processed
	Done        State = "done"        // processed
	Outdated    State = "outdated"    // a newer version of the event was known already
	Refused     State = "refused"     // never processed, without a reply
	Quarantined State = "quarantined" // not trusted; an administrator may release it
	Dead        State = "dead"        // every attempt to process it failed
)

// States returns all states.
func States() []State { return []State{New, Done, Outdated, Refused, Quarantined, Dead} }

// Verdict is what was found about a mail when it was received.
type Verdict string

const (
	Trusted         Verdict = "trusted"
	Unauthenticated Verdict = "unauthenticated" // the sender's address is not proven
	NotOrganizer    Verdict = "not_organizer"   // the sender does not organize the meeting
	NotAttendee     Verdict = "not_attendee"    // the sender is not the attendee who responds
	TooMany         Verdict = "too_many"        // more than limits.per_sender
	Loop            Verdict = "loop"            // from a room, or an automatic reply
	NoCalendar      Verdict = "no_calendar"     // without a calendar message
	Winmail         Verdict = "winmail"         // the calendar message is in winmail.dat
	Unreadable      Verdict = "unreadable"      // no mail, or no calendar
	TooComplex      Verdict = "too_complex"     // more parts, levels or events than allowed
)

// A Source is the way by which a mail came.
type Source string

const (
	LMTP   Source = "lmtp" // and SMTP
	IMAP   Source = "imap"
	Upload Source = "upload" // by an administrator
)

// ErrNotFound means that there is no such mail.
var ErrNotFound = errors.New("mailroom: no such mail")

// ErrNoResponse means that a mail for a meeting is not a response to its invitation, or that a mail to the
// sender of notifications is no delivery report. The refusal informs its author that nobody reads it.
var ErrNoResponse = errors.New("mailroom: a mail for a meeting must be a response to its invitation")

// A StateError means that a mail in this state cannot be released or retried.
type StateError struct{ State State }

func (e *StateError) Error() string { return "cannot process a mail that is " + string(e.State) }

// Mail is one mail for one recipient.
type Mail struct {
	ID        int64
	Source    Source
	Sender    string // of the envelope; empty: none
	Recipient string // of the envelope, in lower case
	From      string // address in the From header, in lower case; empty: none, or several
	Subject   string
	MessageID string
	Digest    string // the same for a mail that is delivered again
	UID       string // of the event; empty: none
	Method    string // of the calendar message, in upper case
	Verdict   Verdict
	Reason    string // why; empty: trusted
	State     State
	Outcome   json.RawMessage // what was done; nil: not processed
	LastError string          // of the last attempt to process it
	Version   int64           // 1, and one more for each release and retry
	Received  time.Time
	Due       time.Time // when it is to be processed
	Processed time.Time // zero: not yet
	Size      int64     // of the raw mail, in bytes
	Raw       []byte    // nil in lists
}

// Job is the name of the delay job that processes mails.
const Job = "itip.process"

// Message returns the message of the delay job for m.
func (m *Mail) Message() delayjob.Message {
	return delayjob.Message{Job: Job, Key: strconv.FormatInt(m.ID, 10), Version: m.Version, Due: m.Due}
}

// Filter selects mails of a list, newest first.
type Filter struct {
	State  State  // empty: any
	Text   string // in sender, recipient, subject or UID; ignores case
	Before int64  // only mails with lower IDs; 0: all
	Limit  int
}
