package tests

import (
	"math/rand/v2"
	"testing"
	"time"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// networkFault is what happens on the way to Redis or to Postgres while a crowd of meetings
// begins and ends.
type networkFault struct {
	name   string
	late   time.Duration // that a start or an end may be, at most
	happen func(p *testenv.Proxy, start time.Time)
}

var networkFaults = []networkFault{
	{"latency", 3 * time.Second, func(p *testenv.Proxy, start time.Time) {
		p.Set(testenv.Fault{Latency: 100 * time.Millisecond}) // each way
		time.Sleep(time.Until(start.Add(5 * time.Second)))
		p.Set(testenv.Fault{})
	}},
	{"narrow", 3 * time.Second, func(p *testenv.Proxy, start time.Time) {
		p.Set(testenv.Fault{Rate: 20_000})
		time.Sleep(time.Until(start.Add(5 * time.Second)))
		p.Set(testenv.Fault{})
	}},
	{"answers lost", 6 * time.Second, func(p *testenv.Proxy, start time.Time) {
		for time.Now().Before(start.Add(4 * time.Second)) {
			p.Cut(rand.IntN(40))
			time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
		}
	}},
	{"reset", 4 * time.Second, func(p *testenv.Proxy, start time.Time) {
		for time.Now().Before(start.Add(4 * time.Second)) {
			p.Reset()
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		}
	}},
	{"refused", 5 * time.Second, func(p *testenv.Proxy, start time.Time) {
		time.Sleep(time.Until(start.Add(time.Second)))
		p.Set(testenv.Fault{Refuse: true})
		p.Reset()
		time.Sleep(2 * time.Second)
		p.Set(testenv.Fault{})
	}},
	{"vanished", 8 * time.Second, func(p *testenv.Proxy, start time.Time) {
		time.Sleep(time.Until(start.Add(time.Second)))
		p.Set(testenv.Fault{Vanish: true})
		time.Sleep(4 * time.Second)
		p.Reset() // what was on its way never arrives
		p.Set(testenv.Fault{})
	}},
}

// TestFault_network: whatever the network does on the way to Redis or to Postgres, nothing is
// missed or done twice, and the delay is bounded.
func TestFault_network(t *testing.T) {
	t.Parallel()
	for _, f := range networkFaults {
		for _, to := range []string{"redis", "postgres"} {
			t.Run(f.name+"/"+to, func(t *testing.T) {
				t.Parallel()
				on := onServers(t)
				var p *testenv.Proxy
				w := newWorld(t, on, 1, func(c *testenv.Config) {
					if to == "redis" {
						p = testenv.NewProxy(t, on.redis.Addr())
						c.Queue = p.Before(t, c.Queue)
					} else {
						p = testenv.NewProxy(t, testenv.Host(t, c.Database))
						c.Database = p.Before(t, c.Database)
					}
				})
				start := w.crowd(30, 4, 3*time.Second, 4*time.Second)
				f.happen(p, start)
				// A mail that was accepted while its record was lost may come again, the same.
				r := w.caughtUp(slack+f.late, 0)
				w.wantUncharged()
				if late := max(audit.Percentile(r.Began, 1), audit.Percentile(r.Ended, 1)); late > f.late+machine {
					t.Errorf("something was %v late, want %v at most", late, f.late)
				}
			})
		}
	}
}

// TestFault_partition: one of two processes is cut off from Redis while it holds leases. The
// other takes over what it held, what it did nevertheless is not done again, and its late
// results are refused.
func TestFault_partition(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	p := testenv.NewProxy(t, on.redis.Addr())
	far := on
	far.Queue = p.Before(t, on.Queue)
	w := newWorld(t, on, 1, nil)
	cut := testenv.PrepareServer(t, func() testenv.Config { c := far.Config; c.Mail = w.mail; return c }())
	cut.Start(t)
	w.servers = append(w.servers, cut)
	start := w.crowd(90, 4, 3*time.Second, 2*time.Second)
	w.mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: 100 * time.Millisecond} }) // so that leases are held
	time.Sleep(time.Until(start.Add(-500 * time.Millisecond)))
	p.Set(testenv.Fault{Vanish: true})
	w.caughtUp(2*slack, 20) // the other process does all of it
	p.Set(testenv.Fault{})  // what was on its way arrives now, late
	w.wantSound()
	w.caughtUp(2*slack, 20)
	w.wantUncharged()
}
