package memqueue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/delayjob"
)

// Get implements [delayjob.Inspector].
func (q *Queue) Get(_ context.Context, id string) (delayjob.Info, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[id]
	if it == nil {
		return delayjob.Info{}, delayjob.ErrNotFound
	}
	return infos([]*item{it}, floorMilli(q.now()))[0], nil
}

func infos(items []*item, now int64) []delayjob.Info {
	out := make([]delayjob.Info, len(items))
	for i, m := range messages(items, time.Time{}) {
		it := items[i]
		m.Lease = delayjob.Lease{} // only the holder may use it
		out[i] = delayjob.Info{Message: m, State: it.state(now)}
		switch at := fromMilli(it.at()); it.place {
		case waiting:
			out[i].WaitsUntil = at
		case leased:
			out[i].LeaseUntil = at
		case dead:
			out[i].DiedAt = at
		}
	}
	return out
}

// List implements [delayjob.Inspector]. A page costs a scan of all messages in the state's set,
// because a sorted set would make every claim slower.
func (q *Queue) List(_ context.Context, job string, s delayjob.State, cursor string, n int) ([]delayjob.Info, string, error) {
	var after position
	if cursor != "" {
		var err error
		if after, err = parseCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.topics[job]
	if t == nil || n <= 0 {
		return nil, "", nil
	}
	p := waiting
	switch s {
	case delayjob.StateReserved:
		p = leased
	case delayjob.StateDead:
		p = dead
	}
	now := floorMilli(q.now())
	var page []*item
	keep := func(n int) { // keeps the first n
		slices.SortFunc(page, func(a, b *item) int { return positionOf(a).compare(positionOf(b)) })
		page = page[:min(n, len(page))]
	}
	for _, sl := range t.sets[p] {
		if sl.item.state(now) != s || cursor != "" && positionOf(sl.item).compare(after) <= 0 {
			continue
		}
		if page = append(page, sl.item); len(page) > 4*(n+1) {
			keep(n + 1)
		}
	}
	keep(n + 1)
	next := ""
	if len(page) > n {
		page = page[:n]
		next = positionOf(page[n-1]).String()
	}
	return infos(page, now), next, nil
}

// A position in a list, by time, then by ID. As a string it is a cursor.
type position struct {
	at int64
	id string
}

func positionOf(it *item) position { return position{it.at(), it.id()} }

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.at, o.at), strings.Compare(p.id, o.id))
}

func (p position) String() string { return strconv.FormatInt(p.at, 10) + " " + p.id }

func parseCursor(s string) (position, error) {
	at, id, ok := strings.Cut(s, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return position{}, fmt.Errorf("memqueue: %q: %w", s, delayjob.ErrCursor)
	}
	return position{ms, id}, nil
}

// Jobs implements [delayjob.Inspector].
func (q *Queue) Jobs(context.Context) ([]string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var names []string
	for name, t := range q.topics {
		if len(t.sets[waiting])+len(t.sets[leased])+len(t.sets[dead]) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Stats implements [delayjob.Inspector].
func (q *Queue) Stats(_ context.Context, job string) (delayjob.Stats, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.topics[job]
	if t == nil {
		return delayjob.Stats{}, nil
	}
	s := delayjob.Stats{Reserved: len(t.sets[leased]), Dead: len(t.sets[dead]), Paused: t.paused}
	if w := t.sets[waiting]; len(w) > 0 {
		s.Ready = w.countDue(0, floorMilli(q.now()))
		s.Delayed = len(w) - s.Ready
		s.Oldest = fromMilli(w[0].at)
	}
	return s, nil
}

// Pause implements [delayjob.Inspector].
func (q *Queue) Pause(_ context.Context, job string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.topic(job).paused = true
	return nil
}

// Resume implements [delayjob.Inspector].
func (q *Queue) Resume(_ context.Context, job string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.topics[job]; t != nil && t.paused {
		t.paused = false
		q.resumed(q.now())
	}
	return nil
}

// Requeue implements [delayjob.Inspector].
func (q *Queue) Requeue(_ context.Context, ids ...string) ([]delayjob.State, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := floorMilli(q.now())
	states := make([]delayjob.State, len(ids))
	for i, id := range ids {
		it := q.items[id]
		if it == nil {
			continue
		}
		states[i] = it.state(now)
		if it.place == dead {
			it.leave()
			it.attempts, it.crashes = 0, 0
			q.wait(it, now)
		}
	}
	q.announce()
	return states, nil
}

// Check implements [delayjob.Inspector]. It also verifies the heaps.
func (q *Queue) Check(_ context.Context, jobs ...string) ([]string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var breaches []string
	report := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	wanted := func(job string) bool { return len(jobs) == 0 || slices.Contains(jobs, job) }
	inSets := 0
	for name, t := range q.topics {
		if !wanted(name) {
			continue
		}
		for p := range t.sets {
			for i, s := range t.sets[p] {
				inSets++
				it := s.item
				switch {
				case q.items[it.id()] != it:
					report("%s is in a set but has no body", it.id())
				case it.topic != t || int(it.place) != p || int(it.pos) != i:
					report("%s is not at its recorded position", it.id())
				case i > 0 && s.before(t.sets[p][(i-1)/4]):
					report("%s is in the wrong heap order", it.id())
				case (it.token != 0) != (it.place == leased):
					report("%s has the token %d while it is %s", it.id(), it.token, it.state(floorMilli(q.now())))
				case it.token > q.token:
					report("%s has the token %d, later than the last one, %d", it.id(), it.token, q.token)
				case it.place == waiting && s.at < it.due:
					report("%s waits until %d, before it is due at %d", it.id(), s.at, it.due)
				}
			}
		}
	}
	bodies := 0
	for _, it := range q.items {
		if wanted(it.topic.name) {
			bodies++
		}
	}
	if bodies != inSets {
		report("%d bodies, but %d IDs in sets", bodies, inSets)
	}
	slices.Sort(breaches)
	return breaches, nil
}
