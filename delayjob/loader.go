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
	Incremental string        // robfig/cron spec of passes over what came near since the last; "@every 15s"
	Full        string        // spec of passes without a lower bound, for what is long overdue; "@every 1m"
	Horizon     time.Duration // how far ahead a pass loads; 2m
	Near        time.Duration // what is due so soon, or was due so recently, is looked for by every pass; at least twice the time between passes; 30s
	Overlap     time.Duration // how far an incremental pass reaches back behind the last one's horizon; 5s
	Chunk       int           // messages added at once; 1000
	MaxWaiting  int           // a job with so many waiting gets no more in this pass; 200000
	Stall       time.Duration // a pass in which nothing moves for so long is given up; 30s
	// Before runs before each full pass, in every process, and fails the pass with its error.
	// It is for what a queue that lost its content must be told before it is filled. After an
	// [ErrPartly] the pass goes on, but does not count as complete. nil: nothing.
	Before func(ctx context.Context) error
	// Guard runs pass, or skips it if another process is just loading. It only saves work:
	// adds are idempotent. nil always runs it. Passes asked for by Trigger are not guarded.
	Guard    func(ctx context.Context, pass func(context.Context) error) error
	Health   *Health // is told whether the queue takes what it is given; nil: nobody is
	Observer Observer
	Logger   *slog.Logger
}

// ErrPartly says that not all of a queue answers; the rest of it can be filled.
var ErrPartly = errors.New("delayjob: a part of the queue does not answer")

// A Loader fills a Queue from the jobs' Load methods on a cron schedule. Passes never run
// side by side; a tick that comes while one runs waits, and further ones are merged with it.
//
// An incremental pass reads what came within the horizon since the last pass, and what is
// due within Near: so whatever a crash kept from being added after its commit is at most one
// interval late. A full pass reads the long overdue as well. Neither reads again what lies
// between, as all of it comes within Near before it is due; a pass asked for by Trigger, and
// the first, read everything. What this loader has added already is not added again until it
// is overdue or the queue may have lost it (Trigger). So a full queue costs little.
type Loader struct {
	queue Queue
	jobs  []DelayJob
	opts  LoaderOptions

	full, incremental, trigger chan struct{}        // one slot each: merged requests
	ready                      chan struct{}        // closed by the first complete full pass
	until                      map[string]time.Time // by job: how far it is loaded
	known                      map[string]known     // by message ID: added, and not overdue
	away                       map[int]bool         // shards that did not take what this pass added
	last                       atomic.Int64         // unix nanoseconds of the end of the last complete pass
}

type known struct {
	version int64
	due     time.Time
}

// tellEvery spaces the lines of the log about failures in a row.
const tellEvery = 10 * time.Second

// overdueAfter is how late a known message must be until a full pass adds it again.
const overdueAfter = 10 * time.Second

// NewLoader returns a loader for jobs; earlier ones are loaded first. It does nothing until Run.
func NewLoader(q Queue, jobs []DelayJob, o LoaderOptions) *Loader {
	if o.Incremental == "" {
		o.Incremental = "@every 15s"
	}
	if o.Full == "" {
		o.Full = "@every 1m"
	}
	if o.Horizon == 0 {
		o.Horizon = 2 * time.Minute
	}
	if o.Near == 0 {
		o.Near = 30 * time.Second
	}
	if o.Overlap == 0 {
		o.Overlap = 5 * time.Second
	}
	if o.Chunk == 0 {
		o.Chunk = 1000
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 200_000
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
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
		ready: make(chan struct{}), until: map[string]time.Time{}, known: map[string]known{}, away: map[int]bool{},
	}
}

// Run makes a full pass, then passes on schedule until ctx ends, and returns once none runs.
// A failed full pass is made again after a second, an incremental one on the next tick; the
// log tells of failures in a row every ten seconds. The error is not nil only for a bad schedule.
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
	failures, told := 0, time.Time{}
	for {
		full := true
		run := l.opts.Guard
		select {
		case <-ctx.Done():
			return nil
		case <-l.trigger: // now, all of it, and not left to somebody else
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
			if failures++; time.Since(told) >= tellEvery {
				l.opts.Logger.Error("loading failed; trying on", "full", full, "failures", failures, "error", err)
				told = time.Now()
			}
			if full {
				sleep(ctx, time.Second)
				poke(l.trigger)
			}
		case failures > 0:
			l.opts.Logger.Info("loading works again", "failures", failures)
			failures, told = 0, time.Time{}
		}
	}
}

