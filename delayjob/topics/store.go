package topics

import (
	"context"
	"time"

	"punctual/delayjob"
)

// Store stores jobs. Instants have a precision of one microsecond.
type Store interface {
	// Insert adds jobs. They must be sorted by Key, without duplicates. A job with a higher Version
	// than the stored one replaces it. Its Revision is its own or the next one, whichever is
	// higher. A deleted job counts as absent, whatever its Version. The results are in the order of
	// js.
	Insert(ctx context.Context, js []*Job) ([]Stored, error)
	// Jobs returns the stored jobs of keys, in no particular order.
	Jobs(ctx context.Context, keys ...Key) ([]*Job, error)
	// Update locks the stored jobs of keys, calls change with them in no particular order, and
	// saves those that change returns: all or none. Key, Version, Body and CreatedAt stay. Update
	// may call change again with newer rows.
	Update(ctx context.Context, keys []Key, change func(js []*Job) (changed []*Job, err error)) error
	// UpdateDue is Update for the jobs of a topic that can be delivered at now, the earliest first
	// and at most limit. It skips jobs that others have locked.
	UpdateDue(ctx context.Context, topic string, now time.Time, limit int, change func(js []*Job) (changed []*Job, err error)) error
	// Due pages through the pending jobs of a topic, or of all topics if it is empty, with a due
	// time in w. They are ordered by Due, Topic and ID and start after the given one; nil starts at
	// the beginning. Bodies are left out.
	Due(ctx context.Context, w delayjob.Window, topic string, after *Job, limit int) ([]*Job, error)
	// Overdue counts, by topic, the pending jobs that were due at or before t.
	Overdue(ctx context.Context, t time.Time) (map[string]int, error)
	// Pending counts the pending jobs of a topic, up to most.
	Pending(ctx context.Context, topic string, most int) (int, error)
	// Names lists up to most topics that have jobs in any state, in order.
	Names(ctx context.Context, most int) ([]string, error)
	// CountDead counts the dead jobs of these topics. Topics without dead jobs are left out.
	CountDead(ctx context.Context, topics []string) (map[string]int, error)
	// Settle marks pending jobs that are over as dead or expired; see [Job.State].
	Settle(ctx context.Context, now time.Time) error
	// Trim deletes jobs that have been done, deleted or expired since before t.
	Trim(ctx context.Context, t time.Time) error
	// Dead pages through the dead jobs of a topic, the latest first. It starts after the given one;
	// nil starts at the beginning.
	Dead(ctx context.Context, topic string, after *Job, limit int) ([]*Job, error)
	// List pages through the jobs of a topic in one state, or in any but deleted if it is empty.
	// Jobs that are delayed, ready or reserved at now are ordered by Due and ID, others by ID. It
	// starts after the given one; nil starts at the beginning. It reads a bounded number of rows,
	// so a page may hold fewer than limit jobs. If next is not nil, it is where the page ended.
	// Bodies are left out.
	List(ctx context.Context, topic string, state State, now time.Time, after *Job, limit int) (js []*Job, next *Job, err error)
	// Stats counts the jobs of each of these topics, or of all topics if none are given, ordered by
	// name. Topics without jobs and settings are left out.
	Stats(ctx context.Context, now time.Time, topics ...string) ([]Stats, error)
	// Minutes counts the jobs that become due in each of the next sixty minutes.
	Minutes(ctx context.Context, topic string, now time.Time) ([60]int, error)
	// SetPaused pauses or resumes a topic.
	SetPaused(ctx context.Context, topic string, paused bool, now time.Time) error
	// NoteRequeued records in the installation's history that an operator requeued a job.
	NoteRequeued(ctx context.Context, k Key) error
	// Settings returns the paused topics, and the other topics whose setting changed since t.
	Settings(ctx context.Context, since time.Time) (paused, resumed []string, err error)
	// Controls returns how the jobs of these topics are handed out now.
	Controls(ctx context.Context, topics ...string) (map[string]Control, error)
	// Webhooks lists the webhooks of these topics, or of all topics, ordered by topic.
	Webhooks(ctx context.Context, topics ...string) ([]*Webhook, error)
	// UpdateWebhook locks the webhook of a topic, calls change with it, and saves the result.
	// change gets nil if there is no webhook. If change returns nil, UpdateWebhook deletes the
	// webhook.
	UpdateWebhook(ctx context.Context, topic string, change func(*Webhook) (*Webhook, error)) error
}

// Control describes how the jobs of a topic are handed out.
type Control struct {
	Paused  bool
	Webhook *Webhook // nil: they are popped
}

// Stored is the result of inserting one job.
type Stored struct {
	Result Result
	There  *Job // unless Added or Replaced: the stored job
}

// Result is the result of an add.
type Result int

const (
	Added     Result = iota // it is new
	Replaced                // it replaced an older version
	Unchanged               // the same version is stored, in whatever state
	Differs                 // the same version is stored with another body
	Outdated                // a newer version is stored
)

// Stats are the counts of one topic.
type Stats struct {
	Topic                          string
	Delayed, Ready, Reserved, Dead int
	Done, Expired                  int       // within the last day
	OldestDue                      time.Time // of the ready jobs; zero: none is ready
	Paused                         bool
	Pushed                         bool // to a webhook
}
