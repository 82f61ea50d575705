package webhook

import (
	"testing"
	"time"
)

// TestPaces_atOnce: a server is posted to by few at once; the others each get a turn of their own.
func TestPaces_atOnce(t *testing.T) {
	t.Parallel()
	var p paces
	now := time.Now()
	var leave []func(ended)
	for range atOnce {
		wait, l := p.enter(1, now)
		if wait > 0 {
			t.Fatalf("waits %s while there are places", wait)
		}
		leave = append(leave, l)
	}
	first, _ := p.enter(1, now)
	second, _ := p.enter(1, now)
	if first <= 0 || second <= first {
		t.Errorf("those without a place come after %s and %s", first, second)
	}
	if wait, _ := p.enter(2, now); wait > 0 {
		t.Errorf("another server waits %s", wait)
	}
	leave[0](well)
	if wait, _ := p.enter(1, now); wait > 0 {
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
		wait, leave := p.enter(1, at)
		if wait > 0 {
			t.Fatalf("the probe waits %s", wait)
		}
		if wait, _ := p.enter(1, at); wait <= 0 {
			if before > 0 {
				t.Error("two probe at once")
			}
			p.of[1].busy-- // before the first failure there may be many
		}
		leave(badly)
		rest, _ := p.enter(1, time.Now())
		if rest <= before || rest > restCap+time.Second {
			t.Errorf("rests %s after %s", rest, before)
		}
		before, at = rest, time.Now().Add(rest)
	}
	_, leave := p.enter(1, at)
	leave(well)
	for range 3 {
		if wait, _ := p.enter(1, at); wait > 0 {
			t.Errorf("waits %s once it answers", wait)
		}
	}
}

// TestPaces_forgets: a process does not keep what it knows of servers that answer.
func TestPaces_forgets(t *testing.T) {
	t.Parallel()
	var p paces
	for id := range int64(100) {
		_, leave := p.enter(id, time.Now())
		leave(well)
	}
	if len(p.of) > 0 {
		t.Errorf("%d are kept", len(p.of))
	}
}
