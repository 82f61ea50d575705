// Package webhook notifies other servers of what happens to meetings. It posts each event, signed,
// and retries until the server accepts it.
//
// The database writes a delivery in the same transaction as the event, so no event is lost, and
// none is posted that was rolled back. The delay job webhook.deliver posts the deliveries.
// [Watcher] schedules new ones at once, and the loader finds the rest.
package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"punctual/account/fault"
	"punctual/delayjob"
)

// Webhook is a server that receives events.
type Webhook struct {
	ID        int64
	URL       string
	Secret    string   // signs each post
	Events    []string // types such as meeting.started; none: all
	Active    bool     // whether events are posted
	Stopped   string   // why it is not active, if no user deactivated it
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// State of a delivery.
type State string

const (
	Pending   State = "pending"
	Delivered State = "delivered" // the server answered 2xx
	Failed    State = "failed"    // expired, or no attempts left
	Skipped   State = "skipped"   // the meeting is deleted or the webhook inactive
)

// Delivery is one event for one webhook.
type Delivery struct {
	ID          int64
	WebhookID   int64
	EventID     int64 // as in the stream of events
	MeetingID   int64 // of the event
	Event       string
	State       State
	Due         time.Time // not posted earlier
	Expires     time.Time // when it fails
	Attempts    int
	Status      int // of the last response; 0: none
	LastError   string
	DeliveredAt time.Time // zero: not delivered
	Version     int64     // incremented by each resend
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Leading reports whether the delivery was posted and stays pending while its handler posts later
// events of the meeting. After a crash its message is delivered again, and another handler
// continues.
func (d *Delivery) Leading() bool {
	return d.State == Pending && d.Version == 1 && d.Status >= 200 && d.Status < 300
}

// Job is the name of the delay job.
const Job = "webhook.deliver"

// Message returns the message for the queue.
func (d *Delivery) Message() delayjob.Message {
	return delayjob.Message{Job: Job, Key: fmt.Sprint(d.ID), Version: d.Version, Due: d.Due}
}

const (
	MinSecret   = 16 // characters
	MaxSecret   = 200
	MaxWebhooks = 100
	Patience    = 3 * 24 * time.Hour // how long a delivery is retried; the database trigger uses the same value
)

// Errors of this package; see also [InvalidError], [VersionError] and [StateError].
var (
	ErrNotFound = errors.New("webhook or delivery not found")
	ErrTooMany  = fmt.Errorf("there are %d webhooks, the maximum", MaxWebhooks)
)

type (
	Fault        = fault.Fault
	InvalidError = fault.InvalidError
	VersionError = fault.VersionError
)

// StateError reports that the state of a delivery does not allow the operation.
type StateError struct{ State State }

func (e *StateError) Error() string { return "the delivery is " + string(e.State) }

func (w *Webhook) faults(known []string) (fs []Fault) {
	printable := func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsPrint(r) }
	if n := len(w.Secret); n < MinSecret || n > MaxSecret || strings.ContainsFunc(w.Secret, func(r rune) bool { return !printable(r) }) {
		fs = append(fs, fault.New("body.secret", "out_of_range", "must be %d to %d printable ASCII characters", MinSecret, MaxSecret))
	}
	seen := map[string]bool{}
	for i, e := range w.Events {
		at := fmt.Sprintf("body.events[%d]", i)
		switch {
		case !slices.Contains(known, e):
			fs = append(fs, fault.New(at, "unknown", "%q must be one of %s", clip(e), strings.Join(known, ", ")))
		case seen[e]:
			fs = append(fs, fault.New(at, "duplicate", "%s is named twice", e))
		}
		seen[e] = true
	}
	return fs
}

const maxText = 500

func clip(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "") // Postgres rejects invalid UTF-8 and NUL
}

// Page is one page of deliveries, newest first.
type Page struct {
	Items []*Delivery
	Next  int64 // Before of the next page; 0: none
}

// Filter of the deliveries of a webhook.
type Filter struct {
	State  State // "": any
	Before int64 // only IDs below; 0: from the newest
	Limit  int
}

func (f Filter) limit() int { return cmp.Or(f.Limit, 50) }
