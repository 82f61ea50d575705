package queuetest

import (
	"context"
	"time"

	"punctual/delayjob"
)

func (f *fixture) subscribe() <-chan delayjob.Hint {
	f.Helper()
	hints, err := f.q.Wake(f.Context())
	if err != nil {
		f.Fatalf("Wake: %v", err)
	}
	return hints
}

// hinted waits for a hint of the home shard for due, or up to a millisecond later.
func (f *fixture) hinted(hints <-chan delayjob.Hint, due time.Time) {
	f.Helper()
	deadline := time.After(patience)
	for {
		select {
		case h, ok := <-hints:
			if !ok {
				f.Fatal("the channel is closed")
			}
			if h.Due.IsZero() {
				continue // subscribed again, because the machine stood still
			}
			if h.Shard != f.home {
				f.Errorf("a hint for shard %d, want %d", h.Shard, f.home)
			}
			if d := h.Due.Sub(due); d >= 0 && d < time.Millisecond {
				return
			}
			f.Errorf("a hint for %v, want %v", h.Due, due)
		case <-deadline:
			f.Fatalf("no hint for %v", due)
		}
	}
}

func (f *fixture) noHint(hints <-chan delayjob.Hint) {
	f.Helper()
	select {
	case h := <-hints:
		f.Errorf("a hint for %v, want none", h.Due)
	case <-time.After(30 * time.Millisecond):
	}
}

func wakeHints(f *fixture) {
	hints := f.subscribe()
	f.noHint(hints)
	first := f.msg("a", 1, time.Hour)
	f.add(first)
	f.hinted(hints, first.Due)
	f.add(f.msg("later", 1, 2*time.Hour), f.msg("later still", 1, 3*time.Hour))
	f.noHint(hints)
	equal(f, "the same again", f.add(first), []delayjob.AddResult{delayjob.Unchanged})
	f.noHint(hints)
	sooner, soonest := f.msg("sooner", 1, time.Minute), f.msg("soonest", 1, 2*time.Second)
	f.add(f.msg("between", 1, 90*time.Minute), sooner)
	f.hinted(hints, sooner.Due)
	f.add(soonest)
	f.hinted(hints, soonest.Due)
	moved := f.msg("later", 2, -time.Minute)
	f.add(moved)
	f.hinted(hints, moved.Due)
}

func wakeNack(f *fixture) {
	f.ready("a", "b")
	f.add(f.msg("head", 1, time.Hour))
	ms := f.claim(2).Messages
	hints := f.subscribe()
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: ms[0].Lease, Delay: 2 * time.Hour}))
	f.noHint(hints)
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: ms[1].Lease, Delay: time.Minute, How: delayjob.Release}))
	f.hinted(hints, f.is(id("b"), delayjob.StateDelayed).WaitsUntil)
	f.pass(2 * time.Minute)
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.one().Lease, How: delayjob.Bury}))
	f.noHint(hints)
	if _, err := f.q.Requeue(f.Context(), id("b")); err != nil {
		f.Fatal(err)
	}
	f.hinted(hints, f.is(id("b"), delayjob.StateReady).WaitsUntil)
}

func wakeSeveral(f *fixture) {
	a, b := f.subscribe(), f.subscribe()
	m := f.msg("a", 1, time.Hour)
	f.add(m)
	f.hinted(a, m.Due)
	f.hinted(b, m.Due)

	// Hints that are not read are merged, and the earliest wins.
	for i := range 500 {
		m = f.msg(keys("k", 500)[i], 1, time.Hour-time.Duration(i+1)*time.Second)
		f.add(m)
	}
	deadline := time.After(patience)
	for {
		select {
		case h := <-a:
			if h.Due.Sub(m.Due).Abs() < time.Millisecond {
				return
			}
		case <-deadline:
			f.Fatal("the last hint never came")
		}
	}
}

func wakeLost(f *fixture) {
	if f.Disconnect == nil {
		return
	}
	hints := f.subscribe()
	m := f.msg("a", 1, 2*time.Hour)
	f.add(m)
	f.hinted(hints, m.Due)
	for range 3 {
		f.Disconnect()
		zero := map[int]bool{} // shards with a hint to claim at once
		deadline := time.After(patience)
		for len(zero) < f.q.Shards() {
			select {
			case h := <-hints:
				if !h.Due.IsZero() {
					f.Fatalf("a hint for %v, want zero", h.Due)
				}
				zero[h.Shard] = true
			case <-deadline:
				f.Fatalf("after a lost subscription %d of %d shards got a hint", len(zero), f.q.Shards())
			}
		}
		m.Version++
		m.Due = m.Due.Add(-time.Minute)
		f.add(m)
		f.hinted(hints, m.Due)
	}
}

func wakeClose(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	ended, err := f.q.Wake(ctx)
	if err != nil {
		f.Fatal(err)
	}
	other := f.subscribe()
	closed := func(hints <-chan delayjob.Hint) {
		f.Helper()
		deadline := time.After(patience)
		for {
			select {
			case _, ok := <-hints:
				if !ok {
					return
				}
			case <-deadline:
				f.Fatal("the channel stays open")
			}
		}
	}
	cancel()
	closed(ended)
	m := f.msg("a", 1, time.Hour)
	f.add(m)
	f.hinted(other, m.Due)
	if err := f.q.Close(); err != nil {
		f.Fatal(err)
	}
	closed(other)
	if err := f.q.Close(); err != nil {
		f.Errorf("closing again: %v", err)
	}
}
