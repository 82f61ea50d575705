package redislimit_test

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/account"
	"punctual/account/redislimit"
	"punctual/tests/testenv"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = -1, time.Minute, time.Minute, time.Minute
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// patient returns a limiter that does not count by itself because the machine stalls.
func patient(c *redis.Client, prefix string, r account.Rate) *redislimit.Limiter {
	l := redislimit.New(c, prefix, r)
	l.Patience = time.Minute
	return l
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	c := client(t, testenv.Redis(t))
	rate := account.Rate{Count: 3, Per: time.Hour}
	here, there := patient(c, "p:", rate), patient(c, "p:", rate) // two instances
	allow := func(l *redislimit.Limiter, key string, want bool) {
		t.Helper()
		ok, after := l.Allow(t.Context(), key)
		if ok != want || (after > 0) == ok || after > 20*time.Minute {
			t.Errorf("Allow(%s) = %v, %v, want %v", key, ok, after, want)
		}
	}
	allow(here, "a", true)
	allow(there, "a", true)
	allow(here, "a", true)
	allow(there, "a", false)
	allow(there, "b", true)

	here.Forgive(t.Context(), "a")
	allow(there, "a", true)
	allow(here, "a", false)

	// What was forgiven to the last leaves nothing behind, and nothing extra.
	for range 3 {
		here.Forgive(t.Context(), "b")
		here.Forgive(t.Context(), "new")
	}
	if n := c.Exists(t.Context(), "rate:p:b", "rate:p:new").Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	for range 3 {
		allow(here, "b", true)
	}
	allow(here, "b", false)
	if ttl := c.TTL(t.Context(), "rate:p:b").Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("the key lives for %v", ttl)
	}

	here.SetRate(account.Rate{})
	allow(here, "b", true)
}

func TestLimiter_race(t *testing.T) {
	t.Parallel()
	l := patient(client(t, testenv.Redis(t)), "", account.Rate{Count: 10, Per: time.Hour})
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

// Without Redis people can sign in, and guessing is still limited.
func TestLimiter_withoutRedis(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	l := redislimit.New(client(t, server.URL()), "", account.Rate{Count: 2, Per: time.Hour})
	server.Kill()
	begin := time.Now()
	for i, want := range []bool{true, true, false} {
		if ok, _ := l.Allow(t.Context(), "k"); ok != want {
			t.Errorf("attempt %d: %v, want %v", i+1, ok, want)
		}
	}
	l.Forgive(t.Context(), "k")
	if ok, _ := l.Allow(t.Context(), "k"); !ok {
		t.Error("a forgiven attempt counts")
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("five calls took %v", took)
	}
}

// A Redis that is there but silent holds up one attempt a second, and not for long.
func TestLimiter_silentRedis(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	l := redislimit.New(client(t, server.URL()), "", account.Rate{Count: 1000, Per: time.Hour})
	if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range 100 {
		l.Allow(t.Context(), "k")
		l.Forgive(t.Context(), "k")
	}
	if took := time.Since(begin); took > 40*time.Second { // asking each time would take 50 s
		t.Errorf("a hundred attempts took %v", took)
	}
}
