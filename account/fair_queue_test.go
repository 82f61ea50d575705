package account

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// line is a fair queue whose only place is taken, and the order in which waiters run.
type line struct {
	*fairQueue
	leave func()
	ran   []string
}

func newLine(t *testing.T) *line {
	q := &line{fairQueue: newFairQueue(1)}
	var err error
	if q.leave, err = q.enter(t.Context(), origin{}); err != nil {
		t.Fatal(err)
	}
	return q
}

// wait lines up, in the order of the calls; it returns the error of one that lost its place.
func (q *line) wait(ctx context.Context, f familiarity, source string) <-chan error {
	done := make(chan error, 1)
	go func() {
		leave, err := q.enter(ctx, origin{f, source})
		if err == nil {
			q.ran = append(q.ran, source)
			leave()
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

func TestFairQueue_turns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(t)
		for i := range 3 {
			q.wait(t.Context(), stranger, fmt.Sprint("stranger ", i))
		}
		for range 3 { // an office
			q.wait(t.Context(), knownNetwork, "office")
		}
		q.wait(t.Context(), knownNetwork, "home")
		for range 2 {
			q.wait(t.Context(), knownDevice, "device")
		}
		q.leave()
		synctest.Wait()
		want := []string{"device", "device", "office", "stranger 0", "home", "office", "office", "stranger 1", "stranger 2"}
		if d := cmp.Diff(want, q.ran); d != "" {
			t.Error(d)
		}
		if leave, err := q.enter(t.Context(), origin{}); err != nil {
			t.Error(err)
		} else {
			leave()
		}
	})
}

func TestFairQueue_full(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(t)
		refused := func(err error) bool {
			_, ok := errors.AsType[*RateLimitError](err)
			return ok
		}
		var flood []<-chan error
		for range maxWaiters {
			flood = append(flood, q.wait(t.Context(), stranger, "flood"))
		}
		if err := <-q.wait(t.Context(), stranger, "flood"); !refused(err) {
			t.Errorf("one more of the flood: %v", err)
		}
		q.wait(t.Context(), stranger, "other") // takes the latest place of the flood
		if err := <-flood[maxWaiters-1]; !refused(err) {
			t.Errorf("the latest of the flood: %v", err)
		}
		for i := range 2*maxWaiters - 100 { // from many networks: each of the flood's places goes
			q.wait(t.Context(), stranger, fmt.Sprint(i))
		}
		if err := <-q.wait(t.Context(), stranger, "late"); !refused(err) {
			t.Errorf("one more stranger: %v", err)
		}
		known := q.wait(t.Context(), knownNetwork, "office")
		ctx, cancel := context.WithCancel(t.Context())
		gone := q.wait(ctx, knownDevice, "gone")
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		q.leave()
		if err := <-known; err != nil {
			t.Errorf("from a known network: %v", err)
		}
		synctest.Wait()
		if q.ran[0] != "office" || len(q.ran) != maxWaiters+1 {
			t.Errorf("%d ran, first %s", len(q.ran), q.ran[0])
		}
	})
}
