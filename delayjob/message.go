package delayjob

import (
	"fmt"
	"strings"
	"time"
)

// A Message asks for one job to run for one key at one time.
type Message struct {
	Job     string            // DelayJob name; the queue's topic
	Key     string            // what it is about; its part before the first ':' is the entity, e.g. "42" or "42:start:900"
	Version int64             // of the entity's schedule, 0 or greater; a higher one replaces a lower one
	Due     time.Time         // when to run, kept to the millisecond (rounded up: never early)
	Body    []byte            // small; refer to rows rather than copying them
	Headers map[string]string // trace context and the like

	// Set on delivery.
	Attempt int       // from 1
	Crashes int       // leases of it that ended without a word from their holder, see [Want.FreeCrashes]; at most 255
	Ready   time.Time // when it was due this time: Due, or later after a Nack, or the end of a lease that ended
	Claimed time.Time // engine clock
	Lease   Lease
}

// ID identifies the message in a queue: Job + ":" + Key.
func (m Message) ID() string { return m.Job + ":" + m.Key }

// Validate says what keeps a queue from storing m: a job without a name or with ':' in it, no
// key, or a negative version.
func (m Message) Validate() error {
	switch {
	case m.Job == "" || strings.Contains(m.Job, ":"):
		return fmt.Errorf("delayjob: %q is not a job's name", m.Job)
	case m.Key == "":
		return fmt.Errorf("delayjob: a message of %s without a key", m.Job)
	case m.Version < 0:
		return fmt.Errorf("delayjob: version %d of %s is negative", m.Version, m.ID())
	}
	return nil
}

// MessageID is the [Message.ID] of a message of this job and key.
func MessageID(job, key string) string { return job + ":" + key }

// SplitID is the inverse of [MessageID]; a job's name holds no ':'.
func SplitID(id string) (job, key string) {
	job, key, _ = strings.Cut(id, ":")
	return job, key
}

// Entity is the part of a key before its first ':'; all messages of an entity share a shard.
func Entity(key string) string {
	e, _, _ := strings.Cut(key, ":")
	return e
}

// ShardOf tells in which of n shards the messages of a key live (FNV-1a of its entity, modulo n).
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

// Window is a span of due times: From (exclusive; zero means no lower bound) to To (inclusive).
type Window struct{ From, To time.Time }

// Contains reports whether t lies in the window.
func (w Window) Contains(t time.Time) bool {
	return (w.From.IsZero() || t.After(w.From)) && !t.After(w.To)
}

// A Lease is the right to finish one delivery of a message. Whoever claims the message
// later gets a greater Token, and from then on this lease is lost.
type Lease struct {
	ID    string // of the message
	Shard int
	Token int64 // 0: no lease
	Until time.Time
}
