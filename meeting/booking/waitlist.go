package booking

import (
	"context"
	"maps"
	"slices"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// ExpireWaits ends waits of the given versions that have timed out, or whose offers were not
// accepted, in one transaction. It may be called again: waits that have ended stay unchanged.
func (s *Service) ExpireWaits(ctx context.Context, refs ...meeting.Ref) ([]meeting.Outcome, error) {
	at := s.Now()
	outcomes := make([]meeting.Outcome, len(refs))
	named := make(map[int64][]int, len(refs))
	for i, ref := range refs {
		named[ref.ID] = append(named[ref.ID], i)
		outcomes[i] = meeting.Stale // unless it exists
	}
	err := s.UpdateWaits(ctx, idsOfRefs(refs), func(w *meeting.Wait) (_ *meeting.Meeting, changed bool, _ error) {
		open := w.Open()
		for _, i := range named[w.ID] {
			switch {
			case !open:
				outcomes[i] = meeting.Done
			case w.Version != refs[i].Version:
				outcomes[i] = meeting.Stale
			default:
				outcomes[i] = meeting.Applied
				if !changed {
					w.Expire(clock.Later(at, w.Due())) // this machine's clock may lag the engine's
				}
				changed = true
			}
		}
		return nil, changed, nil
	})
	return outcomes, err
}

// UpdateWaits changes waits in one transaction and queues what follows.
func (s *Service) UpdateWaits(ctx context.Context, ids []int64, fn func(*meeting.Wait) (m *meeting.Meeting, changed bool, err error)) error {
	type step struct {
		was    meeting.WaitState
		before []delayjob.Message
		w      *meeting.Wait
		m      *meeting.Meeting
	}
	steps := map[int64]step{}
	notices, err := s.store.UpdateWaits(ctx, ids, func(w *meeting.Wait) (*meeting.Meeting, bool, error) {
		taken := step{was: w.State, before: w.Messages(), w: w}
		m, changed, err := fn(w)
		delete(steps, w.ID) // of an earlier attempt
		if changed {
			taken.m = m
			steps[w.ID] = taken
		}
		return m, changed, err
	})
	if err != nil {
		return err
	}
	var was, now []delayjob.Message
	var free []meeting.Occupancy
	for _, id := range slices.Sorted(maps.Keys(steps)) {
		c := steps[id]
		was, now = append(was, c.before...), append(now, c.w.Messages()...)
		switch {
		case c.m != nil:
			now = append(now, c.m.Messages()...)
		case c.was == meeting.Offered:
			free = append(free, c.w.Wants...)
		}
	}
	s.forget(ctx, was, now)
	s.scheduler.Schedule(ctx, append(now, Deliveries(notices)...)...)
	s.Freed(ctx, free)
	return nil
}

// UpdateWait changes a wait and notifies the queue of what follows.
func (s *Service) UpdateWait(ctx context.Context, id int64, fn func(*meeting.Wait) (*meeting.Meeting, error)) (*meeting.Wait, error) {
	var was meeting.WaitState
	var before []delayjob.Message
	var w *meeting.Wait
	var m *meeting.Meeting
	var notices []meeting.Notice
	err := s.settling(ctx, func() (err error) {
		w, m, notices, err = s.store.UpdateWait(ctx, id, func(w *meeting.Wait) (*meeting.Meeting, error) {
			was, before = w.State, w.Messages()
			return fn(w)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.forget(ctx, before, w.Messages())
	ms := append(w.Messages(), Deliveries(notices)...)
	if m != nil {
		ms = append(ms, m.Messages()...)
	}
	s.scheduler.Schedule(ctx, ms...)
	if was == meeting.Offered && m == nil {
		s.Freed(ctx, w.Wants)
	}
	return w, nil
}
