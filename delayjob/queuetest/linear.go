package queuetest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"punctual/delayjob"
)

// linearizable runs random operations of many callers at once. For each message, it then looks for
// an order of its operations that a sequential queue could have shown. Each operation must take
// place between its call and its return.
//
// For example, there is no such order if an ack was accepted after another claim of the message
// (I7), or if tokens were repeated or out of order (I3). Leases of a few milliseconds end by
// themselves meanwhile; extended ones do not.
func linearizable(f *fixture) {
	const callers, rounds, entities = 6, 120, 6
	r := &recorder{f: f, begin: time.Now()}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(c), uint64(time.Now().UnixNano())))
			for range rounds {
				r.step(rnd, fmt.Sprint("e", rnd.IntN(entities)))
			}
		})
	}
	wg.Wait()
	if f.Failed() {
		return
	}
	byID := map[string][]event{}
	for _, e := range r.events {
		byID[e.id] = append(byID[e.id], e)
	}
	claims := 0
	for id, es := range byID {
		for _, e := range es {
			if e.what == "claim" {
				claims++
			}
		}
		if at, ok := explain(es); !ok {
			f.Errorf("no order explains what happened to %s; stuck at\n%s", id, at)
		}
	}
	if claims < 50 {
		f.Errorf("only %d claims; the test proves little", claims)
	}
}

type event struct {
	id, what   string
	call, ret  time.Duration
	version    int64
	token      int64 // of the lease used or issued
	now, until int64 // claim: ms of the queue's clock; extend: until, at least
	how        delayjob.How
	lost       bool // the lease
	added      delayjob.AddResult
	was        delayjob.State
}

func (e event) String() string {
	return fmt.Sprintf("%9v-%9v %s v%d token %d lost %v %v was %q now %d until %d how %d",
		e.call.Round(time.Microsecond), e.ret.Round(time.Microsecond), e.what, e.version, e.token, e.lost, e.added, e.was, e.now, e.until, e.how)
}

type recorder struct {
	f     *fixture
	begin time.Time

	mu     sync.Mutex
	events []event
	leases []delayjob.Lease
}

func (r *recorder) note(call time.Duration, es ...event) {
	ret := time.Since(r.begin)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range es {
		e.call, e.ret = call, ret
		r.events = append(r.events, e)
	}
}

func (r *recorder) step(rnd *rand.Rand, key string) {
	ctx, q, id := r.f.Context(), r.f.q, delayjob.MessageID(job, key)
	call := time.Since(r.begin)
	fail := func(err error) {
		if err != nil {
			r.f.Errorf("%v", err)
		}
	}
	switch n := rnd.IntN(20); {
	case n < 5:
		v := rnd.Int64N(3) + int64(call/(5*time.Millisecond)) // rises over time
		res, err := q.Add(ctx, delayjob.Message{Job: job, Key: key, Version: v, Due: q.Now().Add(-time.Second)})
		fail(err)
		r.note(call, event{id: id, what: "add", version: v, added: res[0]})
	case n < 11:
		got, err := q.Claim(ctx, delayjob.ShardOf(key, q.Shards()), []delayjob.Want{{
			Job: job, Limit: 1 + rnd.IntN(2), Lease: time.Duration(1+rnd.IntN(8)) * time.Millisecond, MaxAttempts: 4,
		}})
		fail(err)
		var es []event
		for _, m := range got.Messages {
			es = append(es, event{id: m.ID(), what: "claim", version: m.Version, token: m.Lease.Token, now: got.Now.UnixMilli(), until: m.Lease.Until.UnixMilli()})
		}
		for _, m := range got.Dead {
			es = append(es, event{id: m.ID(), what: "die", version: m.Version, now: got.Now.UnixMilli()})
		}
		r.note(call, es...)
		r.mu.Lock()
		for _, m := range got.Messages {
			r.leases = append(r.leases, m.Lease)
		}
		r.mu.Unlock()
	case n < 18:
		l, ok := r.lease(rnd)
		if !ok {
			return
		}
		e := event{id: l.ID, token: l.Token}
		var errs []error
		switch n {
		case 11, 12, 13:
			e.what, errs = "ack", q.Ack(ctx, l)
		case 14, 15:
			e.what, e.how = "nack", delayjob.How(rnd.IntN(3))
			errs = q.Nack(ctx, delayjob.Return{Lease: l, How: e.how})
		default:
			d := time.Millisecond
			if rnd.IntN(2) == 0 {
				d = time.Hour
			}
			e.what, e.until = "extend", q.Now().Add(d-time.Second).UnixMilli()
			errs = q.Extend(ctx, d, l)
		}
		if errs != nil {
			if e.lost = errors.Is(errs[0], delayjob.ErrLeaseLost); !e.lost {
				fail(errs[0])
			}
		}
		r.note(call, e)
	case n < 19:
		was, err := q.Remove(ctx, id)
		fail(err)
		r.note(call, event{id: id, what: "remove", was: was[0]})
	default:
		was, err := q.Requeue(ctx, id)
		fail(err)
		r.note(call, event{id: id, what: "requeue", was: was[0]})
	}
}

