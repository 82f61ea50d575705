package queuetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"punctual/delayjob"
)

func claimOrder(f *fixture) {
	f.add(f.msg("c", 1, -time.Second), f.msg("a", 1, -time.Minute), f.msg("later", 1, time.Minute), f.msg("b", 1, -30*time.Second), f.msg("d", 1, 0))
	f.pass(time.Millisecond)
	equal(f, "first", names(f.claim(2).Messages), []string{"e:a", "e:b"})
	equal(f, "then", names(f.claim(10).Messages), []string{"e:c", "e:d"})
	f.none()
	f.pass(time.Minute)
	// Retried and newly due messages are claimed together, by due time.
	equal(f, "at last", names(f.claim(10).Messages), []string{"e:a", "e:b", "e:c", "e:d", "e:later"})
}

func claimLimits(f *fixture) {
	f.ready(keys("", 10)...)
	for _, want := range []int{1, 3, 6, 0} {
		if got := len(f.claim(max(want, 1)).Messages); got != want {
			f.Errorf("claimed %d, want %d", got, want)
		}
	}
	f.sound()
}

func claimSeveralJobs(f *fixture) {
	other := func(key string) delayjob.Message {
		m := f.msg(key, 1, -2*time.Hour)
		m.Job = "other"
		return m
	}
	f.ready("a", "b", "c")
	f.add(other("x"), other("y"), other("z"))
	c := f.claimWant(
		delayjob.Want{Job: job, Limit: 2, Lease: time.Minute, MaxAttempts: 1},
		delayjob.Want{Job: "nobody's", Limit: 2, Lease: time.Minute},
		delayjob.Want{Job: "other", Limit: 1, Lease: time.Hour, MaxAttempts: 1})
	equal(f, "in the order wanted", names(c.Messages), []string{"e:a", "e:b", "e:x"})
	for i, until := range []time.Duration{time.Minute, time.Minute, time.Hour} {
		if d := c.Messages[i].Lease.Until.Sub(c.Now); d < until || d > until+time.Millisecond {
			f.Errorf("the lease of %s lasts %v, want %v", c.Messages[i].Key, d, until)
		}
	}
	if !c.Next.Before(c.Now) {
		f.Errorf("next at %v, want the past: there is more", c.Next.Sub(c.Now))
	}
	c = f.claimWant(delayjob.Want{Job: "other", Limit: 9, Lease: time.Hour}, delayjob.Want{Job: job, Limit: 9, Lease: time.Hour})
	equal(f, "the rest", names(c.Messages), []string{"e:y", "e:z", "e:c"})
	f.pass(2 * time.Minute)
	equal(f, "each by its own lease", names(f.claim(9).Messages), []string{"e:a", "e:b"})
}

func claimNothing(f *fixture) {
	f.ready("a")
	for _, w := range []delayjob.Want{
		{Job: job, Limit: 0, Lease: lease},
		{Job: job, Limit: -1, Lease: lease},
		{Job: "nobody's", Limit: 5, Lease: lease},
		{Job: job + "b", Limit: 5, Lease: lease},
	} {
		c := f.claimWant(w)
		if len(c.Messages) != 0 || !c.Next.IsZero() {
			f.Errorf("%+v: claimed %v, next %v; want nothing", w, names(c.Messages), c.Next)
		}
	}
	f.one()
}

