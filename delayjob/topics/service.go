package topics

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/webhook"
)

// Queue lists the queue methods that the service needs.
type Queue interface {
	delayjob.Queue
	Stats(ctx context.Context, job string) (delayjob.Stats, error)
	Pause(ctx context.Context, job string) error
	Resume(ctx context.Context, job string) error
}

// Scheduler adds messages to the queue after a commit and removes them, on a best-effort basis.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
	Forget(ctx context.Context, ids ...string)
}

// Service implements the use cases of topics. It is safe for concurrent use.
type Service struct {
	store     Store
	queue     Queue
	scheduler Scheduler
	sender    *webhook.Sender
	onEmpty   func()
	log       *slog.Logger

	quota   quota
	changed chan struct{} // one slot: a webhook was changed
	tellAll func()        // notifies other processes of it; nil: there are none
	outage  outage
	waiters waiters
	batons  batons
	stopped chan struct{} // closed when Run ends, so that pops stop waiting
	turn    atomic.Uint64 // where the next pop begins

	gathered gathered
}

// New returns a service. The service calls onEmpty when the queue appears to have lost its content.
// Pass [delayjob.Loader.Trigger] if this process has a loader.
func New(store Store, queue Queue, scheduler Scheduler, sender *webhook.Sender, onEmpty func(), log *slog.Logger) *Service {
	s := &Service{
		store: store, queue: queue, scheduler: scheduler, sender: sender, onEmpty: onEmpty, log: log,
		changed: make(chan struct{}, 1), stopped: make(chan struct{}), outage: outage{begun: make(chan struct{}, 1)},
	}
	s.gather()
	return s
}

// Now returns the queue's time, to the microsecond. This time decides which jobs are due.
func (s *Service) Now() time.Time { return micro(s.queue.Now()) }

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

const (
	settleEvery = 10 * time.Second
	trimEvery   = 10 * time.Minute
	keepOver    = 24 * time.Hour // how long an Idempotency-Key counts
)

// Run keeps the one subscription that wakes all waiting pops, and deletes old rows, until ctx ends.
// Then waiting pops return. Call it only once.
func (s *Service) Run(ctx context.Context) error {
	defer close(s.stopped)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.listen(ctx) })
	watching.Go(func() { s.watchOutage(ctx) })
	watching.Go(func() { // beside the other: it may take minutes
		s.tidy(ctx, trimEvery, func() error { return s.store.Trim(ctx, s.Now().Add(-keepOver)) })
	})
	s.tidy(ctx, settleEvery, func() error { return s.store.Settle(ctx, s.Now()) })
	return nil
}

// tidy calls do at intervals until ctx ends.
func (s *Service) tidy(ctx context.Context, interval time.Duration, do func() error) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if err := do(); err != nil && ctx.Err() == nil {
			s.log.Warn("tidying up the jobs of topics failed", "error", err)
		}
	}
}

// Add stores jobs and adds those that are due soon to the queue. The results are in the order of
// js. If several jobs have the same key, the one with the highest version counts, and among equal
// versions the first.
func (s *Service) Add(ctx context.Context, js ...*Job) ([]Stored, error) {
	now := s.Now()
	best := map[Key]*Job{}
	for _, j := range js {
		j.CreatedAt, j.UpdatedAt, j.LastError = now, now, ""
		j.schedule(micro(j.Due), now)
		if b := best[j.Key]; b == nil || b.Version < j.Version {
			best[j.Key] = j
		}
	}
	unique := make([]*Job, 0, len(best))
	for _, j := range best {
		unique = append(unique, j)
	}
	slices.SortFunc(unique, func(a, b *Job) int { return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.ID, b.ID)) })
	if err := s.admit(ctx, unique); err != nil {
		return nil, err
	}
	stored, err := s.store.Insert(ctx, unique)
	if err != nil {
		return nil, err
	}
	ms := make([]delayjob.Message, 0, len(unique))
	became := map[*Job]Stored{}
	for i, j := range unique {
		became[j] = stored[i]
		if r := stored[i].Result; r == Added || r == Replaced {
			ms = append(ms, j.message())
		}
	}
	s.scheduler.Schedule(ctx, ms...)
	results := make([]Stored, len(js))
	for i, j := range js {
		b := best[j.Key]
		r := became[b]
		if b != j && (r.Result == Added || r.Result == Replaced) { // another element of the call was stored
			r = Stored{Result: Unchanged, There: b}
			if b.Version > j.Version {
				r.Result = Outdated
			}
		}
		if r.Result == Unchanged && j.Version < r.There.Version {
			r.Result = Outdated
		}
		if r.Result == Unchanged && !sameJSON(j.Body, r.There.Body) {
			r.Result = Differs
		}
		results[i] = r
	}
	return results, nil
}