// lease picks one of the last leases; others use most of them at the same time.
func (r *recorder) lease(rnd *rand.Rand) (delayjob.Lease, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.leases) == 0 {
		return delayjob.Lease{}, false
	}
	return r.leases[len(r.leases)-1-rnd.IntN(min(len(r.leases), 8))], true
}

// A register is one message in a sequential queue.
type register struct {
	state   delayjob.State // absent, ready, reserved or dead
	version int64
	token   int64 // of the lease; 0: none
	until   int64
	last    int64 // the last token issued for this ID
}

// after returns the register after an event; false: the event is impossible.
func (s register) after(e event) (register, bool) {
	holds := s.state == delayjob.StateReserved && s.token == e.token
	switch e.what {
	case "add":
		switch {
		case s.state == delayjob.StateAbsent:
			return register{state: delayjob.StateReady, version: e.version, last: s.last}, e.added == delayjob.Added
		case s.version < e.version:
			return register{state: delayjob.StateReady, version: e.version, last: s.last}, e.added == delayjob.Replaced
		case s.version == e.version:
			return s, e.added == delayjob.Unchanged
		default:
			return s, e.added == delayjob.Outdated
		}
	case "claim":
		free := s.state == delayjob.StateReady || s.state == delayjob.StateReserved && e.now >= s.until
		return register{state: delayjob.StateReserved, version: s.version, token: e.token, until: e.until, last: e.token},
			free && s.version == e.version && e.token > s.last
	case "die":
		return register{state: delayjob.StateDead, version: s.version, last: s.last},
			s.state == delayjob.StateReserved && e.now >= s.until && s.version == e.version
	case "ack":
		if holds {
			return register{last: s.last}, !e.lost
		}
		return s, e.lost
	case "nack":
		if !holds {
			return s, e.lost
		}
		s.state, s.token, s.until = delayjob.StateReady, 0, 0
		if e.how == delayjob.Bury {
			s.state = delayjob.StateDead
		}
		return s, !e.lost
	case "extend":
		if holds {
			s.until = e.until
			return s, !e.lost
		}
		return s, e.lost
	case "remove":
		return register{last: s.last}, e.was == s.state
	case "requeue":
		ok := e.was == s.state
		if s.state == delayjob.StateDead {
			s.state = delayjob.StateReady
		}
		return s, ok
	}
	return s, false
}

// explain looks for an order of the events, each between its call and its return. If there is none,
// it returns the events at which the longest attempt got stuck.
func explain(es []event) (stuck string, ok bool) {
	slices.SortFunc(es, func(a, b event) int { return cmp.Compare(a.call, b.call) })
	seen := map[string]bool{}
	done := make([]byte, (len(es)+7)/8)
	best, bestAt := -1, ""
	var search func(s register, first, n int) bool
	search = func(s register, first, n int) bool {
		if n == len(es) {
			return true
		}
		for done[first/8]&(1<<(first%8)) != 0 {
			first++
		}
		key := string(binary.AppendVarint(binary.AppendVarint(append(slices.Clone(done), s.state...), s.version), s.token)) +
			fmt.Sprint(s.until, s.last)
		if seen[key] {
			return false
		}
		seen[key] = true
		earliest := time.Duration(1<<63 - 1) // earliest return of an event not yet ordered: no later call can precede it
		for i := first; i < len(es) && es[i].call <= earliest; i++ {
			if done[i/8]&(1<<(i%8)) == 0 {
				earliest = min(earliest, es[i].ret)
			}
		}
		for i := first; i < len(es) && es[i].call <= earliest; i++ {
			if done[i/8]&(1<<(i%8)) != 0 {
				continue
			}
			next, possible := s.after(es[i])
			if !possible {
				continue
			}
			done[i/8] |= 1 << (i % 8)
			if search(next, first, n+1) {
				return true
			}
			done[i/8] &^= 1 << (i % 8)
		}
		if n > best {
			best = n
			var b strings.Builder
			fmt.Fprintf(&b, "%+v\n", s)
			for i := max(0, first-3); i < min(len(es), first+12); i++ {
				fmt.Fprintf(&b, "%v ordered %v\n", es[i], done[i/8]&(1<<(i%8)) != 0)
			}
			bestAt = b.String()
		}
		return false
	}
	if search(register{}, 0, 0) {
		return "", true
	}
	return bestAt, false
}