func claimShards(f *fixture) {
	if _, err := f.q.Claim(f.Context(), f.q.Shards(), nil); err == nil {
		f.Error("a claim of a shard that does not exist succeeded")
	}
	if _, err := f.q.Claim(f.Context(), -1, nil); err == nil {
		f.Error("a claim of shard -1 succeeded")
	}
	const n = 64
	var ms []delayjob.Message
	want := make([]int, f.q.Shards())
	for i := range n {
		key := fmt.Sprint(i, ":", i%3)
		ms = append(ms, delayjob.Message{Job: job, Key: key, Due: f.q.Now().Add(-time.Minute)})
		want[delayjob.ShardOf(key, f.q.Shards())]++
	}
	f.add(ms...)
	for shard := range f.q.Shards() {
		c, err := f.q.Claim(f.Context(), shard, []delayjob.Want{{Job: job, Limit: n, Lease: lease}})
		if err != nil {
			f.Fatal(err)
		}
		if len(c.Messages) != want[shard] {
			f.Errorf("shard %d has %d messages, want %d", shard, len(c.Messages), want[shard])
		}
		for _, m := range c.Messages {
			if m.Lease.Shard != shard {
				f.Errorf("%s claimed from shard %d has a lease of shard %d", m.ID(), shard, m.Lease.Shard)
			}
		}
	}
}

// claimNeverEarly tries due times between two milliseconds in steps of less than one.
func claimNeverEarly(f *fixture) {
	const n = 40
	due := map[string]time.Time{}
	base := f.q.Now().Add(5 * time.Minute)
	var ms []delayjob.Message
	for i, k := range keys("", n) {
		m := f.msg(k, 1, 0)
		m.Due = base.Add(time.Duration(i) * 333 * time.Microsecond)
		due[m.Key] = m.Due
		ms = append(ms, m)
	}
	f.add(ms...)
	f.Advance(base.Sub(f.q.Now()) - 20*time.Millisecond)
	for step := 0; len(due) > 0; step++ {
		c := f.claim(n)
		for _, m := range c.Messages {
			if early := due[m.Key].Sub(c.Now); early > 0 {
				f.Errorf("%s was claimed %v early", m.Key, early)
			}
			delete(due, m.Key)
		}
		if len(due) > 0 && !c.Next.After(c.Now) {
			f.Fatalf("next is %v, but nothing is due", c.Next.Sub(c.Now))
		}
		if step > 500 {
			f.Fatalf("%d messages never came", len(due))
		}
		f.Advance(137 * time.Microsecond)
	}
}

func claimNext(f *fixture) {
	near := func(what string, c delayjob.Claimed, want time.Duration) {
		f.Helper()
		if d := c.Next.Sub(c.Now); c.Next.IsZero() || d > want+slack || d < want-slack {
			f.Errorf("%s: next in %v, want %v", what, d, want)
		}
	}
	if c := f.claim(1); !c.Next.IsZero() {
		f.Errorf("an empty queue's next is %v", c.Next)
	}
	f.add(f.msg("hour", 1, time.Hour), f.msg("day", 1, 24*time.Hour))
	near("due time", f.claim(5), time.Hour)
	f.ready("a", "b", "c")
	near("there is more", f.claim(2), -time.Hour+2*time.Second)
	near("lease end", f.claim(2), lease)
	f.pass(30 * time.Second)
	near("lease end, later", f.claim(2), lease-30*time.Second)
	f.pass(2 * time.Hour)
	near("after the leases ended", f.claim(10), lease)
	f.pass(2 * lease)
	if c := f.claimWant(delayjob.Want{Job: "other", Limit: 1, Lease: lease}); !c.Next.IsZero() {
		f.Errorf("next of another job is %v", c.Next)
	}
	c := f.claim(1) // one ended lease remains
	if !c.Next.Before(c.Now) {
		f.Errorf("next in %v, want the past", c.Next.Sub(c.Now))
	}
}

func claimExpiredHalf(f *fixture) {
	f.ready(keys("old", 10)...)
	f.claim(10)
	f.pass(2 * lease)
	f.ready(keys("new", 10)...)
	for _, tt := range []struct{ limit, old, fresh int }{{5, 3, 2}, {4, 2, 2}, {1, 1, 0}, {8, 4, 4}, {9, 0, 2}} {
		old, fresh := 0, 0
		ms := f.claim(tt.limit).Messages
		for _, m := range ms {
			if m.Crashes == 1 {
				old++
			} else {
				fresh++
			}
		}
		if old != tt.old || fresh != tt.fresh {
			f.Errorf("limit %d: %d again and %d fresh, want %d and %d", tt.limit, old, fresh, tt.old, tt.fresh)
		}
		if !slices.IsSortedFunc(ms, func(a, b delayjob.Message) int { return a.Due.Compare(b.Due) }) {
			f.Errorf("limit %d: not in the order of due times: %v", tt.limit, names(ms))
		}
	}
	f.sound()
}

