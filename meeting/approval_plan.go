package meeting

import (
	"cmp"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// ApprovalTerms are the installation's settings for requests. Rooms may be stricter.
type ApprovalTerms struct {
	Timeout       time.Duration // 0: until the start
	RemindBefore  time.Duration // the deadline; 0: nobody is reminded
	EscalateAfter time.Duration // 0: never
	OnTimeout     Status        // empty: [Rejected]
	Hold          bool          // a request takes its rooms
}

// ApprovalPlan says which approvals a meeting in some rooms needs, whether the actor can give them
// alone, and how the others are requested. It is computed once per request.
type ApprovalPlan struct {
	ApprovalTerms
	Deciders [secondLevel][]Decider // of each level
	Others   []Decider              // escalation contacts

	rooms  []*Room
	levels approvalLevels
	Own    bool // the actor may approve at every level
}

// PlanApproval returns the plan for a booking by an actor, without the users who are asked.
func PlanApproval(terms ApprovalTerms, by Actor, rooms ...*Room) ApprovalPlan {
	plan := PlanDecision(terms, rooms)
	plan.Own = by.mayApprove(plan.levels)
	return plan
}

// PlanDecision is [PlanApproval] for a decision.
func PlanDecision(terms ApprovalTerms, rooms []*Room) ApprovalPlan {
	return ApprovalPlan{ApprovalTerms: terms, rooms: rooms, levels: LevelsOf(rooms)}
}

// Waits reports whether someone else must approve.
func (p ApprovalPlan) Waits() bool { return p.levels.Count() > 0 && !p.Own }

// Deadline returns the deadline of a request made at an instant: the end of the shortest time-out
// of its rooms, but at the latest the start.
func (p ApprovalPlan) Deadline(start, at time.Time) time.Time {
	wait := p.strictest(p.Timeout, func(r *Room) time.Duration { return r.Approval.Timeout })
	if wait == 0 {
		return start
	}
	return clock.Earlier(start, at.Add(wait))
}

// Outcome returns the status of a request that nobody decides. It is confirmed only if every room
// says so.
func (p ApprovalPlan) Outcome() Status {
	for _, r := range p.levels.At(FirstLevel) {
		if cmp.Or(r.Approval.OnTimeout, p.OnTimeout, Rejected) != Confirmed {
			return Rejected
		}
	}
	return Confirmed
}

// escalateAfter returns how long after the request it is escalated; 0: never.
func (p ApprovalPlan) escalateAfter() time.Duration {
	return p.strictest(p.EscalateAfter, func(r *Room) time.Duration { return r.Approval.EscalateAfter })
}

// strictest returns the smallest value of the rooms; 0 means the installation's.
func (p ApprovalPlan) strictest(installation time.Duration, of func(*Room) time.Duration) time.Duration {
	var least time.Duration
	for _, r := range p.levels.At(FirstLevel) {
		least = policy.Stricter(least, cmp.Or(of(r), installation))
	}
	return least
}

// approvalLevels returns the rooms that need an approval, by level. A meeting needs it as soon as
// one of its rooms does.
type approvalLevels [secondLevel][]*Room

func LevelsOf(rooms []*Room) (levels approvalLevels) {
	for _, r := range rooms {
		if !r.Approval.Required {
			continue
		}
		levels[0] = append(levels[0], r)
		if len(r.Approval.SecondIDs) > 0 {
			levels[1] = append(levels[1], r)
		}
	}
	return levels
}

// At returns the rooms of a level.
func (ls approvalLevels) At(level int) []*Room { return ls[level-FirstLevel] }

// Count returns how many levels must approve: 0, 1 or 2.
func (ls approvalLevels) Count() int {
	n := 0
	for _, rooms := range ls {
		if len(rooms) > 0 {
			n++
		}
	}
	return n
}

// Complete returns the plan with the users who are asked at each level.
func (k *Roster) Complete(plan ApprovalPlan) ApprovalPlan {
	for i := range plan.Deciders {
		plan.Deciders[i] = k.deciders(plan.levels, i+1)
	}
	plan.Others = k.others(plan.levels)
	return plan
}
