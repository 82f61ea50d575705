package delayjob_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

func TestRun_stopsGracefully(t *testing.T) {
	tests := []struct {
		name    string
		takes   time.Duration
		stopped time.Duration // how long Run takes to return
		left    int
	}{
		{"running work finishes", 3 * time.Second, 3 * time.Second, 1},
		{"or is released within the timeout", time.Hour, 5 * time.Second, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := memqueue.New()
				defer q.Close()
				j := &fakeJob{name: "j", opts: delayjob.Options{Concurrency: 1, MaxRuntime: 2 * time.Hour}, do: func(ctx context.Context, _ delayjob.Message) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(test.takes):
						return nil
					}
				}}
				j.has(msg("j", "1", time.Now()), msg("j", "2", time.Now())) // the loader finds them
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: jobs(j), StopTimeout: 5 * time.Second})
				}()
				synctest.Wait()
				begin := time.Now()
				cancel()
				if err := <-done; err != nil {
					t.Errorf("Run: %v", err)
				}
				if took := time.Since(begin); took != test.stopped {
					t.Errorf("stopped after %v, want %v", took, test.stopped)
				}
				if n := len(j.ran()); n != 1 {
					t.Errorf("%d messages began, want 1", n)
				}
				if s := left(t, q, "j"); s.Ready != test.left || s.Messages() != test.left {
					t.Errorf("the queue holds %+v, want %d ready", s, test.left)
				}
			})
		})
	}
}

func TestRun_faults(t *testing.T) {
	q := memqueue.New()
	defer q.Close()
	j := &fakeJob{name: "j"}
	tests := []struct {
		o    delayjob.RunOptions
		want []string
	}{
		{delayjob.RunOptions{}, []string{"Queue: must not be nil", "Jobs: must not be empty"}},
		{delayjob.RunOptions{Queue: q, Jobs: jobs(j, nil, j, &fakeJob{name: "a:b"})},
			[]string{"Jobs[1]: must not be nil", `Jobs[2]: name: must be unique, "j" is used twice`, `Jobs[3]: name: must not be empty or contain ':', is "a:b"`}},
		{delayjob.RunOptions{Queue: q, Jobs: jobs(delayjob.NewTask[int](q, "t", nil, delayjob.Options{}))}, []string{"Jobs[0]: task t: function: must not be nil"}},
		{delayjob.RunOptions{Queue: q, Jobs: jobs(&fakeJob{name: "j", opts: delayjob.Options{Rate: -1, PerEntity: -2}})},
			[]string{"options of j: PerEntity must not be negative, Rate must not be negative"}},
		{delayjob.RunOptions{Queue: q, Jobs: jobs(j), StopTimeout: -1, Middleware: []delayjob.Middleware{nil},
			Consumer: delayjob.ConsumerOptions{Grace: 1, Jobs: map[string]delayjob.Options{"other": {}}},
			Loader:   delayjob.LoaderOptions{Full: "never", Logger: slog.Default()}},
			[]string{"StopTimeout: must not be negative", "Middleware[0]: must not be nil", `Consumer.Jobs: there is no job "other"`,
				"Loader.Full: ", "Loader: set Observer and Logger", "Consumer: set Observer"}},
	}
	for _, test := range tests {
		err := delayjob.Run(t.Context(), test.o)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one that says %q", err, want)
			}
		}
	}
}

func TestRun_reportsMessagesWithoutAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		add(t, q, msg("j", "1", time.Now()), msg("forgotten", "1", time.Now()))
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: jobs(&fakeJob{name: "j"}), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		}()
		synctest.Wait()
		cancel()
		<-done
		if !strings.Contains(log.String(), "jobs=[forgotten]") {
			t.Errorf("log %q does not tell of the job without a handler", log.String())
		}
	})
}

func TestConsumer_middleware(t *testing.T) {
	fail := errors.New("fail")
	var events []string
	mark := func(name string) delayjob.Middleware {
		return func(next delayjob.Handler) delayjob.Handler {
			return func(ctx context.Context, ms []delayjob.Message) []error {
				for _, m := range ms {
					events = append(events, name+" "+m.ID())
				}
				errs := next(ctx, ms)
				if len(errs) > 0 && errs[0] != nil {
					events = append(events, name+" saw "+strings.SplitN(errs[0].Error(), "\n", 2)[0])
				}
				return errs
			}
		}
	}
	skip := func(next delayjob.Handler) delayjob.Handler {
		return func(ctx context.Context, ms []delayjob.Message) []error {
			if ms[0].Key == "skipped" {
				return nil
			}
			if ms[0].Key == "wrong" {
				return []error{nil, nil}
			}
			return next(ctx, ms)
		}
	}
	j := &fakeJob{name: "j", opts: delayjob.Options{MaxAttempts: 1}, do: func(ctx context.Context, m delayjob.Message) error {
		if from, ok := delayjob.MessageFrom(ctx); !ok || from.ID() != m.ID() || from.Attempt != 1 {
			t.Errorf("the context carries %v, %v", from, ok)
		}
		switch m.Key {
		case "fails":
			return fail
		case "panics":
			panic("oops")
		}
		return nil
	}}
	b := &batchJob{fakeJob: fakeJob{name: "b"}}
	b.doBatch = func(ms []delayjob.Message) ([]error, error) { return nil, nil }
	o := delayjob.ConsumerOptions{Middleware: []delayjob.Middleware{mark("outer"), mark("inner"), skip}}
	consume(t, o, jobs(j, b), func(q *memqueue.Queue) {
		tests := []struct {
			ms   []delayjob.Message
			want string
			dead int
		}{
			{[]delayjob.Message{msg("j", "1", time.Now())}, "outer j:1, inner j:1", 0},
			{[]delayjob.Message{msg("j", "fails", time.Now())}, "outer j:fails, inner j:fails, inner saw fail, outer saw fail", 1},
			{[]delayjob.Message{msg("j", "panics", time.Now())}, "outer j:panics, inner j:panics, inner saw panic: oops, outer saw panic: oops", 2},
			{[]delayjob.Message{msg("j", "skipped", time.Now())}, "outer j:skipped, inner j:skipped", 2},
			{[]delayjob.Message{msg("j", "wrong", time.Now())}, "outer j:wrong, inner j:wrong", 3},
			{[]delayjob.Message{msg("b", "1", time.Now()), msg("b", "2", time.Now())}, "outer b:1, outer b:2, inner b:1, inner b:2", 3},
		}
		for _, test := range tests {
			events = nil
			add(t, q, test.ms...)
			synctest.Wait()
			if got := strings.Join(events, ", "); got != test.want {
				t.Errorf("events %q, want %q", got, test.want)
			}
			if s := left(t, q, "j"); s.Dead != test.dead || s.Messages() != test.dead {
				t.Errorf("the queue holds %+v, want %d dead", s, test.dead)
			}
		}
	})
	if n := len(j.ran()); n != 3 {
		t.Errorf("%d executions reached the job, want 3", n)
	}
}
