package delayjob_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// greet is a job that prints the body of each message.
type greet struct{ done context.CancelFunc }

func (greet) Name() string { return "greet" }

// Load yields nothing: these messages are only in the queue. A job whose messages are in a
// database yields those that are due in the window, so that a Loader can fill an empty queue.
func (greet) Load(context.Context, delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(func(delayjob.Message, error) bool) {}
}

func (g greet) Execute(_ context.Context, m delayjob.Message) error {
	fmt.Printf("%s: %s\n", m.ID(), m.Body)
	g.done()
	return nil
}

// A queue and a consumer are enough to run work at a given time. For Redis, make the queue with
// redisqueue.Dial and redisqueue.New.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	q := memqueue.New()
	defer q.Close()
	results, err := q.Add(ctx, delayjob.Message{
		Job: "greet", Key: "42", Version: 1, Due: time.Now().Add(50 * time.Millisecond), Body: []byte("hello"),
	})
	fmt.Println(results, err)
	consumer := delayjob.NewConsumer(q, []delayjob.DelayJob{greet{done: stop}}, delayjob.ConsumerOptions{})
	if err := consumer.Run(ctx); err != nil { // until ctx ends
		fmt.Println(err)
	}
	// Output:
	// [added] <nil>
	// greet:42: hello
}
