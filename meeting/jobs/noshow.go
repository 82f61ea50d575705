package jobs

import (
	"context"
	"iter"

	"punctual/delayjob"
	"punctual/meeting"
)

// noShow gives back the rooms of meetings to which nobody came. It meets a check-in made at
// the same moment at the row's lock: one of them wins, and the other finds it done.
type noShow struct{ Deps }

func (j *noShow) Name() string { return meeting.JobNoShow }

func (j *noShow) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, meeting.JobNoShow, w)
}

func (j *noShow) Execute(ctx context.Context, m delayjob.Message) error {
	ref, err := readRef(m)
	if err != nil {
		return err
	}
	outcome, err := j.Service.ReleaseNoShow(ctx, ref)
	if err != nil {
		return j.classify(err)
	}
	return only(j.verdicts(ctx, []delayjob.Message{m}, []meeting.Outcome{outcome}), nil)
}
