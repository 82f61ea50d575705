package delayjob

import (
	"context"
	"errors"
	"time"
)

// ErrLeaseLost means that a lease is no longer held. It ended and another consumer claimed the
// message, or the message was replaced, removed or already finished.
var ErrLeaseLost = errors.New("delayjob: lease lost")

// ErrNotFound means that the queue holds no message with this ID.
var ErrNotFound = errors.New("delayjob: no such message")

// ErrCursor means that [Inspector.List] did not issue this cursor.
var ErrCursor = errors.New("delayjob: malformed cursor")

// A Queue holds messages until they are due and leases them to consumers. The implementations in
// memqueue and redisqueue pass the same tests (package queuetest). All methods are safe for
// concurrent use. Batch methods return one error per element. A nil slice means that all elements
// succeeded; otherwise errs[i] belongs to element i.
type Queue interface {
	// Add stores or replaces messages by ID and version. A higher version replaces the stored
	// message in any state, and its holder loses the lease. An equal version changes nothing, even
	// if Due or Body differ, and the result is [Unchanged]. A lower version is ignored. If several
	// elements have the same ID, the highest version is stored.
	//
	// Results are in the order of ms. If a message is not valid (see [Message.Validate]), Add
	// stores nothing and returns an error. On other errors, the results of messages that may not
	// have been stored are [NotStored]; adding them again is safe.
	Add(ctx context.Context, ms ...Message) ([]AddResult, error)

	// Remove deletes messages in any state and returns the state of each, [StateAbsent] if there
	// was none. The holder of a removed message loses its lease.
	Remove(ctx context.Context, ids ...string) ([]State, error)

	// Claim leases due messages of one shard, earliest first, at most want[i].Limit per job. Leased
	// messages are hidden from other consumers until the lease ends. Messages whose lease has ended
	// are due again and get at most half of a batch, rounded up.
	//
	// Each ended lease counts as a crash of its message. Crashes beyond [Want.FreeCrashes] are
	// charged as attempts; a message without attempts left dies. Claim never waits: Claimed.Next is
	// the time of the next claim.
	Claim(ctx context.Context, shard int, want []Want) (Claimed, error)

	// Ack finishes messages. It succeeds after the lease has ended if no other consumer has claimed
	// the message since.
	Ack(ctx context.Context, ls ...Lease) []error

	// Nack returns messages to the queue.
	Nack(ctx context.Context, rs ...Return) []error

	// Extend makes leases end d from now.
	Extend(ctx context.Context, d time.Duration, ls ...Lease) []error

	// Wake delivers a hint when a shard gets an earlier first message. Hints may be lost or merged.
	// Wake returns once the subscription is active, so a later claim misses nothing. The channel is
	// closed when ctx ends.
	Wake(ctx context.Context) (<-chan Hint, error)

	// Shards returns the number of shards, which never changes.
	Shards() int

	// Now returns the engine's clock: the queue's last reading of it, advanced by elapsed time.
	Now() time.Time

	// SetEpoch marks every shard as completely loaded; Claimed.Epoch returns the mark. A shard that
	// loses its content loses the mark. SetEpoch skips shards that lost messages added by this
	// process, and shards where an Add failed since the last call.
	SetEpoch(ctx context.Context, id string) error

	// Close ends subscriptions and releases what the queue itself opened.
	Close() error
}

// Want requests messages of one job.
type Want struct {
	Job string
	// Limit is the most messages to return. 0: none, and the job does not count for Claimed.Next.
	Limit int
	Lease time.Duration // how long the messages stay hidden; at least 1ms
	// MaxAttempts is the number of deliveries after which an ended lease kills the message. 0 or
	// negative: no limit.
	MaxAttempts int

	// ChargeExpired charges every ended lease as an attempt. It is for holders that let a lease end
	// to report a failure.
	ChargeExpired bool
}

// FreeCrashes returns how many ended leases of a message are not charged as attempts. A crashing
// process takes all its messages with it, so the first crashes say little about one message. See
// [Consumer] for how the message at fault is separated from the others.
func (w Want) FreeCrashes() int {
	if w.ChargeExpired {
		return 0
	}
	return freeCrashes
}