func claimAttempts(f *fixture) {
	f.ready("a")
	var last delayjob.Lease
	for crashes, attempt := range []int{1, 1, 1, 2, 3, 4} { // the first two crashes are free
		m := f.one()
		if m.Attempt != attempt || m.Crashes != crashes {
			f.Fatalf("attempt %d after %d crashes, want %d after %d", m.Attempt, m.Crashes, attempt, crashes)
		}
		if info := f.is(id("a"), delayjob.StateReserved); info.Attempt != attempt || info.Crashes != crashes {
			f.Errorf("Get says %d attempts, %d crashes; want %d and %d", info.Attempt, info.Crashes, attempt, crashes)
		}
		if crashes > 0 {
			f.lost(f.q.Ack(f.Context(), last))
		}
		f.none()
		f.pass(lease - 30*time.Second)
		f.none()
		f.pass(31 * time.Second)
		last = m.Lease
	}
}

// claimPoison: a message that kills every process dies after a bounded number of crashes.
func claimPoison(f *fixture) {
	const attempts, free = 3, 2
	want := delayjob.Want{Job: job, Limit: 10, Lease: lease, MaxAttempts: attempts}
	f.ready("poison")
	for delivery := 1; delivery <= attempts+free; delivery++ {
		c := f.claimWant(want)
		if len(c.Messages) != 1 || len(c.Dead) != 0 || c.Messages[0].Attempt != max(1, delivery-free) || c.Messages[0].Crashes != delivery-1 {
			f.Fatalf("delivery %d: claimed %+v, dead %v", delivery, c.Messages, names(c.Dead))
		}
		f.pass(2 * lease)
	}
	c := f.claimWant(want)
	if len(c.Messages) != 0 || len(c.Dead) != 1 || c.Dead[0].Attempt != attempts || c.Dead[0].Crashes != attempts+free {
		f.Fatalf("claimed %v, dead %+v", names(c.Messages), c.Dead)
	}
	f.sound()
}

// claimCrashesKept: only a new version or a requeue resets the crashes.
func claimCrashesKept(f *fixture) {
	crash := func(crashes, attempt int) delayjob.Message {
		f.Helper()
		m := f.one()
		if m.Crashes != crashes || m.Attempt != attempt {
			f.Fatalf("attempt %d after %d crashes, want %d after %d", m.Attempt, m.Crashes, attempt, crashes)
		}
		f.pass(2 * lease)
		return m
	}
	f.ready("a")
	crash(0, 1)
	m := f.one()
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Release}))
	if info := f.is(id("a"), delayjob.StateReady); info.Attempt != 0 || info.Crashes != 1 {
		f.Errorf("released: %d attempts, %d crashes", info.Attempt, info.Crashes)
	}
	m = crash(1, 1)
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease})) // late, but no one else claimed it
	crash(1, 2)
	m = crash(2, 2)
	f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Bury}))
	items, _, err := f.q.List(f.Context(), job, delayjob.StateDead, "", 5)
	if err != nil || len(items) != 1 || items[0].Attempt != 2 || items[0].Crashes != 2 {
		f.Errorf("dead: %+v, %v", items, err)
	}
	if _, err := f.q.Requeue(f.Context(), id("a")); err != nil {
		f.Fatal(err)
	}
	crash(0, 1)
	m = crash(1, 1)
	f.add(f.msg("a", m.Version+1, -time.Minute))
	crash(0, 1)
	f.sound()
}

