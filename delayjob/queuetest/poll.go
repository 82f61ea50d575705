package queuetest

import (
	"time"

	"punctual/delayjob"
)

func poll(f *fixture) {
	p, ok := f.q.(delayjob.Poller)
	if !ok {
		return
	}
	const other = "other"
	look := func(what string, next time.Duration, epoch bool) {
		f.Helper()
		heads, err := p.Poll(f.Context(), []string{job, other})
		if err != nil || len(heads) != f.q.Shards() {
			f.Fatalf("%s: %v, %v; want one of each of %d shards", what, heads, err, f.q.Shards())
		}
		for shard, h := range heads {
			switch d := h.Next.Sub(f.q.Now()); {
			case h.Epoch != epoch:
				f.Errorf("%s: shard %d has the epoch %v", what, shard, h.Epoch)
			case shard != f.home || next == 0:
				if !h.Next.IsZero() {
					f.Errorf("%s: shard %d has something in %v, want nothing", what, shard, d)
				}
			case d < next-slack || d > next+slack:
				f.Errorf("%s: next in %v, want %v", what, d, next)
			}
		}
	}
	look("empty", 0, false)
	if err := f.q.SetEpoch(f.Context(), "1"); err != nil {
		f.Fatal(err)
	}
	f.add(f.msg("day", 1, 24*time.Hour))
	look("waiting", 24*time.Hour, true)
	m := f.msg("hour", 1, time.Hour)
	m.Job = other
	f.add(m)
	look("another job", time.Hour, true)
	f.ready("now")
	look("overdue", -time.Hour, true)
	f.one()
	look("leased", lease, true)
	if err := f.q.Pause(f.Context(), job); err != nil {
		f.Fatal(err)
	}
	look("paused", time.Hour, true)
	if err := f.q.Pause(f.Context(), other); err != nil {
		f.Fatal(err)
	}
	look("all paused", 0, true)
}
