package jobs

import (
	"context"
	"iter"

	"punctual/delayjob"
	"punctual/meeting"
)

// timer is what the service does with many meetings, or waits, when their time has come. It meets
// what people do at the same moment at the locks of the rows: one of them wins, and the other
// finds it done.
type timer struct {
	Deps
	name  string
	act   func(context.Context, ...meeting.Ref) ([]meeting.Outcome, error)
	stale func(context.Context, []delayjob.Message, []meeting.Outcome) []error
}

// timers returns the jobs with a deadline: approval timeouts, approval reminders, escalations,
// releases of no-shows, and the expiry of waiting list entries and offers. For messages about a
// request, the version is the number of the request.
func timers(d Deps) []delayjob.DelayJob {
	return []delayjob.DelayJob{
		&timer{d, meeting.JobExpire, d.Service.ExpireApprovals, d.verdicts},
		&timer{d, meeting.JobApprovalRemind, d.Approval.RemindApprovals, d.verdicts},
		&timer{d, meeting.JobEscalate, d.Approval.EscalateApprovals, d.verdicts},
		&timer{d, meeting.JobNoShow, d.Service.ReleaseNoShows, d.verdicts},
		&timer{d, meeting.JobWaitlistExpire, d.Service.ExpireWaits, outdated},
	}
}

func (j *timer) Name() string { return j.name }

func (j *timer) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 2, Batch: 500, MaxRuntime: maxRuntime}
}

func (j *timer) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, j.name, w)
}

func (j *timer) Execute(ctx context.Context, m delayjob.Message) error {
	return only(j.ExecuteBatch(ctx, []delayjob.Message{m}))
}

func (j *timer) ExecuteBatch(ctx context.Context, ms []delayjob.Message) ([]error, error) {
	return readable(ms, readRef, func(ms []delayjob.Message, refs []meeting.Ref) ([]error, error) {
		outcomes, err := j.act(ctx, refs...)
		if err != nil {
			return nil, j.classify(err)
		}
		return j.stale(ctx, ms, outcomes), nil
	})
}