// sameJSON reports whether two texts are the same JSON value, however they are written.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var v, w any
	read := func(raw []byte, into *any) error {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return d.Decode(into)
	}
	return read(a, &v) == nil && read(b, &w) == nil && reflect.DeepEqual(v, w)
}

// Job returns one job and its current state. It returns [ErrNotFound] also for a deleted job.
func (s *Service) Job(ctx context.Context, k Key) (*Job, State, error) {
	js, err := s.store.Jobs(ctx, k)
	if err != nil {
		return nil, "", err
	}
	if len(js) == 0 || js[0].Status == Deleted {
		return nil, "", ErrNotFound
	}
	return js[0], js[0].State(s.Now()), nil
}

func (s *Service) update(ctx context.Context, k Key, change func(j *Job, now time.Time) error) (*Job, error) {
	var job *Job
	err := s.store.Update(ctx, []Key{k}, func(js []*Job) ([]*Job, error) {
		if len(js) == 0 || js[0].Status == Deleted {
			return nil, ErrNotFound
		}
		job = js[0]
		now := s.Now() // read after locking, so that it never runs backwards
		job.UpdatedAt = now
		if err := change(job, now); err != nil {
			return nil, err
		}
		return js, nil
	})
	return job, err
}

// Reschedule sets another due time for a pending job and restores all its attempts. The current
// holder loses its lease.
func (s *Service) Reschedule(ctx context.Context, k Key, due time.Time) (*Job, State, error) {
	var state State
	j, err := s.update(ctx, k, func(j *Job, now time.Time) error {
		if state := j.State(now); j.Status != Pending || state == IsDead || state == IsExpired {
			return &StateError{state}
		}
		j.schedule(micro(due), now)
		state = j.State(now)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if j.far(s.Now()) {
		s.forget(ctx, k)
	} else {
		s.scheduler.Schedule(ctx, j.message())
	}
	return j, state, nil
}

// forget removes the messages of jobs from the queue after a commit that ended these jobs. If a job
// was added or rescheduled since, its new message may have been removed with the old one. forget
// adds it again.
func (s *Service) forget(ctx context.Context, keys ...Key) {
	ctx = context.WithoutCancel(ctx)
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = delayjob.MessageID(JobName(k.Topic), k.ID)
	}
	s.scheduler.Forget(ctx, ids...)
	js, err := s.store.Jobs(ctx, keys...)
	if err != nil {
		s.log.Warn("deleted jobs not checked for a new schedule; the loader adds what is missing", "jobs", len(keys), "error", err)
		return
	}
	var again []delayjob.Message
	for _, j := range js {
		if j.Status == Pending {
			again = append(again, j.message())
		}
	}
	s.scheduler.Schedule(ctx, again...)
}

// Delete ensures that a job never runs again, and reports whether it is running now.
func (s *Service) Delete(ctx context.Context, k Key) (running bool, err error) {
	_, err = s.update(ctx, k, func(j *Job, now time.Time) error {
		running = j.State(now) == Reserved
		j.Status = Deleted
		j.let()
		return nil
	})
	if err != nil {
		return false, err
	}
	s.forget(ctx, k)
	return running, nil
}

// Ending is a job that its holder has finished.
type Ending struct {
	Key
	Lease Lease
}

// Finish ends jobs for good. errs[i] belongs to es[i]: nil, or [delayjob.ErrLeaseLost].
func (s *Service) Finish(ctx context.Context, es ...Ending) (errs []error, err error) {
	if len(es) == 0 {
		return nil, nil
	}
	cs := make([]change, len(es))
	for i, e := range es {
		cs[i] = change{e, func(j *Job, _ time.Time) {
			j.Status = Done
			j.let()
		}}
	}
	errs = make([]error, len(es))
	for i, o := range s.change(ctx, cs...) {
		if o.err != nil && !errors.Is(o.err, delayjob.ErrLeaseLost) {
			return nil, o.err
		}
		errs[i] = o.err
	}
	leases := make([]delayjob.Lease, 0, len(es))
	for i, e := range es {
		if errs[i] == nil {
			leases = append(leases, e.lease())
		}
	}
	s.tell(func() []error { return s.queue.Ack(context.WithoutCancel(ctx), leases...) })
	return errs, nil
}

func (e Ending) lease() delayjob.Lease {
	return delayjob.Lease{ID: delayjob.MessageID(JobName(e.Topic), e.ID), Shard: e.Lease.shard, Token: e.Lease.token}
}

// Queue updates after a commit are best effort, and skipped while the queue is down. A missed update
// does no harm: the next claim finds that the message is out of date.
func (s *Service) tell(do func() []error) {
	if s.outage.on() {
		return
	}
	for _, err := range do() {
		if err != nil && !errors.Is(err, delayjob.ErrLeaseLost) {
			s.untold(err)
			return
		}
	}
}

func (s *Service) untold(err error) {
	s.log.Warn("updating the queue about a job failed, the next claim corrects it", "error", err)
}

// Extend makes the lease end ttr from now.
func (s *Service) Extend(ctx context.Context, e Ending, ttr time.Duration) (until time.Time, err error) {
	_, err = s.updateHeld(ctx, e, func(j *Job, now time.Time) {
		until = now.Add(ttr)
		j.LeaseUntil = until
	})
	if err != nil {
		return time.Time{}, err
	}
	s.tell(func() []error { return s.queue.Extend(context.WithoutCancel(ctx), ttr, e.lease()) })
	return until, nil
}

type change struct {
	Ending
	apply func(j *Job, now time.Time)
}

type outcome struct {
	job *Job
	err error
}

// changeHeld changes jobs for their holders in one transaction. Other callers get
// [delayjob.ErrLeaseLost].
func (s *Service) changeHeld(ctx context.Context, cs []change) []outcome {
	keys := make([]Key, len(cs))
	for i, c := range cs {
		keys[i] = c.Key
	}
	var os []outcome
	err := s.store.Update(ctx, keys, func(js []*Job) (changed []*Job, err error) {
		os = make([]outcome, len(cs))
		jobs := make(map[Key]*Job, len(js))
		for _, j := range js {
			jobs[j.Key] = j
		}
		now := s.Now() // read after locking, so that it never runs backwards
		for i, c := range cs {
			j := jobs[c.Key]
			if j == nil || !j.held(c.Lease.token) {
				os[i].err = delayjob.ErrLeaseLost
				continue
			}
			j.UpdatedAt = now
			c.apply(j, now)
			os[i].job = j
			changed = append(changed, j)
		}
		return changed, nil
	})
	if err != nil {
		return slices.Repeat([]outcome{{err: err}}, len(cs))
	}
	return os
}

// updateHeld changes one job for its holder. Other callers get [delayjob.ErrLeaseLost].
func (s *Service) updateHeld(ctx context.Context, e Ending, apply func(j *Job, now time.Time)) (*Job, error) {
	o := s.change(ctx, change{e, apply})[0]
	return o.job, o.err
}

// Failure is what a holder reports about a failed attempt.
type Failure struct {
	Error string
	Delay *time.Duration // until the next attempt; nil: grows from attempt to attempt
	Dead  bool           // no further attempt
}

const errorKept = 4000 // bytes of an error text

// Fail reports a failed attempt and ends the lease. The job is dead if no attempts are left.
func (s *Service) Fail(ctx context.Context, e Ending, f Failure) error {
	j, err := s.updateHeld(ctx, e, f.apply)
	if err != nil {
		return err
	}
	back := delayjob.Return{Lease: e.lease(), Delay: j.Due.Sub(s.queue.Now())}
	act := context.WithoutCancel(ctx)
	switch {
	case j.Status == Dead:
		back.How = delayjob.Bury
		fallthrough
	case !j.far(s.Now()):
		s.tell(func() []error { return s.queue.Nack(act, back) })
	default:
		s.tell(func() []error { return s.queue.Ack(act, back.Lease) })
	}
	return nil
}

func (f Failure) apply(j *Job, now time.Time) {
	j.LastError = errorText(f.Error)
	j.let()
	if f.Dead || j.exhausted() {
		j.Status = Dead
		return
	}
	delay := retryAfter.Delay(j.Attempts)
	if f.Delay != nil {
		delay = *f.Delay
	}
	if j.Due = micro(now.Add(delay)); j.far(now) {
		j.Revision++ // a loader that has loaded it must add it again
	}
}

func errorText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), errorKept)], ""), "\x00", "")
}
