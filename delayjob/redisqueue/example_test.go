package redisqueue_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/redisqueue"
)

// Schedule a payload on Redis and run it, in this or another process with the same prefix.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q, err := redisqueue.Open(ctx, os.Getenv("REDIS_URL"), redisqueue.WithPrefix("example")) // redis://localhost:6379
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()

	greeting := delayjob.NewTask(q, "greeting", func(_ context.Context, name string) error {
		defer stop()
		fmt.Println("hello", name)
		return nil
	}, delayjob.Options{})
	if _, err := greeting.Schedule(ctx, q.Now().Add(50*time.Millisecond), "Ada"); err != nil {
		log.Fatal(err)
	}
	if err := delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: []delayjob.DelayJob{greeting}}); err != nil {
		log.Fatal(err)
	}
	// Output: hello Ada
}
