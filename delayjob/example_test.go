package delayjob_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// reminder is a job: Load returns what is due, Execute sends it.
type reminder struct {
	due  map[string]time.Time // stands for a database table
	sent func()
}

func (*reminder) Name() string { return "reminder" }

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
	return nil // acknowledges m
}

// Schedule one message and consume it when it is due.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q := memqueue.New()
	defer q.Close()

	_, err := q.Add(ctx, delayjob.Message{Job: "reminder", Key: "42", Due: time.Now().Add(50 * time.Millisecond)})
	if err != nil {
		fmt.Println(err)
	}
	jobs := []delayjob.DelayJob{&reminder{sent: stop}}
	if err := delayjob.NewConsumer(q, jobs, delayjob.ConsumerOptions{}).Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: reminder for meeting 42
}

// Let a loader fill the queue from the database. It also refills a queue that lost its content.
func ExampleLoader() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q := memqueue.New()
	defer q.Close()

	job := &reminder{due: map[string]time.Time{"7": time.Now().Add(50 * time.Millisecond)}, sent: stop}
	jobs := []delayjob.DelayJob{job}
	loader := delayjob.NewLoader(q, jobs, delayjob.LoaderOptions{})
	loaded := make(chan error)
	go func() { loaded <- loader.Run(ctx) }()
	consumer := delayjob.NewConsumer(q, jobs, delayjob.ConsumerOptions{OnEmpty: loader.Trigger})
	if err := consumer.Run(ctx); err != nil {
		fmt.Println(err)
	}
	<-loaded
	// Output: reminder for meeting 7
}
