package queuetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"punctual/delayjob"
)

// model runs random operations on the queue and on a small sequential model of it.
//
// Time passes in ticks of a minute. Real time that passes meanwhile is assumed to be less than half
// a tick, so it moves no message from one tick to another.
func model(f *fixture) {
	run := 0
	rapid.Check(f.T, func(t *rapid.T) {
		run++
		m := &machine{
			f: f, t: t, job: fmt.Sprintf("model%d", run), base: f.q.Now().Add(-time.Millisecond).Truncate(time.Millisecond),
			items: map[string]*modelItem{},
			used:  map[delayjob.Lease]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":     m.add,
			"remove":  m.remove,
			"claim":   m.claim,
			"claim2":  m.claim, // twice as likely
			"ack":     m.ack,
			"nack":    m.nack,
			"extend":  m.extend,
			"requeue": m.requeue,
			"pause":   m.pause,
			"advance": m.advance,
			"check":   m.check,
		})
		m.check(t)
		m.clean()
	})
}

const (
	tick  = time.Minute
	drift = tick / 2
)

// A modelItem is a message in the model; at is when it is due, its lease ends or it died.
type modelItem struct {
	key      string
	version  int64
	due, at  int // ticks
	state    delayjob.State
	token    int64
	attempts int
	crashes  int
}

// crashed returns the attempts and crashes of an item with an ended lease, before the claim counts
// its own delivery.
func (it *modelItem) crashed(w delayjob.Want) (attempts, crashes int) {
	if it.crashes+1 <= 2 && !w.ChargeExpired {
		return it.attempts - 1, it.crashes + 1
	}
	return it.attempts, it.crashes + 1
}

func (it *modelItem) dies(w delayjob.Want) bool {
	attempts, _ := it.crashed(w)
	return w.MaxAttempts > 0 && attempts == it.attempts && attempts >= w.MaxAttempts
}

type machine struct {
	f      *fixture
	t      *rapid.T
	job    string
	base   time.Time // tick 0, just past
	tick   int
	paused bool
	items  map[string]*modelItem // by key
	leases []delayjob.Lease      // all that were issued
	used   map[delayjob.Lease]bool
}

func (it *modelItem) waits() bool { return it.state == delayjob.StateDelayed }

func (m *machine) state(it *modelItem) delayjob.State {
	switch {
	case it == nil:
		return delayjob.StateAbsent
	case it.waits() && it.at <= m.tick:
		return delayjob.StateReady
	default:
		return it.state
	}
}

func (m *machine) key(t *rapid.T) string {
	return fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "entity"), ":", rapid.IntRange(0, 3).Draw(t, "key"))
}

