package tests

import (
	"strings"
	"testing"
	"time"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// TestFault_clusterFailover: a master of the cluster dies, or hangs, while a crowd of meetings
// begins. The shards of the other masters go on as if nothing had happened; its own are late by
// the election, and nothing is missed or done twice.
func TestFault_clusterFailover(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name string
		fail func(n *testenv.RedisInstance)
	}{
		{"killed", func(n *testenv.RedisInstance) { n.Kill() }},
		{"frozen", func(n *testenv.RedisInstance) { n.Freeze() }},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			cluster := testenv.ClusterServer(t, 1)
			on := setup{Config: testenv.Config{Database: testenv.Postgres(t), Queue: "redis+cluster://" + strings.Join(cluster.Addrs(), ",")}}
			w := newWorld(t, on, 2, func(c *testenv.Config) { c.LoadEvery = 15 * time.Second })
			start := inSeconds(7)
			w.crowd(150, start, 4*time.Second, 5*time.Second)
			time.Sleep(time.Until(start.Add(time.Second)))
			f.fail(cluster.Nodes[0])
			t.Cleanup(cluster.Nodes[0].Thaw)
			r := w.caughtUp(15*time.Second, 0)
			w.wantUncharged()
			w.wantSound()
			// Two of three meetings are on other masters.
			if late := audit.Percentile(r.Began, .6); late > time.Second {
				t.Errorf("3 of 5 starts should not have noticed, but were up to %v late", late)
			}
			if late := max(audit.Percentile(r.Began, 1), audit.Percentile(r.Ended, 1)); late > 12*time.Second {
				t.Errorf("something was %v late", late)
			}
		})
	}
}

// TestFault_sentinelFailover: the master dies, and Sentinel makes its replica the master.
func TestFault_sentinelFailover(t *testing.T) {
	t.Parallel()
	servers := testenv.SentinelServer(t)
	on := setup{Config: testenv.Config{Database: testenv.Postgres(t), Queue: servers.URL()}}
	w := newWorld(t, on, 2, func(c *testenv.Config) { c.LoadEvery = 15 * time.Second })
	start := inSeconds(6)
	w.crowd(100, start, 4*time.Second, 5*time.Second)
	time.Sleep(time.Until(start.Add(time.Second)))
	servers.Master.Kill()
	r := w.caughtUp(15*time.Second, 0)
	w.wantUncharged()
	w.wantSound()
	if late := max(audit.Percentile(r.Began, 1), audit.Percentile(r.Ended, 1)); late > 12*time.Second {
		t.Errorf("something was %v late", late)
	}
	// And it is prompt again, on the new master.
	soon := inSeconds(2)
	room := w.admin.NewRoom(t, "Turing")
	m := w.admin.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{room.ID}))
	eventually(t, soon.Add(slack), "started", func() bool { return len(entries(w.admin.History(t, m.ID), "started")) == 1 })
	wantOnce(t, w.admin.History(t, m.ID), "started", "timer", soon)
}
