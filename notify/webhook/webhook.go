// Package webhook posts events of meetings to other servers. Each event is a signed post, retried
// until the server accepts it.
//
// The database writes a delivery in the transaction of its event, so none is lost and none is sent
// for a change that was rolled back. The strategy webhook.deliver posts deliveries. [Watcher] queues
// new ones at once, and the loader queues the rest.
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
	Active    bool     // else nothing is posted
	Stopped   string   // why it is not active, if nobody switched it off
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// State of a delivery.
type State string

const (
	Pending   State = "pending"
	Delivered State = "delivered" // the server answered 2xx
	Failed    State = "failed"    // given up
	Skipped   State = "skipped"   // the meeting is deleted, or the webhook is not active
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID          int64
	WebhookID   int64
	EventID     int64 // the same as in the stream of events
	MeetingID   int64 // that the event is of
	Event       string
	State       State
	Due         time.Time // nothing is posted before
	Expires     time.Time // when it is given up
	Attempts    int
	Status      int // of the last answer; 0: there was none
	LastError   string
	DeliveredAt time.Time // zero: it was not
	Version     int64     // rises when it is sent again
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Leading reports whether the delivery was posted and stays pending while its message goes on with
// the later events of its meeting. A crash leaves it so, and its message comes again elsewhere.
func (d *Delivery) Leading() bool {
	return d.State == Pending && d.Version == 1 && d.Status >= 200 && d.Status < 300
}

// Job is the name of the strategy that posts.
const Job = "webhook.deliver"

// Message is the delivery as the queue carries it.
func (d *Delivery) Message() delayjob.Message {
	return delayjob.Message{Job: Job, Key: fmt.Sprint(d.ID), Version: d.Version, Due: d.Due}
}

// Limits of webhooks.
const (
	MinSecret   = 16 // characters
	MaxSecret   = 200
	MaxWebhooks = 100
	Patience    = 3 * 24 * time.Hour // for so long a delivery is tried; the database knows it, too
)

// Errors of this package; see also [InvalidError], [VersionError] and [StateError].
var (
	ErrNotFound = errors.New("webhook or delivery not found")
	ErrTooMany  = fmt.Errorf("there are %d webhooks, as many as there may be", MaxWebhooks)
)

// Faults of requests are those of every package. See package fault.
type (
	Fault        = fault.Fault
	InvalidError = fault.InvalidError
	VersionError = fault.VersionError
)

// StateError says that a delivery is in a state that does not allow this.
type StateError struct{ State State }

func (e *StateError) Error() string { return "the delivery is " + string(e.State) }

// faults of what w itself says, without its URL's. known are the types of events.
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
			fs = append(fs, fault.New(at, "unknown", "%q is none of %s", clip(e), strings.Join(known, ", ")))
		case seen[e]:
			fs = append(fs, fault.New(at, "duplicate", "%s is named twice", e))
		}
		seen[e] = true
	}
	return fs
}

// based is an error if a change is based on another version; nil is on any.
func (w *Webhook) based(version *int64) error {
	if version != nil && *version != w.Version {
		return &VersionError{Current: w.Version}
	}
	return nil
}

// maxText bounds what a client or a server can make us keep or repeat.
const maxText = 500

func clip(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "") // Postgres keeps no other
}

// Page is a part of a list of deliveries, the newest first.
type Page struct {
	Items []*Delivery
	Next  int64 // the Before of the following page; 0: there is none
}

// Filter chooses deliveries of a webhook.
type Filter struct {
	State  State // "": any
	Before int64 // IDs below; 0: from the newest
	Limit  int
}

func (f Filter) limit() int { return cmp.Or(f.Limit, 50) }