func (m *machine) add(t *rapid.T) {
	var (
		ms   []delayjob.Message
		want []delayjob.AddResult
		best = map[string]int{}
	)
	for i := range rapid.IntRange(1, 4).Draw(t, "messages") {
		key, version := m.key(t), rapid.Int64Range(1, 3).Draw(t, "version")
		due := m.tick + rapid.IntRange(-2, 4).Draw(t, "due")
		ms = append(ms, delayjob.Message{
			Job: m.job, Key: key, Version: version,
			Due:  m.base.Add(time.Duration(due) * tick),
			Body: fmt.Append(nil, key, version),
		})
		want = append(want, delayjob.NotStored)
		if b, ok := best[key]; !ok || version > ms[b].Version {
			best[key] = i
		}
	}
	for i, msg := range ms {
		it, winner := m.items[msg.Key], best[msg.Key] == i
		switch {
		case winner && it == nil:
			want[i] = delayjob.Added
		case winner && it.version < msg.Version:
			want[i] = delayjob.Replaced
		case winner && it.version == msg.Version:
			want[i] = delayjob.Unchanged
		case winner:
			want[i] = delayjob.Outdated
		}
	}
	for i, msg := range ms {
		switch b := best[msg.Key]; {
		case b == i:
		case msg.Version < ms[b].Version, want[b] == delayjob.Outdated:
			want[i] = delayjob.Outdated
		default:
			want[i] = delayjob.Unchanged
		}
	}
	got, err := m.f.q.Add(m.f.Context(), ms...)
	if err != nil {
		t.Fatalf("Add: %v", err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("Add: %v, want %v", got, want)
	}
	for i, msg := range ms {
		if want[i] == delayjob.Added || want[i] == delayjob.Replaced {
			due := int(msg.Due.Sub(m.base) / tick)
			m.items[msg.Key] = &modelItem{key: msg.Key, version: msg.Version, due: due, at: due, state: delayjob.StateDelayed}
		}
	}
}

func (m *machine) remove(t *rapid.T) {
	key := m.key(t)
	got, err := m.f.q.Remove(m.f.Context(), delayjob.MessageID(m.job, key))
	if err != nil {
		t.Fatalf("Remove: %v", err)
	}
	if want := m.state(m.items[key]); got[0] != want {
		t.Fatalf("Remove: %q was %q, want %q", key, got[0], want)
	}
	delete(m.items, key)
}

func (m *machine) claim(t *rapid.T) {
	shard := delayjob.ShardOf(m.key(t), m.f.q.Shards())
	w := delayjob.Want{
		Job:         m.job,
		Limit:       rapid.IntRange(0, 5).Draw(t, "limit"),
		Lease:       time.Duration(rapid.IntRange(1, 3).Draw(t, "lease")) * tick,
		MaxAttempts: rapid.IntRange(-1, 3).Draw(t, "max attempts"),

		ChargeExpired: rapid.Bool().Draw(t, "charge expired"),
	}
	got, err := m.f.q.Claim(m.f.Context(), shard, []delayjob.Want{w})
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	var expired, due []*modelItem
	for _, it := range m.items {
		if delayjob.ShardOf(it.key, m.f.q.Shards()) != shard || it.at > m.tick || m.paused || w.Limit == 0 {
			continue
		}
		switch {
		case it.waits():
			due = append(due, it)
		case it.state == delayjob.StateReserved:
			expired = append(expired, it)
		}
	}
	fromExpired, fromDue := map[string]bool{}, map[string]bool{}
	for _, d := range got.Dead {
		it := m.items[d.Key]
		if !slices.Contains(expired, it) || !it.dies(w) || d.Attempt != it.attempts || d.Crashes != it.crashes+1 || string(d.Body) != fmt.Sprint(d.Key, it.version) {
			t.Fatalf("died: %+v, model %+v", d, it)
		}
		fromExpired[d.Key] = true
	}
	for _, c := range got.Messages {
		it := m.items[c.Key]
		var attempts, crashes int
		switch {
		case slices.Contains(due, it):
			fromDue[c.Key] = true
			attempts, crashes = it.attempts, it.crashes
		case slices.Contains(expired, it) && !it.dies(w):
			fromExpired[c.Key] = true
			attempts, crashes = it.crashed(w)
		default:
			t.Fatalf("claimed: %+v, model %+v at tick %d", c, it, m.tick)
		}
		if c.Attempt != attempts+1 || c.Crashes != crashes || c.Version != it.version || string(c.Body) != fmt.Sprint(c.Key, it.version) || got.Now.Before(c.Due) {
			t.Fatalf("claimed: %+v, model %+v", c, it)
		}
		for _, old := range m.leases {
			if old.ID == c.ID() && old.Token >= c.Lease.Token {
				t.Fatalf("%s: token %d after %d", c.ID(), c.Lease.Token, old.Token)
			}
		}
	}
	first := func(what string, from []*modelItem, chosen map[string]bool, room int) {
		if len(chosen) != min(room, len(from)) {
			t.Fatalf("%d %s were taken, want %d of %d", len(chosen), what, room, len(from))
		}
		for _, in := range from {
			for _, out := range from {
				if chosen[in.key] && !chosen[out.key] && out.at < in.at {
					t.Fatalf("%s was taken before %s", in.key, out.key)
				}
			}
		}
	}
	first("whose lease had ended", expired, fromExpired, (w.Limit+1)/2)
	first("that were due", due, fromDue, w.Limit-len(fromExpired))

	for _, d := range got.Dead {
		it := m.items[d.Key]
		it.state, it.token, it.at = delayjob.StateDead, 0, m.tick
		it.crashes++
	}
	for _, c := range got.Messages {
		it := m.items[c.Key]
		it.state, it.token, it.at = delayjob.StateReserved, c.Lease.Token, m.tick+int(w.Lease/tick)
		it.attempts, it.crashes = c.Attempt, c.Crashes
		m.leases = append(m.leases, c.Lease)
	}
	next, any := 0, false
	for _, it := range m.items {
		if delayjob.ShardOf(it.key, m.f.q.Shards()) == shard && it.state != delayjob.StateDead && !m.paused && w.Limit > 0 && (!any || it.at < next) {
			next, any = it.at, true
		}
	}
	if got.Next.IsZero() == any {
		t.Fatalf("next is %v, want one: %v", got.Next, any)
	}
	if d := got.Next.Sub(m.base.Add(time.Duration(next) * tick)); any && (d < 0 || d > drift) {
		t.Fatalf("next is %v off tick %d", d, next)
	}
}

// drawLease picks one of the latest leases, most already lost, or one that was never issued.
func (m *machine) drawLease(t *rapid.T) (delayjob.Lease, *modelItem) {
	if len(m.leases) == 0 {
		key := m.key(t)
		return delayjob.Lease{ID: delayjob.MessageID(m.job, key), Shard: delayjob.ShardOf(key, m.f.q.Shards()), Token: 1}, nil
	}
	l := m.leases[len(m.leases)-1-rapid.IntRange(0, min(len(m.leases)-1, 7)).Draw(t, "lease")]
	_, key := delayjob.SplitID(l.ID)
	if it := m.items[key]; it != nil && it.token == l.Token {
		return l, it
	}
	return l, nil
}

func (m *machine) verdict(t *rapid.T, what string, errs []error, held bool) {
	if held != (errs == nil) || !held && !errors.Is(errs[0], delayjob.ErrLeaseLost) {
		t.Fatalf("%s: %v, want held: %v", what, errs, held)
	}
}

func (m *machine) ack(t *rapid.T) {
	l, it := m.drawLease(t)
	m.verdict(t, "Ack", m.f.q.Ack(m.f.Context(), l), it != nil)
	if it == nil {
		return
	}
	if m.used[l] {
		t.Fatalf("%+v was acknowledged twice", l)
	}
	m.used[l] = true
	delete(m.items, it.key)
}

func (m *machine) nack(t *rapid.T) {
	l, it := m.drawLease(t)
	how := rapid.SampledFrom([]delayjob.How{delayjob.Retry, delayjob.Release, delayjob.Bury}).Draw(t, "how")
	delay := rapid.IntRange(0, 3).Draw(t, "delay")
	m.verdict(t, "Nack", m.f.q.Nack(m.f.Context(), delayjob.Return{Lease: l, How: how, Delay: time.Duration(delay) * tick}), it != nil)
	if it == nil {
		return
	}
	it.token, it.at, it.state = 0, m.tick+delay, delayjob.StateDelayed
	switch how {
	case delayjob.Bury:
		it.at, it.state = m.tick, delayjob.StateDead
	case delayjob.Release:
		it.attempts--
	}
}

func (m *machine) extend(t *rapid.T) {
	l, it := m.drawLease(t)
	d := rapid.IntRange(1, 3).Draw(t, "for")
	m.verdict(t, "Extend", m.f.q.Extend(m.f.Context(), time.Duration(d)*tick, l), it != nil)
	if it != nil {
		it.at = m.tick + d
	}
}

func (m *machine) requeue(t *rapid.T) {
	key := m.key(t)
	got, err := m.f.q.Requeue(m.f.Context(), delayjob.MessageID(m.job, key))
	if err != nil {
		t.Fatalf("Requeue: %v", err)
	}
	it := m.items[key]
	if want := m.state(it); got[0] != want {
		t.Fatalf("Requeue: %s was %q, want %q", key, got[0], want)
	}
	if it != nil && it.state == delayjob.StateDead {
		it.state, it.at, it.attempts, it.crashes = delayjob.StateDelayed, m.tick, 0, 0
	}
}

func (m *machine) pause(t *rapid.T) {
	do := m.f.q.Pause
	if m.paused {
		do = m.f.q.Resume
	}
	if err := do(m.f.Context(), m.job); err != nil {
		t.Fatal(err)
	}
	m.paused = !m.paused
}

func (m *machine) advance(t *rapid.T) {
	n := rapid.IntRange(1, 3).Draw(t, "ticks")
	m.f.pass(time.Duration(n) * tick)
	m.tick += n
}

func (m *machine) check(t *rapid.T) {
	if breaches, err := m.f.q.Check(m.f.Context(), m.job); err != nil || len(breaches) > 0 {
		t.Fatalf("Check: %q, %v", breaches, err)
	}
	want := delayjob.Stats{Paused: m.paused}
	for _, key := range slices.Sorted(maps.Keys(m.items)) {
		it := m.items[key]
		info, err := m.f.q.Get(m.f.Context(), delayjob.MessageID(m.job, key))
		if err != nil || info.State != m.state(it) || info.Version != it.version || info.Attempt != it.attempts || info.Crashes != it.crashes {
			t.Fatalf("%s is %+v, %v; want %s %+v", key, info, err, m.state(it), it)
		}
		switch info.State {
		case delayjob.StateDelayed:
			want.Delayed++
		case delayjob.StateReady:
			want.Ready++
		case delayjob.StateReserved:
			want.Reserved++
		case delayjob.StateDead:
			want.Dead++
		}
	}
	got, err := m.f.q.Stats(m.f.Context(), m.job)
	got.Oldest = time.Time{}
	if err != nil || got != want {
		t.Fatalf("Stats: %+v, %v; want %+v", got, err, want)
	}
}

func (m *machine) clean() {
	for key := range m.items {
		if _, err := m.f.q.Remove(m.f.Context(), delayjob.MessageID(m.job, key)); err != nil {
			m.t.Fatalf("Remove: %v", err)
		}
	}
	if s, err := m.f.q.Stats(m.f.Context(), m.job); err != nil || s.Delayed+s.Ready+s.Reserved+s.Dead > 0 {
		m.t.Fatalf("at the end: %+v, %v", s, err)
	}
}
