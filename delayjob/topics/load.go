package topics

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"punctual/delayjob"
)

// Loading fills the queue with the jobs of all topics. Use it only with a [delayjob.Loader]. Its
// messages belong to the jobs "topic.<name>", so no consumer may claim them.
type Loading struct {
	s      *Service
	pushed bool // only topics with a webhook
}

// Loading returns the loading job of the service.
func (s *Service) Loading() *Loading { return &Loading{s: s} }

// Name implements [delayjob.DelayJob].
func (*Loading) Name() string { return "topic" }

const (
	loadPage   = 1000
	resumedFor = 10 * time.Minute // how long each pass repeats the resuming of a topic
	overdueFor = 30 * time.Second // jobs that were due before are overdue
	maxOverdue = 200_000          // overdue jobs of one topic in the queue
)

// Load implements [delayjob.DelayJob]. It first pauses the paused topics in the queue, because a
// flush removes these settings. Then it yields overdue jobs by topic, and after them the others.
func (l *Loading) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		if err := l.s.applySettings(ctx); err != nil {
			yield(delayjob.Message{}, err)
			return
		}
		if l.pushed {
			l.loadPushed(ctx, w, yield)
			return
		}
		if w.From.IsZero() {
			w.From = micro(l.s.Now().Add(-overdueFor))
			missing, err := l.s.missing(ctx, w.From)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, topic := range missing {
				if !l.each(ctx, delayjob.Window{To: w.From}, topic, maxOverdue, yield) {
					return
				}
			}
		}
		l.each(ctx, w, "", math.MaxInt, yield)
	}
}

func (l *Loading) loadPushed(ctx context.Context, w delayjob.Window, yield func(delayjob.Message, error) bool) {
	hooks, err := l.s.store.Webhooks(ctx)
	if err != nil {
		yield(delayjob.Message{}, err)
		return
	}
	for _, h := range hooks {
		if !l.each(ctx, w, h.Topic, maxOverdue, yield) {
			return
		}
	}
}

// each yields at most most jobs of a topic in w, or of all topics if it is empty. It returns false
// if the caller wants no more.
func (l *Loading) each(ctx context.Context, w delayjob.Window, topic string, most int, yield func(delayjob.Message, error) bool) bool {
	for after := (*Job)(nil); most > 0; {
		js, err := l.s.store.Due(ctx, w, topic, after, min(most, loadPage))
		if err != nil {
			yield(delayjob.Message{}, err)
			return false
		}
		for _, j := range js {
			if !yield(j.message(), nil) {
				return false
			}
		}
		if len(js) < loadPage {
			return true
		}
		most -= len(js)
		after = js[len(js)-1]
	}
	return true
}

// missing lists the topics whose overdue jobs are not all in the queue and fill less than their
// share of it. For the other topics a pass costs only a count, however many jobs wait for a pop.
// Messages of ended jobs in the queue may hide missing ones. The next claim removes them, and the
// next pass finds what is missing.
func (s *Service) missing(ctx context.Context, before time.Time) ([]string, error) {
	overdue, err := s.store.Overdue(ctx, before)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, topic := range slices.Sorted(maps.Keys(overdue)) {
		q, err := s.queue.Stats(ctx, JobName(topic))
		if err != nil {
			return nil, err
		}
		if q.Ready+q.Reserved < min(overdue[topic], maxOverdue) {
			missing = append(missing, topic)
		}
	}
	return missing, nil
}

// Execute implements [delayjob.DelayJob]. It always fails, because jobs of topics are popped.
func (*Loading) Execute(context.Context, delayjob.Message) error {
	return delayjob.Dead(errors.New("topics: a job for a pop was given to a consumer"))
}

// applySettings pauses the paused topics in the queue and resumes those that were resumed recently.
func (s *Service) applySettings(ctx context.Context) error {
	paused, resumed, err := s.store.Settings(ctx, s.Now().Add(-resumedFor))
	if err != nil {
		return err
	}
	for _, t := range paused {
		if err := s.queue.Pause(ctx, JobName(t)); err != nil {
			return err
		}
	}
	for _, t := range resumed {
		if err := s.queue.Resume(ctx, JobName(t)); err != nil {
			return err
		}
	}
	return nil
}
