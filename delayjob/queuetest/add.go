package queuetest

import (
	"strings"
	"time"

	"punctual/delayjob"
)

func addResults(f *fixture) {
	equal(f, "new", f.add(f.msg("a", 2, time.Hour), f.msg("b", 0, time.Hour)), []delayjob.AddResult{delayjob.Added, delayjob.Added})
	equal(f, "same version, other time", f.add(f.msg("a", 2, 2*time.Hour)), []delayjob.AddResult{delayjob.Unchanged})
	equal(f, "lower version", f.add(f.msg("a", 1, -time.Hour)), []delayjob.AddResult{delayjob.Outdated})
	f.none()
	equal(f, "higher version", f.add(f.msg("a", 3, -time.Hour), f.msg("c", 1, time.Hour)), []delayjob.AddResult{delayjob.Replaced, delayjob.Added})
	if m := f.one(); m.Version != 3 {
		f.Errorf("version %d was claimed, want 3", m.Version)
	}
	f.sound()
}

func addRepeats(f *fixture) {
	equal(f, "new", f.add(f.msg("a", 2, time.Hour), f.msg("a", 1, time.Hour), f.msg("b", 7, time.Hour), f.msg("a", 2, -time.Hour), f.msg("a", 3, 3*time.Hour)),
		[]delayjob.AddResult{delayjob.Outdated, delayjob.Outdated, delayjob.Added, delayjob.Outdated, delayjob.Added})
	if info := f.is(id("a"), delayjob.StateDelayed); info.Version != 3 {
		f.Errorf("version %d, want 3", info.Version)
	}
	equal(f, "known", f.add(f.msg("a", 3, time.Hour), f.msg("a", 4, time.Hour), f.msg("a", 4, -time.Hour), f.msg("b", 7, time.Hour), f.msg("b", 7, time.Hour)),
		[]delayjob.AddResult{delayjob.Outdated, delayjob.Replaced, delayjob.Unchanged, delayjob.Unchanged, delayjob.Unchanged})
	f.none() // of two elements with the highest version, the first is stored
	equal(f, "older", f.add(f.msg("b", 5, time.Hour), f.msg("b", 6, time.Hour)), []delayjob.AddResult{delayjob.Outdated, delayjob.Outdated})
	f.sound()
}

func addInvalid(f *fixture) {
	for _, bad := range []delayjob.Message{
		{Job: "", Key: "1"},
		{Job: "a:b", Key: "1"},
		{Job: job, Key: ""},
		{Job: job, Key: "1", Version: -1},
	} {
		res, err := f.q.Add(f.Context(), f.msg("good", 1, 0), bad)
		if err == nil {
			f.Errorf("Add took %+v", bad)
		}
		equal(f, "results", res, []delayjob.AddResult{delayjob.NotStored, delayjob.NotStored})
	}
	f.is(id("good"), delayjob.StateAbsent)
}

// addMany exceeds every internal batch limit, over all shards.
func addMany(f *fixture) {
	const n = 2345
	ms := make([]delayjob.Message, n)
	ids := make([]string, n)
	for i, k := range keys("", n) {
		ms[i] = delayjob.Message{Job: job, Key: k, Version: 1, Due: f.q.Now().Add(-time.Hour)}
		ids[i] = ms[i].ID()
	}
	for i, r := range f.add(ms...) {
		if r != delayjob.Added {
			f.Fatalf("result %d is %v", i, r)
		}
	}
	got := map[string]bool{}
	for shard := range f.q.Shards() {
		for {
			c, err := f.q.Claim(f.Context(), shard, []delayjob.Want{{Job: job, Limit: 5000, Lease: lease}})
			if err != nil {
				f.Fatal(err)
			}
			for _, m := range c.Messages {
				got[m.Key] = true
			}
			f.held(f.q.Extend(f.Context(), lease, leases(c.Messages)...))
			if len(c.Messages)%2 == 0 {
				f.held(f.q.Ack(f.Context(), leases(c.Messages)...))
			}
			if c.Next.IsZero() || c.Next.After(c.Now) {
				break
			}
		}
	}
	if len(got) != n {
		f.Errorf("claimed %d of %d", len(got), n)
	}
	states, err := f.q.Remove(f.Context(), ids...)
	if err != nil || len(states) != n {
		f.Errorf("Remove: %d states, %v", len(states), err)
	}
	f.sound()
	if s, err := f.q.Stats(f.Context(), job); err != nil || s != (delayjob.Stats{}) {
		f.Errorf("at the end: %+v, %v", s, err)
	}
}

