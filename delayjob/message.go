package delayjob

import (
	"fmt"
	"strings"
	"time"
)

// A Message requests one run of a job for one key at one time.
type Message struct {
	Job string // DelayJob name; the queue's topic
	// Key names the subject. The part before the first ':' is the entity, e.g. "42" or
	// "42:start:900".
	Key string
	// Version is the version of the entity's schedule, 0 or greater. A higher one replaces a lower
	// one.
	Version int64
	Due     time.Time         // when to run, rounded up to the millisecond so that no message runs early
	Body    []byte            // small; refer to rows rather than copying them
	Headers map[string]string // trace context and similar data

	// Set on delivery.
	Attempt int // from 1
	Crashes int // ended leases, at most 255; see [Want.FreeCrashes]
	// Ready is when this delivery was due: Due, later after a Nack, or the end of the last lease.
	Ready   time.Time
	Claimed time.Time // engine clock
	Lease   Lease
}

// ID returns the message's identifier in a queue: Job + ":" + Key.
func (m Message) ID() string { return m.Job + ":" + m.Key }

// Validate returns an error if a queue cannot store m: its job name is empty or contains ':', its
// key is empty, or its version is negative.
func (m Message) Validate() error {
	switch {
	case m.Job == "" || strings.Contains(m.Job, ":"):
		return fmt.Errorf("delayjob: job: must not be empty or contain ':', is %q", m.Job)
	case m.Key == "":
		return fmt.Errorf("delayjob: key of a %s message: must not be empty", m.Job)
	case m.Version < 0:
		return fmt.Errorf("delayjob: version of %s: must not be negative, is %d", m.ID(), m.Version)
	}
	return nil
}

// MessageID returns the [Message.ID] for a job and key.
func MessageID(job, key string) string { return job + ":" + key }

// SplitID is the inverse of [MessageID].
func SplitID(id string) (job, key string) {
	job, key, _ = strings.Cut(id, ":")
	return job, key
}

// Entity returns the part of a key before its first ':'. All messages of an entity share a shard.
func Entity(key string) string {
	e, _, _ := strings.Cut(key, ":")
	return e
}

// ShardOf returns the shard of a key among n shards: the FNV-1a hash of its entity, modulo n.
func ShardOf(key string, n int) int {
	if n <= 1 {
		return 0
	}
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, c := range []byte(Entity(key)) {
		h = (h ^ uint64(c)) * prime
	}
	return int(h % uint64(n))
}

// Window is a span of due times, from From (exclusive; zero: no lower bound) to To (inclusive).
type Window struct{ From, To time.Time }

// Contains reports whether t lies in the window.
func (w Window) Contains(t time.Time) bool {
	return (w.From.IsZero() || t.After(w.From)) && !t.After(w.To)
}

// A Lease is the right to finish one delivery of a message. The next claim of the message gets a
// greater Token, and this lease is lost.
type Lease struct {
	ID    string // of the message
	Shard int
	Token int64 // 0: no lease
	Until time.Time
}
