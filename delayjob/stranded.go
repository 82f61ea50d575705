package delayjob

import (
	"context"
	"fmt"
	"time"
)

// strandedAfter is how long after its end nobody may have taken over a lease: claims come
// at the end, or within the safety poll if they missed it.
const strandedAfter = time.Second

// Stranded describes leases of jobs that have ended for more than a second without anybody
// taking the message over, unless the job is paused. It means that no consumer works on the
// job, or none has a free handler. Topics, which others pop when they like, are not for it.
func Stranded(ctx context.Context, q interface {
	Queue
	Inspector
}, jobs ...string) ([]string, error) {
	var found []string
	for _, job := range jobs {
		s, err := q.Stats(ctx, job)
		if err != nil {
			return found, err
		}
		if s.Paused || s.Reserved == 0 {
			continue
		}
		for cursor, more := "", true; more; more = cursor != "" {
			items, next, err := q.List(ctx, job, StateReserved, cursor, 500)
			if err != nil {
				return found, err
			}
			limit := q.Now().Add(-strandedAfter)
			for _, i := range items { // the earliest end first
				if !i.LeaseUntil.Before(limit) {
					next = ""
					break
				}
				found = append(found, fmt.Sprintf("%s is leased until %s, and nobody took it over", i.ID(), i.LeaseUntil.Format("15:04:05.000Z")))
			}
			cursor = next
		}
	}
	return found, nil
}

// Unknown counts the messages of each job that known rejects. Without a strategy they stay in the
// queue until somebody removes them or a process starts that has it.
func Unknown(ctx context.Context, q Inspector, known func(job string) bool) (map[string]Stats, error) {
	jobs, err := q.Jobs(ctx)
	found := map[string]Stats{}
	for _, job := range jobs {
		if known(job) {
			continue
		}
		s, err := q.Stats(ctx, job)
		if err != nil {
			return found, err
		}
		if s.Messages() > 0 {
			found[job] = s
		}
	}
	return found, err
}
