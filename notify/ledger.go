package notify

import (
	"context"
	"time"

	"punctual/delayjob"
)

// A Ledger stores notifications and their state. The implementation in gormstore also inserts and
// cancels them, in the transaction that causes them.
type Ledger interface {
	// Due lists at most n rows of a channel that are pending or sending and due in w, ordered by
	// due time and ID, starting after the given point. It omits rows whose message is a dead
	// letter of the same version, because the queue would ignore a new message for them.
	Due(ctx context.Context, c Channel, w delayjob.Window, after Point, n int) ([]Point, error)

	// Begin starts an attempt for each of requests, and returns the results in the same order. A
	// pending row of the requested version that has not expired becomes sending for the time of
	// lease, and its attempts increase by one. So does a sending row after its lease, and with
	// Revive a failed row.
	//
	// A row waits while an older row of its [Notification.Thread] is pending or sending. Rows that
	// a newer row of their thread covers become superseded first. screen receives the rows that
	// could be sent now. No attempt begins for a row that it rejects. If a row with a calendar would overtake
	// older ones of its thread that wait for the end of quiet hours, these become due instead, with a new
	// version, and it waits for them.
	//
	// Leases use the clock of the database if it has one, otherwise now.
	Begin(ctx context.Context, requests []BeginRequest, now time.Time, lease time.Duration, screen Screen) ([]BeginResult, error)

	// Keep extends the leases of attempts until lease after now. begun maps the ID of each row to
	// the SendingAt that Begin returned. kept are the attempts that are still the latest of their
	// row and have not ended.
	Keep(ctx context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (kept map[int64]bool, err error)

	// Record stores the outcomes of attempts and ends their leases. It ignores rows of another
	// version or already sent, and attempts that are not the latest, unless the provider accepted
	// them. next has the ID of each row that it changed. If the row is final now, the value is the
	// oldest due row of its thread that is not, if any.
	Record(ctx context.Context, outcomes []Outcome) (next map[int64]Point, err error)

	// Resend makes a row in a final state pending again: due now, without expiry, with a new
	// version. Its attempts continue to count. It returns a *[StateError] for a row that is
	// pending, sending, cancelled or superseded, and [ErrNotFound] if there is none.
	Resend(ctx context.Context, id int64, now time.Time) (Notification, error)

	// Receive records reports of providers. It ignores those about unknown rows and about an older version
	// of the delivery, and those that follow a report of delivery.
	Receive(ctx context.Context, rs []Receipt) error

	// Get returns one row, or [ErrNotFound].
	Get(ctx context.Context, id int64) (Notification, error)

	// List returns one page of the rows that match f, newest first by default. After many rows
	// without a match a page ends early. Next continues the search.
	List(ctx context.Context, f Filter) (Page, error)
}

// Point is the position of a row in the order of due times, and the data for its message.
type Point struct {
	Due       time.Time
	ID        int64
	Version   int64
	Kind      Kind
	Organizer string // see [Notification.Organizer]
}

// BeginRequest requests an attempt at one row.
type BeginRequest struct {
	ID      int64
	Version int64
	Revive  bool // also if it has failed
}

// BeginResult is the result of a [BeginRequest]: the current row, with ID 0 if it does not exist.
// An attempt has begun if the row is sending and Wait is 0.
type BeginResult struct {
	Notification
	Wait      time.Duration // retry after this time: the row is being sent, or an older row of its thread is not final
	Objection Objection     // of the Screen; zero: none
	First     Point         // with Wait: the older row to send first, if its quiet hours were ended for this one
}

// A Screen returns, by ID, the notifications that must not be sent now.
type Screen func(context.Context, []Notification) (map[int64]Objection, error)

// Objection says why a notification must not be sent now.
type Objection struct {
	State  State // new state: Superseded or Skipped; or Pending, to send it at Until; "": send it
	Reason string
	Until  time.Time
	Except string // with State "": the address to leave out
	Facts  *Facts // with State "": sent instead of those that were recorded; nil: none
}

// Outcome is the result of an attempt.
type Outcome struct {
	ID        int64 // of the row
	Version   int64
	State     State // Sent, Failed, Skipped, SkippedLate or Superseded; Pending: retry
	At        time.Time
	Begun     time.Time // SendingAt of the attempt; zero: no attempt
	MessageID string    // stored unless empty
	Error     string    // error of the provider; "" with Sent
	Uncharged bool      // the attempt does not count
	Due       time.Time // with Pending: when to send it instead; zero: as before
}

// Filter of a list. Zero fields do not filter.
type Filter struct {
	MeetingID   int64
	State       State
	Kind        Kind
	Channel     Channel
	Address     string    // exact match, ignoring case
	Text        string    // substring of a name, an address, a title or the last error, ignoring case
	From, To    time.Time // creation time, half-open
	OldestFirst bool
	Cursor      Cursor // Next of the previous page
	Limit       int    // 0: 50
}

// Page is one page of a list.
type Page struct {
	Items []Notification
	Next  Cursor // zero: this is the last page
}
