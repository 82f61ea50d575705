package topics

import (
	"context"
	"time"

	"punctual/delayjob"
)

// Store keeps jobs. Instants have the precision of a microsecond.
type Store interface {
	// Insert adds jobs, which are sorted by Key and of which no two have the same. A job whose
	// Version is higher than that of the stored one replaces it, with a Revision of its own or the
	// next one, whichever is higher. A deleted job counts as absent, whatever its Version. The
	// results are in the order of js.
	Insert(ctx context.Context, js []*Job) ([]Stored, error)
	// Jobs tells what there is of keys, in no particular order.
	Jobs(ctx context.Context, keys ...Key) ([]*Job, error)
	// Update locks the jobs of keys that there are, lets change change them, in no particular
	// order, and saves those it returns: all or nothing. Key, Version, Body and CreatedAt stay.
	// change may be called again, with what is there by then.
	Update(ctx context.Context, keys []Key, change func(js []*Job) (changed []*Job, err error)) error
	// UpdateDue is Update of the jobs of a topic that can be delivered at now, the earliest first
	// and at most limit; it passes over what somebody else has locked.
	UpdateDue(ctx context.Context, topic string, now time.Time, limit int, change func(js []*Job) (changed []*Job, err error)) error
	// Due pages through the pending jobs of a topic, or of all if it is empty, with a due time in
	// w, ordered by Due, Topic and ID, from the one after the given one on; nil starts. Their
	// bodies are left out.
	Due(ctx context.Context, w delayjob.Window, topic string, after *Job, limit int) ([]*Job, error)
	// Overdue counts by topic the pending jobs that were due at t or before.
	Overdue(ctx context.Context, t time.Time) (map[string]int, error)
	// Pending counts the pending jobs of a topic, but no further than to most.
	Pending(ctx context.Context, topic string, most int) (int, error)
	// Names lists the topics that have jobs, in whatever state, in order, at most so many.
	Names(ctx context.Context, most int) ([]string, error)
	// CountDead counts the dead jobs of these topics; those without any are left out.
	CountDead(ctx context.Context, topics []string) (map[string]int, error)
	// Settle makes those pending jobs that are over dead or expired; see [Job.State].
	Settle(ctx context.Context, now time.Time) error
	// Trim deletes what is done, deleted or expired since before t.
	Trim(ctx context.Context, t time.Time) error
	// Dead pages through the dead jobs of a topic, the latest first, from the one after the
	// given one on; nil starts.
	Dead(ctx context.Context, topic string, after *Job, limit int) ([]*Job, error)
	// List pages through the jobs of a topic in one state, or in any if it is empty, but not the
	// deleted: those that are delayed, ready or reserved at now by Due and ID, others by ID. It
	// starts after the given one; nil starts. It reads a bounded number of rows: next, if not nil,
	// is where it stopped, perhaps before limit. Bodies are left out.
	List(ctx context.Context, topic string, state State, now time.Time, after *Job, limit int) (js []*Job, next *Job, err error)
	// Stats counts what there is of each of these topics, or of all topics if there are none,
	// in the order of their names. A topic that has neither jobs nor settings is left out.
	Stats(ctx context.Context, now time.Time, topics ...string) ([]Stats, error)
	// Minutes counts the jobs that become due in each of the sixty minutes from now on.
	Minutes(ctx context.Context, topic string, now time.Time) ([60]int, error)
	// SetPaused pauses a topic, or resumes it.
	SetPaused(ctx context.Context, topic string, paused bool, now time.Time) error
	// NoteRequeued notes for the history of the installation that an operator has requeued a job.
	NoteRequeued(ctx context.Context, k Key) error
	// Settings tells which topics are paused, and which others changed since t.
	Settings(ctx context.Context, since time.Time) (paused, resumed []string, err error)
	// Controls tells how the jobs of these topics are handed out now.
	Controls(ctx context.Context, topics ...string) (map[string]Control, error)
	// Webhooks lists the webhooks of these topics, or all, in the order of their topics.
	Webhooks(ctx context.Context, topics ...string) ([]*Webhook, error)
	// UpdateWebhook locks the webhook of a topic, nil if there is none, and saves what change
	// makes of it; nil deletes it.
	UpdateWebhook(ctx context.Context, topic string, change func(*Webhook) (*Webhook, error)) error
}

// Control is how the jobs of a topic are handed out.
type Control struct {
	Paused  bool
	Webhook *Webhook // nil: they are popped
}

// Stored is what became of an inserted job.
type Stored struct {
	Result Result
	There  *Job // unless Added or Replaced: the job that is stored
}

// Result of an add.
type Result int

const (
	Added     Result = iota // it is new
	Replaced                // it took the place of an older version
	Unchanged               // the same version is stored, in whatever state
	Differs                 // the same version is stored with another body
	Outdated                // a newer version is stored
)

// Stats are the counts of one topic.
type Stats struct {
	Topic                          string
	Delayed, Ready, Reserved, Dead int
	Done, Expired                  int       // within the last day
	OldestDue                      time.Time // of what is ready; zero: nothing is
	Paused                         bool
	Pushed                         bool // to a webhook
}
