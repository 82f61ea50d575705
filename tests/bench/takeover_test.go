package bench

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"os"
	osexec "os/exec"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/redisqueue"
	"punctual/tests/testenv"
)

// holdVariable makes this test binary a process that takes jobs and never finishes them.
const holdVariable = "PUNCTUAL_BENCH_HOLD"

const heldJobs = 100

// hold claims from the queue at a URL, says so of each message, and hangs.
func hold(url string) {
	q, err := redisqueue.Open(context.Background(), url)
	if err == nil {
		o := delayjob.ConsumerOptions{Jobs: map[string]delayjob.Options{"bench": {Concurrency: heldJobs}}}
		err = delayjob.NewConsumer(q, []delayjob.DelayJob{hanging{}}, o).Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type hanging struct{}

func (hanging) Name() string { return "bench" }

func (hanging) Load(context.Context, delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(func(delayjob.Message, error) bool) {}
}

func (hanging) Execute(context.Context, delayjob.Message) error {
	fmt.Println("held")
	select {}
}

// BenchmarkTakeover kills with SIGKILL a process that holds 100 jobs, and measures until
// another process, which has been idle, has run each of them.
func BenchmarkTakeover(b *testing.B) {
	url := testenv.RedisServer(b).URL()
	q, err := redisqueue.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { q.Close() })
	victim := osexec.Command(os.Args[0])
	victim.Env = append(os.Environ(), holdVariable+"="+url)
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		b.Fatal(err)
	}
	defer victim.Process.Kill()
	add(b, q, messages("", 0, heldJobs, func(int) time.Time { return time.Now() }))
	lines := bufio.NewScanner(out)
	for range heldJobs {
		if !lines.Scan() {
			b.Fatal("the process that was to hold the jobs has ended")
		}
	}
	j := newNoop(heldJobs)
	stop := consume(b, q, j)
	defer stop()
	time.Sleep(3 * time.Second) // longer than a lease: they are kept up
	if n := j.n.Load(); n != 0 {
		b.Fatalf("%d jobs ran here while their holder lives", n)
	}
	killed := time.Now()
	if err := victim.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	_ = victim.Wait() // killed: that is what it says
	select {
	case <-j.done:
	case <-time.After(time.Minute):
		b.Fatalf("%d of %d jobs ran within a minute", j.n.Load(), heldJobs)
	}
	last := time.Since(killed)
	b.ReportMetric(last.Seconds(), "s")
	b.ReportMetric(0, "ns/op")
	value("takeover", last.Seconds())
	tell("100 jobs of a killed process have run in another", fmt.Sprintf("%.2f s", last.Seconds()), "<= 3 s", "the lease: 2.5 s at most")
}
