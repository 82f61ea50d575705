package booking

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

// Approve approves a pending meeting, or the pending change of a confirmed one; see
// [Meeting.Approve]. It returns a [*PolicyError] if a room was closed after the request and, where
// requests do not hold their rooms, a [*ConflictError]. The request then stays pending.
func (s *Service) Approve(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment string) (*meeting.Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, true, nil)
}

// Reject rejects a pending meeting, or the pending change of a confirmed one.
func (s *Service) Reject(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment string) (*meeting.Meeting, error) {
	return s.decide(ctx, by, id, ifMatch, &comment, false, nil)
}

// decide approves or rejects the request of a meeting if it is still the meant one; nil: any.
func (s *Service) decide(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, comment *string, approve bool, meant func(*meeting.Meeting) error) (*meeting.Meeting, error) {
	if err := checkComment("comment", comment); err != nil {
		return nil, err
	}
	by, err := s.deciding(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.changing(ctx, by, id, s.preparingDecision, false, func(m *meeting.Meeting, c changing) error {
		if !by.MayReject(c.rooms) {
			return meeting.ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		if meant != nil {
			if err := meant(m); err != nil {
				return err
			}
		}
		if err := decide(m, approve, c, *comment, by); err != nil {
			return err
		}
		m.MakeUndoable(by, s.conf().Undo, c.at)
		return nil
	})
}

// decide applies the decision of an actor who may decide at some level.
func decide(m *meeting.Meeting, approve bool, c changing, comment string, by meeting.Actor) error {
	if approve {
		return m.Approve(c.plan, comment, by, c.at)
	}
	return m.Reject(c.rooms, comment, by, c.at)
}

// preparingDecision looks up the rooms of a request and the approvers of the next level.
func (s *Service) preparingDecision(ctx context.Context, m *meeting.Meeting) (changing, error) {
	look, err := s.preparingDecisions(ctx, []*meeting.Meeting{m})
	if err != nil {
		return changing{}, err
	}
	return look(m), nil
}

// prepared holds what was looked up for changes of many meetings.
type prepared func(*meeting.Meeting) changing

// preparingDecisions looks up once what the requests of many meetings share.
func (s *Service) preparingDecisions(ctx context.Context, ms []*meeting.Meeting) (prepared, error) {
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
	var known *meeting.Roster
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
	return func(m *meeting.Meeting) changing {
		key := roomsKey(m.RequestedRooms())
		c, there := asked[key]
		if there {
			return c
		}
		c.at = at
		c.rooms = meeting.PickRooms(rooms, m.RequestedRooms())
		if known != nil {
			c.plan = known.Complete(meeting.PlanDecision(terms, c.rooms))
		}
		asked[key] = c
		return c
	}, nil
}

// planApproval returns which approvals a booking of the rooms needs. It looks up the approvers only
// if the actor cannot approve it alone.
func (s *Service) planApproval(ctx context.Context, by meeting.Actor, rooms []*meeting.Room) (meeting.ApprovalPlan, error) {
	plan := meeting.PlanApproval(s.approvalTerms(), by, rooms...)
	if !plan.Waits() {
		return plan, nil
	}
	known, err := s.roster(ctx, rooms)
	if err != nil {
		return meeting.ApprovalPlan{}, err
	}
	return known.Complete(plan), nil
}

func (s *Service) approvalTerms() meeting.ApprovalTerms {
	conf := s.conf()
	return meeting.ApprovalTerms{
		Timeout: conf.ApprovalTimeout, OnTimeout: conf.OnTimeout, Hold: conf.HoldPending,
		RemindBefore: conf.RemindBefore, EscalateAfter: conf.EscalateAfter,
	}
}

// nameAwaited sets who is asked now, in meetings whose approvers the actor may see.
func (s *Service) nameAwaited(ctx context.Context, ms []*meeting.Meeting, at time.Time) error {
	waiting := slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return !m.Waits(at) })
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
		m.Request = known.Awaited(m.Request, meeting.LevelsOf(meeting.PickRooms(rooms, m.RequestedRooms())))
	}
	return nil
}

