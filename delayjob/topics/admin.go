package topics

import (
	"context"
	"time"

	"punctual/delayjob/pause"
)

// SetPaused pauses or resumes a topic. The service does not hand out jobs of a paused topic.
// Reserved jobs stay reserved.
func (s *Service) SetPaused(ctx context.Context, topic string, paused bool) error {
	if err := s.store.SetPaused(ctx, topic, paused, s.Now()); err != nil {
		return err
	}
	change := s.queue.Resume
	if paused {
		change = s.queue.Pause
	}
	if err := change(context.WithoutCancel(ctx), JobName(topic)); err != nil {
		s.untold(err) // a pop reads the database, and the loader pauses the queue again
	}
	return nil
}

// Stats returns the counts of the given topics, or of all topics, and the time of the count.
func (s *Service) Stats(ctx context.Context, topics ...string) ([]Stats, time.Time, error) {
	now := s.Now()
	stats, err := s.store.Stats(ctx, now, topics...)
	return stats, now, err
}

// Topic returns the counts of one topic and the number of its jobs that become due in each minute
// of the next hour. For an unknown topic, all counts are zero.
func (s *Service) Topic(ctx context.Context, topic string) (Stats, [60]int, time.Time, error) {
	all, now, err := s.Stats(ctx, topic)
	if err != nil {
		return Stats{}, [60]int{}, now, err
	}
	minutes, err := s.store.Minutes(ctx, topic, now)
	if len(all) == 0 {
		return Stats{Topic: topic}, minutes, now, err
	}
	return all[0], minutes, now, err
}

// Dead pages through dead jobs; see [Store.Dead].
func (s *Service) Dead(ctx context.Context, topic string, after *Job, limit int) ([]*Job, error) {
	if err := s.store.Settle(pause.Never(ctx), s.Now()); err != nil {
		return nil, err
	}
	return s.store.Dead(ctx, topic, after, limit)
}

// Requeue makes a dead job due now and restores all its attempts.
func (s *Service) Requeue(ctx context.Context, k Key) error {
	j, err := s.update(ctx, k, func(j *Job, now time.Time) error {
		if j.settle(now); j.Status != Dead {
			return &StateError{j.State(now)}
		}
		j.schedule(now, now)
		return nil
	})
	if err != nil {
		return err
	}
	s.scheduler.Schedule(ctx, j.message())
	return s.store.NoteRequeued(ctx, k)
}

// List pages through the jobs of a topic in one state, or in any state if it is empty. Delayed,
// ready and reserved jobs are sorted by due time, others by ID. The page starts after the given
// job. If next is not nil, the following page starts there. Jobs come without their bodies.
func (s *Service) List(ctx context.Context, topic string, state State, after *Job, limit int) (js []*Job, next *Job, now time.Time, err error) {
	if now = s.Now(); state == IsDead || state == IsExpired || state == "" {
		if err := s.store.Settle(pause.Never(ctx), now); err != nil {
			return nil, nil, now, err
		}
	}
	js, next, err = s.store.List(ctx, topic, state, now, after, limit)
	return js, next, now, err
}

const (
	purgePage  = 1000
	purgePages = 10 // per call
)

// Purge deletes the jobs of a topic in one state or in all states, up to 10,000 per call. It
// reports how many jobs it deleted, how many of them are running, and whether more may be left.
func (s *Service) Purge(ctx context.Context, topic string, state State) (deleted, running int, more bool, err error) {
	var after *Job
	for range purgePages {
		js, next, now, err := s.List(ctx, topic, state, after, purgePage)
		if err != nil {
			return deleted, running, true, err
		}
		keys := make([]Key, len(js))
		for i, j := range js {
			keys[i] = j.Key
		}
		var gone []Key
		var run int
		err = s.store.Update(ctx, keys, func(js []*Job) (changed []*Job, err error) {
			gone, run = nil, 0
			for _, j := range js {
				is := j.State(now)
				if j.Status == Deleted || state != "" && is != state {
					continue
				}
				if is == Reserved {
					run++
				}
				j.Status, j.UpdatedAt = Deleted, now
				j.let()
				changed, gone = append(changed, j), append(gone, j.Key)
			}
			return changed, nil
		})
		if err != nil {
			return deleted, running, true, err
		}
		if len(gone) > 0 {
			s.forget(ctx, gone...)
		}
		deleted, running, after = deleted+len(gone), running+run, next
		if next == nil {
			return deleted, running, false, nil
		}
	}
	return deleted, running, true, nil
}
