package admin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"punctual/delayjob"
)

// Pause is the decision that no messages of a job are handed out.
type Pause struct {
	Job string
	At  time.Time
	By  string
}

// Equal reports whether both are the same decision.
func (p Pause) Equal(o Pause) bool { return p.Job == o.Job && p.At.Equal(o.At) && p.By == o.By }

// Decisions keep which jobs are paused where a flush of the queue cannot lose it.
type Decisions interface {
	// Pause notes that by paused a job. If it is paused already, the first decision stays.
	Pause(ctx context.Context, job, by string, at time.Time) error
	Resume(ctx context.Context, job string) error
	// Paused returns the paused jobs by name.
	Paused(ctx context.Context) (map[string]Pause, error)
}

// Pauses pause and resume jobs. The database keeps the decision. The queue carries it out, but
// forgets it if it is flushed, so [Pauses.Apply] repeats it.
type Pauses struct {
	Decisions Decisions
	Queue     delayjob.Inspector
	Fallback  func() delayjob.Inspector // returns the queue in force while Queue is down, nil if Queue is; nil: there is no fallback
	Jobs      []string
}

// Pause a job. The decision is stored even if the queue does not answer; it is applied later then.
func (p *Pauses) Pause(ctx context.Context, job, by string) error {
	if err := p.Decisions.Pause(ctx, job, by, time.Now()); err != nil {
		return err
	}
	return p.applyNow(ctx)
}

// Resume a job.
func (p *Pauses) Resume(ctx context.Context, job string) error {
	if err := p.Decisions.Resume(ctx, job); err != nil {
		return err
	}
	return p.applyNow(ctx)
}

// Paused returns the names of the paused jobs, from the database.
func (p *Pauses) Paused(ctx context.Context) (map[string]bool, error) {
	noted, err := p.Decisions.Paused(ctx)
	jobs := make(map[string]bool, len(noted))
	for job := range noted {
		jobs[job] = true
	}
	return jobs, err
}

// applyNow applies the decisions to the queue in force. The other queue gets them before it is used again.
func (p *Pauses) applyNow(ctx context.Context) error {
	if p.Fallback != nil {
		if q := p.Fallback(); q != nil {
			return p.ApplyTo(ctx, q)
		}
	}
	return p.Apply(ctx)
}

// Apply pauses and resumes jobs in the queue as the database says.
func (p *Pauses) Apply(ctx context.Context) error { return p.ApplyTo(ctx, p.Queue) }

// ApplyTo pauses and resumes jobs in a queue as the database says. Several processes may do this while
// others pause and resume. If a decision changed in the meantime, ApplyTo starts over, so the last
// decision wins.
func (p *Pauses) ApplyTo(ctx context.Context, q delayjob.Inspector) error {
	want, err := p.Decisions.Paused(ctx)
	if err != nil {
		return err
	}
	for {
		if err := p.apply(ctx, q, want); err != nil {
			return QueueError(err)
		}
		now, err := p.Decisions.Paused(ctx)
		if err != nil || maps.EqualFunc(want, now, Pause.Equal) {
			return err
		}
		want = now
	}
}

// apply continues after errors: if one part of the queue does not answer, the others still do. Equal
// errors are returned once.
func (p *Pauses) apply(ctx context.Context, q delayjob.Inspector, want map[string]Pause) error {
	var errs []error
	for job := range want {
		errs = append(errs, q.Pause(ctx, job))
	}
	for _, job := range p.Jobs {
		if _, paused := want[job]; paused {
			continue
		}
		s, err := q.Stats(ctx, job)
		if err == nil && s.Paused {
			err = q.Resume(ctx, job)
		}
		errs = append(errs, err)
	}
	seen := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || seen[err.Error()] {
			return true
		}
		seen[err.Error()] = true
		return false
	})...)
}
