package redislimit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/account/redislimit"
	"punctual/tests/testenv"
)

// patientPlaces grant no place because the machine stalls.
func patientPlaces(c *redis.Client, prefix string) *redislimit.Places {
	p := redislimit.NewPlaces(c, prefix, time.Hour)
	p.Patience = time.Minute
	return p
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	c := client(t, testenv.Redis(t))
	here, there := patientPlaces(c, "p:"), patientPlaces(c, "p:") // two processes
	take := func(p *redislimit.Places, key string, want bool) func() {
		t.Helper()
		leave, ok := p.Take(t.Context(), key, 2)
		if ok != want {
			t.Errorf("a place of %s: %v, want %v", key, ok, want)
		}
		return leave
	}
	leave := take(here, "ada", true)
	take(there, "ada", true)
	take(here, "ada", false)
	take(there, "ada", false)
	take(there, "bob", true)
	leave()
	take(there, "ada", true)
	take(here, "ada", false)

	// What a process held that was killed is free in the end, and the others lose nothing.
	held, err := c.ZRangeWithScores(t.Context(), "p:ada", 0, -1).Result()
	if err != nil || len(held) != 2 {
		t.Fatalf("%v, %v", held, err)
	}
	for _, place := range held {
		c.ZAdd(t.Context(), "p:ada", redis.Z{Score: 1, Member: place.Member})
	}
	there.Renew()
	take(here, "ada", false)
	c.FlushDB(t.Context()) // a Redis that lost all it had
	there.Renew()
	take(here, "ada", false)
	for _, place := range held {
		c.ZAdd(t.Context(), "p:ada", redis.Z{Score: 1, Member: place.Member})
	}
	take(here, "ada", true)
	if ttl := c.PTTL(t.Context(), "p:ada").Val(); ttl <= 0 {
		t.Errorf("the key lasts %v", ttl)
	}
}

func TestPlaces_race(t *testing.T) {
	t.Parallel()
	c := client(t, testenv.Redis(t))
	var all sync.WaitGroup
	var at, most, granted atomic.Int64
	for range 4 {
		p := patientPlaces(c, "")
		for range 4 {
			all.Go(func() {
				for range 50 {
					leave, ok := p.Take(t.Context(), "k", 3)
					if !ok {
						continue
					}
					granted.Add(1)
					n := at.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					at.Add(-1)
					leave()
				}
			})
		}
	}
	all.Wait()
	if most.Load() > 3 || granted.Load() == 0 {
		t.Errorf("%d at once, %d in all", most.Load(), granted.Load())
	}
	if n := c.Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("a place is left")
	}
}

func TestPlaces_withoutRedis(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	p := redislimit.NewPlaces(client(t, server.URL()), "", time.Minute)
	server.Kill()
	for range 3 {
		leave, ok := p.Take(t.Context(), "k", 1)
		if !ok {
			t.Fatal("nobody gets a place without Redis")
		}
		leave()
	}
}
