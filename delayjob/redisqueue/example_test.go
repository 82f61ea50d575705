package redisqueue_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/redisqueue"
)

type greeting struct{ done func() }

func (greeting) Name() string { return "greeting" }

func (greeting) Load(context.Context, delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(func(delayjob.Message, error) bool) {} // nothing is pending in a database
}

func (g greeting) Execute(_ context.Context, m delayjob.Message) error {
	defer g.done()
	fmt.Printf("hello %s\n", m.Body)
	return nil
}

// Schedule a message on Redis and consume it, in this or another process with the same prefix.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q, err := redisqueue.Open(ctx, os.Getenv("REDIS_URL"), redisqueue.WithPrefix("example")) // redis://localhost:6379
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()

	m := delayjob.Message{Job: "greeting", Key: "1", Due: q.Now().Add(50 * time.Millisecond), Body: []byte("Ada")}
	if _, err := q.Add(ctx, m); err != nil {
		fmt.Println(err)
	}
	jobs := []delayjob.DelayJob{greeting{done: stop}}
	if err := delayjob.NewConsumer(q, jobs, delayjob.ConsumerOptions{}).Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: hello Ada
}
