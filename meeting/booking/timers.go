package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Timers act on many meetings at once: each takes a batch of refs and returns one outcome per ref.
// All changes of a batch are saved in one transaction, except for requests that were made together
// for dates of a series: those of each series have a transaction of their own. A timer may be
// called again with the same refs without further effect.

// ExpireApprovals ends the requests of the given numbers by the rules that applied when they were
// made: each is rejected, or approved if its rooms are free and open. The caller knows that their
// deadlines have passed. All dates of a series that were requested with one of them end with it;
// those that cannot be approved are rejected.
func (s *Service) ExpireApprovals(ctx context.Context, refs ...meeting.Ref) ([]meeting.Outcome, error) {
	expire := func(refuse bool) Timer {
		return func(m *meeting.Meeting, c Preparation, by meeting.Actor) error {
			to := m.Approval.OnTimeout
			if refuse {
				to = meeting.Rejected
			}
			return m.Expire(to, c.Rooms, by, c.At)
		}
	}
	return s.OnJointRequests(ctx, meeting.JobExpire, refs, expire(false), expire(true), func(refs []meeting.Ref) ([]meeting.Outcome, error) {
		return s.halving(refs, func(refs []meeting.Ref) ([]meeting.Outcome, error) {
			return s.OnRequests(ctx, meeting.JobExpire, refs, expire(false))
		}, func(ref meeting.Ref) ([]meeting.Outcome, error) {
			outcomes, err := s.settledFor(ctx, ref, func() ([]meeting.Outcome, error) {
				return s.OnRequests(ctx, meeting.JobExpire, []meeting.Ref{ref}, expire(false))
			})
			if !Impossible(err) {
				return outcomes, err
			}
			return s.OnRequests(ctx, meeting.JobExpire, []meeting.Ref{ref}, expire(true))
		})
	})
}

// ReleaseNoShows releases the rooms of meetings of the given schedules to which nobody checked in.
// The caller knows that their grace period is over. A meeting that was checked in to, has moved, or
// is over stays unchanged.
func (s *Service) ReleaseNoShows(ctx context.Context, refs ...meeting.Ref) ([]meeting.Outcome, error) {
	by := meeting.Timer(meeting.JobNoShow)
	var inRow map[meeting.ID]int
	var admins []meeting.Person
	count := func(ctx context.Context, ms []*meeting.Meeting) (p Preparations, err error) {
		inRow, admins, err = s.noShows(ctx, ms)
		at := s.Now()
		return func(*meeting.Meeting) Preparation { return Preparation{At: at} }, err
	}
	return s.onMeetings(ctx, refs, count, func(m *meeting.Meeting, c Preparation, ref meeting.Ref) (meeting.Outcome, error) {
		at := clock.Later(c.At, m.CheckIn.Until) // this machine's clock may lag the engine's
		switch {
		case m.ScheduleVersion != ref.Version || m.CheckIn.Until.IsZero():
			return meeting.Stale, nil
		case m.Status.Over() || !m.CheckedInAt.IsZero() || !m.CheckIn.Until.Before(m.Slot.End):
			return meeting.Done, nil
		}
		var also []meeting.Person
		if inRow[m.ID] == meeting.FlaggedAfter {
			also = admins
		}
		return meeting.Applied, m.Forfeit(inRow[m.ID], also, by, at)
	})
}

// noShows returns the consecutive no-shows of the meetings' series, as if all these meetings were
// no-shows too. Admins are notified when a series becomes flagged, once per streak.
func (s *Service) noShows(ctx context.Context, ms []*meeting.Meeting) (inRow map[meeting.ID]int, admins []meeting.Person, err error) {
	var series []int64
	var last time.Time
	missed := map[meeting.ID]bool{}
	for _, m := range ms {
		if m.SeriesID != 0 {
			series, last, missed[m.ID] = append(series, m.SeriesID), clock.Later(last, m.Slot.Start), true
		}
	}
	inRow = map[meeting.ID]int{}
	if len(series) == 0 {
		return inRow, nil, nil
	}
	slices.Sort(series)
	dates, err := s.store.Presence(ctx, slices.Compact(series), last)
	if err != nil {
		return nil, nil, err
	}
	for _, ds := range dates {
		for _, d := range ds {
			if missed[d.ID] && !d.Status.Over() && d.AwaitsCheckIn() {
				d.Status = meeting.Released // in the same batch
			}
		}
	}
	flagged := false
	for _, m := range ms {
		if m.SeriesID != 0 {
			inRow[m.ID] = meeting.NoShowsInRow(dates[m.SeriesID], m.Slot.Start) + 1
			flagged = flagged || inRow[m.ID] == meeting.FlaggedAfter
		}
	}
	if flagged {
		admins, err = s.directory.Admins(ctx)
	}
	return inRow, admins, err
}

