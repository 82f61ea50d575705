package queuetest

import (
	"errors"
	"time"

	"punctual/delayjob"
)

func fencing(f *fixture) {
	f.ready("a")
	first := f.one().Lease
	f.pass(2 * lease)
	second := f.one().Lease
	forged := second
	forged.Token = 0
	stranger := second
	stranger.ID = id("stranger")
	for _, l := range []delayjob.Lease{first, forged, stranger, {ID: id("a"), Shard: f.home, Token: second.Token + 1}, {Shard: f.home}} {
		f.lost(f.q.Ack(f.Context(), l))
		f.lost(f.q.Extend(f.Context(), time.Hour, l))
		for _, how := range []delayjob.How{delayjob.Retry, delayjob.Release, delayjob.Bury} {
			f.lost(f.q.Nack(f.Context(), delayjob.Return{Lease: l, How: how}))
		}
	}
	if info := f.is(id("a"), delayjob.StateReserved); info.Attempt != 1 || info.Crashes != 1 {
		f.Errorf("%d attempts, %d crashes; want 1 and 1", info.Attempt, info.Crashes)
	}
	f.held(f.q.Ack(f.Context(), second))
	f.is(id("a"), delayjob.StateAbsent)
	f.lost(f.q.Ack(f.Context(), second))
	f.lost(f.q.Extend(f.Context(), lease, second))
	f.lost(f.q.Nack(f.Context(), delayjob.Return{Lease: second}))
	f.sound()
}

// readySince: a message reports when this delivery was due.
func readySince(f *fixture) {
	f.ready("a")
	due := f.is(id("a"), delayjob.StateReady).WaitsUntil
	m := f.one()
	since := func(what string, m delayjob.Message, want time.Time) {
		f.Helper()
		if d := m.Ready.Sub(want).Abs(); d > time.Millisecond {
			f.Errorf("%s: due since %v, want %v", what, m.Ready, want)
		}
	}
	since("at first", m, due)
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, Delay: time.Minute}))
	again := f.is(id("a"), delayjob.StateDelayed).WaitsUntil
	f.pass(2 * time.Minute)
	m = f.one()
	since("after a Nack", m, again)
	f.pass(2 * lease)
	since("after a crash", f.one(), m.Lease.Until)
}

// lateAck: the work is done, and refusing the ack would only cause a second run.
func lateAck(f *fixture) {
	f.ready("a", "b", "c")
	ms := f.claim(3).Messages
	f.pass(2 * lease)
	f.held(f.q.Ack(f.Context(), ms[0].Lease))
	f.held(f.q.Extend(f.Context(), lease, ms[1].Lease))
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: ms[2].Lease, Delay: time.Hour}))
	f.none()
	f.sound()
}

func mixedBatch(f *fixture) {
	f.ready("a", "b", "c")
	ms := f.claim(3).Messages
	f.add(f.msg("b", 2, time.Hour))
	check := func(what string, errs []error) {
		f.Helper()
		if len(errs) != 3 || errs[0] != nil || !errors.Is(errs[1], delayjob.ErrLeaseLost) || errs[2] != nil {
			f.Errorf("%s: %v, want only the second to be lost", what, errs)
		}
	}
	check("Extend", f.q.Extend(f.Context(), lease, leases(ms)...))
	check("Nack", f.q.Nack(f.Context(), delayjob.Return{Lease: ms[0].Lease}, delayjob.Return{Lease: ms[1].Lease}, delayjob.Return{Lease: ms[2].Lease}))
	again := f.claim(3).Messages
	check("Ack", f.q.Ack(f.Context(), again[0].Lease, ms[1].Lease, again[1].Lease))
	f.is(id("b"), delayjob.StateDelayed)
	f.sound()
}