// Ready is closed when the first full pass is complete.
func (l *Loader) Ready() <-chan struct{} { return l.ready }

// Trigger asks for a full pass now. Requests are merged; it never blocks.
func (l *Loader) Trigger() { poke(l.trigger) }

// LastPass is when the last complete pass ended; zero before the first.
func (l *Loader) LastPass() time.Time {
	if ns := l.last.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// pass loads all jobs. One that fails does not keep the others from being loaded, nor does a
// shard that is away keep them from the other shards; those are marked as complete. partly is
// why the pass is not complete in any case.
func (l *Loader) pass(ctx context.Context, s *stall, full bool, partly error) error {
	begin := time.Now()
	rows, errs, unread := 0, []error{partly}, partly != nil
	clear(l.away)
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

// load adds what is near of one job; missed tells why some of it is not in the queue.
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
		if err != nil || !complete { // the next pass begins where this one did
			return rows, missed, err
		}
	}
	if missed == nil {
		l.until[j.Name()] = until
	}
	return rows, missed, nil
}

// windows tells which due times a pass reads, and up to when the job is loaded afterwards.
func (l *Loader) windows(job string, now time.Time, full bool) ([]Window, time.Time) {
	horizon := now.Add(l.opts.Horizon)
	last := l.until[job]
	if last.IsZero() {
		return []Window{{To: horizon}}, horizon
	}
	from, near, since := now.Add(-l.opts.Near), now.Add(l.opts.Near), last.Add(-l.opts.Overlap)
	if full {
		from = time.Time{}
	}
	if !since.After(near) {
		return []Window{{From: from, To: horizon}}, horizon
	}
	return []Window{{From: from, To: near}, {From: since, To: horizon}}, horizon
}

// fill adds what the job has in a window; it is not complete when enough is waiting already.
// After a shard did not take what was for it, what follows for it is left out (missed says
// why), unless no shard is left.
func (l *Loader) fill(ctx context.Context, s *stall, j DelayJob, w Window) (rows int, complete bool, missed, err error) {
	shards := l.queue.Shards()
	added := 0
	crowded := map[string]bool{} // by job of the messages, of which one Load may yield several
	chunk := make([]Message, 0, l.opts.Chunk)
	for m, err := range j.Load(ctx, w) {
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
		if len(l.away) > 0 && l.away[ShardOf(m.Key, shards)] {
			missed = cmp.Or(missed, errAway)
			continue
		}
		if chunk = append(chunk, m); len(chunk) < l.opts.Chunk {
			continue
		}
		if err := l.add(ctx, s, chunk); err != nil {
			if missed = err; len(l.away) == shards || ctx.Err() != nil {
				return rows, false, nil, err
			}
		}
		added += len(chunk)
		chunk = chunk[:0]
		if l.crowded(ctx, m.Job, added) {
			l.opts.Logger.Warn("enough is waiting; the rest is left to a later pass", "job", m.Job, "loaded", rows)
			if m.Job == j.Name() {
				return rows, false, missed, nil
			}
			crowded[m.Job] = true
		}
	}
	return rows, len(crowded) == 0, cmp.Or(l.add(ctx, s, chunk), missed), nil
}

var errAway = errors.New("a shard is away")

func (l *Loader) add(ctx context.Context, s *stall, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	l.opts.Health.asked(filling)
	res, err := l.queue.Add(ctx, ms...)
	failpoint.Reach("load.page", ms[0].Job)
	s.moved()
	if err == nil || slices.ContainsFunc(ms, func(m Message) bool { return m.Validate() != nil }) { // that is the job's fault
		l.opts.Health.answered(filling)
	}
	countAdded(l.opts.Observer, ms, res)
	for i, r := range res {
		if r != NotStored {
			l.known[ms[i].ID()] = known{ms[i].Version, ms[i].Due}
		} else {
			l.away[ShardOf(ms[i].Key, l.queue.Shards())] = true
		}
	}
	return err
}

// crowded looks, once every 20 chunks, whether the queue holds as much of the job as it should.
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

// CheckSchedule reports whether spec is a usable robfig/cron spec ("@every 15s", "*/5 * * * *").
func CheckSchedule(spec string) error {
	_, err := addCron(cron.New(), spec, func() {})
	return err
}

// addCron turns the panics with which robfig/cron v3.0.1 answers some malformed specs into errors.
func addCron(c *cron.Cron, spec string, f func()) (id cron.EntryID, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed schedule: %v", p)
		}
	}()
	return c.AddFunc(spec, f)
}
