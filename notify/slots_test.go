package notify

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSlots_handlers(t *testing.T) {
	for _, c := range []struct {
		atOnce   int
		took     time.Duration
		handlers int
	}{
		{20, 0, 20}, // not known yet
		{20, time.Minute, 20},
		{20, time.Second, 24},
		{20, 200 * time.Millisecond, 40},
		{20, time.Millisecond, 160},
		{1, time.Millisecond, 8},
		{1000, time.Millisecond, 1140},
	} {
		s := newSlots(c.atOnce)
		s.avg = c.took
		if got := s.handlers(); got != c.handlers || got > s.maxHandlers() {
			t.Errorf("%d at once that take %v each: %d handlers, want %d", c.atOnce, c.took, got, c.handlers)
		}
	}
}

// What has begun does not wait for long when others take long.
func TestSlots_take(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		free, ok := s.take(t.Context())
		if !ok {
			t.Fatal("there is no slot")
		}
		begin := time.Now()
		if _, ok := s.take(t.Context()); ok || time.Since(begin) != longWait {
			t.Errorf("%v after %v, want none after %v", ok, time.Since(begin), longWait)
		}
		if got := s.handlers(); got != 1 {
			t.Errorf("there are %d handlers for a provider that hangs", got)
		}
		free()
		if _, ok := s.take(t.Context()); !ok {
			t.Error("a slot that is free again is not given")
		}
	})
}

// In a crowd one organizer has three quarters of the handlers; what is nobody's has no limit.
func TestTurns_share(t *testing.T) {
	turns := newTurns(func() int { return 20 })
	begin := func(organizer string) func() {
		wait, end := turns.begin(organizer, time.Second)
		if (wait > 0) != (end == nil) || wait > furthestTurn {
			t.Errorf("%s waits %v", organizer, wait)
		}
		return end
	}
	var ends []func()
	for range 15 {
		ends = append(ends, begin("ada"))
	}
	if begin("ada") != nil || begin("bob") == nil || begin("") == nil {
		t.Error("ada has more than her share, or others have nothing")
	}
	ends[0]()
	if begin("ada") == nil {
		t.Error("ada does not get back what became free")
	}
}
