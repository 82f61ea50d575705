package delayjob

import (
	"context"
	"errors"
	"time"
)

// ErrLeaseLost says that a lease is no longer held: it ended and somebody else took the
// message, or the message was replaced, removed or already finished.
var ErrLeaseLost = errors.New("delayjob: lease lost")

// ErrNotFound says that a queue holds no message of that ID.
var ErrNotFound = errors.New("delayjob: no such message")

// ErrCursor says that a cursor is none that [Inspector.List] gave out.
var ErrCursor = errors.New("delayjob: malformed cursor")

// A Queue holds messages until they are due and leases them out. The implementations in
// memqueue and redisqueue pass the same tests (package queuetest). All methods are safe for
// concurrent use. Errors of a batch are per element: a nil slice means that all succeeded,
// otherwise its length is the batch's and errs[i] belongs to element i.
type Queue interface {
	// Add stores or replaces messages by ID and version: a higher version replaces what is
	// there, whatever its state, and takes it away from a holder; an equal one does nothing, even
	// if its Due or Body differ, and its result is [Unchanged] with err nil; a lower one is
	// ignored. To change a message, raise its Version. Of several elements with one ID the highest version counts.
	// The results are in the order of ms. If err is not nil, results hold what is known to
	// have been stored and [NotStored] elsewhere; adding again is always safe. One message
	// that is not valid (see [Message.Validate]) fails the call before anything is stored.
	Add(ctx context.Context, ms ...Message) ([]AddResult, error)

	// Remove forgets messages whatever their state and tells the state each was in,
	// [StateAbsent] if there was none. A holder of a removed message finds its lease lost.
	Remove(ctx context.Context, ids ...string) ([]State, error)

	// Claim leases due messages of one shard, earliest first and at most want[i].Limit of
	// each job, and hides them from other consumers until the lease ends. Messages whose
	// lease has ended are due again; they get at most half of a batch (rounded up). Each such
	// end is a crash of the message; beyond [Want.FreeCrashes] it is charged as an attempt,
	// and those without an attempt left die instead. It never waits: Claimed.Next says when
	// to come again.
	Claim(ctx context.Context, shard int, want []Want) (Claimed, error)

	// Ack finishes messages. A lease that has ended but was not taken over still counts.
	Ack(ctx context.Context, ls ...Lease) []error

	// Nack gives messages back.
	Nack(ctx context.Context, rs ...Return) []error

	// Extend lets leases end d from now.
	Extend(ctx context.Context, d time.Duration, ls ...Lease) []error

	// Wake delivers hints that the head of a shard became earlier. Hints may be lost or
	// merged; the channel is closed when ctx ends. It returns once the subscription is
	// in force, so that a claim made after it misses nothing.
	Wake(ctx context.Context) (<-chan Hint, error)

	// Shards is the number of shards, fixed for the life of the queue.
	Shards() int

	// Now is the engine's clock as the queue last saw it, advanced by elapsed time.
	Now() time.Time

	// SetEpoch marks every shard as completely loaded. A shard that loses its content
	// loses the mark too, which Claimed.Epoch shows. One that lost what this process added
	// to it before the call is not marked, nor is one that an Add of this process did not
	// reach since the last call: the load was not complete.
	SetEpoch(ctx context.Context, id string) error

	// Close ends subscriptions and frees what the queue itself opened.
	Close() error
}

// Want asks for messages of one job.
type Want struct {
	Job         string
	Limit       int           // at most so many; 0 asks for nothing, and the job does not count for Claimed.Next
	Lease       time.Duration // how long they stay hidden; at least 1 ms
	MaxAttempts int           // deliveries after which an ended lease means death; 0 or negative: no limit

	// ChargeExpired charges every ended lease as an attempt: for holders who let a lease end
	// to say that they failed.
	ChargeExpired bool
}

// FreeCrashes is how many ended leases of one message are not charged as attempts. A process
// that dies takes along whatever it held, so the first crashes say little about a message;
// one that was there each time is suspected, and charged from then on. See [Consumer] for how
// those that merely were nearby are kept away from the culprit.
func (w Want) FreeCrashes() int {
	if w.ChargeExpired {
		return 0
	}
	return freeCrashes
}

