package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			ctx   context.Context
			takes []time.Duration
			want  time.Duration
		}{
			{name: "one part", takes: []time.Duration{time.Second}, want: time.Second},
			{name: "short parts", takes: []time.Duration{time.Millisecond, time.Millisecond, 0}, want: 2*time.Millisecond + 2*Shortest},
			{name: "a long part", takes: []time.Duration{time.Second, 0}, want: 2 * time.Second},
			{name: "a very long part", takes: []time.Duration{time.Minute, 0}, want: 61 * time.Second},
			{name: "within a transaction", ctx: Never(t.Context()), takes: []time.Duration{time.Second, 0}, want: time.Second},
		} {
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			began, n := time.Now(), 0
			err := Parts(ctx, func() (bool, error) {
				time.Sleep(c.takes[n])
				n++
				return n < len(c.takes), nil
			})
			if took := time.Since(began); err != nil || took != c.want || n != len(c.takes) {
				t.Errorf("%s: %d parts took %v, want %v; %v", c.name, n, took, c.want, err)
			}
		}
		failed := errors.New("failed")
		if err := Parts(t.Context(), func() (bool, error) { return true, failed }); err != failed {
			t.Errorf("a part that fails: %v", err)
		}
		for _, wrap := range []func(context.Context) context.Context{func(ctx context.Context) context.Context { return ctx }, Never} {
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			if err := Parts(wrap(ctx), func() (bool, error) { cancel(); return true, nil }); !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
				t.Errorf("canceled: %v after %v", err, time.Since(began))
			}
		}
	})
}

func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Begin()
		for i, want := range []time.Duration{0, 200 * time.Millisecond, 0, 200 * time.Millisecond} {
			time.Sleep(100 * time.Millisecond)
			began := time.Now()
			if err := s.Next(t.Context()); err != nil || time.Since(began) != want {
				t.Errorf("step %d: paused for %v, want %v; %v", i, time.Since(began), want, err)
			}
		}
	})
}