func emptyCalls(f *fixture) {
	if res, err := f.q.Add(f.Context()); err != nil || len(res) != 0 {
		f.Errorf("Add: %v, %v", res, err)
	}
	if res, err := f.q.Remove(f.Context()); err != nil || len(res) != 0 {
		f.Errorf("Remove: %v, %v", res, err)
	}
	if res, err := f.q.Requeue(f.Context()); err != nil || len(res) != 0 {
		f.Errorf("Requeue: %v, %v", res, err)
	}
	f.held(f.q.Ack(f.Context()))
	f.held(f.q.Nack(f.Context()))
	f.held(f.q.Extend(f.Context(), time.Second))
	c := f.claimWant()
	if c.Now.IsZero() || !c.Next.IsZero() || len(c.Messages) != 0 {
		f.Errorf("Claim: %+v", c)
	}
}

func addCarriesEverything(f *fixture) {
	due := f.q.Now().Add(-time.Hour).Truncate(time.Millisecond).Add(1)
	long := strings.Repeat("x", 3000)
	sent := []delayjob.Message{
		{Job: job, Key: "e", Version: 0, Due: due},
		{Job: job, Key: "e:start:900", Version: 1 << 52, Due: due, Body: []byte("\x00\r\n 0 {} \xff")},
		{Job: job, Key: "e: {x} %d é\n", Version: 1, Due: due, Body: []byte("12 34"), Headers: map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "": "\x00", "k\n": ""}},
		{Job: job, Key: "e:long", Version: 1, Due: due, Body: []byte(long), Headers: map[string]string{"long": long}},
		{Job: job, Key: "e:epoch", Version: 1, Due: time.Time{}},
		{Job: job, Key: "e:1969", Version: 1, Due: time.Unix(-1, 5)},
	}
	body := sent[3].Body
	f.add(sent...)
	clear(body) // the queue must not keep the caller's slice
	sent[2].Headers["later"] = "1"
	c := f.claim(10)
	got := map[string]delayjob.Message{}
	for _, m := range c.Messages {
		got[m.Key] = m
	}
	delete(sent[2].Headers, "later")
	sent[3].Body = []byte(long)
	for _, want := range sent {
		m, ok := got[want.Key]
		switch {
		case !ok:
			f.Errorf("%q is missing", want.Key)
			continue
		case m.Job != want.Job, m.Version != want.Version, string(m.Body) != string(want.Body):
			f.Errorf("got %+v, want %+v", m, want)
		case m.Due.Before(want.Due) || m.Due.Sub(want.Due) >= time.Millisecond:
			f.Errorf("%q is due at %v, want %v rounded up", m.Key, m.Due, want.Due)
		case m.Due.Location() != time.UTC:
			f.Errorf("%q is due at %v, want UTC", m.Key, m.Due)
		case len(m.Headers) != len(want.Headers):
			f.Errorf("%q has the headers %q, want %q", m.Key, m.Headers, want.Headers)
		}
		for k, v := range want.Headers {
			if m.Headers[k] != v {
				f.Errorf("header %q of %q is %q, want %q", k, m.Key, m.Headers[k], v)
			}
		}
		info := f.is(m.ID(), delayjob.StateReserved)
		if string(info.Body) != string(want.Body) || info.Version != want.Version || !info.Due.Equal(m.Due) || len(info.Headers) != len(want.Headers) {
			f.Errorf("Get: %+v, want %+v", info, want)
		}
	}
	for i := range c.Messages { // bodies do not overlap
		c.Messages[i].Body = append(c.Messages[i].Body, "tail"...)
	}
	for _, m := range c.Messages {
		if !strings.HasSuffix(string(m.Body), "tail") {
			f.Errorf("the body of %q runs into another", m.Key)
		}
	}
	f.held(f.q.Ack(f.Context(), leases(c.Messages)...))
	f.sound()
}

