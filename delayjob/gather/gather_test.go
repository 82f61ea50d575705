package gather

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Questions asked during a call are answered by the next one, each with its own answer.
func TestGatherer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int // calls do not overlap, so no lock is needed
		g := Gatherer[int, int]{Do: func(qs []int) []int {
			sizes = append(sizes, len(qs))
			time.Sleep(time.Second)
			as := make([]int, len(qs))
			for i, q := range qs {
				as[i] = 10 * q
			}
			return as
		}}
		var asking sync.WaitGroup
		begin := time.Now()
		for i := range 20 {
			asking.Go(func() {
				time.Sleep(time.Duration(i) * 150 * time.Millisecond) // from 0 to 2.85 s
				asked := time.Now()
				if a := g.Ask(i); a != 10*i {
					t.Errorf("%d for %d", a, i)
				}
				if took := time.Since(asked); took > 2*time.Second {
					t.Errorf("%d took %v", i, took)
				}
			})
		}
		asking.Wait()
		if want := []int{1, 6, 7, 6}; !slices.Equal(sizes, want) || time.Since(begin) != 4*time.Second {
			t.Errorf("calls of %v in %v, want %v in 4s", sizes, time.Since(begin), want)
		}
		if a := g.Ask(7); a != 70 {
			t.Errorf("%d after a rest", a)
		}
	})
}

// Calls with Every wait for more questions, except for the first call and one after a pause.
func TestGatherer_every(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		g := Gatherer[int, int]{Every: time.Second, Do: func(qs []int) []int {
			sizes = append(sizes, len(qs))
			time.Sleep(100 * time.Millisecond)
			return qs
		}}
		var asking sync.WaitGroup
		for _, at := range []time.Duration{0, 50, 200, 999, 1001, 1500, 9000} {
			asking.Go(func() {
				time.Sleep(at * time.Millisecond)
				asked := time.Now()
				g.Ask(0)
				if took := time.Since(asked); (at == 0 || at == 9000) && took != 100*time.Millisecond {
					t.Errorf("the one at %v took %v", at*time.Millisecond, took)
				}
			})
		}
		asking.Wait()
		if want := []int{1, 3, 2, 1}; !slices.Equal(sizes, want) {
			t.Errorf("calls of %v, want %v", sizes, want)
		}
	})
}

// A panic reaches the callers of that call, and no others.
func TestGatherer_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := Gatherer[int, int]{Do: func(qs []int) []int {
			time.Sleep(time.Second)
			switch calls++; calls {
			case 1:
				panic("no")
			case 2:
				return qs[1:] // one too few
			}
			return qs
		}}
		ask := func(q int) (failed bool) {
			defer func() { failed = recover() != nil }()
			if a := g.Ask(q); a != q {
				t.Errorf("%d for %d", a, q)
			}
			return false
		}
		var failed [6]bool
		var asking sync.WaitGroup
		for i := range failed {
			asking.Go(func() {
				time.Sleep(time.Duration(i) * 450 * time.Millisecond) // the first alone, two during its call, two more, the last
				failed[i] = ask(i)
			})
		}
		asking.Wait()
		if want := [6]bool{true, true, true, false, false, false}; failed != want {
			t.Errorf("failed: %v, want %v", failed, want)
		}
		if ask(7) {
			t.Error("nothing works any more")
		}
	})
}