// A JointRequest for several dates of a series.
type JointRequest struct {
	Dates []*meeting.Meeting // by start; two at least
	refs  []int              // indexes of the refs that name one of them
}

// RequestsMadeWith returns the requests for several dates that the refs belong to.
func (s *Service) RequestsMadeWith(ctx context.Context, refs []meeting.Ref) ([]JointRequest, error) {
	waiting, err := s.store.RequestsAskedWith(ctx, idsOfRefs(refs))
	if err != nil || len(waiting) < 2 {
		return nil, err
	}
	type moment struct{ series, at int64 }
	var requests []JointRequest
	made := map[moment][]int{} // indexes in requests; others may decide on other rooms
	find := func(m *meeting.Meeting) *JointRequest {
		of := moment{m.SeriesID, m.Request.RequestedAt.UnixMicro()}
		for _, i := range made[of] {
			if requests[i].Dates[0].RequestedWith(m) {
				return &requests[i]
			}
		}
		made[of] = append(made[of], len(requests))
		requests = append(requests, JointRequest{})
		return &requests[len(requests)-1]
	}
	byID := map[meeting.ID]*meeting.Meeting{}
	for _, m := range waiting {
		byID[m.ID] = m
		r := find(m)
		r.Dates = append(r.Dates, m)
	}
	for i, ref := range refs {
		if m := byID[ref.ID]; m != nil && m.Request.Number == ref.Version {
			r := find(m)
			r.refs = append(r.refs, i)
		}
	}
	return slices.DeleteFunc(requests, func(r JointRequest) bool { return len(r.Dates) < 2 || len(r.refs) == 0 }), nil
}

// Timer changes one meeting. It returns [ErrUnchanged] where there is nothing left to do.
type Timer func(*meeting.Meeting, Preparation, meeting.Actor) error

