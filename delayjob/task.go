package delayjob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// A Task is a [DelayJob] with a payload of type T that is not in a database: the queue alone holds
// it. A queue in memory loses its tasks when the process ends, Redis when it loses its data. If rows
// of a database say what is pending, implement DelayJob instead: its Load restores the queue.
//
// Payloads are stored as JSON. A payload that cannot be decoded becomes a dead letter at once,
// because no retry can succeed.
type Task[T any] struct {
	queue Queue
	name  string
	run   func(ctx context.Context, payload T) error
	opts  Options
}

// NewTask returns a task whose messages are in q. run does the work of one payload; its results and
// its context are those of [DelayJob.Execute], and [MessageFrom] returns the message. run may be
// nil in a process that only schedules.
func NewTask[T any](q Queue, name string, run func(ctx context.Context, payload T) error, o Options) *Task[T] {
	return &Task[T]{queue: q, name: name, run: run, opts: o}
}

// Name implements [DelayJob].
func (t *Task[T]) Name() string { return t.name }

// Options implements [Configurer].
func (t *Task[T]) Options() Options { return t.opts }

// Load implements [DelayJob]. It yields nothing.
func (t *Task[T]) Load(context.Context, Window) iter.Seq2[Message, error] {
	return func(func(Message, error) bool) {}
}

// Execute implements [DelayJob].
func (t *Task[T]) Execute(ctx context.Context, m Message) error {
	var payload T
	if err := json.Unmarshal(m.Body, &payload); err != nil {
		return Dead(fmt.Errorf("delayjob: body of %s: must be JSON of a %T: %w", m.ID(), payload, err))
	}
	return t.run(ctx, payload)
}

func (t *Task[T]) check() error {
	if t.run == nil {
		return fmt.Errorf("task %s: function: must not be nil", t.name)
	}
	return nil
}

// A ScheduleOption changes how [Task.Schedule] adds a payload.
type ScheduleOption func(*scheduling)

type scheduling struct {
	entity, key string
	payloadKey  bool
	version     int64
	replace     bool
}

// WithKey makes the payload unique: while the queue holds a message of this task with the same key,
// in any state, another one is not added. After it has succeeded, the key is free again. The key
// must not be empty. The part before the first ':' is the entity.
func WithKey(key string) ScheduleOption { return func(s *scheduling) { s.key = key } }

// WithPayloadKey makes the payload unique like [WithKey], with a hash of its JSON as the key.
func WithPayloadKey() ScheduleOption { return func(s *scheduling) { s.payloadKey = true } }

// WithEntity puts the payload into a group, for [Options.PerEntity]: the key becomes entity + ":" +
// key. Without another option, it does not make the payload unique. The entity must not be empty
// or contain ':'.
func WithEntity(entity string) ScheduleOption { return func(s *scheduling) { s.entity = entity } }

// WithVersion replaces the message of the same key if its version is lower, in any state. Use it
// with [WithKey] if the payload follows a row that has a version. 0 by default.
func WithVersion(version int64) ScheduleOption { return func(s *scheduling) { s.version = version } }

// WithReplace replaces the message of the same key, in any state, to move it or to debounce. If it
// runs, its context is canceled and the new one runs when due. Of calls within a microsecond, the
// first may win. Use it with [WithKey], and not with [WithVersion].
func WithReplace() ScheduleOption { return func(s *scheduling) { s.replace = true } }

// Schedule adds a payload to run at due, on the queue's clock; the zero time means now. Without
// options, each call adds one more. With [WithKey] or [WithPayloadKey], look at the result:
// [Unchanged] means that the payload was not added, because one with this key is in the queue;
// [Outdated], that one with a higher version is.
//
// The error is not nil if the payload or an option is invalid, or if the queue did not store it.
func (t *Task[T]) Schedule(ctx context.Context, due time.Time, payload T, opts ...ScheduleOption) (AddResult, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return NotStored, fmt.Errorf("delayjob: payload of %s: a %T cannot be stored as JSON: %w", t.name, payload, err)
	}
	key, version, err := t.identify(body, opts)
	if err != nil {
		return NotStored, fmt.Errorf("delayjob: schedule %s: %w", t.name, err)
	}
	if due.IsZero() {
		due = t.queue.Now()
	}
	res, err := t.queue.Add(ctx, Message{Job: t.name, Key: key, Version: version, Due: due, Body: body})
	if err != nil {
		return NotStored, err
	}
	return res[0], nil
}

func (t *Task[T]) identify(body []byte, opts []ScheduleOption) (key string, version int64, err error) {
	random := rand.Text()
	s := scheduling{key: random}
	for _, o := range opts {
		o(&s)
	}
	if s.payloadKey {
		if s.key != random {
			return "", 0, errors.New("WithPayloadKey: must not be combined with WithKey")
		}
		sum := sha256.Sum256(body)
		s.key = hex.EncodeToString(sum[:16])
	}
	switch {
	case s.key == "":
		return "", 0, errors.New("WithKey: must not be empty")
	case strings.Contains(s.entity, ":"):
		return "", 0, fmt.Errorf("WithEntity: must not contain ':', is %q", s.entity)
	case s.replace && s.version != 0:
		return "", 0, errors.New("WithReplace: must not be combined with WithVersion")
	case (s.replace || s.version != 0) && s.key == random:
		return "", 0, errors.New("WithReplace and WithVersion: need WithKey or WithPayloadKey")
	}
	if s.replace {
		s.version = t.queue.Now().UnixMicro()
	}
	if s.entity != "" {
		s.key = s.entity + ":" + s.key
	}
	return s.key, s.version, nil
}

// Cancel removes the messages with these keys, in any state, and returns the states that they had.
// One that runs loses its lease, and its context is canceled. With [WithEntity], a key is the
// entity, ':' and the key.
func (t *Task[T]) Cancel(ctx context.Context, keys ...string) ([]State, error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = MessageID(t.name, key)
	}
	return t.queue.Remove(ctx, ids...)
}