// claimChargeExpired: for some holders, an ended lease is a failed attempt.
func claimChargeExpired(f *fixture) {
	f.ready("a")
	for attempt := 1; attempt <= 3; attempt++ {
		c := f.claimWant(delayjob.Want{Job: job, Limit: 10, Lease: lease, MaxAttempts: 3, ChargeExpired: true})
		if len(c.Messages) != 1 || c.Messages[0].Attempt != attempt || c.Messages[0].Crashes != attempt-1 {
			f.Fatalf("attempt %d: claimed %+v", attempt, c.Messages)
		}
		f.pass(2 * lease)
	}
	// The next claim decides whether a crash is free.
	c := f.claimWant(delayjob.Want{Job: job, Limit: 10, Lease: lease, MaxAttempts: 3})
	equal(f, "died", names(c.Dead), []string{"e:a"})
	f.sound()
}

func claimDeath(f *fixture) {
	want := delayjob.Want{Job: job, Limit: 10, Lease: lease, MaxAttempts: 2, ChargeExpired: true}
	m := f.msg("a", 3, -time.Minute)
	m.Headers = map[string]string{"k": "v"}
	f.add(m, f.msg("b", 1, -time.Second))
	for range 2 {
		if c := f.claimWant(want); len(c.Messages) != 2 || len(c.Dead) != 0 {
			f.Fatalf("claimed %v, dead %v", names(c.Messages), names(c.Dead))
		}
		f.pass(2 * lease)
	}
	c := f.claimWant(want)
	equal(f, "died", names(c.Dead), []string{"e:a", "e:b"})
	equal(f, "claimed", names(c.Messages), nil)
	d := c.Dead[0]
	if string(d.Body) != "body of a" || d.Headers["k"] != "v" || d.Version != 3 || d.Job != job || d.Attempt != 2 || d.Lease != (delayjob.Lease{}) || !d.Claimed.Equal(c.Now) {
		f.Errorf("died: %+v", d)
	}
	if info := f.is(id("a"), delayjob.StateDead); info.Attempt != 2 || c.Now.Sub(info.DiedAt).Abs() > time.Millisecond {
		f.Errorf("dead since %v at %v after %d attempts", info.DiedAt, c.Now, info.Attempt)
	}
	if c := f.claimWant(want); len(c.Dead) != 0 || !c.Next.IsZero() {
		f.Errorf("died again: %v, next %v", names(c.Dead), c.Next)
	}
	f.sound()
	// Dead messages count toward the batch, and are at most half of it.
	f.ready(keys("x", 4)...)
	want.MaxAttempts = 1
	f.claimWant(want)
	f.pass(2 * lease)
	f.ready(keys("y", 4)...)
	want.Limit = 4
	if c := f.claimWant(want); len(c.Dead) != 2 || len(c.Messages) != 2 {
		f.Errorf("dead %v, claimed %v; want two and two", names(c.Dead), names(c.Messages))
	}
	f.sound()
}

func claimNoMaxAttempts(f *fixture) {
	f.ready("a")
	for attempt := 1; attempt <= 20; attempt++ {
		c := f.claimWant(delayjob.Want{Job: job, Limit: 1, Lease: lease, MaxAttempts: -(attempt % 2), ChargeExpired: true})
		if len(c.Messages) != 1 || c.Messages[0].Attempt != attempt {
			f.Fatalf("attempt %d: claimed %v, dead %v", attempt, names(c.Messages), names(c.Dead))
		}
		f.pass(2 * lease)
	}
}