const freeCrashes = 2

// Claimed is the result of a claim.
type Claimed struct {
	Now time.Time // engine clock
	// Next is the earliest due time or lease end that remains for the wanted jobs. It may be past.
	// Zero: none.
	Next     time.Time
	Epoch    bool      // the shard has been completely loaded since it was last empty
	Messages []Message // by job in the order wanted, then by due time
	Dead     []Message // died in this claim, because no attempt was left; Lease is zero
}

// Return is one message to return to the queue.
type Return struct {
	Lease Lease
	Delay time.Duration // until the message is due again; ignored by Bury
	How   How
}

// How selects what happens to a returned message.
type How int

const (
	Retry   How = iota // due again; the attempt stays charged
	Release            // due again; the attempt is not charged
	Bury               // becomes a dead letter
)

// Hint reports that the first message of a shard is now due at Due. If Due is zero, hints may have
// been lost: claim at once.
type Hint struct {
	Shard int
	Due   time.Time
}

// AddResult is the result of adding one message.
type AddResult int

const (
	NotStored AddResult = iota // the call failed before it stored the message
	Added                      // new
	Replaced                   // replaced an older version
	Unchanged                  // the same version was stored already
	Healed                     // the same version was stored in no set; it waits again
	Outdated                   // ignored, because a newer version is stored
)

func (r AddResult) String() string {
	return [...]string{"not_stored", "added", "replaced", "unchanged", "healed", "outdated"}[r]
}

// State is the state of a message in a queue.
type State string

const (
	StateAbsent   State = ""
	StateDelayed  State = "delayed"  // waiting, due in the future
	StateReady    State = "ready"    // waiting, due now or earlier
	StateReserved State = "reserved" // leased
	StateDead     State = "dead"
)

// An Inspector is a queue that operators can inspect and control.
type Inspector interface {
	// Get returns one message, or [ErrNotFound].
	Get(ctx context.Context, id string) (Info, error)
	// List returns up to n messages of a job in one state, ordered by time (due, lease end or
	// death), then by ID. An empty cursor starts the list; an empty next ends it. An invalid cursor
	// returns [ErrCursor].
	List(ctx context.Context, job string, s State, cursor string, n int) (items []Info, next string, err error)
	// Jobs returns the sorted names of the jobs that have messages in the queue, with or without a
	// handler.
	Jobs(ctx context.Context) ([]string, error)
	// Stats counts the messages of a job.
	Stats(ctx context.Context, job string) (Stats, error)
	// Pause stops claims of the job until Resume. Existing leases stay valid.
	Pause(ctx context.Context, job string) error
	Resume(ctx context.Context, job string) error
	// Requeue makes dead messages due now, resets their attempts, and returns their previous
	// states.
	Requeue(ctx context.Context, ids ...string) ([]State, error)
	// Check verifies the invariants on the live queue and returns each violation, beginning with
	// the message ID. Without jobs, it checks all jobs that have a message with a body.
	//
	// A message has a body if and only if it is in exactly one of waiting, leased and dead. It has
	// a token if and only if it is leased, and no token is later than the last one issued. A
	// message never waits for an earlier time than its due time, and for a later one only after a
	// Nack.
	Check(ctx context.Context, jobs ...string) ([]string, error)
}

// Info describes one message in a queue.
type Info struct {
	Message    // Attempt counts deliveries so far
	State      State
	WaitsUntil time.Time // when delayed or ready: Due, or later after a Nack
	LeaseUntil time.Time // when reserved
	DiedAt     time.Time // when dead
}

// Stats counts the messages of a job in all shards.
type Stats struct {
	Delayed, Ready, Reserved, Dead int
	Oldest                         time.Time // WaitsUntil of the earliest waiting message; zero: none
	Paused                         bool
}

// Messages returns the number of messages in all states.
func (s Stats) Messages() int { return s.Delayed + s.Ready + s.Reserved + s.Dead }
