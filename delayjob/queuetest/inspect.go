package queuetest

import (
	"errors"
	"fmt"
	"time"

	"punctual/delayjob"
)

func inspectGet(f *fixture) {
	for _, absent := range []string{id("absent"), "nothing", "", ":"} {
		if _, err := f.q.Get(f.Context(), absent); !errors.Is(err, delayjob.ErrNotFound) {
			f.Errorf("Get %q: %v, want ErrNotFound", absent, err)
		}
	}
	m := f.msg("a", 7, time.Hour)
	f.add(m)
	info := f.is(m.ID(), delayjob.StateDelayed)
	if info.Job != job || info.Key != m.Key || info.Version != 7 || info.Attempt != 0 || string(info.Body) != "body of a" ||
		!info.WaitsUntil.Equal(info.Due) || !info.LeaseUntil.IsZero() || !info.DiedAt.IsZero() {
		f.Errorf("delayed: %+v", info)
	}
	f.pass(2 * time.Hour)
	f.is(m.ID(), delayjob.StateReady)
	l := f.one().Lease
	info = f.is(m.ID(), delayjob.StateReserved)
	if info.Attempt != 1 || !info.LeaseUntil.Equal(l.Until) || !info.WaitsUntil.IsZero() || info.Lease.Token != 0 {
		f.Errorf("reserved: %+v, lease %+v", info, l)
	}
	f.pass(2 * lease)
	f.is(m.ID(), delayjob.StateReserved) // until the next claim
}

func inspectList(f *fixture) {
	const n, page = 25, 4
	due := f.q.Now().Add(time.Hour)
	want := map[delayjob.State][]string{}
	var ms []delayjob.Message
	for i := range n { // over all shards; five per time, so that pages end between equal times
		m := delayjob.Message{Job: job, Key: fmt.Sprintf("%02d", i), Version: 1, Due: due.Add(time.Duration(i/5) * time.Second)}
		ms = append(ms, m)
		want[delayjob.StateDelayed] = append(want[delayjob.StateDelayed], m.Key)
	}
	f.add(ms...)
	for i, m := range ms {
		m.Key, m.Due = "ready"+m.Key, m.Due.Add(-time.Hour*10)
		f.add(m)
		ms[i] = m
		want[delayjob.StateReady] = append(want[delayjob.StateReady], m.Key)
	}
	other := ms[0]
	other.Job = job + "2"
	f.add(other)

	list := func(s delayjob.State) (got []string) {
		f.Helper()
		cursor, last := "", time.Time{}
		for range 100 {
			items, next, err := f.q.List(f.Context(), job, s, cursor, page)
			if err != nil {
				f.Fatal(err)
			}
			if len(items) > page || next != "" && len(items) < page {
				f.Fatalf("a page of %d, next %q", len(items), next)
			}
			for _, it := range items {
				at := it.WaitsUntil
				switch s {
				case delayjob.StateReserved:
					at = it.LeaseUntil
				case delayjob.StateDead:
					at = it.DiedAt
				}
				if it.State != s || it.Version != 1 || it.Job != job || at.Before(last) {
					f.Fatalf("listed as %s after %v: %+v", s, last, it)
				}
				last = at
				got = append(got, it.Key)
			}
			if cursor = next; cursor == "" {
				return got
			}
		}
		f.Fatal("the pages never end")
		return nil
	}
	equal(f, "delayed", list(delayjob.StateDelayed), want[delayjob.StateDelayed])
	equal(f, "ready", list(delayjob.StateReady), want[delayjob.StateReady])
	equal(f, "reserved", list(delayjob.StateReserved), nil)
	equal(f, "dead", list(delayjob.StateDead), nil)

	var returns []delayjob.Return
	for shard := range f.q.Shards() {
		c, err := f.q.Claim(f.Context(), shard, []delayjob.Want{{Job: job, Limit: n, Lease: lease}})
		if err != nil {
			f.Fatal(err)
		}
		for _, l := range leases(c.Messages) {
			returns = append(returns, delayjob.Return{Lease: l, How: delayjob.Bury})
		}
	}
	if got := list(delayjob.StateReserved); len(got) != n {
		f.Errorf("%d reserved, want %d: %v", len(got), n, got)
	}
	f.held(f.q.Nack(f.Context(), returns...))
	if got := list(delayjob.StateDead); len(got) != n {
		f.Errorf("%d dead, want %d: %v", len(got), n, got)
	}
	if got, next, err := f.q.List(f.Context(), "nobody's", delayjob.StateReady, "", 10); len(got) != 0 || next != "" || err != nil {
		f.Errorf("of another job: %v, %q, %v", got, next, err)
	}
	if items, next, err := f.q.List(f.Context(), job, delayjob.StateDead, "", n); len(items) != n || next != "" || err != nil {
		f.Errorf("a page that holds all: %d, next %q, %v", len(items), next, err)
	}
	if _, _, err := f.q.List(f.Context(), job, delayjob.StateDead, "nonsense", n); !errors.Is(err, delayjob.ErrCursor) {
		f.Errorf("a nonsense cursor: %v", err)
	}
}

