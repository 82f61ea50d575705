package meeting

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"punctual/meeting/policy"
)

// deciders are the users whom the room names at a level.
func (r *Room) deciders(level int) []int64 {
	if level == secondLevel {
		return r.Approval.SecondIDs
	}
	return r.Approval.ApproverIDs
}

// MayApprove reports whether the actor alone may approve a meeting in these rooms at every level:
// an admin, or a manager who approves, or represents an approver, for each of them.
func (a Actor) MayApprove(rooms []*Room) bool { return a.mayApprove(LevelsOf(rooms)) }

func (a Actor) mayApprove(levels approvalLevels) bool {
	if a.IsAdmin() {
		return true
	}
	for i, rooms := range levels {
		if slices.ContainsFunc(rooms, func(r *Room) bool { return !a.mayAgree(r, i+1, false) && !a.skipsApproval(r) }) {
			return false
		}
	}
	return levels.Count() > 0
}

// isOneOf reports whether the actor is a manager who is one of the users or represents one.
func (a Actor) isOneOf(ids []int64) bool {
	return a.Kind == ActorUser && a.Role == Manager &&
		slices.ContainsFunc(a.DecidesAs(), func(id int64) bool { return slices.Contains(ids, id) })
}

// DecidesAs returns the actor and the absent users whom they represent.
func (a Actor) DecidesAs() []int64 {
	if a.RepresentedIDs == nil {
		return []int64{a.ID}
	}
	return append([]int64{a.ID}, *a.RepresentedIDs...)
}

// Approve records the actor's approval for the rooms that they decide on, at the current level and,
// if they decide there too, at the next one. When a level is complete, the next one is asked. When
// all levels are complete, the meeting is confirmed or changed as requested. Saving it may fail with
// a [*ConflictError] if the request does not hold its rooms. The plan is for the rooms of the request,
// with their blackouts. If one is closed now, Approve returns a [*PolicyError].
func (m *Meeting) Approve(plan ApprovalPlan, comment string, by Actor, at time.Time) error {
	if err := m.undecided("approve", at); err != nil {
		return err
	}
	if err := m.closed(plan.rooms, at); err != nil {
		return err
	}
	current := m.Request.Level
	switch level, agreed := m.agree(plan.levels, comment, by, at); {
	case level == 0:
		m.confirm(plan.rooms, "", comment, by, at)
	case level > current:
		m.requestNextLevel(plan, level, comment, by, at)
	case len(agreed) == 0:
		return m.notYours(plan.levels, by)
	default:
		m.UpdatedAt = at
		m.Record(Entry{At: at, Action: ActionChanged, Actor: by, Reason: comment,
			Changes: decidedFor(map[string]Change{"approval.agreed": {To: strings.Join(RoomNames(agreed), ", ")}}, agreedFor(m.Request.Agreed, by.ID))})
	}
	return nil
}

// agree records the actor's approval for the rooms that they decide on: at the current level, and at
// the next one where the first is complete. It returns the level that is asked now, 0 if none is, and
// the rooms that the actor approved at the level before.
func (m *Meeting) agree(levels approvalLevels, comment string, by Actor, at time.Time) (level int, agreed []*Room) {
	r := *m.Request
	m.Request = &r
	last := max(levels.Count(), FirstLevel)
	current := min(r.Level, last)
	for level := current; level <= last; level++ {
		mine := slices.DeleteFunc(r.missing(levels.At(level), level), func(room *Room) bool {
			return !by.mayAgree(room, level, !r.EscalatedAt.IsZero()) || level > current && !r.agreedTo(room.ID, level-1)
		})
		if len(mine) > 0 {
			r.Agreed = append(slices.Clip(r.Agreed), Agreement{Level: level, UserID: by.ID, Name: by.Name, At: at, Comment: comment, RoomIDs: RoomIDs(mine), For: by.behalf(mine, atLevel(level, !r.EscalatedAt.IsZero()))})
		}
		if level == current {
			agreed = mine
		}
	}
	for level := current; level <= last; level++ {
		if len(r.missing(levels.At(level), level)) > 0 {
			return level, agreed
		}
	}
	return 0, agreed
}

// closed returns a [*PolicyError] if a room of the request is no longer available: it has a newer
// blackout, or it takes no bookings. All other rules were checked when the request was made. It
// stays when they change, as a booked meeting does.
func (m *Meeting) closed(rooms []*Room, at time.Time) error {
	t, base := Terms{Slot: m.Slot, Rooms: rooms, Attendees: m.Attendees}, (*Meeting)(nil)
	if m.Request.Change != nil {
		t.Slot, base = m.Request.Change.Slot, m
	}
	violations := slices.DeleteFunc(t.Violations(base, Actor{}, policy.Limits{}, at), func(f Fault) bool { return f.Code != "blackout" && f.Code != "room_inactive" })
	if len(violations) > 0 {
		return &PolicyError{Violations: violations}
	}
	return nil
}

