package webhook

import (
	"testing"
	"testing/synctest"
	"time"
)

// enter does not wait for a place.
func enter(p *paces, webhook int64, now time.Time) (time.Duration, func(ended)) {
	wait, s, _ := p.try(webhook, now, false)
	return wait, func(how ended) { s.leave(how, now) }
}

// leave ends a post that began at some time, and releases the slot.
func (s *slot) leave(how ended, begun time.Time) {
	s.ended(how, time.Since(begun))
	s.release()
}

// TestPaces_atOnce: a server is posted to by few at once; the others each get a turn of their own.
func TestPaces_atOnce(t *testing.T) {
	t.Parallel()
	var p paces
	now := time.Now()
	var leave []func(ended)
	for range atOnce {
		wait, l := enter(&p, 1, now)
		if wait > 0 {
			t.Fatalf("waits %s while there are places", wait)
		}
		leave = append(leave, l)
	}
	first, _ := enter(&p, 1, now)
	second, _ := enter(&p, 1, now)
	if first <= 0 || second <= first {
		t.Errorf("those without a place come after %s and %s", first, second)
	}
	if wait, _ := enter(&p, 2, now); wait > 0 {
		t.Errorf("another server waits %s", wait)
	}
	leave[0](succeeded)
	if wait, _ := enter(&p, 1, now); wait > 0 {
		t.Errorf("waits %s for a place that was given back", wait)
	}
}

// TestPaces_more: a server that answers quickly is posted to by more at once, until it is slow or fails.
func TestPaces_more(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p paces
		_, last := enter(&p, 1, time.Now()) // the server is never idle
		fill := func() (leave []func(ended)) {
			for {
				wait, l := enter(&p, 1, time.Now())
				if wait > 0 {
					return leave
				}
				leave = append(leave, l)
			}
		}
		after := func(takes time.Duration, how ended) int {
			t.Helper()
			places := fill()
			time.Sleep(takes)
			places[0](how)
			for _, leave := range places[1:] {
				leave(unknown)
			}
			if how == failing {
				last(unknown)
				time.Sleep(time.Hour)
				_, probe, _ := p.try(1, time.Now(), false)
				probe.ended(succeeded, 0) // keeps its slot, so that the pace is not forgotten
				last = func(ended) { probe.release() }
			}
			places = fill()
			for _, leave := range places {
				leave(unknown)
			}
			return len(places) + 1
		}
		for want := atOnce + 1; want <= atMost+1; want++ {
			if n := after(time.Millisecond, succeeded); n != min(want, atMost) {
				t.Fatalf("%d at once after a quick answer, want %d", n, min(want, atMost))
			}
		}
		if n := after(2*quick, succeeded); n != atMost/2 {
			t.Errorf("%d at once after a slow answer, want half", n)
		}
		if n := after(time.Millisecond, failing); n != atOnce {
			t.Errorf("%d at once after a failure, want %d", n, atOnce)
		}
	})
}

// TestPaces_hangs: while a server hangs, and while a probe of it does, its deliveries are seldom retried.
func TestPaces_hangs(t *testing.T) {
	const n, seconds = 1000, 10
	retries := func(p *paces, begin time.Time) (total int) {
		next := make([]time.Time, n)
		for at := begin; at.Before(begin.Add(seconds * time.Second)); at = at.Add(time.Millisecond) {
			for i := range next {
				if !next[i].After(at) {
					wait, _ := enter(p, 1, at)
					next[i] = at.Add(wait)
					total++
				}
			}
		}
		return total
	}
	begin := time.Now()
	var p paces
	for range atOnce {
		enter(&p, 1, begin)
	}
	if total := retries(&p, begin); total > n*seconds/2 {
		t.Errorf("%d retries of %d deliveries in %d s while the server hangs", total, n, seconds)
	}
	p = paces{}
	_, leave := enter(&p, 1, time.Now())
	leave(failing)
	begin = time.Now().Add(restBase + time.Second)
	if wait, _ := enter(&p, 1, begin); wait > 0 {
		t.Errorf("the probe waits %s", wait)
	}
	if total := retries(&p, begin); total > n*seconds/2 {
		t.Errorf("%d retries of %d deliveries in %d s while a probe hangs", total, n, seconds)
	}
}

