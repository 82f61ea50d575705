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

// Preparations holds what was looked up for changes of many meetings.
type Preparations func(*meeting.Meeting) Preparation

// PrepareDecisions looks up once what the requests of many meetings share.
func (s *Service) PrepareDecisions(ctx context.Context, ms []*meeting.Meeting) (Preparations, error) {
	at := s.Now()
	var want []int64
	waits := false
	for _, m := range ms {
		want = append(want, m.RequestedRooms()...)
		waits = waits || m.Request != nil
	}
	slices.Sort(want)
	rooms, err := s.RoomsByID(ctx, slices.Compact(want))
	if err != nil {
		return nil, err
	}
	var known *meeting.Roster
	if waits {
		if err := s.AddBlackouts(ctx, rooms, at); err != nil {
			return nil, err
		}
		if known, err = s.Roster(ctx, rooms); err != nil {
			return nil, err
		}
	}
	terms := s.approvalTerms()
	asked := map[string]Preparation{} // by rooms
	return func(m *meeting.Meeting) Preparation {
		key := RoomsKey(m.RequestedRooms())
		c, there := asked[key]
		if there {
			return c
		}
		c.At = at
		c.Rooms = meeting.PickRooms(rooms, m.RequestedRooms())
		if known != nil {
			c.Plan = known.Complete(meeting.PlanDecision(terms, c.Rooms))
		}
		asked[key] = c
		return c
	}, nil
}

// PlanApproval returns which approvals a booking of the rooms needs. It looks up the approvers only
// if the actor cannot approve it alone.
func (s *Service) PlanApproval(ctx context.Context, by meeting.Actor, rooms []*meeting.Room) (meeting.ApprovalPlan, error) {
	plan := meeting.PlanApproval(s.approvalTerms(), by, rooms...)
	if !plan.Waits() {
		return plan, nil
	}
	known, err := s.Roster(ctx, rooms)
	if err != nil {
		return meeting.ApprovalPlan{}, err
	}
	return known.Complete(plan), nil
}

func (s *Service) approvalTerms() meeting.ApprovalTerms {
	conf := s.Settings()
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
	rooms, err := s.RoomsByID(ctx, slices.Compact(want))
	if err != nil {
		return err
	}
	known, err := s.Roster(ctx, rooms)
	if err != nil {
		return err
	}
	for _, m := range waiting {
		m.Request = known.Awaited(m.Request, meeting.LevelsOf(meeting.PickRooms(rooms, m.RequestedRooms())))
	}
	return nil
}

// Roster returns the approvers that the rooms name, and their deputies.
func (s *Service) Roster(ctx context.Context, rooms []*meeting.Room) (*meeting.Roster, error) {
	away, err := s.directory.Absences(ctx, s.Now())
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
	groups, err := s.GroupsOf(ctx, by.ID)
	if err != nil {
		return by, err
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

// RoomsForView returns what is needed to check who may see the meetings: the actor with their groups, and
// for a manager, who may approve for them or represent an approver, the rooms of private meetings and of
// those in rooms that not everyone sees.
func (s *Service) RoomsForView(ctx context.Context, by meeting.Actor, ms ...*meeting.Meeting) (meeting.Actor, []*meeting.Room, error) {
	var want []int64
	for _, m := range ms {
		if m.Visibility == meeting.Private || len(m.Limits) > 0 {
			want = append(append(want, m.RoomIDs...), m.RequestedRooms()...)
		}
	}
	if len(want) == 0 {
		return by, nil, nil
	}
	by, err := s.WithDeputies(ctx, by)
	if err != nil || by.Role != meeting.Manager {
		return by, nil, err
	}
	slices.Sort(want)
	rooms, err := s.RoomsByID(ctx, slices.Compact(want))
	return by, rooms, err
}

// ForDecision returns the actor with the users whom they represent. An admin may decide any request,
// but the decision names the absent user that it was made for.
func (s *Service) ForDecision(ctx context.Context, by meeting.Actor) (meeting.Actor, error) {
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
	away, err := s.directory.Absences(ctx, s.Now())
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

// CheckComment checks and trims the comment of a decision.
func CheckComment(location string, text *string) error {
	var found fault.List
	*text = strings.TrimSpace(*text)
	if found.Text(location, *text, MaxComment); len(found) > 0 {
		return &meeting.InvalidError{Faults: found}
	}
	return nil
}

// RoomsKey identifies a list of rooms, in their order, in maps.
func RoomsKey(rooms []int64) string { return fmt.Sprint(rooms) }
