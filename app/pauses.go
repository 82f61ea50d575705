package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/gormstore"
)

// pauses are the strategies that operators paused. The database keeps the decision; the queue
// obeys it, but forgets it with its content.
type pauses struct {
	settings *gormstore.Settings
	queue    delayjob.Inspector
	standIn  func() delayjob.Inspector // the queue that obeys while queue is away, nil if there is none; nil: there never is one
	jobs     []string
}

// pause a job, which is noted even if the queue does not answer; it obeys once it does.
func (p *pauses) pause(ctx context.Context, job, by string) error {
	if err := p.settings.Pause(ctx, job, by, time.Now()); err != nil {
		return err
	}
	return p.applyNow(ctx)
}

func (p *pauses) resume(ctx context.Context, job string) error {
	if err := p.settings.Resume(ctx, job); err != nil {
		return err
	}
	return p.applyNow(ctx)
}

// paused are the jobs that the database says are paused.
func (p *pauses) paused(ctx context.Context) (map[string]bool, error) {
	noted, err := p.settings.Paused(ctx)
	jobs := make(map[string]bool, len(noted))
	for job := range noted {
		jobs[job] = true
	}
	return jobs, err
}

// applyNow makes the queue that is in force obey. The other is told before it is used again.
func (p *pauses) applyNow(ctx context.Context) error {
	if p.standIn != nil {
		if q := p.standIn(); q != nil {
			return p.applyTo(ctx, q)
		}
	}
	return p.apply(ctx)
}

// apply makes the queue do as the database says.
func (p *pauses) apply(ctx context.Context) error { return p.applyTo(ctx, p.queue) }

// applyTo makes a queue do as the database says. Several processes may do this while others
// pause and resume: whoever acted on a decision that was overtaken meanwhile acts again, so
// the last one holds.
func (p *pauses) applyTo(ctx context.Context, q delayjob.Inspector) error {
	want, err := p.settings.Paused(ctx)
	if err != nil {
		return err
	}
	for {
		if err := p.obey(ctx, q, want); err != nil {
			return queueError(err)
		}
		now, err := p.settings.Paused(ctx)
		if err != nil || maps.EqualFunc(want, now, gormstore.Pause.Equal) {
			return err
		}
		want = now
	}
}

// obey does as far as the queue answers: a part of it that does not keeps no other from it,
// and is told of once.
func (p *pauses) obey(ctx context.Context, q delayjob.Inspector, want map[string]gormstore.Pause) error {
	var errs []error
	for job := range want {
		errs = append(errs, q.Pause(ctx, job))
	}
	for _, job := range p.jobs {
		if _, paused := want[job]; paused {
			continue
		}
		s, err := q.Stats(ctx, job)
		if err == nil && s.Paused {
			err = q.Resume(ctx, job)
		}
		errs = append(errs, err)
	}
	told := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || told[err.Error()] {
			return true
		}
		told[err.Error()] = true
		return false
	})...)
}
