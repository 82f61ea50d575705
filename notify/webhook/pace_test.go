package webhook

import (
	"testing"
	"testing/synctest"
	"time"
)

// enter does not wait for a place.
func enter(p *paces, webhook int64, now time.Time) (time.Duration, func(ended)) {
	wait, leave, _ := p.try(webhook, now, false)
	return wait, leave
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

// TestPaces_rests: who fails is probed by one at a time, ever more seldom, until it answers.
func TestPaces_rests(t *testing.T) {
	t.Parallel()
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
		var places []func(ended)
		for range atOnce {
			_, leave := p.enter(t.Context(), 1)
			places = append(places, leave)
		}
		begin := time.Now()
		got := make(chan time.Duration, 2*maxWaits)
		for range 2 * maxWaits {
			go func() {
				wait, leave := p.enter(t.Context(), 1)
				if wait == 0 {
					got <- time.Since(begin)
					time.Sleep(time.Millisecond)
					leave(succeeded)
				}
			}()
		}
		time.Sleep(patient / 2)
		places[0](succeeded)
		synctest.Wait()
		if len(got) != 1 {
			t.Errorf("%d got the one place", len(got))
		}
		time.Sleep(patient)
		if len(got) != maxWaits {
			t.Errorf("%d of %d that waited got a place, one after another", len(got), maxWaits)
		}
		for _, leave := range places[1:] {
			leave(succeeded)
		}
		time.Sleep(time.Second)
		for id := range p.of {
			if one := p.of[id]; one.busy != 0 || one.waits != 0 {
				t.Errorf("%d busy, %d wait in the end", one.busy, one.waits)
			}
		}
	})
}
