package account

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemoryLimiter(Rate{Count: 3, Per: time.Minute})
		allow := func(key string, want bool, wait time.Duration) {
			t.Helper()
			ok, after := l.Allow(t.Context(), key)
			if ok != want || after != wait {
				t.Errorf("Allow(%s) = %v, %v, want %v, %v", key, ok, after, want, wait)
			}
		}
		for range 3 {
			allow("a", true, 0)
		}
		allow("a", false, 20*time.Second)
		allow("b", true, 0) // each key has its own
		time.Sleep(15 * time.Second)
		allow("a", false, 5*time.Second) // a refusal costs nothing
		time.Sleep(5 * time.Second)
		allow("a", true, 0)
		allow("a", false, 20*time.Second)

		l.Forgive(t.Context(), "a")
		allow("a", true, 0)
		allow("a", false, 20*time.Second)

		time.Sleep(time.Hour)
		for range 5 { // what was forgiven without need gives nothing extra
			l.Forgive(t.Context(), "a")
			l.Forgive(t.Context(), "new")
		}
		for range 3 {
			allow("a", true, 0)
		}
		allow("a", false, 20*time.Second)

		l.SetRate(Rate{})
		allow("a", true, 0)
	})
}

func TestMemoryLimiter_forgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemoryLimiter(Rate{Count: 10, Per: time.Minute})
		for i := range 100 * firstSweep {
			l.Allow(t.Context(), fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		if n := len(l.full); n > firstSweep {
			t.Errorf("%d keys are kept, want at most %d", n, firstSweep)
		}
	})
}

func TestMemoryLimiter_race(t *testing.T) {
	t.Parallel()
	l := NewMemoryLimiter(Rate{Count: 10, Per: time.Hour})
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if ok, _ := l.Allow(t.Context(), "k"); ok {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := allowed.Load(); n != 10 {
		t.Errorf("%d attempts were allowed, want 10", n)
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"192.0.2.7":          {"192.0.2.7"},
		"::ffff:192.0.2.7":   {"192.0.2.7"},
		"2001:db8:1:2:3::4":  {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"fe80::1%eth0":       {"fe80::/64", "fe80::/48"},
		"":                   {""},
		"not an address: 12": {"not an address: 12"},
	} {
		if got := Networks(in); !slices.Equal(got, want) {
			t.Errorf("Networks(%q) = %q, want %q", in, got, want)
		}
	}
}
