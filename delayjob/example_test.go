package delayjob_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/redisqueue"
)

type Mail struct {
	To, Subject string
}

// Schedule a typed payload and run it when it is due.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q := memqueue.New()
	defer q.Close()

	mails := delayjob.NewTask(q, "mail", func(ctx context.Context, m Mail) error {
		fmt.Println("mail to", m.To)
		stop()     // a real program runs until a signal
		return nil // done; any other error is retried
	}, delayjob.Options{})

	if _, err := mails.Schedule(ctx, time.Now().Add(50*time.Millisecond), Mail{To: "ada@example.org"}); err != nil {
		log.Fatal(err)
	}
	if err := delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: []delayjob.DelayJob{mails}}); err != nil {
		log.Fatal(err)
	}
	// Output: mail to ada@example.org
}

// The same on Redis, in any number of processes, until SIGTERM. Running mails may finish for ten
// seconds.
func ExampleRun_redis() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	q, err := redisqueue.Open(ctx, "redis://localhost:6379", redisqueue.WithPrefix("shop"))
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()

	mails := delayjob.NewTask(q, "mail", send, delayjob.Options{
		Concurrency: 20, MaxAttempts: 5, MaxRuntime: 30 * time.Second,
		Backoff: delayjob.Backoff{Base: 2 * time.Second, Cap: 10 * time.Minute},
	})
	err = delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: []delayjob.DelayJob{mails}, StopTimeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
}

func send(context.Context, Mail) error { return nil }

// reminder is a job whose messages are rows of a database.
type reminder struct {
	due  map[string]time.Time // stands for a table
	sent func()
}

func (*reminder) Name() string { return "reminder" }

// Load returns what is due in the window.
func (r *reminder) Load(_ context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		for key, due := range r.due {
			if w.Contains(due) && !yield(delayjob.Message{Job: "reminder", Key: key, Due: due}, nil) {
				return
			}
		}
	}
}

func (r *reminder) Execute(_ context.Context, m delayjob.Message) error {
	fmt.Println("reminder for meeting", m.Key)
	r.sent()
	return nil
}

// Let rows of a database be the truth: Run fills the queue from Load, also after the queue has lost
// its content.
func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q := memqueue.New()
	defer q.Close()

	job := &reminder{due: map[string]time.Time{"7": time.Now().Add(50 * time.Millisecond)}, sent: stop}
	if err := delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: []delayjob.DelayJob{job}}); err != nil {
		log.Fatal(err)
	}
	// Output: reminder for meeting 7
}

// A key makes a payload unique until it has run. WithReplace moves it instead.
func ExampleTask_Schedule() {
	ctx := context.Background()
	q := memqueue.New()
	defer q.Close()
	index := delayjob.NewTask(q, "index", func(context.Context, int) error { return nil }, delayjob.Options{})

	soon := time.Now().Add(time.Minute)
	for range 2 {
		res, err := index.Schedule(ctx, soon, 42, delayjob.WithKey("page-42"))
		fmt.Println(res, err)
	}
	res, err := index.Schedule(ctx, soon.Add(time.Minute), 42, delayjob.WithKey("page-42"), delayjob.WithReplace())
	fmt.Println(res, err)
	// Output:
	// added <nil>
	// unchanged <nil>
	// replaced <nil>
}

// Run a report at eight in Berlin, in summer and in winter, by one of all processes. After a night
// without any process it is not made up for.
func ExampleNewRecurring() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	report, err := delayjob.NewRecurring("report", "0 8 * * 1-5", func(ctx context.Context, planned time.Time) error {
		fmt.Println("report of", planned)
		return nil
	}, delayjob.RecurringOptions{Zone: berlin, MaxLate: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	friday := time.Date(2026, 3, 27, 12, 0, 0, 0, berlin)
	fmt.Println(report.Next(friday)) // after the clocks were advanced
	// Output: 2026-03-30 08:00:00 +0200 CEST
}

// Log each execution that does not succeed, with its message.
func ExampleMiddleware() {
	logged := func(next delayjob.Handler) delayjob.Handler {
		return func(ctx context.Context, ms []delayjob.Message) []error {
			errs := next(ctx, ms)
			for i, err := range errs {
				if r := delayjob.ResultOf(err); r != delayjob.ResultOK {
					fmt.Println(ms[i].ID(), "attempt", ms[i].Attempt, r, err)
				}
			}
			return errs
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q := memqueue.New()
	defer q.Close()
	task := delayjob.NewTask(q, "mail", func(context.Context, Mail) error {
		stop()
		return delayjob.Drop("no such address")
	}, delayjob.Options{})
	if _, err := task.Schedule(ctx, time.Time{}, Mail{}, delayjob.WithKey("1")); err != nil {
		log.Fatal(err)
	}
	err := delayjob.Run(ctx, delayjob.RunOptions{
		Queue: q, Jobs: []delayjob.DelayJob{task}, Middleware: []delayjob.Middleware{logged},
	})
	fmt.Println(err)
	// Output:
	// mail:1 attempt 1 drop no such address
	// <nil>
}

// One at a time for each account, while others go on.
func ExampleOptions() {
	q := memqueue.New()
	defer q.Close()
	charge := delayjob.NewTask(q, "charge", func(ctx context.Context, cents int) error {
		m, _ := delayjob.MessageFrom(ctx)
		if cents < 0 {
			return delayjob.Dead(errors.New("negative amount")) // no retry can help
		}
		fmt.Println("charge", delayjob.Entity(m.Key), cents)
		return nil
	}, delayjob.Options{Concurrency: 8, PerEntity: 1})
	_, err := charge.Schedule(context.Background(), time.Time{}, 500, delayjob.WithEntity("account-7"))
	fmt.Println(err)
	// Output: <nil>
}