// OnJointRequests runs a timer on the requests that were made together with those of refs, in one
// transaction per series, so that people are notified once. If rooms or policies prevent a date, it
// gets otherwise. Requests that fail even so are passed to alone, with all other refs.
func (s *Service) OnJointRequests(ctx context.Context, job string, refs []meeting.Ref, fn, otherwise Timer, alone func([]meeting.Ref) ([]meeting.Outcome, error)) ([]meeting.Outcome, error) {
	requests, err := s.RequestsMadeWith(ctx, refs)
	if err != nil {
		return nil, err
	}
	outcomes := make([]meeting.Outcome, len(refs))
	done := make([]bool, len(refs))
	for _, r := range requests {
		outcome, err := s.onTogether(ctx, meeting.Timer(job), r.Dates[0], fn, otherwise)
		if Impossible(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, i := range r.refs {
			outcomes[i], done[i] = outcome, true
		}
	}
	var rest []meeting.Ref
	var places []int
	for i, ref := range refs {
		if !done[i] {
			rest, places = append(rest, ref), append(places, i)
		}
	}
	if len(rest) == 0 {
		return outcomes, nil
	}
	others, err := alone(rest)
	if err != nil {
		return nil, err
	}
	for i, outcome := range others {
		outcomes[places[i]] = outcome
	}
	return outcomes, nil
}

// settledFor runs act after settling lapsed occupancies that conflict with a request.
func (s *Service) settledFor(ctx context.Context, ref meeting.Ref, act func() ([]meeting.Outcome, error)) ([]meeting.Outcome, error) {
	m, err := s.store.Meeting(ctx, ref.ID)
	if errors.Is(err, meeting.ErrNotFound) {
		return []meeting.Outcome{meeting.Stale}, nil
	}
	if err != nil {
		return nil, err
	}
	rooms, err := s.RoomsByID(ctx, m.RequestedRooms())
	if err != nil {
		return nil, err
	}
	wanted := m.Occupancies(rooms)
	if m.Request != nil && m.Request.Change != nil {
		wanted = m.Request.Change.Occupancies(rooms)
	}
	if err := s.Settle(ctx, wanted, m.ID); err != nil {
		return nil, err
	}
	return act()
}

// Impossible reports whether taken rooms or policies caused the error.
func Impossible(err error) bool {
	_, taken := errors.AsType[*meeting.ConflictError](err)
	_, refused := errors.AsType[*meeting.PolicyError](err) // a quota, or a room that was closed
	return taken || refused
}

// halving runs act. If it is impossible for a batch, halving runs it for each half; refs that are
// impossible alone get otherwise.
func (s *Service) halving(refs []meeting.Ref, act func([]meeting.Ref) ([]meeting.Outcome, error), otherwise func(meeting.Ref) ([]meeting.Outcome, error)) ([]meeting.Outcome, error) {
	outcomes, err := act(refs)
	switch {
	case !Impossible(err):
		return outcomes, err
	case len(refs) == 1:
		return otherwise(refs[0])
	}
	first, err := s.halving(refs[:len(refs)/2], act, otherwise)
	if err != nil {
		return nil, err
	}
	second, err := s.halving(refs[len(refs)/2:], act, otherwise)
	return append(first, second...), err
}

// OnRequests runs a timer on those requests of the given numbers that are still pending.
func (s *Service) OnRequests(ctx context.Context, job string, refs []meeting.Ref, fn Timer) ([]meeting.Outcome, error) {
	by := meeting.Timer(job)
	return s.onMeetings(ctx, refs, s.PrepareDecisions, func(m *meeting.Meeting, c Preparation, ref meeting.Ref) (meeting.Outcome, error) {
		switch {
		case m.Request == nil && m.Approval.Requested == ref.Version:
			return meeting.Done, nil
		case m.Request == nil || m.Request.Number != ref.Version:
			return meeting.Stale, nil
		}
		err := fn(m, c, by)
		if errors.Is(err, ErrUnchanged) {
			return meeting.Done, nil
		}
		return meeting.Applied, err
	})
}

// onMeetings changes the meetings of refs in one transaction and updates their messages in the
// queue. For each ref the function returns its outcome; [meeting.Applied] means that it changed the
// meeting. It gets what prepare looked up beforehand; see [Service.Change].
func (s *Service) onMeetings(ctx context.Context, refs []meeting.Ref, prepare func(context.Context, []*meeting.Meeting) (Preparations, error), fn func(*meeting.Meeting, Preparation, meeting.Ref) (meeting.Outcome, error)) ([]meeting.Outcome, error) {
	for {
		outcomes, err := s.tryOnMeetings(ctx, refs, prepare, fn)
		if (errors.Is(err, errRoomsMoved) || errors.Is(err, meeting.ErrRoomsChanged)) && ctx.Err() == nil {
			continue
		}
		return outcomes, err
	}
}

func (s *Service) tryOnMeetings(ctx context.Context, refs []meeting.Ref, prepare func(context.Context, []*meeting.Meeting) (Preparations, error), fn func(*meeting.Meeting, Preparation, meeting.Ref) (meeting.Outcome, error)) ([]meeting.Outcome, error) {
	ids := idsOfRefs(refs)
	read, err := s.store.Outlines(ctx, ids)
	if err != nil {
		return nil, err
	}
	look, err := prepare(ctx, read)
	if err != nil {
		return nil, err
	}
	seen := make(map[meeting.ID]*meeting.Meeting, len(read))
	for _, m := range read {
		seen[m.ID] = m
	}
	named := make(map[meeting.ID][]int, len(refs))
	outcomes := make([]meeting.Outcome, len(refs))
	for i, ref := range refs {
		named[ref.ID] = append(named[ref.ID], i)
		outcomes[i] = meeting.Stale // unless it exists
	}
	before, after := map[meeting.ID]*meeting.Meeting{}, map[meeting.ID]*meeting.Meeting{}
	notices, err := s.store.UpdateMeetings(ctx, ids, func(m *meeting.Meeting) (changed bool, err error) {
		was := seen[m.ID]
		if was == nil || !slices.Equal(m.RoomIDs, was.RoomIDs) || !slices.Equal(m.RequestedRooms(), was.RequestedRooms()) {
			return false, errRoomsMoved
		}
		before[m.ID], after[m.ID] = new(*m), m
		for _, i := range named[m.ID] {
			if outcomes[i], err = fn(m, look(was), refs[i]); err != nil {
				return false, err
			}
			changed = changed || outcomes[i] == meeting.Applied
		}
		if !changed {
			delete(after, m.ID)
		}
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	s.announceAll(ctx, before, after, notices, nil)
	return outcomes, nil
}

// idsOfRefs returns the meetings' IDs, each once, in order.
func idsOfRefs(refs []meeting.Ref) []meeting.ID {
	ids := make([]meeting.ID, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// onTogether applies a timer, in one transaction, to all requests that were made together with that
// of a date of a series. If rooms or policies prevent a date, it gets otherwise, unless that is
// nil.
func (s *Service) onTogether(ctx context.Context, by meeting.Actor, of *meeting.Meeting, fn, otherwise Timer) (meeting.Outcome, error) {
	refused := map[meeting.ID]bool{} // by quotas
	_, err := s.planAndSaveWithin(ctx, by, func() (*meeting.SeriesChange, error) {
		series, err := s.store.Series(ctx, of.SeriesID)
		if err != nil {
			return nil, err
		}
		ms, err := s.store.SeriesMeetings(ctx, of.SeriesID)
		if err != nil {
			return nil, err
		}
		waiting := slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return !m.RequestedWith(of) })
		look, err := s.PrepareDecisions(ctx, waiting)
		if err != nil {
			return nil, err
		}
		var taken map[meeting.ID]bool
		if otherwise != nil {
			if taken, err = s.cannotTake(ctx, waiting, look); err != nil {
				return nil, err
			}
		}
		change := &meeting.SeriesChange{Series: series}
		for _, m := range waiting {
			base, act := new(*m), fn
			if taken[m.ID] || refused[m.ID] && otherwise != nil {
				act = otherwise
			}
			err := act(m, look(m), by)
			if Impossible(err) && otherwise != nil {
				err = otherwise(m, look(m), by)
			}
			if errors.Is(err, ErrUnchanged) {
				continue
			} else if err != nil {
				return nil, err
			}
			change.Before, change.Update = append(change.Before, base), append(change.Update, m)
		}
		if len(change.Update) == 0 {
			return nil, ErrUnchanged
		}
		series.NotifyDecisions(change.Update, ms, by, s.Now())
		return change, nil
	}, func(e *meeting.PolicyError) {
		for _, id := range e.Meetings {
			refused[id] = true
		}
	})
	if errors.Is(err, ErrUnchanged) {
		return meeting.Done, nil
	}
	return meeting.Applied, err
}

// cannotTake returns the requests that hold nothing and whose rooms are taken.
func (s *Service) cannotTake(ctx context.Context, waiting []*meeting.Meeting, look Preparations) (map[meeting.ID]bool, error) {
	var needed []meeting.Occupancy
	var of, all []meeting.ID
	for _, m := range waiting {
		all = append(all, m.ID)
		needs := m.Occupancies(look(m).Rooms)
		if c := m.Request.Change; c != nil {
			needs = m.Keeping(c.Occupancies(look(m).Rooms), c.Slot)
		}
		for _, o := range meeting.Uncovered(needs, m.Takes()) {
			needed, of = append(needed, o), append(of, m.ID)
		}
	}
	cannot := map[meeting.ID]bool{}
	if len(needed) == 0 {
		return cannot, nil
	}
	taken, err := s.store.Taken(ctx, needed, all)
	at := s.Now()
	for i, with := range taken {
		if len(meeting.Unlapsed(with, at)) > 0 {
			cannot[of[i]] = true
		}
	}
	return cannot, err
}
