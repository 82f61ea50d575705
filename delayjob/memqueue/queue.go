// Package memqueue is a [delayjob.Queue] in memory, for one process. A crash empties it, and the
// loader fills it again. With a [Journal], it knows after a crash which messages were held and
// counts the crash.
//
// It has one shard and one mutex. Waiting messages are in a heap by due time, leased ones in a heap
// by lease end. A claim costs O(log n) per message that it hands out. The package starts no
// goroutine.
package memqueue

import (
	"context"
	"maps"
	"sync"
	"time"

	"punctual/delayjob"
)

var (
	_ delayjob.Queue     = (*Queue)(nil)
	_ delayjob.Inspector = (*Queue)(nil)
)

// Queue is a [delayjob.Queue] and [delayjob.Inspector] in memory. Methods never block, ignore their
// contexts, and fail only for invalid messages and arguments.
type Queue struct {
	now     func() time.Time
	journal *Journal // nil: none

	mu     sync.Mutex
	items  map[string]*item
	topics map[string]*topic
	token  int64 // the last one issued
	epoch  string
	peak   int // most items since the map was created
	subs   map[*subscriber]struct{}
	closed bool

	hinted  bool  // during a call: a set got an earlier first message
	earlier int64 // its time, ms
}

// An Option configures a Queue.
type Option func(*Queue)

// WithClock sets the clock; [time.Now] by default.
func WithClock(now func() time.Time) Option { return func(q *Queue) { q.now = now } }

// WithJournal makes the queue record what it hands out, and count as crashed what an earlier
// process held when it died. The queue uses j until it is no longer used itself. Leases with
// [delayjob.Want.ChargeExpired] are not recorded, because their holders let them end on purpose.
func WithJournal(j *Journal) Option { return func(q *Queue) { q.journal = j } }

// New returns an empty queue.
func New(opts ...Option) *Queue {
	q := &Queue{
		now:    time.Now,
		items:  map[string]*item{},
		topics: map[string]*topic{},
		subs:   map[*subscriber]struct{}{},
	}
	for _, o := range opts {
		o(q)
	}
	return q
}

func (q *Queue) topic(name string) *topic {
	t := q.topics[name]
	if t == nil {
		t = &topic{name: name}
		q.topics[name] = t
	}
	return t
}

// wait adds an item to the waiting set and records whether it is the new head.
func (q *Queue) wait(it *item, at int64) {
	it.enter(waiting, at)
	if it.pos == 0 && (!q.hinted || at < q.earlier) {
		q.hinted, q.earlier = true, at
	}
}

