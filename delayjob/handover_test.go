package delayjob_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"punctual/delayjob"
)

// A stalling queue makes early claims slow: the server gets them late, or its answer arrives late.
type stalling struct {
	*sharded
	until time.Time
	delay func(shard int) (before, after time.Duration)

	mu  sync.Mutex
	end time.Time // when the last slow claim returned
}

func (q *stalling) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if !time.Now().Before(q.until) {
		return q.sharded.Claim(ctx, shard, want)
	}
	before, after := q.delay(shard)
	time.Sleep(before)
	got, err := q.sharded.Claim(ctx, shard, want)
	time.Sleep(after)
	q.mu.Lock()
	q.end = time.Now()
	q.mu.Unlock()
	return got, err
}

// Wake merges the hints of all shards.
func (q *stalling) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	out := make(chan delayjob.Hint)
	var wg sync.WaitGroup
	for shard, of := range q.qs {
		hints, err := of.Wake(ctx)
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			for h := range hints {
				h.Shard = shard
				select {
				case out <- h:
				case <-ctx.Done():
				}
			}
		})
	}
	go func() { wg.Wait(); close(out) }()
	return out, nil
}

// A workload is a job and its waiting messages.
type workload struct {
	job      delayjob.DelayJob
	messages []delayjob.Message
}

// work runs a consumer on a queue for d.
func work(t *testing.T, q delayjob.Queue, d time.Duration, loads ...workload) {
	t.Helper()
	var js []delayjob.DelayJob
	for _, l := range loads {
		js = append(js, l.job)
		add(t, q, l.messages...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- delayjob.NewConsumer(q, js, delayjob.ConsumerOptions{Grace: time.Hour}).Run(ctx) }()
	time.Sleep(d)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func messages(job string, n int, due func(i int) time.Time) []delayjob.Message {
	ms := make([]delayjob.Message, n)
	for i := range ms {
		ms[i] = msg(job, strconv.Itoa(i), due(i))
	}
	return ms
}

// charged lists the messages that were handed to a job with a crash or attempt that did not happen.
func charged(runs []delayjob.Message) (all []string) {
	for _, m := range runs {
		if m.Crashes != 0 || m.Attempt != 1 {
			all = append(all, fmt.Sprintf("%s: attempt %d, %d crashes", m.ID(), m.Attempt, m.Crashes))
		}
	}
	return all
}

// After a stall, meetings start on time even if slow emails are due.
func TestConsumer_stallThenSlowMail(t *testing.T) {
	for _, stall := range []time.Duration{0, time.Second, 6 * time.Second} {
		for _, claim := range []time.Duration{400 * time.Millisecond, 3 * time.Second} {
			t.Run(fmt.Sprintf("claims of %v during %v", claim, stall), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					q := &stalling{sharded: newSharded(4), until: begin.Add(stall)}
					q.delay = func(int) (time.Duration, time.Duration) { return 0, claim }
					due := begin.Add(10 * time.Second)
					start := &fakeJob{name: "meeting.start", opts: delayjob.Options{Concurrency: 2}}
					mail := &fakeJob{name: "notify.email", opts: delayjob.Options{Concurrency: 20}}
					mail.do = func(context.Context, delayjob.Message) error { time.Sleep(30 * time.Second); return nil }
					work(t, q, 11*time.Minute,
						workload{mail, messages("notify.email", 400, func(int) time.Time { return begin })},
						workload{start, messages("meeting.start", 40, func(int) time.Time { return due })})

					for i, at := range start.times {
						if late := at.Sub(due); late > 100*time.Millisecond {
							t.Errorf("%s started %v late", start.runs[i].ID(), late)
						}
					}
					if len(start.runs) != 40 || len(mail.runs) != 400 {
						t.Errorf("%d starts and %d mails ran, want each of 40 and 400 once", len(start.runs), len(mail.runs))
					}
					for _, m := range charged(append(start.ran(), mail.ran()...)) {
						t.Error("charged without a crash: ", m)
					}
				})
			})
		}
	}
}

