package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Approve agrees to a pending meeting, or to the change that a confirmed one waits for; see
// [Meeting.Approve]. It may end in a [*PolicyError] if a room was closed since that was asked for
// and, where requests do not hold their rooms, in a [*ConflictError]; the request then goes on
// waiting.
func (s *Service) Approve(ctx context.Context, by Actor, id ID, ifMatch *int64, comment string) (*Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, true, nil)
}

// Reject decides against a pending meeting, or against the change that a confirmed one waits for.
func (s *Service) Reject(ctx context.Context, by Actor, id ID, ifMatch *int64, comment string) (*Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, false, nil)
}

// decide decides for or against what a meeting waits for, if that is still meant; nil: it is.
func (s *Service) decide(ctx context.Context, by Actor, id ID, ifMatch *int64, comment *string, approve bool, meant func(*Meeting) error) (*Meeting, error) {
	if err := checkComment("body.comment", comment); err != nil {
		return nil, err
	}
	by, err := s.standing(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.changing(ctx, by, id, s.preparingDecision, false, func(m *Meeting, c changing) error {
		if !by.MayReject(c.rooms) {
			return ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		if meant != nil {
			if err := meant(m); err != nil {
				return err
			}
		}
		return m.decide(approve, c, *comment, by)
	})
}

// decide is a decision of somebody who may decide at some level.
func (m *Meeting) decide(approve bool, c changing, comment string, by Actor) error {
	if approve {
		return m.Approve(c.rooms, c.ask, comment, by, c.at)
	}
	return m.Reject(comment, by, c.at)
}

// preparingDecision looks up the rooms that a request is about, and who may be asked next.
func (s *Service) preparingDecision(ctx context.Context, m *Meeting) (changing, error) {
	c := changing{at: s.clock()}
	var err error
	if c.rooms, err = s.rooms(ctx, m.requestedRooms()); err != nil || m.Request == nil {
		return c, err
	}
	if err = s.withBlackouts(ctx, c.rooms, c.at); err != nil {
		return c, err
	}
	c.ask, err = s.askingAll(ctx, c.rooms)
	return c, err
}

// ExpireApproval ends the request of the given number, as was settled when it was made: it is
// rejected, or approved if its rooms are free and open. The caller knows that its deadline has come.
// All dates of a series that were asked for with it end with it, or each for itself if not all
// can be approved. It may be called again: a request that is decided, or was replaced, stays as
// it is.
func (s *Service) ExpireApproval(ctx context.Context, ref Ref) (Outcome, error) {
	type timer func(context.Context, string, Ref, func(*Meeting, changing, Actor) error) (Outcome, error)
	expire := func(on timer, refuse bool) (Outcome, error) {
		return on(ctx, JobExpire, ref, func(m *Meeting, c changing, by Actor) error {
			to := m.Approval.OnTimeout
			if refuse {
				to = Rejected
			}
			return m.Expire(to, c.rooms, by, c.at)
		})
	}
	impossible := func(err error) bool {
		_, taken := errors.AsType[*ConflictError](err)
		_, refused := errors.AsType[*PolicyError](err) // by a quota, or a room that was closed
		return taken || refused
	}
	outcome, err := expire(s.onRequests, false)
	if impossible(err) {
		outcome, err = expire(s.onRequest, false)
	}
	if impossible(err) {
		return expire(s.onRequest, true)
	}
	return outcome, err
}

// RemindApproval tells those who have not decided on the request of the given number that its
// deadline comes. Of the dates of a series that were asked for at once the first that still
// waits speaks for all. It may be called again: it happens once.
func (s *Service) RemindApproval(ctx context.Context, ref Ref) (Outcome, error) {
	series, dates, err := s.waitingWith(ctx, ref)
	if err != nil {
		return Applied, err
	}
	return s.onRequest(ctx, JobApprovalRemind, ref, func(m *Meeting, c changing, by Actor) error {
		if m.Request.RemindAt.IsZero() {
			return errUnchanged
		}
		deciders := c.ask.Deciders[m.Request.Level-1]
		if len(dates) > 0 && dates[0].ID != m.ID {
			deciders = nil
		}
		m.Remind(deciders, by, c.at)
		if len(dates) > 0 {
			m.askFor(series.facts(dates, by).Series)
		}
		return nil
	})
}

// EscalateApproval asks others to decide on the request of the given number as well. It may be
// called again: it happens once.
func (s *Service) EscalateApproval(ctx context.Context, ref Ref) (Outcome, error) {
	return s.onRequests(ctx, JobEscalate, ref, func(m *Meeting, c changing, by Actor) error {
		if m.Request.EscalateAt.IsZero() {
			return errUnchanged
		}
		m.Escalate(c.ask.Others, c.ask.Deciders[m.Request.Level-1], by, c.at)
		return nil
	})
}

// onRequests is [Service.onRequest] for all requests that were made at once with that of ref.
func (s *Service) onRequests(ctx context.Context, job string, ref Ref, fn func(*Meeting, changing, Actor) error) (Outcome, error) {
	if outcome, together, err := s.onTogether(ctx, Timer(job), ref, fn); together || err != nil {
		return outcome, err
	}
	return s.onRequest(ctx, job, ref, fn)
}

// onRequest runs what a timer does to the request of a number, if that still waits.
func (s *Service) onRequest(ctx context.Context, job string, ref Ref, fn func(*Meeting, changing, Actor) error) (Outcome, error) {
	by := Timer(job)
	outcome := Applied
	_, err := s.changing(ctx, by, ref.ID, s.preparingDecision, false, func(m *Meeting, c changing) error {
		outcome = Applied
		switch {
		case m.Request == nil && m.Approval.Asked == ref.Version:
			outcome = Done
			return errUnchanged
		case m.Request == nil || m.Request.Number != ref.Version:
			outcome = Stale
			return errUnchanged
		}
		err := fn(m, c, by)
		if errors.Is(err, errUnchanged) {
			outcome = Done
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return Stale, nil
	}
	return outcome, err
}

// asking says how a request for these rooms is made. Who is asked is looked up only if the
// actor cannot decide.
func (s *Service) asking(ctx context.Context, by Actor, rooms []*Room) (Asking, error) {
	if levels(rooms) == 0 || by.MayApprove(rooms) {
		return s.terms(), nil
	}
	return s.askingAll(ctx, rooms)
}

// terms on which requests are made.
func (s *Service) terms() Asking {
	conf := s.conf()
	return Asking{
		Timeout: conf.ApprovalTimeout, OnTimeout: conf.OnTimeout, Hold: conf.HoldPending,
		RemindBefore: conf.RemindBefore, EscalateAfter: conf.EscalateAfter,
	}
}

// askingAll says who is asked at each level.
func (s *Service) askingAll(ctx context.Context, rooms []*Room) (Asking, error) {
	ask := s.terms()
	known, err := s.roster(ctx, rooms)
	if err != nil {
		return ask, err
	}
	for i := range ask.Deciders {
		ask.Deciders[i] = known.deciders(rooms, i+1)
	}
	ask.Others = known.others(rooms)
	return ask, nil
}

// nameAwaited sets who is asked now to decide on what waits, for those who may see it.
func (s *Service) nameAwaited(ctx context.Context, ms []*Meeting, at time.Time) error {
	waiting := slices.DeleteFunc(slices.Clone(ms), func(m *Meeting) bool { return !m.Waits(at) })
	var want []int64
	for _, m := range waiting {
		want = append(want, m.requestedRooms()...)
	}
	if len(want) == 0 {
		return nil
	}
	slices.Sort(want)
	rooms, err := s.rooms(ctx, slices.Compact(want))
	if err != nil {
		return err
	}
	known, err := s.roster(ctx, rooms)
	if err != nil {
		return err
	}
	for _, m := range waiting {
		mine := slices.DeleteFunc(slices.Clone(rooms), func(r *Room) bool { return !slices.Contains(m.requestedRooms(), r.ID) })
		m.Request = known.awaited(m.Request, mine)
	}
	return nil
}

// roster is who may be asked to decide, at one instant.
type roster struct {
	away   absences
	known  map[int64]Person // those whom rooms name, and who stand in for them
	admins []Person
}

// roster of those whom the rooms name.
func (s *Service) roster(ctx context.Context, rooms []*Room) (*roster, error) {
	away, err := s.directory.Absences(ctx, s.clock())
	if err != nil {
		return nil, fmt.Errorf("look up absences: %w", err)
	}
	var named []int64
	for _, r := range rooms {
		for _, ids := range [][]int64{r.Approval.ApproverIDs, r.Approval.SecondIDs, r.Approval.EscalateTo} {
			for _, id := range ids {
				named = union(named, append(absences(away).chain(id), id))
			}
		}
	}
	known := &roster{away: away, known: map[int64]Person{}}
	if len(named) > 0 {
		people, err := s.directory.People(ctx, named)
		if err != nil {
			return nil, fmt.Errorf("look up approvers: %w", err)
		}
		for _, p := range people {
			known.known[p.UserID] = p
		}
	}
	if known.admins, err = s.directory.Admins(ctx); err != nil {
		return nil, fmt.Errorf("look up admins: %w", err)
	}
	return known, nil
}

// Standing is the actor with those for whom they stand in at the moment: whoever judges for a
// while what they may see asks once.
func (s *Service) Standing(ctx context.Context, by Actor) (Actor, error) { return s.standing(ctx, by) }

// standing is the actor with those for whom they stand in at the moment. An admin may decide
// for everybody anyhow, and is left as they are.
func (s *Service) standing(ctx context.Context, by Actor) (Actor, error) {
	if by.Role != Manager {
		return by, nil
	}
	return s.standsFor(ctx, by)
}

func (s *Service) standsFor(ctx context.Context, by Actor) (Actor, error) {
	if by.Kind != ActorUser || by.StandsFor != nil {
		return by, nil
	}
	away, err := s.directory.Absences(ctx, s.clock())
	if err != nil {
		return by, fmt.Errorf("look up absences: %w", err)
	}
	by.StandsFor = new(absences(away).standsFor(by.ID))
	return by, nil
}
