package topics

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits bound the size of topics; 0: no limit.
type Limits struct {
	Pending int // jobs of one topic that have not ended
	Topics  int // names in use
}

// quota tracks the free space of each topic in this process. It counts jobs in the database from
// time to time and its own adds in between. Several processes together may therefore exceed a limit
// by what the others add until the next count.
type quota struct {
	mu     sync.Mutex
	limits Limits
	topics map[string]*room
}

type room struct {
	jobs    int       // as counted, and what was added here since
	counted time.Time // when
}

const (
	countEvery    = 10 * time.Second // a topic that is more than half full
	countSeldom   = time.Minute
	countFull     = 200 * time.Millisecond // between counts of a full topic
	quotaRecovery = 10 * time.Second
)

// SetLimits replaces the limits. A new service has none.
func (s *Service) SetLimits(l Limits) {
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	s.quota.limits = l
}

// admit reserves space for new jobs, or rejects all of them with a [*QuotaError].
func (s *Service) admit(ctx context.Context, js []*Job) error {
	adds := map[string]int{}
	for _, j := range js {
		adds[j.Topic]++
	}
	for topic, n := range adds {
		if err := s.admitTo(ctx, topic, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) admitTo(ctx context.Context, topic string, n int) error {
	limits, r := s.quota.reserve(topic, n, time.Now())
	switch r {
	case reserved:
		return nil
	case full:
		return fullError(topic, limits)
	}
	jobs := 0
	if limits != (Limits{}) {
		var err error
		if jobs, err = s.store.Pending(ctx, topic, max(1, limits.Pending)); err != nil {
			return err
		}
	}
	if jobs == 0 && limits.Topics > 0 {
		names, err := s.store.Names(ctx, limits.Topics)
		if err != nil {
			return err
		}
		if len(names) >= limits.Topics && !slices.Contains(names, topic) {
			return &QuotaError{fmt.Sprintf("There are already %d topics, the maximum.", limits.Topics), time.Hour}
		}
	}
	if limits.Pending > 0 && jobs+n > limits.Pending {
		s.quota.note(topic, jobs)
		return fullError(topic, limits)
	}
	s.quota.note(topic, jobs+n)
	return nil
}

func fullError(topic string, l Limits) error {
	return &QuotaError{fmt.Sprintf("Topic %s can have at most %d unfinished jobs.", topic, l.Pending), quotaRecovery}
}

type reservation int

const (
	unknown  reservation = iota // a new count is needed
	reserved                    // there is space
	full                        // a recent count found no space
)

// reserve takes space according to the last count.
func (q *quota) reserve(topic string, n int, now time.Time) (Limits, reservation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.topics[topic]
	if r == nil {
		return q.limits, unknown
	}
	limited := q.limits.Pending > 0
	age, every := now.Sub(r.counted), countSeldom
	if limited && 2*(r.jobs+n) > q.limits.Pending {
		every = countEvery
	}
	switch over := limited && r.jobs+n > q.limits.Pending; {
	case over && age < countFull:
		return q.limits, full
	case over || age > every:
		return q.limits, unknown
	}
	r.jobs += n
	return q.limits, reserved
}

func (q *quota) note(topic string, jobs int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.topics == nil || len(q.topics) > 10_000 {
		q.topics = map[string]*room{}
	}
	q.topics[topic] = &room{jobs, time.Now()}
}