// For any stall and any slow job, a start runs within 100 ms of its due time or the end of the
// stall. No message is charged for a crash.
func TestConsumer_slowJobsNeverDelayStarts(t *testing.T) {
	const limit = 100 * time.Millisecond
	rapid.Check(t, func(rt *rapid.T) {
		shards := rapid.IntRange(1, 8).Draw(rt, "shards")
		stall := time.Duration(rapid.IntRange(0, 8000).Draw(rt, "stall ms")) * time.Millisecond
		slowest := rapid.SampledFrom([]int{1, 240, 400, 1000, 4000}).Draw(rt, "slowest claim ms") // claims give up their room after 250 ms
		stalled := rapid.IntRange(1, shards).Draw(rt, "stalled shards")
		starts := rapid.IntRange(1, 60).Draw(rt, "starts")
		inBatches := rapid.Bool().Draw(rt, "starts in batches")
		conc := rapid.IntRange(1, 4).Draw(rt, "starts at once")
		type slow struct {
			n, conc, batch int
			takes          time.Duration
		}
		others := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) slow {
			return slow{
				rapid.SampledFrom([]int{1, 10, 100, 300}).Draw(t, "messages"),
				rapid.IntRange(1, 20).Draw(t, "at once"),
				rapid.SampledFrom([]int{1, 1, 7, 100}).Draw(t, "batch"),
				time.Duration(rapid.SampledFrom([]int{0, 50, 5000, 40_000}).Draw(t, "takes ms")) * time.Millisecond,
			}
		}), 1, 4).Draw(rt, "slow jobs")
		seed := rapid.Uint64().Draw(rt, "seed")

		var faults []string
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			rnd := rand.New(rand.NewPCG(seed, 1))
			ms := func(n int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(rnd.IntN(n)) * time.Millisecond
			}
			begin := time.Now()
			q := &stalling{sharded: newSharded(shards), until: begin.Add(stall)}
			q.delay = func(shard int) (before, after time.Duration) {
				if shard >= stalled {
					return 0, 0
				}
				total := ms(slowest)
				before = ms(int(total/time.Millisecond) + 1)
				return before, total - before
			}
			plain := &fakeJob{name: "meeting.start", opts: delayjob.Options{Concurrency: conc}}
			batch := &batchJob{fakeJob: fakeJob{name: "meeting.start", opts: delayjob.Options{Concurrency: conc, Batch: 500}}}
			start, loads := plain, []workload{{job: plain}}
			if inBatches {
				start, loads = &batch.fakeJob, []workload{{job: batch}}
			}
			loads[0].messages = messages("meeting.start", starts, func(int) time.Time { return begin.Add(ms(15_000)) })
			var slowJobs []*fakeJob
			for i, s := range others {
				name := "slow" + strconv.Itoa(i)
				opts := delayjob.Options{Concurrency: s.conc, Batch: s.batch, MaxRuntime: time.Hour}
				nap := func() { time.Sleep(s.takes/2 + ms(int(s.takes/2/time.Millisecond)+1)) }
				var job delayjob.DelayJob
				if i%2 == 0 {
					j := &fakeJob{name: name, opts: opts}
					j.do = func(context.Context, delayjob.Message) error { nap(); return nil }
					job, slowJobs = j, append(slowJobs, j)
				} else {
					j := &batchJob{fakeJob: fakeJob{name: name, opts: opts}}
					j.doBatch = func([]delayjob.Message) ([]error, error) { nap(); return nil, nil }
					job, slowJobs = j, append(slowJobs, &j.fakeJob)
				}
				loads = append(loads, workload{job, messages(name, s.n, func(int) time.Time { return begin.Add(ms(5000)) })})
			}
			work(t, q, 2*time.Minute, loads...)

			for i, m := range start.runs {
				from := m.Due
				if from.Before(q.end) {
					from = q.end
				}
				if late := start.times[i].Sub(from); late > limit {
					faults = append(faults, fmt.Sprintf("%s ran %v after its due time or the end of the stall", m.ID(), late))
				}
			}
			if len(start.runs) != starts {
				faults = append(faults, fmt.Sprintf("%d starts ran, want %d", len(start.runs), starts))
			}
			faults = append(faults, charged(start.runs)...)
			for i, j := range slowJobs {
				if len(j.runs) > others[i].n {
					faults = append(faults, fmt.Sprintf("%s ran %d times, want at most %d", j.name, len(j.runs), others[i].n))
				}
				faults = append(faults, charged(j.runs)...)
			}
		})
		if len(faults) > 0 {
			rt.Fatalf("%d faults, the first: %s", len(faults), faults[0])
		}
	})
}

// A claim with a slow answer does not delay the next due time.
func TestConsumer_slowAnswerDoesNotDelayNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		q := &stalling{sharded: newSharded(1), until: begin.Add(time.Millisecond)}
		q.delay = func(int) (time.Duration, time.Duration) { return 0, 600 * time.Millisecond }
		j := &fakeJob{name: "j"}
		due := begin.Add(700 * time.Millisecond)
		work(t, q, 3*time.Second, workload{j, messages("j", 1, func(int) time.Time { return due })})
		if len(j.times) != 1 || j.times[0].Sub(due) > 20*time.Millisecond {
			t.Errorf("due at %v, ran at %v", due, j.times)
		}
	})
}
