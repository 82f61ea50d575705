package delayjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"punctual/delayjob/failpoint"
)

// LoaderOptions tune a Loader. A zero field means the default given here.
type LoaderOptions struct {
	// Incremental is the robfig/cron spec of passes over what came near since the last one; "@every
	// 15s".
	Incremental string
	// Full is the spec of passes without a lower bound, for long overdue messages; "@every 1m".
	Full    string
	Horizon time.Duration // how far ahead a pass loads; 2m
	// Near is how far from now, before and after, every pass loads; at least twice the time between
	// passes; 30s.
	Near       time.Duration
	Chunk      int           // messages added at once; 1000
	MaxWaiting int           // a job with this many waiting messages gets no more in this pass; 200000
	Stall      time.Duration // a pass without progress for this long is given up; 30s
	// Before runs before each full pass, in every process; its error fails the pass. It restores
	// state that the queue needs before it is filled. After an [ErrPartly] the pass continues, but
	// does not count as complete. nil: nothing.
	Before func(ctx context.Context) error
	// Guard runs pass, or skips it if another process is loading. It only saves work: adds are
	// idempotent. Passes requested by Trigger are not guarded. nil: every pass runs.
	Guard    func(ctx context.Context, pass func(context.Context) error) error
	Health   *Health // records whether the queue accepts messages; may be nil
	Observer Observer
	Logger   *slog.Logger
}

// ErrPartly means that only part of the queue answers. The rest can be filled.
var ErrPartly = errors.New("delayjob: part of the queue does not answer")

// A Loader fills a Queue from the jobs' Load methods on a cron schedule. Passes never overlap. A
// tick during a pass waits, and further ticks are merged with it.
//
// An incremental pass reads what entered the horizon since the last pass, and what is due within
// Near. So a message that a crash kept from being added after its commit is at most one interval
// late. A full pass also reads long overdue messages. The first pass, and one requested by Trigger,
// reads everything.
//
// The loader does not add a message twice, unless it is overdue or Trigger reports that the queue
// may have lost it. So a full queue costs little.
type Loader struct {
	queue Queue
	jobs  []DelayJob
	opts  LoaderOptions

	full, incremental, trigger chan struct{}        // one slot each: merged requests
	ready                      chan struct{}        // closed by the first complete full pass
	until                      map[string]time.Time // by job: loaded up to here
	known                      map[string]known     // by message ID: added, and not overdue
	down                       map[int]bool         // shards that failed to store messages of this pass
	last                       atomic.Int64         // unix nanoseconds of the end of the last complete pass
}

type known struct {
	version int64
	due     time.Time
}

const logEvery = 10 * time.Second

// loadOverlap is how far an incremental pass reaches back before the last one's horizon.
const loadOverlap = 5 * time.Second

// overdueAfter is how late a known message must be before a full pass adds it again.
const overdueAfter = 10 * time.Second

// NewLoader returns a loader for jobs; earlier ones are loaded first. Call Run to start it.
func NewLoader(q Queue, jobs []DelayJob, o LoaderOptions) *Loader {
	o.Incremental = cmp.Or(o.Incremental, "@every 15s")
	o.Full = cmp.Or(o.Full, "@every 1m")
	o.Horizon = cmp.Or(o.Horizon, 2*time.Minute)
	o.Near = cmp.Or(o.Near, 30*time.Second)
	o.Chunk = cmp.Or(o.Chunk, 1000)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 200_000)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	if o.Guard == nil {
		o.Guard = func(ctx context.Context, pass func(context.Context) error) error { return pass(ctx) }
	}
	if o.Before == nil {
		o.Before = func(context.Context) error { return nil }
	}
	o.Observer, o.Logger = orDefaults(o.Observer, o.Logger)
	return &Loader{
		queue: q, jobs: jobs, opts: o,
		full: make(chan struct{}, 1), incremental: make(chan struct{}, 1), trigger: make(chan struct{}, 1),
		ready: make(chan struct{}), until: map[string]time.Time{}, known: map[string]known{}, down: map[int]bool{},
	}
}

