package jobs

import (
	"context"
	"iter"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/failpoint"
	"punctual/meeting"
	"punctual/meeting/booking"
)

// remind records whom a due reminder is to be sent to: the first, quick stage. The second
// sends each recorded notice by a job of its own channel. The ledger's unique keys make a
// second run record nothing; a crash between the recording and the adding of the deliveries
// delays them until the loader finds them in the ledger.
type remind struct{ Deps }

func (j *remind) Name() string { return meeting.JobRemind }

func (j *remind) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 2, Batch: 200, Lease: 10 * time.Second, MaxRuntime: maxRuntime}
}

func (j *remind) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, meeting.JobRemind, w)
}

func (j *remind) Execute(ctx context.Context, m delayjob.Message) error {
	return only(j.ExecuteBatch(ctx, []delayjob.Message{m}))
}

func (j *remind) ExecuteBatch(ctx context.Context, ms []delayjob.Message) ([]error, error) {
	return readable(ms, readReminder, func(ms []delayjob.Message, refs []meeting.ReminderRef) ([]error, error) {
		at := j.at(ms)
		outcomes, notices, err := j.Store.Remind(ctx, refs, at, func(m *meeting.Meeting, ref meeting.ReminderRef) []meeting.Notice {
			r, ok := m.Reminder(ref.Before, ref.Offset)
			if !ok {
				return nil
			}
			return m.RemindNotices(r, at)
		})
		if err != nil {
			return nil, j.classify(err)
		}
		if deliveries := booking.Deliveries(notices); len(deliveries) > 0 {
			failpoint.Reach("remind.after", "")
			j.Scheduler.Schedule(ctx, deliveries...)
		}
		return j.verdicts(ctx, ms, outcomes), nil
	})
}