const freeCrashes = 2

// Claimed is the answer to a claim.
type Claimed struct {
	Now      time.Time // engine clock
	Next     time.Time // of the wanted jobs: the earliest due time or end of a lease that is left, perhaps past; zero: none
	Epoch    bool      // the shard was completely loaded since it was last emptied
	Messages []Message // by job in the order wanted, then by due time
	Dead     []Message // died by this claim: their last lease ended and no attempt was left; Lease is zero
}

// Return is one message given back.
type Return struct {
	Lease Lease
	Delay time.Duration // until it is due again; ignored by Bury
	How   How
}

// How a message is given back.
type How int

const (
	Retry   How = iota // the attempt stays charged
	Release            // the attempt is not charged
	Bury               // it becomes a dead letter
)

// Hint says that the head of a shard is now due at Due. A zero Due means that hints may have
// been lost (a subscription was restored): claim at once.
type Hint struct {
	Shard int
	Due   time.Time
}

// AddResult is what became of one added message.
type AddResult int

const (
	NotStored AddResult = iota // the call failed before it
	Added                      // it is new
	Replaced                   // it took the place of an older version
	Unchanged                  // the same version was there
	Healed                     // the same version was known but in no set, and waits again
	Outdated                   // a newer version is there; ignored
)

func (r AddResult) String() string {
	return [...]string{"not_stored", "added", "replaced", "unchanged", "healed", "outdated"}[r]
}

// State of a message in a queue.
type State string

const (
	StateAbsent   State = ""
	StateDelayed  State = "delayed"  // waiting, due in the future
	StateReady    State = "ready"    // waiting, due now or before
	StateReserved State = "reserved" // leased
	StateDead     State = "dead"
)

// An Inspector is a queue that can be looked at and operated on.
type Inspector interface {
	// Get tells about one message, or [ErrNotFound].
	Get(ctx context.Context, id string) (Info, error)
	// List pages through the messages of a job in one state, ordered by time (due, lease end
	// or death) then ID, at most n. An empty cursor starts; an empty next cursor ends. A cursor
	// that is none of the queue's is [ErrCursor].
	List(ctx context.Context, job string, s State, cursor string, n int) (items []Info, next string, err error)
	// Jobs lists, sorted, the jobs that the queue holds messages of, whether or not anything
	// handles them.
	Jobs(ctx context.Context) ([]string, error)
	// Stats counts the messages of a job.
	Stats(ctx context.Context, job string) (Stats, error)
	// Pause makes claims of the job hand out nothing until Resume. Leases stay as they are.
	Pause(ctx context.Context, job string) error
	Resume(ctx context.Context, job string) error
	// Requeue makes dead messages due now with their attempts forgotten and tells the state each was in.
	Requeue(ctx context.Context, ids ...string) ([]State, error)
	// Check verifies the invariants on the live queue, of these jobs or, if there are none, of
	// all that have a message with a body. It describes each breach, beginning with the ID: a message has a body if and only if it is in exactly one of waiting,
	// leased and dead; it has a token if and only if it is leased, and none later than the
	// last one given out; it does not wait for another time than its due time, unless it
	// was given back, and never for an earlier one.
	Check(ctx context.Context, jobs ...string) ([]string, error)
}

// Info is what a queue knows of one message.
type Info struct {
	Message    // Attempt counts deliveries so far
	State      State
	WaitsUntil time.Time // when delayed or ready: Due, or later after a Nack
	LeaseUntil time.Time // when reserved
	DiedAt     time.Time // when dead
}

// Stats are counts of a job's messages over all shards.
type Stats struct {
	Delayed, Ready, Reserved, Dead int
	Oldest                         time.Time // WaitsUntil of the earliest waiting message; zero: none
	Paused                         bool
}

// Messages counts them in all states.
func (s Stats) Messages() int { return s.Delayed + s.Ready + s.Reserved + s.Dead }