// Add implements [delayjob.Queue].
func (q *Queue) Add(_ context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	res := make([]delayjob.AddResult, len(ms))
	for i := range ms {
		if err := ms[i].Validate(); err != nil {
			return res, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	allNew := true
	for i := range ms {
		res[i] = q.add(&ms[i])
		allNew = allNew && res[i] == delayjob.Added
	}
	q.peak = max(q.peak, len(q.items))
	q.journal.flush()
	q.announce()
	if !allNew {
		settleRepeats(ms, res)
	}
	return res, nil
}

func (q *Queue) add(m *delayjob.Message) delayjob.AddResult {
	text := m.Job + ":" + m.Key + string(m.Body)
	idLen := len(m.Job) + 1 + len(m.Key)
	res := delayjob.Added
	it := q.items[text[:idLen]]
	switch {
	case it == nil:
		it = &item{topic: q.topic(m.Job)}
	case it.version > m.Version:
		return delayjob.Outdated
	case it.version == m.Version:
		return delayjob.Unchanged
	default:
		q.journal.forget(it.id())
		delete(q.items, it.id()) // its key is part of the old text and would keep it alive
		it.leave()
		res = delayjob.Replaced
	}
	it.text, it.idLen = text, int32(idLen)
	it.headers, it.version, it.due = maps.Clone(m.Headers), m.Version, ceilMilli(m.Due)
	it.token, it.attempts, it.crashes = 0, 0, 0
	q.items[it.id()] = it
	if past, ok := q.journal.take(it.id(), it.version); ok {
		q.revive(it, past)
	} else {
		q.wait(it, it.due)
	}
	return res
}

// revive restores the state that an earlier process left. A held message is leased until now, so
// that the next claim finds an ended lease.
func (q *Queue) revive(it *item, past mark) {
	it.attempts, it.crashes = past.attempts, past.crashes
	if !past.held {
		q.wait(it, it.due)
		return
	}
	now := q.now()
	q.token = max(q.token+1, now.UnixMicro())
	it.token = q.token
	it.enter(leased, max(it.due, floorMilli(now)))
	if at := it.at(); !q.hinted || at < q.earlier {
		q.hinted, q.earlier = true, at
	}
}

// settleRepeats corrects the results of repeated IDs: the first element of the highest version was
// stored.
func settleRepeats(ms []delayjob.Message, res []delayjob.AddResult) {
	type key struct{ job, key string }
	winner := make(map[key]int, len(ms))
	for i, m := range ms {
		k := key{m.Job, m.Key}
		w, seen := winner[k]
		switch {
		case !seen:
			winner[k] = i
		case m.Version > ms[w].Version:
			winner[k] = i
			if res[w] == delayjob.Added {
				res[i] = delayjob.Added // new to the caller
			}
		}
	}
	if len(winner) == len(ms) {
		return
	}
	for i, m := range ms {
		if w := winner[key{m.Job, m.Key}]; m.Version < ms[w].Version {
			res[i] = delayjob.Outdated
		}
	}
}

// Remove implements [delayjob.Queue].
func (q *Queue) Remove(_ context.Context, ids ...string) ([]delayjob.State, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := floorMilli(q.now())
	states := make([]delayjob.State, len(ids))
	for i, id := range ids {
		if it := q.items[id]; it != nil {
			states[i] = it.state(now)
			q.forget(it)
		}
	}
	q.journal.flush()
	return states, nil
}

func (q *Queue) forget(it *item) {
	it.leave()
	q.journal.forget(it.id())
	delete(q.items, it.id())
	if len(q.items) == 0 && q.peak > 1024 { // a map never shrinks
		q.items, q.peak = map[string]*item{}, 0
	}
}

// Ack implements [delayjob.Queue].
func (q *Queue) Ack(_ context.Context, ls ...delayjob.Lease) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var errs lost
	for i, l := range ls {
		if it := q.held(l); it != nil {
			q.forget(it)
		} else {
			errs.mark(i, len(ls))
		}
	}
	q.journal.flush()
	return errs
}

// Nack implements [delayjob.Queue].
func (q *Queue) Nack(_ context.Context, rs ...delayjob.Return) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	var errs lost
	for i, r := range rs {
		it := q.held(r.Lease)
		if it == nil {
			errs.mark(i, len(rs))
			continue
		}
		it.leave()
		it.token = 0
		if r.How == delayjob.Bury {
			q.journal.forget(it.id())
			it.enter(dead, floorMilli(now))
			continue
		}
		if r.How == delayjob.Release {
			it.attempts--
		}
		q.journal.back(it)
		q.wait(it, after(now, r.Delay))
	}
	q.journal.flush()
	q.announce()
	return errs
}

// Extend implements [delayjob.Queue].
func (q *Queue) Extend(_ context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	until := ceilMilli(q.now().Add(max(d, time.Millisecond)))
	var errs lost
	for i, l := range ls {
		if it := q.held(l); it != nil {
			it.leave()
			it.enter(leased, until)
		} else {
			errs.mark(i, len(ls))
		}
	}
	return errs
}

// held returns the item of a lease that is still valid, or nil.
func (q *Queue) held(l delayjob.Lease) *item {
	if it := q.items[l.ID]; it != nil && l.Token != 0 && it.token == l.Token {
		return it
	}
	return nil
}

type lost []error

func (e *lost) mark(i, n int) {
	if *e == nil {
		*e = make(lost, n)
	}
	(*e)[i] = delayjob.ErrLeaseLost
}

// Shards implements [delayjob.Queue]. It returns 1.
func (q *Queue) Shards() int { return 1 }

// Now implements [delayjob.Queue].
func (q *Queue) Now() time.Time { return q.now() }

// SetEpoch implements [delayjob.Queue].
func (q *Queue) SetEpoch(_ context.Context, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.epoch = id
	q.journal.loaded()
	q.journal.flush()
	return nil
}