// notYours returns the error for an actor who may decide at some level, but not now.
func (m *Meeting) notYours(levels approvalLevels, by Actor) error {
	may := func(level int) bool {
		return slices.ContainsFunc(levels.At(level), func(r *Room) bool { return by.mayAgree(r, level, false) })
	}
	switch {
	case slices.ContainsFunc(m.Request.Agreed, func(a Agreement) bool { return a.UserID == by.ID }):
		return &StateError{State: m.Status, Action: "approve a second time"}
	case may(m.Request.Level):
		return &StateError{State: m.Status, Action: "approve for rooms that another approver has approved"}
	case m.Request.Level == FirstLevel && may(secondLevel):
		return &StateError{State: m.Status, Action: "approve at the second level before the first"}
	default:
		return ErrForbidden
	}
}

// Reject rejects the request: the meeting's slot becomes free, or a confirmed meeting stays where
// it is.
func (m *Meeting) Reject(rooms []*Room, comment string, by Actor, at time.Time) error {
	if err := m.undecided("reject", at); err != nil {
		return err
	}
	m.refuse(rooms, "", comment, by, at)
	return nil
}

// Expire ends a request that nobody decided in time, as [Rejected], or as [Confirmed] if its rooms
// want that. It returns a [*PolicyError] instead of confirming a request that does not hold its
// rooms while one of them is closed. The caller knows by the engine's clock that the deadline has
// passed.
func (m *Meeting) Expire(to Status, rooms []*Room, by Actor, at time.Time) error {
	switch {
	case m.Request == nil:
		return &StateError{State: m.Status, Action: "expire"}
	case to == Confirmed && (m.Request.Change == nil || m.EffectiveStatus(at) == Confirmed): // a meeting in progress cannot move
		if m.Request.Change != nil || len(m.Occupied) == 0 { // otherwise it counts as booked since its deadline
			if err := m.closed(rooms, at); err != nil {
				return err
			}
		}
		m.confirm(rooms, ReasonTimeout, "", by, at)
	default:
		m.refuse(rooms, ReasonTimeout, "", by, at)
	}
	return nil
}

func (m *Meeting) undecided(action string, at time.Time) error {
	if !m.Waits(at) {
		return &StateError{State: m.EffectiveStatus(at), Action: action}
	}
	return nil
}

// confirm approves the request and takes its rooms unless it holds them already. Reason is one of
// the Reason constants, or empty if a user decided.
func (m *Meeting) confirm(rooms []*Room, reason, comment string, by Actor, at time.Time) {
	m.Approval.DecidedAt, m.Approval.DecidedBy, m.Approval.Comment, m.Approval.Reason = at, by.ID, comment, reason
	m.UpdatedAt = at
	said, level := cmp.Or(reason, comment), m.Request.Level
	var people []Represented
	if by.Kind == ActorUser {
		people = agreedFor(m.Request.Agreed, by.ID)
	}
	if c := m.Request.Change; c != nil {
		m.conclude(Confirmed, said, people, by, at)
		m.apply(c, rooms, said, by, at)
		return
	}
	m.Status = Confirmed
	m.Record(Entry{At: at, Action: ActionConfirmed, Actor: by, Reason: said, Changes: turned(Pending, Confirmed, decidedFor(decidedAt(level), people))})
	m.conclude(Confirmed, said, people, by, at)
	m.notifyDecision(Confirmed, reason, comment, nil, by, at)
	if m.Occupied == nil {
		m.occupy(rooms, nil)
	}
	m.notifyConfirmed(by, at)
}

// decidedAt adds the level of a decision to the history; the first level is left out.
func decidedAt(level int) map[string]Change {
	if level <= FirstLevel {
		return nil
	}
	return map[string]Change{"approval.level": {From: level}}
}

// refuse rejects the request. Reason is one of the Reason constants, or empty if a user decided.
func (m *Meeting) refuse(rooms []*Room, reason, comment string, by Actor, at time.Time) {
	m.UpdatedAt = at
	said := cmp.Or(reason, comment)
	people := by.behalf(rooms, func(r *Room) []int64 { return Union(atLevel(FirstLevel, true)(r), r.Approval.SecondIDs) })
	if c := m.Request.Change; c != nil {
		giveUp := decidedFor(m.Request.givenUp(), people)
		m.conclude(Rejected, said, people, by, at)
		m.Record(Entry{At: at, Action: ActionChanged, Actor: by, Reason: said, Changes: giveUp})
		m.notifyDecision(Rejected, reason, comment, c, by, at)
		return
	}
	m.Approval.DecidedAt, m.Approval.DecidedBy, m.Approval.Comment, m.Approval.Reason = at, by.ID, comment, reason
	m.Status, m.Occupied = Rejected, nil
	m.Record(Entry{At: at, Action: ActionRejected, Actor: by, Reason: said, Changes: turned(Pending, Rejected, decidedFor(decidedAt(m.Request.Level), people))})
	m.conclude(Rejected, said, people, by, at)
	m.notifyDecision(Rejected, reason, comment, nil, by, at)
}
