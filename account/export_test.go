package account

import (
	"context"
	"strconv"
	"time"
)

// Flood takes all places of the hasher, and lets strangers of as many networks as there may be wait.
func (s *Service) Flood(ctx context.Context) (end func()) {
	q := s.hasher.queue
	var leaves []func()
	q.mu.Lock()
	free := q.free
	q.mu.Unlock()
	for range free {
		leave, _ := q.enter(ctx, origin{})
		leaves = append(leaves, leave)
	}
	ctx, cancel := context.WithCancel(ctx)
	for i := range maxWaiters {
		go func() {
			if leave, err := q.enter(ctx, origin{source: strconv.Itoa(i)}); err == nil {
				leave()
			}
		}()
	}
	for s.Waiting() < maxWaiters {
		time.Sleep(time.Millisecond)
	}
	return func() {
		for _, leave := range leaves {
			leave()
		}
		cancel()
	}
}

// Waiting is how many wait for the hasher.
func (s *Service) Waiting() (n int) {
	q := s.hasher.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.tiers {
		n += l.waiting
	}
	return n
}

const MaxResets = maxResets

// SetAnswerReset changes how long a request for a reset takes at least.
func (s *Service) SetAnswerReset(d time.Duration) { s.answerReset = d }

// StepOf is the step of a code.
func StepOf(f *SecondFactor, code string, now time.Time) int64 { return f.timeStep(code, now) }
