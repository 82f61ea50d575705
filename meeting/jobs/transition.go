package jobs

import (
	"context"
	"iter"
	"slices"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
)

// transition starts or ends many meetings in one statement, because many begin at the same time.
// It depends only on the schedule's version and the state, so a second run finds the work done.
// Nothing follows the transaction, so a crash only costs the rest of the lease.
type transition struct {
	Deps
	name  string
	apply func(context.Context, []meeting.Ref, time.Time) ([]meeting.Outcome, error)
}

func (j *transition) Name() string { return j.name }

func (j *transition) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 2, Batch: 500, Lease: 10 * time.Second, MaxRuntime: maxRuntime}
}

func (j *transition) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, j.name, w)
}

func (j *transition) Execute(ctx context.Context, m delayjob.Message) error {
	return only(j.ExecuteBatch(ctx, []delayjob.Message{m}))
}

func (j *transition) ExecuteBatch(ctx context.Context, ms []delayjob.Message) ([]error, error) {
	return readable(ms, readRef, func(ms []delayjob.Message, refs []meeting.Ref) ([]error, error) {
		outcomes, err := j.apply(ctx, refs, j.at(ms))
		if err != nil {
			return nil, j.classify(err)
		}
		if j.Changed != nil && slices.Contains(outcomes, meeting.Applied) {
			j.Changed()
		}
		return j.verdicts(ctx, ms, outcomes), nil
	})
}
