package jobs

import (
	"context"
	"iter"

	"punctual/delayjob"
	"punctual/meeting"
)

// look offers free time of a room to its waiting list. The key is the room. The message is sent
// right after the commit that freed something. A full pass of the loader covers a process that
// crashed in between, and time that became free unnoticed.
type look struct{ Deps }

func (j *look) Name() string { return meeting.JobWaitlistLook }

func (j *look) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 2, Batch: 500, MaxRuntime: maxRuntime}
}

func (j *look) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		if !w.From.IsZero() {
			return // only a full pass loads this job: its messages have no due time
		}
		at := j.Now()
		rooms, number, err := j.Store.FreeAndAwaited(ctx, at)
		if err != nil {
			yield(delayjob.Message{}, j.classify(err))
			return
		}
		for _, m := range meeting.Looks(rooms, number, at) {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (j *look) Execute(ctx context.Context, m delayjob.Message) error {
	return only(j.ExecuteBatch(ctx, []delayjob.Message{m}))
}

func (j *look) ExecuteBatch(ctx context.Context, ms []delayjob.Message) ([]error, error) {
	return readable(ms, entity, func(ms []delayjob.Message, rooms []int64) ([]error, error) {
		if err := j.Waitlist.Look(ctx, rooms...); err != nil {
			return nil, j.classify(err)
		}
		return make([]error, len(ms)), nil
	})
}

// outdated drops messages of waits that have another state.
func outdated(_ context.Context, ms []delayjob.Message, outcomes []meeting.Outcome) []error {
	errs := make([]error, len(ms))
	for i, outcome := range outcomes {
		if outcome == meeting.Stale {
			errs[i] = delayjob.Drop("the wait has another state")
		}
	}
	return errs
}
