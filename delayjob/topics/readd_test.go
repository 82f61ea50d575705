package topics_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/topics"
	"punctual/delayjob/webhook"
)

func key(id string) topics.Key { return topics.Key{Topic: "t", ID: id} }

// A deleted job is gone, in whatever state it was: its id is free at once, for any version.
func TestDelete_idIsFreeAtOnce(t *testing.T) {
	each(t, func(w *world) {
		ctx := t.Context()
		before := map[string]func(id string) *topics.Delivery{
			"delayed": func(id string) *topics.Delivery { w.add(topics.Added, w.job(id, time.Hour)); return nil },
			"soon":    func(id string) *topics.Delivery { w.add(topics.Added, w.job(id, time.Minute)); return nil },
			"ready":   func(id string) *topics.Delivery { w.add(topics.Added, w.job(id, 0)); return nil },
			"reserved": func(id string) *topics.Delivery {
				w.add(topics.Added, w.job(id, 0))
				return &w.pop(id)[0]
			},
			"done": func(id string) *topics.Delivery {
				w.add(topics.Added, w.job(id, 0))
				d := w.pop(id)[0]
				if err := w.finish(d); err != nil {
					t.Error(err)
				}
				return &d
			},
			"dead": func(id string) *topics.Delivery {
				w.add(topics.Added, w.job(id, 0))
				d := w.pop(id)[0]
				if err := w.Fail(ctx, ending(d), topics.Failure{Dead: true}); err != nil {
					t.Error(err)
				}
				return &d
			},
			"expired": func(id string) *topics.Delivery {
				j := w.job(id, -time.Hour)
				j.TTL = time.Minute
				w.add(topics.Added, j)
				w.state(id, topics.IsExpired)
				return nil
			},
		}
		for state, make := range before {
			old := make(state)
			running, err := w.Delete(ctx, key(state))
			if err != nil || running != (state == "reserved") {
				t.Errorf("delete of one that is %s: running %v, %v", state, running, err)
			}
			if _, err := w.Delete(ctx, key(state)); !errors.Is(err, topics.ErrNotFound) {
				t.Errorf("deleted twice: %v", err)
			}
			if _, _, err := w.Reschedule(ctx, key(state), w.queue.Now()); !errors.Is(err, topics.ErrNotFound) {
				t.Errorf("rescheduled after its deletion: %v", err)
			}
			if err := w.Requeue(ctx, key(state)); !errors.Is(err, topics.ErrNotFound) {
				t.Errorf("requeued after its deletion: %v", err)
			}
			again, same := w.job(state, 0), w.job(state, 0)
			again.Version, same.Version = 0, 0
			got, err := w.Add(ctx, again, same)
			if err != nil || got[0].Result != topics.Added || got[1].Result != topics.Unchanged {
				t.Fatalf("added again after it was %s: %+v, %v", state, got, err)
			}
			if j := w.state(state, topics.Ready); j.Version != 0 || !j.CreatedAt.Equal(j.UpdatedAt) || j.LastError != "" {
				t.Errorf("added again after it was %s: %+v", state, j)
			}
			d := w.pop(state)[0]
			if d.Attempts != 1 {
				t.Errorf("delivered as attempt %d after it was %s", d.Attempts, state)
			}
			if old != nil {
				if err := w.finish(*old); !errors.Is(err, delayjob.ErrLeaseLost) {
					t.Errorf("the lease of the deleted job that was %s ended the new one: %v", state, err)
				}
			}
			if err := w.finish(d); err != nil {
				t.Error(err)
			}
		}
		w.pop()
	})
}

// The same version with another body is refused rather than ignored, however JSON is written.
func TestAdd_differentBody(t *testing.T) {
	each(t, func(w *world) {
		with := func(body string) *topics.Job {
			j := w.job("a", time.Hour)
			j.Body = []byte(body)
			return j
		}
		w.add(topics.Added, with(`{"n":1,"m":[1.50,"x"]}`))
		w.add(topics.Unchanged, with(` {"m" : [1.50, "x"], "n": 1}`))
		for _, body := range []string{`{"n":1}`, `{"n":2,"m":[1.50,"x"]}`, `null`, `[]`, `{"n":"1","m":[1.50,"x"]}`} {
			w.add(topics.Differs, with(body))
		}
		got, err := w.Add(t.Context(), w.job("b", 0), &topics.Job{Key: key("b"), Version: 1, Due: time.Now(), Body: []byte("7"), TTR: time.Minute})
		if err != nil || got[0].Result != topics.Added || got[1].Result != topics.Differs {
			t.Errorf("two bodies of one id in one call: %+v, %v", got, err)
		}
	})
}

// A slowForget does something between a commit and the removal of the message.
type slowForget struct {
	*delayjob.Scheduler
	meanwhile func()
}

func (s *slowForget) Forget(ctx context.Context, ids ...string) {
	if do := s.meanwhile; do != nil {
		s.meanwhile = nil
		do()
	}
	s.Scheduler.Forget(ctx, ids...)
}

// A job that is added, or rescheduled to be soon, while the message of its predecessor is being
// removed is delivered at once: it does not have to wait for the loader.
func TestDelete_whileAddedAgain(t *testing.T) {
	each(t, func(w *world) {
		ctx := t.Context()
		s := &slowForget{Scheduler: delayjob.NewScheduler(w.queue, delayjob.SchedulerOptions{Budget: 5 * time.Second})}
		slow := topics.New(gormstore.NewTopics(w.db.Gorm), w.queue, s,
			webhook.NewSender("test", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), func() {}, slog.New(slog.DiscardHandler))
		w.add(topics.Added, w.job("a", time.Minute))
		s.meanwhile = func() { w.add(topics.Added, w.job("a", 0)) }
		if _, err := slow.Delete(ctx, key("a")); err != nil {
			t.Error(err)
		}
		w.pop("a")

		w.add(topics.Added, w.job("b", time.Minute))
		s.meanwhile = func() {
			if _, _, err := w.Reschedule(ctx, key("b"), w.queue.Now()); err != nil {
				t.Error(err)
			}
		}
		if _, _, err := slow.Reschedule(ctx, key("b"), w.queue.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
		w.pop("b")
	})
}

// Callers that add and delete one id at the same time never get an untrue answer: an add that
// says "added" is deleted once or delivered once, and the last state is what the calls say.
func TestDelete_andAddRace(t *testing.T) {
	each(t, func(w *world) {
		var callers sync.WaitGroup
		var mu sync.Mutex
		added, deleted := 0, 0
		for range 4 {
			callers.Go(func() {
				for range 25 {
					got, err := w.Add(t.Context(), w.job("a", 0))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if got[0].Result == topics.Added {
						added++
					}
					mu.Unlock()
				}
			})
			callers.Go(func() {
				for range 25 {
					_, err := w.Delete(t.Context(), key("a"))
					if err != nil && !errors.Is(err, topics.ErrNotFound) {
						t.Error(err)
						return
					}
					mu.Lock()
					if err == nil {
						deleted++
					}
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		switch added - deleted {
		case 0:
			if _, _, err := w.Job(t.Context(), key("a")); !errors.Is(err, topics.ErrNotFound) {
				t.Errorf("%d added, %d deleted, and yet there is one: %v", added, deleted, err)
			}
			w.pop()
		case 1:
			w.pop("a")
		default:
			t.Errorf("%d added, %d deleted", added, deleted)
		}
	})
}
