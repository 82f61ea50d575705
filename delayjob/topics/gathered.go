package topics

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/gather"
)

type gathered struct {
	controls gather.Gatherer[[]string, controls]
	takes    gather.Gatherer[claim, took]
	changes  gather.Gatherer[[]change, []outcome]
}

// gatherMost is the largest number of jobs for which a call shares a transaction with others.
// Larger calls get their own: sharing gains them nothing, and others would wait for them.
const gatherMost = 50

func (s *Service) gather() {
	s.gathered.controls.Do = s.controlsTogether
	s.gathered.takes.Do = s.takeTogether
	s.gathered.changes.Do = s.changeTogether
}

type controls struct {
	of  map[string]Control
	err error
}

func (s *Service) controlsTogether(lists [][]string) []controls {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	all := slices.Concat(lists...)
	slices.Sort(all)
	of, err := s.store.Controls(ctx, slices.Compact(all)...)
	return slices.Repeat([]controls{{of, err}}, len(lists))
}

// A claim is a set of messages whose rows the caller wants to take, at an instant of the engine's
// clock.
type claim struct {
	ms  []delayjob.Message
	ttr time.Duration
	now time.Time
}

type took struct {
	taking
	err error
}

func (s *Service) takeTogether(cs []claim) []took {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	ts := s.takeAll(ctx, cs...)
	for i, t := range ts {
		if t.err != nil && len(cs) > 1 { // an error for one call must not affect the others
			ts[i] = s.takeAll(ctx, cs[i])[0]
		}
	}
	return ts
}

func (s *Service) changeTogether(lists [][]change) [][]outcome {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	all := s.changeHeld(ctx, slices.Concat(lists...))
	os := make([][]outcome, len(lists))
	for i, cs := range lists {
		os[i], all = all[:len(cs)], all[len(cs):]
		if err := os[i][0].err; err != nil && !errors.Is(err, delayjob.ErrLeaseLost) && len(lists) > 1 {
			os[i] = s.changeHeld(ctx, cs)
		}
	}
	return os
}

func (s *Service) take(ctx context.Context, c claim) (taking, error) {
	var t took
	if len(c.ms) <= gatherMost {
		t = s.gathered.takes.Ask(c)
	} else {
		t = s.takeAll(ctx, c)[0]
	}
	return t.taking, t.err
}

// change changes jobs for their holders. Other callers get [delayjob.ErrLeaseLost].
func (s *Service) change(ctx context.Context, cs ...change) []outcome {
	if len(cs) <= gatherMost {
		return s.gathered.changes.Ask(cs)
	}
	return s.changeHeld(ctx, cs)
}