func (f *fixture) stats(want delayjob.Stats) {
	f.Helper()
	got, err := f.q.Stats(f.Context(), job)
	if err != nil {
		f.Fatal(err)
	}
	oldest := got.Oldest.Sub(want.Oldest)
	got.Oldest, want.Oldest = time.Time{}, time.Time{}
	if got != want || oldest < 0 || oldest > time.Millisecond {
		f.Errorf("%+v, want %+v; oldest off by %v", got, want, oldest)
	}
}

func inspectJobs(f *fixture) {
	jobs := func(want ...string) {
		f.Helper()
		got, err := f.q.Jobs(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		equal(f, "jobs", got, want)
	}
	jobs()
	if err := f.q.Pause(f.Context(), "paused"); err != nil { // without a message
		f.Fatal(err)
	}
	for i, name := range []string{"no.such", "topic.a-b_c~d", "x*[?]"} {
		m := f.msg(fmt.Sprint(i), 1, time.Hour)
		m.Job = name
		f.add(m)
	}
	jobs("no.such", "topic.a-b_c~d", "x*[?]")
	f.ready("a")
	f.claim(1)
	jobs(job, "no.such", "topic.a-b_c~d", "x*[?]") // leased
	f.pass(2 * lease)
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.claim(1).Messages[0].Lease, How: delayjob.Bury}))
	jobs(job, "no.such", "topic.a-b_c~d", "x*[?]") // dead
	if _, err := f.q.Remove(f.Context(), id("a")); err != nil {
		f.Fatal(err)
	}
	jobs("no.such", "topic.a-b_c~d", "x*[?]")
}

func inspectStats(f *fixture) {
	f.stats(delayjob.Stats{})
	var ms []delayjob.Message
	for i := range 40 {
		d := time.Hour
		if i < 10 {
			d = -time.Minute
		}
		m := f.msg("", 1, d+time.Duration(i)*time.Second)
		m.Key = fmt.Sprint(i, ":x") // over all shards
		ms = append(ms, m)
	}
	f.add(ms...)
	f.stats(delayjob.Stats{Delayed: 30, Ready: 10, Oldest: ms[0].Due})
	f.ready("a", "b", "c")
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.claim(1).Messages[0].Lease, How: delayjob.Bury}))
	f.claim(2)
	f.stats(delayjob.Stats{Delayed: 30, Ready: 10, Reserved: 2, Dead: 1, Oldest: ms[0].Due})
	if err := f.q.Pause(f.Context(), job); err != nil {
		f.Fatal(err)
	}
	f.pass(2 * time.Hour)
	f.stats(delayjob.Stats{Ready: 40, Reserved: 2, Dead: 1, Oldest: ms[0].Due, Paused: true})
	if s, err := f.q.Stats(f.Context(), "other"); err != nil || s != (delayjob.Stats{}) {
		f.Errorf("another job: %+v, %v", s, err)
	}
}