// Run makes a full pass, then passes on schedule until ctx ends. It returns once none runs. A
// failed full pass is retried after a second, an incremental one on the next tick. Repeated
// failures are logged every ten seconds. The error is not nil only for an invalid schedule.
func (l *Loader) Run(ctx context.Context) error {
	ticker := cron.New(cron.WithLocation(time.UTC), cron.WithChain(cron.Recover(cron.DiscardLogger)))
	for spec, ask := range map[*string]chan struct{}{&l.opts.Incremental: l.incremental, &l.opts.Full: l.full} {
		if _, err := addCron(ticker, *spec, func() { poke(ask) }); err != nil {
			return fmt.Errorf("delayjob: schedule %q: %w", *spec, err)
		}
	}
	ticker.Start()
	defer func() { <-ticker.Stop().Done() }()

	poke(l.trigger)
	failures, logged := 0, time.Time{}
	for {
		full := true
		run := l.opts.Guard
		select {
		case <-ctx.Done():
			return nil
		case <-l.trigger: // run now, in full, and in this process
			clear(l.known)
			clear(l.until)
			run = func(ctx context.Context, pass func(context.Context) error) error { return pass(ctx) }
		case <-l.full:
		case <-l.incremental:
			full = false
		}
		err := watch(ctx, l.opts.Stall, func(ctx context.Context, s *stall) (partly error) {
			if full {
				partly = protect(func() error { return l.opts.Before(ctx) })
			}
			if partly != nil && !errors.Is(partly, ErrPartly) {
				return partly
			}
			return run(ctx, func(ctx context.Context) error { return l.pass(ctx, s, full, partly) })
		})
		switch {
		case ctx.Err() != nil:
		case err != nil:
			if failures++; time.Since(logged) >= logEvery {
				l.opts.Logger.Error("loading failed, retrying", "full", full, "failures", failures, "error", err)
				logged = time.Now()
			}
			if full {
				sleep(ctx, time.Second)
				poke(l.trigger)
			}
		case failures > 0:
			l.opts.Logger.Info("loading works again", "failures", failures)
			failures, logged = 0, time.Time{}
		}
	}
}

// Ready is closed when the first full pass is complete.
func (l *Loader) Ready() <-chan struct{} { return l.ready }

// Trigger requests a full pass now. Requests are merged. It never blocks.
func (l *Loader) Trigger() { poke(l.trigger) }

// LastPass returns when the last complete pass ended; zero before the first.
func (l *Loader) LastPass() time.Time {
	if ns := l.last.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// pass loads all jobs and marks complete shards. A job that fails does not stop the others, nor
// does a shard that fails stop the other shards. partly, if not nil, makes the pass incomplete.
func (l *Loader) pass(ctx context.Context, s *stall, full bool, partly error) error {
	begin := time.Now()
	rows, errs, unread := 0, []error{partly}, partly != nil
	clear(l.down)
	for _, j := range l.jobs {
		var n int
		var missed error
		err := protect(func() (err error) { n, missed, err = l.load(ctx, s, j, full); return err })
		rows += n
		unread = unread || err != nil
		if err := errors.Join(missed, err); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", j.Name(), err))
		}
	}
	if full && !unread {
		l.opts.Health.asked(filling)
		failpoint.Reach("epoch.before", "")
		errs = append(errs, l.queue.SetEpoch(ctx, strconv.FormatInt(begin.UnixMicro(), 10)))
		failpoint.Reach("epoch.after", "")
	}
	err := errors.Join(errs...)
	l.opts.Observer.Loaded(full, rows, time.Since(begin), err)
	if err != nil {
		return err
	}
	if full {
		l.opts.Health.answered(filling)
	}
	l.last.Store(time.Now().UnixNano())
	if full {
		select {
		case <-l.ready:
		default:
			close(l.ready)
		}
	}
	return nil
}

// load adds the messages of one job that are near; missed is why some are not in the queue.
func (l *Loader) load(ctx context.Context, s *stall, j DelayJob, full bool) (rows int, missed, err error) {
	now := l.queue.Now()
	if full {
		maps.DeleteFunc(l.known, func(_ string, k known) bool { return k.due.Before(now.Add(-overdueAfter)) })
	}
	windows, until := l.windows(j.Name(), now, full)
	for _, w := range windows {
		n, complete, left, err := l.fill(ctx, s, j, w)
		rows += n
		missed = errors.Join(missed, left)
		if err != nil || !complete { // the next pass begins at the same time
			return rows, missed, err
		}
	}
	if missed == nil {
		l.until[j.Name()] = until
	}
	return rows, missed, nil
}

