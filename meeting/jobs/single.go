package jobs

import (
	"context"
	"iter"

	"punctual/delayjob"
	"punctual/meeting"
)

// single is a timer of one meeting at a time. It meets what people do at the same moment at the
// row's lock: one of them wins, and the other finds it done.
type single struct {
	Deps
	name string
	act  func(context.Context, meeting.Ref) (meeting.Outcome, error)
}

// singles are the end of a request that nobody decided, the reminder of those who have not, the
// asking of others, and the giving back of rooms to which nobody came. The version of messages
// about a request is its number.
func singles(d Deps) []delayjob.DelayJob {
	return []delayjob.DelayJob{
		&single{d, meeting.JobExpire, d.Service.ExpireApproval},
		&single{d, meeting.JobApprovalRemind, d.Service.RemindApproval},
		&single{d, meeting.JobEscalate, d.Service.EscalateApproval},
		&single{d, meeting.JobNoShow, d.Service.ReleaseNoShow},
	}
}

func (j *single) Name() string { return j.name }

func (j *single) Options() delayjob.Options { return delayjob.Options{MaxRuntime: maxRuntime} }

func (j *single) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, j.name, w)
}

func (j *single) Execute(ctx context.Context, m delayjob.Message) error {
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
