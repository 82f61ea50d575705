package scheduling

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
)

// answerJob tells organizers' calendars what changed here. The key is the meeting. It waits until the
// change can no longer be undone. Its effect depends on the state of the meeting, so it may run twice.
type answerJob struct {
	service *Service
}

// Jobs returns the delay jobs.
func (s *Service) Jobs() []delayjob.DelayJob {
	return []delayjob.DelayJob{&answerJob{s}, &extendJob{s}}
}

func (j *answerJob) Name() string { return meeting.JobAnswer }

func (j *answerJob) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 2, MaxRuntime: 30 * time.Second}
}

// page is how many rows a job loads at once.
const page = 500

func (j *answerJob) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	undo := j.service.Settings().Undo
	return func(yield func(delayjob.Message, error) bool) {
		for after := meeting.ID(0); ; {
			changes, err := j.service.Store.Changed(ctx, w.To.Add(-undo), after, page)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, c := range changes {
				if !yield(delayjob.Message{Job: j.Name(), Key: strconv.FormatInt(c.MeetingID, 10), Version: c.At.UnixMicro(), Due: c.At.Add(undo)}, nil) {
					return
				}
				after = c.MeetingID
			}
			if len(changes) < page {
				return
			}
		}
	}
}

func (j *answerJob) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid meeting key %q", m.Key))
	}
	return j.service.Settle(ctx, Change{MeetingID: id, At: time.UnixMicro(m.Version)})
}
