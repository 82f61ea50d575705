package memqueue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"punctual/delayjob"
)

// Claim implements [delayjob.Queue]. The bodies of one claim share an allocation, but appending to
// one never overwrites another.
func (q *Queue) Claim(_ context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if shard != 0 {
		return delayjob.Claimed{}, fmt.Errorf("memqueue: no shard %d", shard)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	c := claim{now: now, token: max(q.token+1, now.UnixMicro()), notes: q.journal != nil}
	for _, w := range want {
		if t := q.topics[w.Job]; t != nil && !t.paused && w.Limit > 0 {
			c.take(t, w)
		}
	}
	if len(c.taken) > 0 {
		q.token = c.token
	}
	for _, it := range c.noted {
		q.journal.hold(it)
	}
	for _, d := range c.died {
		q.journal.forget(d.id())
	}
	q.journal.flush()
	out := delayjob.Claimed{
		Now: now, Epoch: q.epoch != "",
		Messages: shown(c.taken, now),
		Dead:     shown(c.died, now),
	}
	if c.left {
		out.Next = fromMilli(c.next)
	}
	return out, nil
}

type claim struct {
	now   time.Time
	token int64

	taken, died []claimed
	notes       bool
	noted       []*item // what the journal records of taken, if notes
	left        bool    // something waits or is leased
	next        int64   // the earliest of it, ms
}

// claimed is an item and when this delivery was due, ms.
type claimed struct {
	*item
	ready int64
}

func shown(cs []claimed, now time.Time) []delayjob.Message {
	items := make([]*item, len(cs))
	for i, c := range cs {
		items[i] = c.item
	}
	ms := messages(items, now)
	for i, c := range cs {
		ms[i].Ready = fromMilli(c.ready)
	}
	return ms
}

func (c *claim) take(t *topic, w delayjob.Want) {
	now, until := floorMilli(c.now), ceilMilli(c.now.Add(max(w.Lease, time.Millisecond)))
	first, room := len(c.taken), w.Limit
	for range (w.Limit + 1) / 2 {
		it := t.sets[leased].due(now)
		if it == nil {
			break
		}
		room--
		if it.crashes < math.MaxUint8 {
			it.crashes++
		}
		if int(it.crashes) <= w.FreeCrashes() {
			it.attempts-- // lease counts this attempt again
		} else if w.MaxAttempts > 0 && int(it.attempts) >= w.MaxAttempts {
			c.died = append(c.died, claimed{it, it.at()})
			it.leave()
			it.token = 0
			it.enter(dead, now)
			continue
		}
		c.lease(it, until)
	}
	for ; room > 0; room-- {
		it := t.sets[waiting].due(now)
		if it == nil {
			break
		}
		c.lease(it, until)
	}
	if c.notes && !w.ChargeExpired {
		for _, t := range c.taken[first:] {
			c.noted = append(c.noted, t.item)
		}
	}
	slices.SortStableFunc(c.taken[first:], func(a, b claimed) int { return cmp.Compare(a.due, b.due) })
	for _, p := range [...]place{waiting, leased} {
		if h := t.sets[p]; len(h) > 0 && (!c.left || h[0].at < c.next) {
			c.left, c.next = true, h[0].at
		}
	}
}

func (c *claim) lease(it *item, until int64) {
	c.taken = append(c.taken, claimed{it, it.at()})
	it.leave()
	it.token = c.token
	it.attempts++
	it.enter(leased, until)
}
