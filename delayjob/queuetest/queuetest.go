// Package queuetest is a test suite for implementations of [delayjob.Queue].
package queuetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"punctual/delayjob"
)

// A Queue is the queue under test.
type Queue interface {
	delayjob.Queue
	delayjob.Inspector
}

// A Harness is a queue under test with ways to disturb it from outside. The queue is empty and used
// by no one else. Functions that do not apply are nil.
type Harness struct {
	Queue Queue
	// Advance moves the queue's clock forward by d. The clock may run or stand still.
	Advance func(d time.Duration)
	// Flush deletes all content, like an emptied server.
	Flush func()
	// Orphan removes a message from its set and leaves its body, like an interrupted write.
	Orphan func(id string)
	// Disconnect breaks all subscriptions.
	Disconnect func()
}

// Run runs the suite. It calls open once for each test; the tests run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, tt := range []struct {
		name string
		test func(*fixture)
	}{
		{"Add/new, unchanged, replaced, outdated", addResults},
		{"Add/repeats within one call", addRepeats},
		{"Add/invalid messages store nothing", addInvalid},
		{"Add/many", addMany},
		{"Add/nothing", emptyCalls},
		{"Add/carries everything", addCarriesEverything},
		{"Add/replacing a leased message takes it away", replaceLeased},
		{"Add/replacing a dead message revives it", replaceDead},
		{"Add/heals", addHeals},
		{"Remove/in each state", removeStates},
		{"Claim/order by due time", claimOrder},
		{"Claim/limits", claimLimits},
		{"Claim/several jobs", claimSeveralJobs},
		{"Claim/limit 0 and unknown jobs", claimNothing},
		{"Claim/only its shard", claimShards},
		{"Claim/never early", claimNeverEarly},
		{"Claim/next", claimNext},
		{"Claim/ended leases get half of a batch", claimExpiredHalf},
		{"Claim/attempts and crashes are counted", claimAttempts},
		{"Claim/poison dies", claimPoison},
		{"Claim/crashes are kept", claimCrashesKept},
		{"Claim/ended leases charged", claimChargeExpired},
		{"Claim/used-up attempts mean death", claimDeath},
		{"Claim/no limit of attempts", claimNoMaxAttempts},
		{"Claim/concurrently", claimConcurrently},
		{"Claim/everything at once", everythingAtOnce},
		{"Claim/tokens grow", tokensGrow},
		{"Claim/tokens grow over a flush", tokensGrowOverFlush},
		{"Lease/only its holder may act", fencing},
		{"Lease/late ack of a lease nobody took", lateAck},
		{"Lease/errors are per element", mixedBatch},
		{"Lease/repeats within one call", repeatedLease},
		{"Lease/a message reports when it was due this time", readySince},
		{"Lease/extend", extend},
		{"Lease/extend those of several jobs", extendSeveral},
		{"Nack/retry", nackRetry},
		{"Nack/release", nackRelease},
		{"Nack/bury", nackBury},
		{"Nack/keeps the due time", nackKeepsDue},
		{"Epoch/lost with the content", epoch},
		{"Epoch/not set over a loss", epochOverLoss},
		{"Wake/hints", wakeHints},
		{"Wake/nack and requeue", wakeNack},
		{"Wake/several subscribers", wakeSeveral},
		{"Wake/lost subscription", wakeLost},
		{"Wake/close", wakeClose},
		{"Poll/reports what a claim would find", poll},
		{"Inspector/get", inspectGet},
		{"Inspector/list", inspectList},
		{"Inspector/jobs", inspectJobs},
		{"Inspector/stats", inspectStats},
		{"Inspector/pause", inspectPause},
		{"Inspector/requeue", inspectRequeue},
		{"Inspector/check", inspectCheck},
		{"Now/follows the clock", nowFollows},
		{"Model", model},
		{"Linearizable", linearizable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			tt.test(&fixture{T: t, Harness: h, q: h.Queue, home: delayjob.ShardOf("e", h.Queue.Shards())})
		})
	}
}

// A fixture is one test of the suite. Its messages belong to the entity "e" by default, so that
// they share the shard home.
type fixture struct {
	*testing.T
	Harness
	q    Queue
	home int
}

