package delayjob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"
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
	// Before runs before each full pass, in every process, and fails the pass with its error.
	// It is for what a queue that lost its content must be told before it is filled. nil: nothing.
	Before func(ctx context.Context) error
	// Guard runs pass, or skips it if another process is just loading. It only saves work:
	// adds are idempotent. nil always runs it. Passes asked for by Trigger are not guarded.
	Guard    func(ctx context.Context, pass func(context.Context) error) error
	Observer Observer
	Logger   *slog.Logger
}

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
	last                       atomic.Int64         // unix nanoseconds of the end of the last complete pass
}

type known struct {
	version int64
	due     time.Time
}

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
		ready: make(chan struct{}), until: map[string]time.Time{}, known: map[string]known{},
	}
}

// Run makes a full pass, then passes on schedule until ctx ends, and returns once none runs.
// A failed pass is logged and made again after a second or on the next tick. The error is
// not nil only for a bad schedule.
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
		var err error
		if full {
			err = protect(func() error { return l.opts.Before(ctx) })
		}
		if err == nil {
			err = run(ctx, func(ctx context.Context) error { return l.pass(ctx, full) })
		}
		if err != nil && ctx.Err() == nil {
			l.opts.Logger.Error("loading failed", "full", full, "error", err)
			if full {
				l.again(ctx, time.Second)
			}
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

// again asks for a full pass after d, unless the loop is asked before.
func (l *Loader) again(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
		poke(l.trigger)
	}
}

// pass loads all jobs. One that fails does not keep the others from being loaded.
func (l *Loader) pass(ctx context.Context, full bool) error {
	begin := time.Now()
	rows, errs := 0, []error(nil)
	for _, j := range l.jobs {
		var n int
		err := protect(func() (err error) { n, err = l.load(ctx, j, full); return err })
		rows += n
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", j.Name(), err))
		}
	}
	err := errors.Join(errs...)
	if err == nil && full {
		err = l.queue.SetEpoch(ctx, strconv.FormatInt(begin.UnixMicro(), 10))
	}
	l.opts.Observer.Loaded(full, rows, time.Since(begin), err)
	if err != nil {
		return err
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

func (l *Loader) load(ctx context.Context, j DelayJob, full bool) (rows int, err error) {
	now := l.queue.Now()
	if full {
		maps.DeleteFunc(l.known, func(_ string, k known) bool { return k.due.Before(now.Add(-overdueAfter)) })
	}
	windows, until := l.windows(j.Name(), now, full)
	for _, w := range windows {
		n, complete, err := l.fill(ctx, j, w)
		rows += n
		if err != nil || !complete { // the next pass begins where this one did
			return rows, err
		}
	}
	l.until[j.Name()] = until
	return rows, nil
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
func (l *Loader) fill(ctx context.Context, j DelayJob, w Window) (rows int, complete bool, err error) {
	added := 0
	chunk := make([]Message, 0, l.opts.Chunk)
	for m, err := range j.Load(ctx, w) {
		if err != nil {
			return rows, false, err
		}
		rows++
		if k, ok := l.known[m.ID()]; ok && k.version == m.Version {
			continue
		}
		if chunk = append(chunk, m); len(chunk) < l.opts.Chunk {
			continue
		}
		if err := l.add(ctx, chunk); err != nil {
			return rows, false, err
		}
		added += len(chunk)
		chunk = chunk[:0]
		if l.crowded(ctx, m.Job, added) {
			l.opts.Logger.Warn("enough is waiting; the rest is left to a later pass", "job", j.Name(), "loaded", rows)
			return rows, false, nil
		}
	}
	return rows, true, l.add(ctx, chunk)
}

func (l *Loader) add(ctx context.Context, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	res, err := l.queue.Add(ctx, ms...)
	countAdded(l.opts.Observer, ms, res)
	for i, r := range res {
		if r != NotStored {
			l.known[ms[i].ID()] = known{ms[i].Version, ms[i].Due}
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
