package delayjob

import (
	"context"
	"fmt"
	"time"
)

// strandedAfter is how long after its end a lease may stay unclaimed. Claims happen at the end, or
// within the safety poll if the hint was lost.
const strandedAfter = time.Second

// Stranded describes leases that ended over a second ago and whose messages no consumer has
// claimed. It skips paused jobs. A result means that no consumer works on the job, or that none has
// a free handler. Do not use it for topics, which clients pop when they like.
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
			for _, i := range items { // earliest end first
				if !i.LeaseUntil.Before(limit) {
					next = ""
					break
				}
				found = append(found, fmt.Sprintf("%s is leased until %s, and no consumer has claimed it", i.ID(), i.LeaseUntil.Format("15:04:05.000Z")))
			}
			cursor = next
		}
	}
	return found, nil
}

// Unknown counts the messages of each job that known rejects. They stay in the queue until someone
// removes them or a process with a handler starts.
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