func repeatedLease(f *fixture) {
	f.ready("a", "b")
	ms := f.claim(2).Messages
	r := delayjob.Return{Lease: ms[0].Lease, How: delayjob.Release}
	if errs := f.q.Nack(f.Context(), r, r); len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], delayjob.ErrLeaseLost) {
		f.Errorf("Nack: %v, want the second to be lost", errs)
	}
	f.q.Ack(f.Context(), ms[1].Lease, ms[1].Lease) // whether the second is lost does not matter
	f.is(id("b"), delayjob.StateAbsent)
	if m := f.one(); m.Attempt != 1 {
		f.Errorf("attempt %d, want 1: released once", m.Attempt)
	}
	f.sound()
}

// extendSeveral: leases of several jobs in one call.
func extendSeveral(f *fixture) {
	var ls []delayjob.Lease
	f.ready("a", "b")
	other := f.msg("a", 1, -time.Minute)
	other.Job = "other"
	f.add(other)
	want := []delayjob.Want{{Job: job, Limit: 9, Lease: lease}, {Job: "other", Limit: 9, Lease: lease}}
	ls = append(ls, leases(f.claimWant(want...).Messages)...)
	if len(ls) != 3 {
		f.Fatalf("claimed %v", ls)
	}
	ls[1].Token++ // never issued
	ls = append(ls, delayjob.Lease{ID: "third:e:a", Shard: f.home, Token: ls[0].Token})
	errs := f.q.Extend(f.Context(), time.Hour, ls...)
	if len(errs) != 4 || errs[0] != nil || !errors.Is(errs[1], delayjob.ErrLeaseLost) || errs[2] != nil || !errors.Is(errs[3], delayjob.ErrLeaseLost) {
		f.Fatalf("Extend: %v", errs)
	}
	f.pass(2 * lease)
	equal(f, "not extended", names(f.claimWant(want...).Messages), []string{"e:b"})
	f.sound()
}

func extend(f *fixture) {
	f.ready("a")
	m := f.one()
	for range 5 {
		f.pass(lease - 20*time.Second)
		f.held(f.q.Extend(f.Context(), lease, m.Lease))
		f.none()
	}
	f.held(f.q.Extend(f.Context(), time.Hour, m.Lease))
	f.pass(2 * lease)
	f.none()
	if info := f.is(id("a"), delayjob.StateReserved); info.LeaseUntil.Sub(f.q.Now()) < time.Hour-3*lease {
		f.Errorf("the lease ends at %v, now is %v", info.LeaseUntil, f.q.Now())
	}
	f.held(f.q.Extend(f.Context(), 0, m.Lease)) // end the lease now
	f.pass(time.Second)
	if again := f.one(); again.Crashes != 1 {
		f.Errorf("%d crashes, want 1", again.Crashes)
	}
}

func nackRetry(f *fixture) {
	f.ready("a")
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.one().Lease, Delay: time.Hour}))
	f.is(id("a"), delayjob.StateDelayed)
	f.pass(time.Hour - time.Minute)
	f.none()
	f.pass(time.Minute)
	m := f.one()
	if m.Attempt != 2 {
		f.Errorf("attempt %d, want 2", m.Attempt)
	}
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, Delay: -time.Hour})) // due at once
	m = f.one()
	// Used-up attempts do not matter while the holder returns the message.
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease}))
	if c := f.claimWant(delayjob.Want{Job: job, Limit: 1, Lease: lease, MaxAttempts: 2}); len(c.Messages) != 1 || c.Messages[0].Attempt != 4 {
		f.Errorf("claimed %v, dead %v", names(c.Messages), names(c.Dead))
	}
	f.sound()
}

func nackRelease(f *fixture) {
	f.ready("a")
	for range 3 {
		m := f.one()
		if m.Attempt != 1 {
			f.Fatalf("attempt %d, want 1: it was released", m.Attempt)
		}
		f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Release}))
	}
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: f.one().Lease, How: delayjob.Release, Delay: time.Hour}))
	if info := f.is(id("a"), delayjob.StateDelayed); info.Attempt != 0 {
		f.Errorf("%d attempts, want none", info.Attempt)
	}
	f.none()
	f.pass(time.Hour)
	if m := f.one(); m.Attempt != 1 {
		f.Errorf("attempt %d, want 1", m.Attempt)
	}
	f.sound()
}