const (
	job   = "job"
	lease = time.Minute
	slack = 10 * time.Second // how far a clock may run on while the machine is busy

	patience = time.Minute // how long to wait for what comes at once on an idle machine
)

func (f *fixture) msg(key string, version int64, d time.Duration) delayjob.Message {
	return delayjob.Message{Job: job, Key: "e:" + key, Version: version, Due: f.q.Now().Add(d), Body: []byte("body of " + key)}
}

func id(key string) string { return delayjob.MessageID(job, "e:"+key) }

func (f *fixture) add(ms ...delayjob.Message) []delayjob.AddResult {
	f.Helper()
	res, err := f.q.Add(f.Context(), ms...)
	if err != nil {
		f.Fatalf("Add: %v", err)
	}
	return res
}

func (f *fixture) ready(keys ...string) {
	f.Helper()
	ms := make([]delayjob.Message, len(keys))
	for i, k := range keys {
		ms[i] = f.msg(k, 1, -time.Hour+time.Duration(i)*time.Second)
	}
	f.add(ms...)
}

func (f *fixture) claimWant(want ...delayjob.Want) delayjob.Claimed {
	f.Helper()
	c, err := f.q.Claim(f.Context(), f.home, want)
	if err != nil {
		f.Fatalf("Claim: %v", err)
	}
	for _, m := range c.Messages {
		if m.Due.After(c.Now) {
			f.Errorf("%s was claimed %v early", m.ID(), m.Due.Sub(c.Now))
		}
		if m.Lease.ID != m.ID() || m.Lease.Token == 0 || m.Lease.Shard != f.home || m.Attempt < 1 {
			f.Errorf("%s was claimed with the lease %+v, attempt %d", m.ID(), m.Lease, m.Attempt)
		}
		if !m.Claimed.Equal(c.Now) {
			f.Errorf("%s was claimed at %v in a claim at %v", m.ID(), m.Claimed, c.Now)
		}
	}
	return c
}

func (f *fixture) claim(limit int) delayjob.Claimed {
	f.Helper()
	return f.claimWant(delayjob.Want{Job: job, Limit: limit, Lease: lease, MaxAttempts: -1})
}

// pass advances the clock by d, and by a millisecond for times that are rounded up.
func (f *fixture) pass(d time.Duration) { f.Advance(d + time.Millisecond) }

func (f *fixture) one() delayjob.Message {
	f.Helper()
	c := f.claim(10)
	if len(c.Messages) != 1 {
		f.Fatalf("claimed %v, want one message", names(c.Messages))
	}
	return c.Messages[0]
}

func (f *fixture) none() {
	f.Helper()
	if c := f.claim(10); len(c.Messages)+len(c.Dead) != 0 {
		f.Fatalf("claimed %v, dead %v; want nothing", names(c.Messages), names(c.Dead))
	}
}

func (f *fixture) held(errs []error) {
	f.Helper()
	if errs != nil {
		f.Fatalf("a lease that is held: %v", errs)
	}
}

func (f *fixture) lost(errs []error) {
	f.Helper()
	if len(errs) != 1 || !errors.Is(errs[0], delayjob.ErrLeaseLost) {
		f.Fatalf("a lost lease: %v, want ErrLeaseLost", errs)
	}
}

func (f *fixture) is(id string, want delayjob.State) delayjob.Info {
	f.Helper()
	info, err := f.q.Get(f.Context(), id)
	if errors.Is(err, delayjob.ErrNotFound) {
		err = nil
	}
	if err != nil {
		f.Fatalf("Get %s: %v", id, err)
	}
	if info.State != want {
		f.Fatalf("%s is %q, want %q", id, info.State, want)
	}
	return info
}

func (f *fixture) sound() {
	f.Helper()
	breaches, err := f.q.Check(f.Context(), job)
	if err != nil || len(breaches) > 0 {
		f.Fatalf("Check: %v, %v", breaches, err)
	}
}

func names(ms []delayjob.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Key
	}
	return out
}

func leases(ms []delayjob.Message) []delayjob.Lease {
	out := make([]delayjob.Lease, len(ms))
	for i, m := range ms {
		out[i] = m.Lease
	}
	return out
}

func equal[T cmp.Ordered](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func keys(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%04d", prefix, i)
	}
	return out
}