func claimConcurrently(f *fixture) {
	const n, workers = 1200, 6
	f.ready(keys("", n)...)
	var (
		mu   sync.Mutex
		seen = map[string]int{}
		wg   sync.WaitGroup
	)
	for w := range workers {
		wg.Go(func() {
			for {
				c, err := f.q.Claim(f.Context(), f.home, []delayjob.Want{{Job: job, Limit: 1 + 7*w, Lease: lease, MaxAttempts: -1}})
				if err != nil {
					f.Error(err)
					return
				}
				if len(c.Messages) == 0 {
					return
				}
				if errs := f.q.Ack(f.Context(), leases(c.Messages)...); errs != nil {
					f.Errorf("Ack: %v", errs)
				}
				mu.Lock()
				for _, m := range c.Messages {
					seen[m.Key]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != n {
		f.Errorf("%d of %d were handed out", len(seen), n)
	}
	for k, times := range seen {
		if times != 1 {
			f.Errorf("%s was handed out %d times", k, times)
		}
	}
	f.sound()
}

// everythingAtOnce runs random operations of several clients on a few messages. Each lease may be
// finished once, and the invariants must hold.
func everythingAtOnce(f *fixture) {
	const clients, steps = 8, 150
	var (
		mu       sync.Mutex
		all      []delayjob.Lease
		finished = map[delayjob.Lease]int{} // without its end
		handed   = map[delayjob.Lease]int{}
		wg       sync.WaitGroup
	)
	right := func(l delayjob.Lease) delayjob.Lease { l.Until = time.Time{}; return l }
	some := func(r *rand.Rand) (delayjob.Lease, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(all) == 0 {
			return delayjob.Lease{}, false
		}
		return all[max(0, len(all)-1-r.IntN(20))], true
	}
	for client := range clients {
		r := rand.New(rand.NewPCG(1, uint64(client)))
		wg.Go(func() {
			for range steps {
				key := fmt.Sprint(r.IntN(10))
				var err error
				switch r.IntN(8) {
				case 0, 1:
					_, err = f.q.Add(f.Context(), f.msg(key, r.Int64N(1000), -time.Minute))
				case 2:
					if r.IntN(4) == 0 {
						_, err = f.q.Remove(f.Context(), id(key))
					} else {
						_, err = f.q.Requeue(f.Context(), id(key))
					}
				case 3, 4:
					var c delayjob.Claimed
					c, err = f.q.Claim(f.Context(), f.home, []delayjob.Want{{Job: job, Limit: 1 + r.IntN(3), Lease: time.Duration(r.IntN(3)) * time.Millisecond, MaxAttempts: 5}})
					mu.Lock()
					for _, m := range c.Messages {
						all = append(all, m.Lease)
						handed[right(m.Lease)]++
					}
					mu.Unlock()
				case 5:
					if l, ok := some(r); ok {
						f.q.Extend(f.Context(), time.Millisecond, l)
					}
				default:
					l, ok := some(r)
					if !ok {
						continue
					}
					var errs []error
					if how := r.IntN(4); how == 3 {
						errs = f.q.Ack(f.Context(), l)
					} else {
						errs = f.q.Nack(f.Context(), delayjob.Return{Lease: l, How: delayjob.How(how)})
					}
					if errs == nil {
						mu.Lock()
						finished[right(l)]++
						mu.Unlock()
					}
				}
				if err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for l, times := range handed {
		if times != 1 {
			f.Errorf("%+v was handed out %d times", l, times)
		}
	}
	for l, times := range finished {
		if times != 1 {
			f.Errorf("%+v was finished %d times", l, times)
		}
	}
	if len(finished) == 0 {
		f.Error("nothing was finished")
	}
	f.sound()
}

func tokensGrow(f *fixture) {
	f.ready("a")
	last := int64(0)
	for range 50 {
		m := f.one()
		if m.Lease.Token <= last {
			f.Fatalf("token %d after %d", m.Lease.Token, last)
		}
		last = m.Lease.Token
		f.held(f.q.Nack(f.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Release}))
	}
}

func tokensGrowOverFlush(f *fixture) {
	if f.Flush == nil {
		return
	}
	f.ready("a")
	old := f.one().Lease
	for range 5 {
		f.Flush()
		f.none()
		f.ready("a")
		m := f.one()
		if m.Lease.Token <= old.Token {
			f.Fatalf("token %d after a flush, before it %d", m.Lease.Token, old.Token)
		}
		f.lost(f.q.Ack(f.Context(), old))
		old = m.Lease
	}
}
