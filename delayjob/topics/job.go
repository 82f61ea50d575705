package topics

import (
	"cmp"
	"strings"
	"time"

	"punctual/delayjob"
)

const (
	DefaultTTR         = 30 * time.Second
	DefaultMaxAttempts = 8
	MaxTTR             = 24 * time.Hour
	MaxTTL             = 5 * 366 * 24 * time.Hour
	MaxAhead           = 5 * 366 * 24 * time.Hour // how far in the future a job may be due
	MaxBody            = 64 << 10                 // bytes of JSON
	MaxBatch           = 1000                     // jobs that one call may add or finish
)

// retryAfter is the backoff between attempts if the holder names no delay.
var retryAfter = delayjob.Backoff{Base: time.Second, Cap: 5 * time.Minute}

// Status is the state of a job as stored in the database.
type Status string

const (
	Pending Status = "pending" // waiting for delivery, or delivered and not finished
	Done    Status = "done"
	Deleted Status = "deleted"
	Dead    Status = "dead" // failed: no attempts left, or its holder gave up
	Expired Status = "expired"
)

// State is the state of a job at one instant. A pending job is delayed, ready or reserved; the
// other states are those of [Status].
type State string

const (
	Delayed   State = "delayed"
	Ready     State = "ready"
	Reserved  State = "reserved"
	IsDead    State = "dead"
	IsDone    State = "done"
	IsExpired State = "expired"
)

// Key identifies a job.
type Key struct{ Topic, ID string }

// Job is a JSON body with a due time.
type Job struct {
	Key
	Version     int64 // set by the caller; a higher one replaces a lower one
	Revision    int64 // grows with every new schedule; the version of the queue's message
	Due         time.Time
	Body        []byte        // JSON
	TTR         time.Duration // time to run: how long a pop reserves it
	TTL         time.Duration // how long after its due time it may still be delivered; 0: indefinitely
	MaxAttempts int           // deliveries; negative: no limit
	Expires     time.Time     // zero: never
	Status      Status
	Attempts    int // deliveries so far
	LastError   string
	Token       int64     // of the lease; 0: no lease since the last delivery ended
	LeaseUntil  time.Time // zero without a token
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// State returns the state of j at now.
func (j *Job) State(now time.Time) State {
	switch {
	case j.Status != Pending:
		return State(j.Status)
	case j.leased(now):
		return Reserved
	case j.exhausted():
		return IsDead
	case j.expired(now):
		return IsExpired
	case j.Due.After(now):
		return Delayed
	default:
		return Ready
	}
}

func (j *Job) leased(now time.Time) bool { return j.Token != 0 && j.LeaseUntil.After(now) }

func (j *Job) expired(now time.Time) bool { return !j.Expires.IsZero() && !j.Expires.After(now) }

func (j *Job) exhausted() bool { return j.MaxAttempts > 0 && j.Attempts >= j.MaxAttempts }

// claimable returns the earliest time of the next delivery.
func (j *Job) claimable() time.Time {
	if j.Token != 0 && j.LeaseUntil.After(j.Due) {
		return j.LeaseUntil
	}
	return j.Due
}

// message returns the message that represents j in the queue.
func (j *Job) message() delayjob.Message {
	return delayjob.Message{Job: JobName(j.Topic), Key: j.ID, Version: j.Revision, Due: j.claimable()}
}

// far reports whether j becomes claimable so late that the queue need not hold it yet. The loader
// adds it in time.
func (j *Job) far(now time.Time) bool { return j.claimable().Sub(now) > farAway }

const farAway = 2 * time.Minute

const jobPrefix = "topic."

// JobName returns the job name of a topic's messages.
func JobName(topic string) string { return jobPrefix + topic }

func topicOf(m delayjob.Message) string { return strings.TrimPrefix(m.Job, jobPrefix) }

// schedule sets a new due time and restores all attempts. The current holder loses its lease.
func (j *Job) schedule(due, now time.Time) {
	j.Status, j.Due, j.Attempts, j.Expires = Pending, due, 0, time.Time{}
	if j.TTL > 0 {
		j.Expires = due.Add(j.TTL)
	}
	j.Revision = max(j.Revision+1, now.UnixMicro())
	j.let()
}

func (j *Job) let() { j.Token, j.LeaseUntil = 0, time.Time{} }

func (j *Job) take(token int64, ttr time.Duration, now time.Time) {
	ttr = cmp.Or(ttr, j.TTR)
	j.Attempts++
	j.Token, j.LeaseUntil = token, now.Add(ttr)
}

func (j *Job) settle(now time.Time) bool {
	if j.Status != Pending {
		return false
	}
	switch j.State(now) {
	case IsDead:
		j.Status = Dead
		if j.LastError == "" {
			j.LastError = ErrorTimeOver
		}
	case IsExpired:
		j.Status = Expired
	default:
		return false
	}
	j.let()
	return true
}

// ErrorTimeOver is the LastError of a job whose holder never reported a result.
const ErrorTimeOver = "the time to run was over at every attempt"

// held reports whether token is the lease of the last delivery. An expired lease still counts until
// the job is delivered again.
func (j *Job) held(token int64) bool { return j.Status == Pending && token != 0 && j.Token == token }
