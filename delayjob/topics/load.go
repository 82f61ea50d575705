package topics

import (
	"context"
	"errors"
	"iter"
	"time"

	"punctual/delayjob"
)

// Loading fills the queue with the jobs of all topics. It is for a [delayjob.Loader] alone: its
// messages are those of the jobs "topic.<name>", of which no consumer may be given one.
type Loading struct{ s *Service }

// Loading returns the service's.
func (s *Service) Loading() *Loading { return &Loading{s} }

// Name implements [delayjob.DelayJob].
func (*Loading) Name() string { return "topic" }

const (
	loadPage   = 1000
	resumedFor = 10 * time.Minute // for so long a resumed topic is looked after
)

// Load implements [delayjob.DelayJob]. Before, it tells the queue which topics are paused,
// which a flush makes it forget.
func (l *Loading) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		if err := l.s.applySettings(ctx); err != nil {
			yield(delayjob.Message{}, err)
			return
		}
		for after := (*Job)(nil); ; {
			js, err := l.s.store.Due(ctx, w, after, loadPage)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, j := range js {
				if !yield(j.message(), nil) {
					return
				}
			}
			if len(js) < loadPage {
				return
			}
			after = js[len(js)-1]
		}
	}
}

// Execute implements [delayjob.DelayJob] by refusing: topics are popped.
func (*Loading) Execute(context.Context, delayjob.Message) error {
	return delayjob.Dead(errors.New("topics: a job for a pop was given to a consumer"))
}

// applySettings pauses in the queue what is paused, and resumes what was resumed of late.
func (s *Service) applySettings(ctx context.Context) error {
	paused, resumed, err := s.store.Settings(ctx, s.now().Add(-resumedFor))
	if err != nil {
		return err
	}
	for _, t := range paused {
		if err := s.queue.Pause(ctx, jobName(t)); err != nil {
			return err
		}
	}
	for _, t := range resumed {
		if err := s.queue.Resume(ctx, jobName(t)); err != nil {
			return err
		}
	}
	return nil
}