func nackBury(f *fixture) {
	f.ready("a")
	m := f.one()
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Bury, Delay: time.Hour}))
	if info := f.is(id("a"), delayjob.StateDead); info.Attempt != 1 || info.DiedAt.Sub(f.q.Now()).Abs() > slack {
		f.Errorf("dead: %+v", info)
	}
	f.lost(f.q.Ack(f.Context(), m.Lease))
	f.pass(24 * time.Hour)
	f.none()
	f.sound()
}

func nackKeepsDue(f *fixture) {
	f.ready("a")
	due := f.one()
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: due.Lease, Delay: time.Hour}))
	info := f.is(id("a"), delayjob.StateDelayed)
	if wait := info.WaitsUntil.Sub(f.q.Now()); !info.Due.Equal(due.Due) || wait > time.Hour+slack || wait < time.Hour-slack {
		f.Errorf("due %v, waits until %v; want %v and an hour from %v", info.Due, info.WaitsUntil, due.Due, f.q.Now())
	}
	f.pass(time.Hour)
	if m := f.one(); !m.Due.Equal(due.Due) {
		f.Errorf("due %v, want %v as it was added", m.Due, due.Due)
	}
}

func epoch(f *fixture) {
	all := func(want bool) {
		f.Helper()
		for shard := range f.q.Shards() {
			c, err := f.q.Claim(f.Context(), shard, nil)
			if err != nil {
				f.Fatal(err)
			}
			if c.Epoch != want {
				f.Errorf("epoch of shard %d is %v, want %v", shard, c.Epoch, want)
			}
		}
	}
	all(false)
	f.ready("a")
	all(false)
	if err := f.q.SetEpoch(f.Context(), "1"); err != nil {
		f.Fatal(err)
	}
	all(true)
	f.held(f.q.Ack(f.Context(), f.one().Lease))
	all(true)
	if f.Flush == nil {
		return
	}
	f.Flush()
	all(false)
	f.ready("a") // an add does not make a complete load
	all(false)
	for _, id := range []string{"2", "3"} { // a load without changes may be repeated
		f.ready("a")
		if err := f.q.SetEpoch(f.Context(), id); err != nil {
			f.Fatal(err)
		}
	}
	all(true)
}

// epochOverLoss: messages that were added before a loss must not count as loaded.
func epochOverLoss(f *fixture) {
	if f.Flush == nil {
		return
	}
	f.ready("a")
	f.Flush()
	f.ready("b")
	if err := f.q.SetEpoch(f.Context(), "1"); err != nil {
		f.Fatal(err)
	}
	if c := f.claim(0); c.Epoch {
		f.Error("the epoch is set, but a is lost")
	}
	f.ready("a", "b")
	if err := f.q.SetEpoch(f.Context(), "2"); err != nil {
		f.Fatal(err)
	}
	if c := f.claim(0); !c.Epoch {
		f.Error("the epoch is not set after a load without a loss")
	}
	f.ready("c")
	f.Flush()
	if err := f.q.SetEpoch(f.Context(), "3"); err != nil {
		f.Fatal(err)
	}
	if c := f.claim(0); c.Epoch {
		f.Error("the epoch is set on an emptied queue")
	}
	// A load may skip known messages, and so add nothing.
	f.ready("d")
	for _, id := range []string{"4", "5"} {
		if err := f.q.SetEpoch(f.Context(), id); err != nil {
			f.Fatal(err)
		}
	}
	f.Flush()
	if err := f.q.SetEpoch(f.Context(), "6"); err != nil {
		f.Fatal(err)
	}
	if c := f.claim(0); c.Epoch {
		f.Error("the epoch is set on a queue that was emptied after the last add")
	}
}
