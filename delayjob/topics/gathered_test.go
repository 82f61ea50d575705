package topics_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/topics"
)

// A refusing store saves nothing together with one of its jobs. Its updates take a while, so that
// concurrent calls share them.
type refusing struct {
	topics.Store

	mu       sync.Mutex
	job      topics.Key
	together int // updates of that job with others
}

func (s *refusing) Update(ctx context.Context, keys []topics.Key, change func([]*topics.Job) ([]*topics.Job, error)) error {
	time.Sleep(20 * time.Millisecond)
	s.mu.Lock()
	refuse := slices.Contains(keys, s.job)
	if refuse && len(keys) > 1 {
		s.together++
	}
	s.mu.Unlock()
	if refuse {
		return errors.New("refused")
	}
	return s.Store.Update(ctx, keys, change)
}

func (s *refusing) refuse(k topics.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job, s.together = k, 0
}

func (s *refusing) shared() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.together > 0
}

// Pops and finishes share transactions. What the database refuses to one call, and a lease that one
// of them has lost, keeps no other from its job.
func TestGathered_faultsStayWithTheirCall(t *testing.T) {
	each(t, func(w *world) {
		store := &refusing{Store: gormstore.NewTopics(w.db.Gorm)}
		s := newService(store, w.queue)
		const jobs = 12
		for round := 0; ; round++ {
			js := make([]*topics.Job, jobs)
			for i := range js {
				js[i] = w.job(fmt.Sprintf("%d-%d", round, i), 0)
			}
			w.add(topics.Added, js...)

			// All pop at once; each job is delivered once.
			popped := make([][]topics.Delivery, jobs)
			var all sync.WaitGroup
			for i := range popped {
				all.Go(func() {
					for end := time.Now().Add(patience); len(popped[i]) == 0 && time.Now().Before(end); {
						ds, err := s.Pop(t.Context(), topics.Pop{Topics: []string{"t"}, Max: 1, Wait: time.Second})
						if err != nil {
							t.Error(err)
							return
						}
						popped[i] = ds
					}
				})
			}
			all.Wait()
			seen := map[string]bool{}
			for _, ds := range popped {
				for _, d := range ds {
					seen[d.ID] = true
				}
			}
			if len(seen) != jobs {
				t.Fatalf("%d of %d jobs were delivered", len(seen), jobs)
			}

			// All finish at once: one is refused, one has lost its lease.
			refused, lost := popped[3][0], popped[5][0]
			if err := w.finish(lost); err != nil {
				t.Fatal(err)
			}
			store.refuse(refused.Key)
			for _, ds := range popped {
				all.Go(func() {
					d := ds[0]
					errs, err := s.Finish(t.Context(), ending(d))
					switch {
					case d.ID == refused.ID:
						if err == nil {
							t.Error("the refused job is finished")
						}
					case err != nil:
						t.Errorf("%s: %v", d.ID, err)
					case errors.Is(errs[0], delayjob.ErrLeaseLost) != (d.ID == lost.ID):
						t.Errorf("%s: %v", d.ID, errs[0])
					}
				})
			}
			all.Wait()
			shared := store.shared()
			store.refuse(topics.Key{})
			for _, ds := range popped {
				want := topics.IsDone
				if ds[0].ID == refused.ID {
					want = topics.Reserved
				}
				w.state(ds[0].ID, want)
			}
			if err := w.finish(refused); err != nil {
				t.Errorf("the refused job afterwards: %v", err)
			}
			if shared || t.Failed() {
				return
			}
			if round == 100 {
				t.Fatal("the calls never shared a transaction")
			}
		}
	})
}
