package meeting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
)

// Approve approves a pending meeting, or the pending change of a confirmed one; see
// [Meeting.Approve]. It returns a [*PolicyError] if a room was closed after the request and, where
// requests do not hold their rooms, a [*ConflictError]. The request then stays pending.
func (s *Service) Approve(ctx context.Context, by Actor, id ID, ifMatch *int64, comment string) (*Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, true, nil)
}

// Reject rejects a pending meeting, or the pending change of a confirmed one.
func (s *Service) Reject(ctx context.Context, by Actor, id ID, ifMatch *int64, comment string) (*Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, false, nil)
}

// decide approves or rejects the request of a meeting if it is still the meant one; nil: any.
func (s *Service) decide(ctx context.Context, by Actor, id ID, ifMatch *int64, comment *string, approve bool, meant func(*Meeting) error) (*Meeting, error) {
	if err := checkComment("comment", comment); err != nil {
		return nil, err
	}
	by, err := s.deciding(ctx, by)
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
		if err := m.decide(approve, c, *comment, by); err != nil {
			return err
		}
		m.undoableBy(by, s.conf().Undo, c.at)
		return nil
	})
}

// decide applies the decision of an actor who may decide at some level.
func (m *Meeting) decide(approve bool, c changing, comment string, by Actor) error {
	if approve {
		return m.Approve(c.plan, comment, by, c.at)
	}
	return m.Reject(c.rooms, comment, by, c.at)
}

// preparingDecision looks up the rooms of a request and the approvers of the next level.
func (s *Service) preparingDecision(ctx context.Context, m *Meeting) (changing, error) {
	look, err := s.preparingDecisions(ctx, []*Meeting{m})
	if err != nil {
		return changing{}, err
	}
	return look(m), nil
}

// prepared holds what was looked up for changes of many meetings.
type prepared func(*Meeting) changing

// preparingDecisions looks up once what the requests of many meetings share.
func (s *Service) preparingDecisions(ctx context.Context, ms []*Meeting) (prepared, error) {
	at := s.clock()
	var want []int64
	waits := false
	for _, m := range ms {
		want = append(want, m.RequestedRooms()...)
		waits = waits || m.Request != nil
	}
	slices.Sort(want)
	rooms, err := s.rooms(ctx, slices.Compact(want))
	if err != nil {
		return nil, err
	}
	var known *roster
	if waits {
		if err := s.withBlackouts(ctx, rooms, at); err != nil {
			return nil, err
		}
		if known, err = s.roster(ctx, rooms); err != nil {
			return nil, err
		}
	}
	terms := s.approvalTerms()
	asked := map[string]changing{} // by rooms
	return func(m *Meeting) changing {
		key := roomsKey(m.RequestedRooms())
		c, there := asked[key]
		if there {
			return c
		}
		c.at = at
		c.rooms = pick(rooms, m.RequestedRooms())
		if known != nil {
			c.plan = known.complete(planApproval(terms, c.rooms))
		}
		asked[key] = c
		return c
	}, nil
}

// planApproval returns which approvals a booking of the rooms needs. It looks up the approvers only
// if the actor cannot approve it alone.
func (s *Service) planApproval(ctx context.Context, by Actor, rooms []*Room) (ApprovalPlan, error) {
	plan := PlanApproval(s.approvalTerms(), by, rooms...)
	if !plan.waits() {
		return plan, nil
	}
	known, err := s.roster(ctx, rooms)
	if err != nil {
		return ApprovalPlan{}, err
	}
	return known.complete(plan), nil
}

func (s *Service) approvalTerms() ApprovalTerms {
	conf := s.conf()
	return ApprovalTerms{
		Timeout: conf.ApprovalTimeout, OnTimeout: conf.OnTimeout, Hold: conf.HoldPending,
		RemindBefore: conf.RemindBefore, EscalateAfter: conf.EscalateAfter,
	}
}

// complete returns the plan with the users who are asked at each level.
func (k *roster) complete(plan ApprovalPlan) ApprovalPlan {
	for i := range plan.Deciders {
		plan.Deciders[i] = k.deciders(plan.levels, i+1)
	}
	plan.Others = k.others(plan.levels)
	return plan
}

// nameAwaited sets who is asked now, in meetings whose approvers the actor may see.
func (s *Service) nameAwaited(ctx context.Context, ms []*Meeting, at time.Time) error {
	waiting := slices.DeleteFunc(slices.Clone(ms), func(m *Meeting) bool { return !m.Waits(at) })
	var want []int64
	for _, m := range waiting {
		want = append(want, m.RequestedRooms()...)
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
		m.Request = known.awaited(m.Request, levelsOf(pick(rooms, m.RequestedRooms())))
	}
	return nil
}

// roster returns the approvers that the rooms name, and their deputies.
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

// WithDeputies returns the actor with the users whom they represent now. Only managers need them:
// admins may decide any request. A caller that checks rights repeatedly calls it once.
func (s *Service) WithDeputies(ctx context.Context, by Actor) (Actor, error) {
	if by.Role != Manager {
		return by, nil
	}
	return s.withRepresented(ctx, by)
}

// deciding returns the actor with the users whom they represent. An admin may decide any request,
// but the decision names the absent user that it was made for.
func (s *Service) deciding(ctx context.Context, by Actor) (Actor, error) {
	if by.Role != Manager && by.Role != Admin {
		return by, nil
	}
	return s.withRepresented(ctx, by)
}

func (s *Service) withRepresented(ctx context.Context, by Actor) (Actor, error) {
	if by.Kind != ActorUser || by.RepresentedIDs != nil {
		return by, nil
	}
	away, err := s.directory.Absences(ctx, s.clock())
	if err != nil {
		return by, fmt.Errorf("look up absences: %w", err)
	}
	ids := absences(away).representedBy(by.ID)
	by.RepresentedIDs, by.RepresentsUntil = &ids, absences(away).firstEnd(ids)
	if len(ids) == 0 {
		return by, nil
	}
	people, err := s.directory.People(ctx, ids)
	if err != nil {
		return by, fmt.Errorf("look up who is away: %w", err)
	}
	var represents []Represented
	for _, p := range people {
		represents = append(represents, Represented{ID: p.UserID, Name: p.Name})
	}
	by.Represents = &represents
	return by, nil
}

// checkComment checks and trims the comment of a decision.
func checkComment(location string, text *string) error {
	var found fault.List
	*text = strings.TrimSpace(*text)
	if found.Text(location, *text, maxComment); len(found) > 0 {
		return &InvalidError{Faults: found}
	}
	return nil
}
