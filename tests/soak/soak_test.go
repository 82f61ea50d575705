// Package soak runs an installation of three processes for as long as is wanted while people
// book, move and cancel, other systems use a topic, and everything underneath fails at random;
// then it checks that all is as it should be. `make soak` runs it for minutes or hours, `make
// test` for seconds, so that it does not rot.
package soak

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	_ "punctual/app" // so that a changed program is tested anew instead of passing from go's cache
	"punctual/tests/audit"
)

// TestSoak goes on for SOAK (a duration such as 3m or 8h), or for some seconds without it, always with the same
// faults. SOAK_SEED repeats the faults of an earlier run, as far as timing lets it.
func TestSoak(t *testing.T) {
	t.Parallel()
	lasts, pause, seed := 8*time.Second, 1500*time.Millisecond, uint64(23)
	if s := os.Getenv("SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("SOAK: %v", err)
		}
		lasts, pause, seed = d, 6*time.Second, uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("SOAK_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatalf("SOAK_SEED: %v", err)
		}
	}
	t.Logf("for %v, seed %d", lasts, seed)

	i := install(t)
	people := i.traffic(t)
	time.Sleep(2 * time.Second)
	before := i.sample(t)
	faults := i.chaos(t, rand.New(rand.NewPCG(seed, 0)), time.Now().Add(lasts), pause)
	people.stopAdding()
	r := i.settle(t, time.Minute)
	people.stop()
	after := i.sample(t)

	i.report(t, lasts, faults, people, r, before, after)
	i.verdict(t, faults, people, r, before, after)
}

// settle waits until nothing that is due is left, in the database and then in the queue. A job whose end
// the queue was not told of stays leased until its lease is over and somebody pops again.
func (i *installation) settle(t *testing.T, within time.Duration) *audit.Report {
	t.Helper()
	db := i.connect(t)
	deadline := i.lastEnd().Add(within)
	for {
		r, err := audit.Database(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Open) == 0 && time.Now().After(i.lastEnd()) && (len(i.unfinished(t)) == 0 || time.Now().After(deadline)) {
			return r
		}
		if time.Now().After(deadline) {
			t.Errorf("%d things are not done %v after the last fault, such as:\n%s", len(r.Open), within, strings.Join(r.Open[:min(5, len(r.Open))], "\n"))
			return r
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// verdict fails the test unless every invariant holds.
func (i *installation) verdict(t *testing.T, faults map[string]int, people *traffic, r *audit.Report, before, after []sample) {
	t.Helper()
	for _, f := range r.Faults[:min(10, len(r.Faults))] {
		t.Error(f)
	}
	lost, again, err := audit.Mails(t.Context(), i.connect(t), i.mail.Counts())
	if err != nil {
		t.Fatal(err)
	}
	if len(lost) > 0 {
		t.Errorf("%d mails are recorded as sent and never arrived, such as %s", len(lost), lost[0])
	}
	// What was accepted at the moment of a fault, before that was recorded: of each process as
	// much as it sends at once.
	most := 0
	for _, n := range faults {
		most += n * sending
	}
	if len(again) > most {
		t.Errorf("%d mails came more than once, want at most the %d that were being sent at a fault", len(again), most)
	}
	for status, n := range people.answers {
		if status >= 500 && status != 503 {
			t.Errorf("%d answers were %d, such as %s", n, status, people.worst)
		}
	}
	if people.finished == 0 || r.Meetings == 0 || r.Sent == 0 {
		t.Errorf("nothing happened: %d meetings, %d notifications, %d jobs", r.Meetings, r.Sent, people.finished)
	}
	if left := i.unfinished(t); len(left) > 0 {
		t.Errorf("left in the queue: %+v", left)
	}
	if out, err := i.command(t, "queue", "check"); err != nil {
		t.Errorf("queue check: %v\n%s", err, out)
	}
	// The first process was never killed. Goroutines wait for connections, of which there are more
	// or fewer; the heap is what the collector left.
	if b, a := before[0], after[0]; a.goroutines > 2*b.goroutines+100 || a.heap > 3*b.heap+64<<20 {
		t.Errorf("the process that was never killed grew: %v before, %v after", b, a)
	}
}

// report prints what happened.
func (i *installation) report(t *testing.T, lasted time.Duration, faults map[string]int, people *traffic, r *audit.Report, before, after []sample) {
	t.Helper()
	_, again, _ := audit.Mails(t.Context(), i.connect(t), i.mail.Counts())
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "\n%-22s ", what)
		fmt.Fprintf(&b, format, args...)
	}
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	late := func(ds []time.Duration) string {
		return fmt.Sprintf("p50 %v  p90 %v  p99 %v  max %v", ms(audit.Percentile(ds, .5)), ms(audit.Percentile(ds, .9)), ms(audit.Percentile(ds, .99)), ms(audit.Percentile(ds, 1)))
	}
	line("lasted", "%v", lasted)
	for _, f := range slices.Sorted(maps.Keys(faults)) {
		line("fault", "%-28s %d times", f, faults[f])
	}
	line("answers by status", "%v (0: none)", people.answers)
	line("meetings", "%d, of which %d ended without having begun", r.Meetings, r.Never)
	line("starts late", "%s (%d)", late(r.Began), len(r.Began))
	line("ends late", "%s (%d)", late(r.Ended), len(r.Ended))
	line("notifications", "%d sent, %d of them more than once, %d skipped as too late", r.Sent, len(again), r.TooLate)
	line("topic jobs", "%d added, %d finished, %d leases lost", people.added, people.finished, people.leasesLost)
	for k := range after {
		line(fmt.Sprintf("process %d", k), "%v at first, %v in the end", before[k], after[k])
	}
	line("still open", "%d", len(r.Open))
	line("faults found", "%d", len(r.Faults))
	t.Log(b.String())
}
