package jobs

import (
	"context"
	"iter"

	"punctual/delayjob"
	"punctual/meeting"
)

// expire ends requests that nobody decided in time. It meets a decision made at the same
// moment at the row's lock: one of them wins, and the other finds the request decided.
type expire struct{ Deps }

func (j *expire) Name() string { return meeting.JobExpire }

func (j *expire) Options() delayjob.Options { return delayjob.Options{MaxRuntime: maxRuntime} }

func (j *expire) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, meeting.JobExpire, w)
}

func (j *expire) Execute(ctx context.Context, m delayjob.Message) error {
	ref, err := readRef(m)
	if err != nil {
		return err
	}
	outcome, err := j.Service.ExpireApproval(ctx, ref)
	if err != nil {
		return j.classify(err)
	}
	return only(j.verdicts(ctx, []delayjob.Message{m}, []meeting.Outcome{outcome}), nil)
}
