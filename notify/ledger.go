package notify

import (
	"context"
	"time"

	"punctual/delayjob"
)

// A Ledger records what is to be told and what became of it. The one in gormstore also
// inserts and withdraws, inside the transaction of whoever has something to tell.
type Ledger interface {
	// Due lists what is pending or sending on a channel with a due time in w, ordered by due
	// time then ID, at most n, beginning behind after. Rows whose delivery is a dead letter
	// of the same version are left out: nobody would accept another message for them.
	Due(ctx context.Context, c Channel, w delayjob.Window, after Point, n int) ([]Point, error)

	// Begin starts an attempt for each of asks: a pending row of the version asked for, not
	// expired, becomes sending for the time of lease, and one more attempt is counted. With
	// Revive a failed one does too, and so does a sending one after its lease. The answers are
	// in the order of asks.
	//
	// A row waits while an older row of its [Notification.Thread] is pending or sending. Before
	// that, rows that a newer one of their thread covers become superseded. screen sees those that
	// could be sent now; no attempt begins for a row that it objects to.
	//
	// Leases go by the database's clock where it has one of its own, else by now.
	Begin(ctx context.Context, asks []Ask, now time.Time, lease time.Duration, screen Screen) ([]Begun, error)

	// Keep lets the leases of attempts, by ID of the row the SendingAt that Begin returned,
	// end that much later than now. kept are those that are still the last of their row and
	// have not ended.
	Keep(ctx context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (kept map[int64]bool, err error)

	// Record writes down how attempts ended and ends their leases. It does nothing for a row
	// that has another version or was already sent, nor for an attempt that is not the last
	// one, unless it was accepted. It returns, by the ID of a row that is concluded now, the oldest
	// due row of its thread that is not.
	Record(ctx context.Context, os []Outcome) (next map[int64]Point, err error)

	// Resend makes a row that is in a final state, but not cancelled or superseded, pending again: due at
	// now, never too late, with a new version, its attempts counted on. A row on its way,
	// cancelled or superseded is a *[StateError]; [ErrNotFound] if there is none.
	Resend(ctx context.Context, id int64, now time.Time) (Notification, error)

	// Get returns one row, or [ErrNotFound].
	Get(ctx context.Context, id int64) (Notification, error)

	// List returns one page of the rows that match f, newest first unless it says otherwise. A page
	// that has looked at many rows ends early, even without a match, and Next continues the search.
	List(ctx context.Context, f Filter) (Page, error)
}

// Point is the place of a row in the order of due times, with what makes a message of it.
type Point struct {
	Due       time.Time
	ID        int64
	Version   int64
	Kind      Kind
	Organizer string // see [Notification.Organizer]
}

// Ask asks for an attempt at one row.
type Ask struct {
	ID      int64
	Version int64
	Revive  bool // also if it has failed
}

// Begun answers an [Ask]: the row as it is now, with ID 0 if there is none. An attempt has begun
// if it is sending and Wait is 0.
type Begun struct {
	Notification
	Wait      time.Duration // not yet: it is being sent, or an older one of its thread is not concluded
	Objection Objection     // of the Screen; zero: none
}

// A Screen returns, by ID, its objections to sending notifications now.
type Screen func(context.Context, []Notification) (map[int64]Objection, error)

// Objection is why a notification is not to be sent.
type Objection struct {
	State  State // that it gets: Superseded or Skipped
	Reason string
}

// Outcome of an attempt.
type Outcome struct {
	ID        int64 // of the row
	Version   int64
	State     State     // Sent, Failed, Skipped, SkippedLate or Superseded; Pending: to be tried again
	At        time.Time // when
	Begun     time.Time // SendingAt of the attempt; zero: of none, but of the row as it is
	MessageID string    // recorded unless empty
	Error     string    // what the provider said; empty with Sent
	Uncharged bool      // the attempt does not count
}

// Filter of a list; a zero field does not filter.
type Filter struct {
	MeetingID   int64
	State       State
	Kind        Kind
	Channel     Channel
	Address     string    // exactly, in either case
	Text        string    // that a name, an address or a title holds, in either case
	From, To    time.Time // when it was recorded; half-open
	OldestFirst bool
	Cursor      Cursor // Next of the page before
	Limit       int    // 0: 50
}

// Page is a part of a list.
type Page struct {
	Items []Notification
	Next  Cursor // zero: there is no further page
}