func replaceLeased(f *fixture) {
	f.ready("a")
	old := f.one()
	equal(f, "result", f.add(f.msg("a", 2, time.Hour)), []delayjob.AddResult{delayjob.Replaced})
	f.is(id("a"), delayjob.StateDelayed)
	f.lost(f.q.Extend(f.Context(), lease, old.Lease))
	f.lost(f.q.Nack(f.Context(), delayjob.Return{Lease: old.Lease}))
	f.lost(f.q.Ack(f.Context(), old.Lease))
	f.none()
	f.pass(2 * time.Hour)
	m := f.one()
	if m.Version != 2 || m.Attempt != 1 {
		f.Errorf("version %d, attempt %d; want 2 and a fresh count", m.Version, m.Attempt)
	}
	f.lost(f.q.Ack(f.Context(), old.Lease))
	f.held(f.q.Ack(f.Context(), m.Lease))
	f.sound()
}

func replaceDead(f *fixture) {
	f.ready("a")
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.one().Lease, How: delayjob.Bury}))
	equal(f, "same version", f.add(f.msg("a", 1, 0)), []delayjob.AddResult{delayjob.Unchanged})
	f.is(id("a"), delayjob.StateDead)
	equal(f, "higher version", f.add(f.msg("a", 2, 0)), []delayjob.AddResult{delayjob.Replaced})
	f.pass(time.Second)
	if m := f.one(); m.Attempt != 1 {
		f.Errorf("attempt %d, want a fresh count", m.Attempt)
	}
	f.sound()
}

func addHeals(f *fixture) {
	if f.Orphan == nil {
		return
	}
	f.ready("waiting", "leased", "dead")
	c := f.claim(3)
	f.held(f.q.Nack(f.Context(),
		delayjob.Return{Lease: c.Messages[0].Lease},
		delayjob.Return{Lease: c.Messages[2].Lease, How: delayjob.Bury}))
	for _, k := range []string{"waiting", "leased", "dead"} {
		f.Orphan(id(k))
	}
	f.none()
	if breaches, err := f.q.Check(f.Context(), job); err != nil || len(breaches) == 0 {
		f.Errorf("Check finds nothing: %v", err)
	}
	equal(f, "results", f.add(f.msg("waiting", 1, 0), f.msg("leased", 1, 0), f.msg("dead", 1, 0), f.msg("new", 1, 0)),
		[]delayjob.AddResult{delayjob.Healed, delayjob.Healed, delayjob.Healed, delayjob.Added})
	f.sound()
	f.lost(f.q.Ack(f.Context(), c.Messages[1].Lease)) // it waits again
	f.pass(time.Second)
	if got := f.claim(10); len(got.Messages) != 4 {
		f.Errorf("claimed %v, want all four", names(got.Messages))
	}
	f.sound()
}

func removeStates(f *fixture) {
	f.ready("dead", "reserved", "ready")
	f.add(f.msg("delayed", 1, time.Hour))
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.claim(1).Messages[0].Lease, How: delayjob.Bury}))
	held := f.claim(1).Messages[0]
	f.sound()
	all := []string{id("absent"), id("delayed"), id("ready"), id("reserved"), id("dead"), "nothing", ":", "", id("ready")}
	states, err := f.q.Remove(f.Context(), all...)
	if err != nil {
		f.Fatal(err)
	}
	equal(f, "states", states, []delayjob.State{"", delayjob.StateDelayed, delayjob.StateReady, delayjob.StateReserved, delayjob.StateDead, "", "", "", ""})
	f.lost(f.q.Ack(f.Context(), held.Lease))
	for _, i := range all[:5] {
		f.is(i, delayjob.StateAbsent)
	}
	f.sound()
	f.pass(2 * time.Hour)
	f.none()
	equal(f, "after it", f.add(f.msg("reserved", 1, 0)), []delayjob.AddResult{delayjob.Added})
}
