package memqueue

import (
	"maps"
	"time"

	"punctual/delayjob"
)

// A topic holds the messages of one job. Each message is in exactly one of the sets.
type topic struct {
	name   string
	sets   [3]heap // by place
	seq    uint64  // arrivals in a set, so that equal times are first in, first out
	paused bool
}

type place uint8

const (
	waiting place = iota // by due time
	leased               // by lease end
	dead                 // by time of death
)

// An item is a message in a queue. Its time is in its heap slot.
type item struct {
	// text is the ID, then the body, in one allocation. The ID part is the key in Queue.items.
	text     string
	topic    *topic
	headers  map[string]string
	version  int64
	due      int64 // ms, as added
	token    int64 // 0 unless leased
	attempts int32
	pos      int32 // in the heap of its place
	idLen    int32
	crashes  uint8 // ended leases; stops at 255
	place    place
}

func (it *item) id() string   { return it.text[:it.idLen] }
func (it *item) body() string { return it.text[it.idLen:] }

// at returns when the item is due, its lease ends, or it died, in ms.
func (it *item) at() int64 { return it.topic.sets[it.place][it.pos].at }

func (it *item) enter(p place, at int64) {
	t := it.topic
	t.seq++
	it.place = p
	t.sets[p].push(slot{at: at, seq: t.seq, item: it})
}

func (it *item) leave() { it.topic.sets[it.place].remove(int(it.pos)) }

func (it *item) state(now int64) delayjob.State {
	switch {
	case it.place == leased:
		return delayjob.StateReserved
	case it.place == dead:
		return delayjob.StateDead
	case it.at() > now:
		return delayjob.StateDelayed
	default:
		return delayjob.StateReady
	}
}

// messages copies items for callers. Their bodies share one allocation, each with its capacity cut
// to its length.
func messages(items []*item, claimed time.Time) []delayjob.Message {
	if len(items) == 0 {
		return nil
	}
	size := 0
	for _, it := range items {
		size += len(it.body())
	}
	ms, bodies := make([]delayjob.Message, len(items)), make([]byte, 0, size)
	for i, it := range items {
		begin := len(bodies)
		bodies = append(bodies, it.body()...)
		m := &ms[i]
		m.Job, m.Key = it.topic.name, it.text[len(it.topic.name)+1:it.idLen]
		m.Version, m.Due = it.version, fromMilli(it.due)
		m.Body = bodies[begin:len(bodies):len(bodies)]
		m.Headers = maps.Clone(it.headers)
		m.Attempt, m.Crashes, m.Claimed = int(it.attempts), int(it.crashes), claimed
		if it.place == leased {
			m.Lease = delayjob.Lease{ID: it.id(), Token: it.token, Until: fromMilli(it.at())}
		}
	}
	return ms
}

// Times are Unix milliseconds. Due times are rounded up and the clock is rounded down, so that
// nothing happens early.

func floorMilli(t time.Time) int64 { return t.UnixMilli() }

func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// after returns the time d from now. A delay of 0 or less is due now.
func after(now time.Time, d time.Duration) int64 {
	if d <= 0 {
		return floorMilli(now)
	}
	return ceilMilli(now.Add(d))
}