func inspectPause(f *fixture) {
	other := f.msg("x", 1, -time.Minute)
	other.Job = "other"
	f.ready("a", "b")
	f.add(other)
	held := f.claim(1).Messages[0]
	for range 2 { // pausing a paused job changes nothing
		if err := f.q.Pause(f.Context(), job); err != nil {
			f.Fatal(err)
		}
	}
	f.pass(2 * lease)
	c := f.claimWant(
		delayjob.Want{Job: job, Limit: 5, Lease: lease, MaxAttempts: 1},
		delayjob.Want{Job: "other", Limit: 5, Lease: time.Hour})
	equal(f, "claimed", names(c.Messages), []string{"e:x"})
	if len(c.Dead) != 0 || c.Next.Before(c.Now.Add(time.Hour)) {
		f.Errorf("dead %v, next in %v; a paused job must not make the claimers spin", names(c.Dead), c.Next.Sub(c.Now))
	}
	f.is(held.ID(), delayjob.StateReserved)
	equal(f, "adding goes on", f.add(f.msg("c", 1, -time.Hour)), []delayjob.AddResult{delayjob.Added})
	f.held(f.q.Extend(f.Context(), lease, held.Lease))
	f.held(f.q.Ack(f.Context(), held.Lease))
	hints := f.subscribe()
	for range 2 {
		if err := f.q.Resume(f.Context(), job); err != nil {
			f.Fatal(err)
		}
	}
	woken := time.After(patience)
	for shard := -1; shard != f.home; {
		select {
		case h := <-hints:
			if h.Due.After(f.q.Now().Add(slack)) {
				f.Errorf("resuming hints at %v, now is %v", h.Due, f.q.Now())
			}
			shard = h.Shard
		case <-woken:
			f.Fatal("resuming does not wake")
		}
	}
	if got := f.claim(5).Messages; len(got) != 2 {
		f.Errorf("claimed %v, want b and c", names(got))
	}
	f.sound()
}

func inspectRequeue(f *fixture) {
	f.ready("dead", "reserved", "ready")
	m := f.claim(1).Messages[0]
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Bury}))
	f.claim(1)
	f.add(f.msg("delayed", 1, time.Hour))
	states, err := f.q.Requeue(f.Context(), id("absent"), id("delayed"), id("ready"), id("reserved"), id("dead"), id("dead"))
	if err != nil {
		f.Fatal(err)
	}
	equal(f, "states", states, []delayjob.State{"", delayjob.StateDelayed, delayjob.StateReady, delayjob.StateReserved, delayjob.StateDead, delayjob.StateReady})
	c := f.claim(10)
	equal(f, "claimed", names(c.Messages), []string{"e:dead", "e:ready"})
	if c.Messages[0].Attempt != 1 || c.Messages[0].Version != 1 || !c.Messages[0].Due.Equal(m.Due) {
		f.Errorf("requeued: %+v, want a fresh count", c.Messages[0])
	}
	f.is(id("delayed"), delayjob.StateDelayed)
	f.sound()
}

func inspectCheck(f *fixture) {
	if f.Orphan == nil {
		f.sound()
		return
	}
	f.ready("a", "b")
	f.add(f.msg("c", 1, time.Hour))
	f.claim(1)
	f.sound()
	f.Orphan(id("c"))
	breaches, err := f.q.Check(f.Context(), job)
	if err != nil || len(breaches) != 1 {
		f.Errorf("Check: %q, %v; want one breach", breaches, err)
	}
	if breaches, err := f.q.Check(f.Context()); err != nil || len(breaches) != 1 {
		f.Errorf("Check of all jobs: %q, %v; want one breach", breaches, err)
	}
	if breaches, err := f.q.Check(f.Context(), "other"); err != nil || len(breaches) != 0 {
		f.Errorf("Check of another job: %q, %v", breaches, err)
	}
}

func nowFollows(f *fixture) {
	before := f.q.Now()
	c := f.claim(1)
	if d := c.Now.Sub(before); d.Abs() > slack {
		f.Errorf("a claim at %v, Now just before it was %v", c.Now, before)
	}
	f.pass(time.Hour)
	if d := f.q.Now().Sub(before); d < time.Hour-slack || d > time.Hour+slack {
		f.Errorf("Now went on by %v, want an hour", d)
	}
	if d := f.claim(1).Now.Sub(f.q.Now()); d.Abs() > slack {
		f.Errorf("a claim and Now differ by %v", d)
	}
}