// TestPaces_together: posts that fail together count as one failure, the next one as another.
func TestPaces_together(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p paces
		var slots []*slot
		begin := time.Now()
		for range atOnce {
			_, s := p.enter(t.Context(), 1)
			slots = append(slots, s)
		}
		for _, s := range slots {
			time.Sleep(time.Millisecond)
			s.leave(failing, begin)
		}
		if n := p.of[1].failures; n != 1 {
			t.Errorf("%d failures at once count as %d", atOnce, n)
		}
		time.Sleep(restBase)
		begin = time.Now()
		_, probe := p.enter(t.Context(), 1)
		if wait, _ := p.enter(t.Context(), 1); wait < latest || wait > 2*latest {
			t.Errorf("during the probe another one waits %s", wait)
		}
		probe.leave(failing, begin)
		if n := p.of[1].failures; n != 2 {
			t.Errorf("a failed probe makes %d failures", n)
		}
	})
}

// TestPaces_noWait: no handler waits for a slot while a server hangs.
func TestPaces_noWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p paces
		for range atOnce {
			p.enter(t.Context(), 1)
		}
		time.Sleep(patient)
		begin := time.Now()
		if wait, s := p.enter(t.Context(), 1); s != nil || wait == 0 || time.Since(begin) > 0 {
			t.Errorf("a handler waits %s for a slot, then %s", time.Since(begin), wait)
		}
	})
}

// TestPaces_rests: who fails is probed by one at a time, ever more seldom, until it answers.
func TestPaces_rests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p paces
		at := time.Now()
		var before time.Duration
		for range 4 {
			wait, leave := enter(&p, 1, at)
			if wait > 0 {
				t.Fatalf("the probe waits %s", wait)
			}
			if wait, _ := enter(&p, 1, at); wait <= 0 {
				if before > 0 {
					t.Error("two probe at once")
				}
				p.of[1].busy-- // before the first failure there may be many
			}
			leave(failing)
			rest, _ := enter(&p, 1, time.Now())
			if rest <= before || rest > restCap+time.Second {
				t.Errorf("rests %s after %s", rest, before)
			}
			before, at = rest, time.Now().Add(rest)
		}
		_, leave := enter(&p, 1, at)
		leave(succeeded)
		for range 3 {
			if wait, _ := enter(&p, 1, at); wait > 0 {
				t.Errorf("waits %s once it answers", wait)
			}
		}
	})
}

// TestPaces_forgets: a process does not keep what it knows of servers that answer.
func TestPaces_forgets(t *testing.T) {
	t.Parallel()
	var p paces
	for id := range int64(100) {
		_, leave := enter(&p, id, time.Now())
		leave(succeeded)
	}
	if len(p.of) > 0 {
		t.Errorf("%d are kept", len(p.of))
	}
}

// TestPaces_waits: some wait for a place and get it as soon as it is given back; a place is given
// back to those that wait and to nobody else.
func TestPaces_waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p paces
		var places []*slot
		for range atOnce {
			_, s := p.enter(t.Context(), 1)
			places = append(places, s)
		}
		begin := time.Now()
		got := make(chan time.Duration, 2*maxWaits)
		for range 2 * maxWaits {
			go func() {
				wait, s := p.enter(t.Context(), 1)
				if wait == 0 {
					at := time.Now()
					got <- time.Since(begin)
					time.Sleep(time.Millisecond)
					s.leave(succeeded, at)
				}
			}()
		}
		time.Sleep(patient / 2)
		places[0].leave(succeeded, begin)
		synctest.Wait()
		if len(got) != 1 {
			t.Errorf("%d got the one place", len(got))
		}
		time.Sleep(patient)
		if len(got) != maxWaits {
			t.Errorf("%d of %d that waited got a place, one after another", len(got), maxWaits)
		}
		for _, s := range places[1:] {
			s.leave(succeeded, begin)
		}
		time.Sleep(time.Second)
		for id := range p.of {
			if one := p.of[id]; one.busy != 0 || one.waits != 0 {
				t.Errorf("%d busy, %d wait in the end", one.busy, one.waits)
			}
		}
	})
}
