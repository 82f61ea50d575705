package topics

import (
	"context"
	"time"
)

// SetPaused pauses a topic, whose jobs are then not handed out, or resumes it. What is
// reserved stays so.
func (s *Service) SetPaused(ctx context.Context, topic string, paused bool) error {
	if err := s.store.SetPaused(ctx, topic, paused, s.now()); err != nil {
		return err
	}
	change := s.queue.Resume
	if paused {
		change = s.queue.Pause
	}
	if err := change(context.WithoutCancel(ctx), JobName(topic)); err != nil {
		s.untold(err) // a pop asks the database, and the loader tells the queue again
	}
	return nil
}

// Stats tells the counts of all topics, or of these, and the time they are of.
func (s *Service) Stats(ctx context.Context, topics ...string) ([]Stats, time.Time, error) {
	now := s.now()
	stats, err := s.store.Stats(ctx, now, topics...)
	return stats, now, err
}

// Topic tells the counts of one topic, all zero if there is nothing of it, and how many of its
// jobs become due in each minute of the coming hour.
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
	if err := s.store.Settle(ctx, s.now()); err != nil {
		return nil, err
	}
	return s.store.Dead(ctx, topic, after, limit)
}

// Requeue makes a dead job due now, with all its attempts before it.
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