// windows returns the due times that a pass reads, and the time up to which the job is then loaded.
func (l *Loader) windows(job string, now time.Time, full bool) ([]Window, time.Time) {
	horizon := now.Add(l.opts.Horizon)
	last := l.until[job]
	if last.IsZero() {
		return []Window{{To: horizon}}, horizon
	}
	from, near, since := now.Add(-l.opts.Near), now.Add(l.opts.Near), last.Add(-loadOverlap)
	if full {
		from = time.Time{}
	}
	if !since.After(near) {
		return []Window{{From: from, To: horizon}}, horizon
	}
	return []Window{{From: from, To: near}, {From: since, To: horizon}}, horizon
}

// fill adds the messages of a job in a window. It is not complete if too many are waiting already.
// Once a shard fails, its later messages are skipped and missed is set; if all shards fail, fill
// returns an error.
func (l *Loader) fill(ctx context.Context, s *stall, j DelayJob, w Window) (rows int, complete bool, missed, err error) {
	shards := l.queue.Shards()
	added := 0
	crowded := map[string]bool{} // by job of the messages, because one Load may yield several
	chunk := make([]Message, 0, l.opts.Chunk)
	for m, err := range j.Load(withClock(ctx, l.queue), w) {
		if err != nil {
			return rows, false, missed, err
		}
		if err := m.Validate(); err != nil {
			return rows, false, missed, err
		}
		rows++
		s.moved()
		if k, ok := l.known[m.ID()]; ok && k.version == m.Version || crowded[m.Job] {
			continue
		}
		if len(l.down) > 0 && l.down[ShardOf(m.Key, shards)] {
			missed = cmp.Or(missed, errShardDown)
			continue
		}
		if chunk = append(chunk, m); len(chunk) < l.opts.Chunk {
			continue
		}
		if err := l.add(ctx, s, chunk); err != nil {
			if missed = err; len(l.down) == shards || ctx.Err() != nil {
				return rows, false, nil, err
			}
		}
		added += len(chunk)
		chunk = chunk[:0]
		if l.crowded(ctx, m.Job, added) {
			l.opts.Logger.Warn("too many messages waiting, rest left to a later pass", "job", m.Job, "loaded", rows)
			if m.Job == j.Name() {
				return rows, false, missed, nil
			}
			crowded[m.Job] = true
		}
	}
	return rows, len(crowded) == 0, cmp.Or(l.add(ctx, s, chunk), missed), nil
}

var errShardDown = errors.New("a shard does not answer")

func (l *Loader) add(ctx context.Context, s *stall, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	l.opts.Health.asked(filling)
	res, err := l.queue.Add(ctx, ms...)
	failpoint.Reach("load.page", ms[0].Job)
	s.moved()
	if err == nil || slices.ContainsFunc(ms, func(m Message) bool { return m.Validate() != nil }) { // an invalid message is the job's fault, not the queue's
		l.opts.Health.answered(filling)
	}
	countAdded(l.opts.Observer, ms, res)
	for i, r := range res {
		if r != NotStored {
			l.known[ms[i].ID()] = known{ms[i].Version, ms[i].Due}
		} else {
			l.down[ShardOf(ms[i].Key, l.queue.Shards())] = true
		}
	}
	return err
}

// crowded checks every 20 chunks whether the job has MaxWaiting messages in the queue.
func (l *Loader) crowded(ctx context.Context, job string, added int) bool {
	in, ok := l.queue.(Inspector)
	if !ok || added%(20*l.opts.Chunk) != 0 {
		return false
	}
	s, err := in.Stats(ctx, job)
	return err == nil && s.Delayed+s.Ready >= l.opts.MaxWaiting
}

// poke fills a one-slot channel, or leaves it full.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// CheckSchedule returns an error if spec is not a valid robfig/cron spec such as "@every 15s" or
// "*/5 * * * *".
func CheckSchedule(spec string) error {
	_, err := addCron(cron.New(), spec, func() {})
	return err
}

// addCron turns the panics of robfig/cron v3.0.1 on some malformed specs into errors.
func addCron(c *cron.Cron, spec string, f func()) (id cron.EntryID, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed schedule: %v", p)
		}
	}()
	return c.AddFunc(spec, f)
}
