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

// Loading fills the queue with the jobs of all topics. It is for a [delayjob.Loader] alone: its
// messages are those of the jobs "topic.<name>", of which no consumer may be given one.
type Loading struct {
	s      *Service
	pushed bool // only topics with a webhook
}

// Loading returns the service's.
func (s *Service) Loading() *Loading { return &Loading{s: s} }

// Name implements [delayjob.DelayJob].
func (*Loading) Name() string { return "topic" }

const (
	loadPage   = 1000
	resumedFor = 10 * time.Minute // for so long a resumed topic is looked after
	overdueFor = 30 * time.Second // what was due before counts as overdue
	maxOverdue = 200_000          // overdue jobs of one topic in the queue
)

// Load implements [delayjob.DelayJob]. Before, it tells the queue which topics are paused,
// which a flush makes it forget. The overdue come first, by topic.
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

// loadPushed yields the jobs of the topics that have a webhook.
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

// each yields the jobs of a topic, or of all if it is empty, in w, at most so many; false: no
// more are wanted.
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

// missing lists the topics of whose overdue jobs the queue holds fewer than there are, and
// fewer than it should hold at most. The others cost a pass nothing but a count, however many
// wait for a pop that does not come. What a queue holds too much, because it was not told of
// an end, could hide that it lacks something; it goes away with the next claim, and then the
// next pass sees what is missing.
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

// Execute implements [delayjob.DelayJob] by refusing: topics are popped.
func (*Loading) Execute(context.Context, delayjob.Message) error {
	return delayjob.Dead(errors.New("topics: a job for a pop was given to a consumer"))
}

// applySettings pauses in the queue what is paused, and resumes what was resumed of late.
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
