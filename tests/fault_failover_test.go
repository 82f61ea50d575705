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
	const long = 6 * time.Second // more than a busy machine takes for the others' work
	for _, f := range []struct {
		name    string
		silence time.Duration // after so long a master counts as dead
		fail    func(n *testenv.RedisInstance)
	}{
		{"killed", 1500 * time.Millisecond, func(n *testenv.RedisInstance) { n.Kill() }},
		{"frozen", long, func(n *testenv.RedisInstance) { n.Freeze() }},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			cluster := testenv.ClusterServer(t, 1)
			on := setup{Config: testenv.Config{Database: testenv.MigratedPostgres(t), Queue: "redis+cluster://" + strings.Join(cluster.Addrs(), ",")}}
			w := newWorld(t, on, 2, func(c *testenv.Config) { c.LoadEvery = 15 * time.Second })
			for _, n := range cluster.Nodes {
				n.Do(t, "CONFIG", "SET", "cluster-node-timeout", f.silence.Milliseconds())
			}
			start := w.crowd(90, 7, 4*time.Second, 5*time.Second)
			time.Sleep(time.Until(start.Add(time.Second)))
			f.fail(cluster.Nodes[0])
			t.Cleanup(cluster.Nodes[0].Thaw)
			r := w.caughtUp(f.silence+3*slack, 0)
			w.wantUncharged()
			eventually(t, time.Now().Add(f.silence+2*slack), "a replica has taken the shards over", func() bool {
				n := cluster.Nodes[1]
				return strings.Contains(n.Do(t, "CLUSTER", "NODES"), "master,fail ") && strings.Contains(n.Do(t, "CLUSTER", "INFO"), "cluster_slots_ok:16384")
			})
			w.wantSound()
			// Two of three meetings are on other masters.
			if late := audit.Percentile(r.Began, .6); f.silence == long && late > long/2 {
				t.Errorf("3 of 5 starts should not have noticed, but were up to %v late", late)
			}
			if late := max(audit.Percentile(r.Began, 1), audit.Percentile(r.Ended, 1)); late > f.silence+10*time.Second+machine {
				t.Errorf("something was %v late", late)
			}
		})
	}
}

// TestFault_sentinelFailover: the master dies, and Sentinel makes its replica the master.
func TestFault_sentinelFailover(t *testing.T) {
	t.Parallel()
	servers := testenv.SentinelServer(t)
	on := setup{Config: testenv.Config{Database: testenv.MigratedPostgres(t), Queue: servers.URL()}}
	w := newWorld(t, on, 2, func(c *testenv.Config) { c.LoadEvery = 15 * time.Second })
	start := w.crowd(60, 6, 4*time.Second, 5*time.Second)
	time.Sleep(time.Until(start.Add(time.Second)))
	servers.Master.Kill()
	r := w.caughtUp(3*slack, 0)
	w.wantUncharged()
	w.wantSound()
	if late := max(audit.Percentile(r.Began, 1), audit.Percentile(r.Ended, 1)); late > 12*time.Second+machine {
		t.Errorf("something was %v late", late)
	}
	// And it is prompt again, on the new master.
	soon := inSeconds(2)
	room := w.admin.NewRoom(t, "Turing")
	m := w.admin.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{room.ID}))
	eventually(t, soon.Add(slack), "started", func() bool { return len(entries(w.admin.History(t, m.ID), "started")) == 1 })
	wantOnce(t, w.admin.History(t, m.ID), "started", "timer", soon)
}
