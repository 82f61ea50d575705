package httpapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"punctual/delayjob"
)

// comingHour counts what becomes due in each minute of the coming hour. It reads what the loader
// would load, because the queue holds messages only up to its horizon. Answers are cached for some
// seconds, and the rows read per job type are limited, so that many readers cost little.
type comingHour struct {
	jobs []delayjob.DelayJob
	most int // messages of one job type
	now  func() time.Time

	mu   sync.Mutex // held while it counts, so that concurrent callers share one answer
	last comingView
	at   time.Time // when it was counted
}

const (
	mostCounted = 20_000 // messages of one job
	comingFresh = 10 * time.Second
)

type comingView struct {
	From  time.Time   `json:"from" doc:"Start of the hour, a whole minute"`
	Items []comingJob `json:"items" nullable:"false"`
}

type comingJob struct {
	Job     string  `json:"job" example:"meeting.start"`
	Minutes [60]int `json:"minutes" nullable:"false" doc:"Number of messages due in each minute; the first minute includes those that are overdue"`
	More    bool    `json:"more" doc:"Whether further messages are due that were not counted"`
}

type comingAnswer struct{ Body comingView }

func (c *comingHour) count(ctx context.Context) (comingView, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	from := now.UTC().Truncate(time.Minute)
	if c.last.From.Equal(from) && now.Sub(c.at) < comingFresh {
		return c.last, nil
	}
	v := comingView{From: from, Items: make([]comingJob, 0, len(c.jobs))}
	for _, j := range c.jobs {
		counted, err := c.ofJob(ctx, j, from)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, counted)
	}
	c.last, c.at = v, now
	return v, nil
}

func (c *comingHour) ofJob(ctx context.Context, j delayjob.DelayJob, from time.Time) (comingJob, error) {
	counted, n := comingJob{Job: j.Name()}, 0
	for m, err := range j.Load(ctx, delayjob.Window{To: from.Add(time.Hour - time.Millisecond)}) {
		if err != nil {
			return counted, fmt.Errorf("count what is coming of %s: %w", j.Name(), err)
		}
		if n++; n > c.most {
			counted.More = true
			break
		}
		counted.Minutes[max(0, min(59, int(m.Due.Sub(from)/time.Minute)))]++
	}
	return counted, nil
}