// roster returns the approvers that the rooms name, and their deputies.
func (s *Service) roster(ctx context.Context, rooms []*meeting.Room) (*meeting.Roster, error) {
	away, err := s.directory.Absences(ctx, s.clock())
	if err != nil {
		return nil, fmt.Errorf("look up absences: %w", err)
	}
	var named []int64
	for _, r := range rooms {
		for _, ids := range [][]int64{r.Approval.ApproverIDs, r.Approval.SecondIDs, r.Approval.EscalateTo} {
			for _, id := range ids {
				named = meeting.Union(named, append(meeting.Absences(away).Chain(id), id))
			}
		}
	}
	known := &meeting.Roster{Away: away, Known: map[int64]meeting.Person{}}
	if len(named) > 0 {
		people, err := s.directory.People(ctx, named)
		if err != nil {
			return nil, fmt.Errorf("look up approvers: %w", err)
		}
		for _, p := range people {
			known.Known[p.UserID] = p
		}
	}
	if known.Admins, err = s.directory.Admins(ctx); err != nil {
		return nil, fmt.Errorf("look up admins: %w", err)
	}
	return known, nil
}

// withGroups returns the actor with the groups of the user, if they are not known yet.
func (s *Service) withGroups(ctx context.Context, by meeting.Actor) (meeting.Actor, error) {
	if by.Kind != meeting.ActorUser || by.ID == 0 || by.IsAdmin() || by.Groups != nil {
		return by, nil
	}
	groups, err := s.store.GroupsOf(ctx, by.ID)
	if err != nil {
		return by, fmt.Errorf("look up groups: %w", err)
	}
	by.Groups = &groups
	return by, nil
}

// WithDeputies returns the actor with the users whom they represent now. Only managers need them:
// admins may decide any request. A caller that checks rights repeatedly calls it once.
func (s *Service) WithDeputies(ctx context.Context, by meeting.Actor) (meeting.Actor, error) {
	by, err := s.withGroups(ctx, by)
	if err != nil || by.Role != meeting.Manager {
		return by, err
	}
	return s.withRepresented(ctx, by)
}

// deciding returns the actor with the users whom they represent. An admin may decide any request,
// but the decision names the absent user that it was made for.
func (s *Service) deciding(ctx context.Context, by meeting.Actor) (meeting.Actor, error) {
	by, err := s.withGroups(ctx, by)
	if err != nil || by.Role != meeting.Manager && by.Role != meeting.Admin {
		return by, err
	}
	return s.withRepresented(ctx, by)
}

func (s *Service) withRepresented(ctx context.Context, by meeting.Actor) (meeting.Actor, error) {
	if by.Kind != meeting.ActorUser || by.RepresentedIDs != nil {
		return by, nil
	}
	away, err := s.directory.Absences(ctx, s.clock())
	if err != nil {
		return by, fmt.Errorf("look up absences: %w", err)
	}
	ids := meeting.Absences(away).RepresentedBy(by.ID)
	by.RepresentedIDs, by.RepresentsUntil = &ids, meeting.Absences(away).FirstEnd(ids)
	if len(ids) == 0 {
		return by, nil
	}
	people, err := s.directory.People(ctx, ids)
	if err != nil {
		return by, fmt.Errorf("look up who is away: %w", err)
	}
	var represents []meeting.Represented
	for _, p := range people {
		represents = append(represents, meeting.Represented{ID: p.UserID, Name: p.Name})
	}
	by.Represents = &represents
	return by, nil
}

// checkComment checks and trims the comment of a decision.
func checkComment(location string, text *string) error {
	var found fault.List
	*text = strings.TrimSpace(*text)
	if found.Text(location, *text, maxComment); len(found) > 0 {
		return &meeting.InvalidError{Faults: found}
	}
	return nil
}
