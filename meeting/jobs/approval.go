package jobs

import (
	"context"
	"iter"

	"punctual/delayjob"
	"punctual/meeting"
)

// request is a timer of a request for a decision. The version of its messages is the number
// of the request. It meets a decision made at the same moment at the row's lock: one of them
// wins, and the other finds the request decided.
type request struct {
	Deps
	name string
	act  func(context.Context, meeting.Ref) (meeting.Outcome, error)
}

// requests are the timers: the end of a request that nobody decided, the reminder of those who
// have not, and the asking of others.
func requests(d Deps) []delayjob.DelayJob {
	return []delayjob.DelayJob{
		&request{d, meeting.JobExpire, d.Service.ExpireApproval},
		&request{d, meeting.JobApprovalRemind, d.Service.RemindApproval},
		&request{d, meeting.JobEscalate, d.Service.EscalateApproval},
	}
}

func (j *request) Name() string { return j.name }

func (j *request) Options() delayjob.Options { return delayjob.Options{MaxRuntime: maxRuntime} }

func (j *request) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, j.name, w)
}

func (j *request) Execute(ctx context.Context, m delayjob.Message) error {
	ref, err := readRef(m)
	if err != nil {
		return err
	}
	outcome, err := j.act(ctx, ref)
	if err != nil {
		return j.classify(err)
	}
	return only(j.verdicts(ctx, []delayjob.Message{m}, []meeting.Outcome{outcome}), nil)
}
