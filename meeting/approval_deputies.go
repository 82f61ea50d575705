package meeting

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Absence of a user who named a deputy for it.
type Absence struct {
	UserID, DeputyID int64
	Until            time.Time
}

// Absences holds the current absences.
type Absences []Absence

func (as Absences) deputy(id int64) (deputy int64, away bool) {
	for _, a := range as {
		if a.UserID == id {
			return a.DeputyID, true
		}
	}
	return 0, false
}

// behalf returns the users whom the actor represents in rooms that name these users. In a room that
// names the actor, they decide for themselves.
func (a Actor) behalf(rooms []*Room, named func(*Room) []int64) []Represented {
	if a.Kind != ActorUser || a.Represents == nil {
		return nil
	}
	var all []Represented
	for _, r := range rooms {
		ids := named(r)
		if slices.Contains(ids, a.ID) {
			continue
		}
		for _, p := range *a.Represents {
			if slices.Contains(ids, p.ID) {
				all = Union(all, []Represented{p})
			}
		}
	}
	return all
}

// atLevel returns the approvers of a room at a level, and its escalation contacts.
func atLevel(level int, escalated bool) func(*Room) []int64 {
	return func(r *Room) []int64 {
		if escalated {
			return Union(r.deciders(level), r.Approval.EscalateTo)
		}
		return r.deciders(level)
	}
}

// DecidedFor returns the users whom the last decider of the meeting represented.
func (a Approval) DecidedFor() []Represented {
	if a.DecidedBy == 0 {
		return nil
	}
	if v := a.Decision; v != nil && v.UserID == a.DecidedBy && v.At.Equal(a.DecidedAt) {
		return v.For
	}
	return agreedFor(a.Agreed, a.DecidedBy)
}

// agreedFor returns the users whom an approver represented.
func agreedFor(agreed []Agreement, user int64) []Represented {
	var all []Represented
	for _, g := range agreed {
		if g.UserID == user {
			all = Union(all, g.For)
		}
	}
	return all
}

// decidedFor adds to the changes of a history entry whom its actor represented.
func decidedFor(changes map[string]Change, people []Represented) map[string]Change {
	if len(people) == 0 {
		return changes
	}
	if changes == nil {
		changes = map[string]Change{}
	}
	changes["approval.decided_for"] = Change{To: strings.Join(representedNames(people), ", ")}
	return changes
}

func representedNames(people []Represented) []string {
	var names []string
	for _, p := range people {
		names = append(names, p.Name)
	}
	return names
}

// Chain returns the deputies of a user: the deputy, the deputy's deputy if that one is absent too,
// and so on. A cycle ends the chain.
func (as Absences) Chain(id int64) []int64 {
	var chain []int64
	for seen := []int64{id}; ; {
		deputy, away := as.deputy(id)
		if !away || slices.Contains(seen, deputy) {
			return chain
		}
		chain, seen, id = append(chain, deputy), append(seen, deputy), deputy
	}
}

// RepresentedBy returns the users whom a user may represent.
func (as Absences) RepresentedBy(id int64) []int64 {
	var ids []int64
	for _, a := range as {
		if a.UserID != id && slices.Contains(as.Chain(a.UserID), id) {
			ids = append(ids, a.UserID)
		}
	}
	return ids
}

// Decider is a user who is asked to decide.
type Decider struct {
	Person
	For     []string // names of the absent users whom they represent
	RoomIDs []int64  // for which they are asked
}

// deciders returns the users who decide on the rooms of a level.
func (k *Roster) deciders(levels approvalLevels, level int) []Decider {
	return k.asked(levels.At(level), func(r *Room) []int64 { return r.deciders(level) })
}

// others returns the users to whom the request is escalated.
func (k *Roster) others(levels approvalLevels) []Decider {
	return k.asked(levels.At(FirstLevel), func(r *Room) []int64 { return r.Approval.EscalateTo })
}

// Awaited returns the request with the users who are asked now.
func (k *Roster) Awaited(r *Request, levels approvalLevels) *Request {
	seen := *r
	asked := k.deciders(levels, r.Level)
	if !r.EscalatedAt.IsZero() {
		asked = sameDeciders(append(asked, k.others(levels)...))
	}
	seen.Awaited = r.undecided(asked)
	return &seen
}

// asked returns the users who can decide for the rooms: those that each room names, or their
// deputies. The admins decide for a room that names nobody or whose approvers have all left, and for
// a request whose rooms no longer need approval.
func (k *Roster) asked(rooms []*Room, named func(*Room) []int64) []Decider {
	admin := func(p Person) Decider { return Decider{Person: p} }
	var asked []Decider
	if len(rooms) == 0 {
		for _, p := range k.Admins {
			asked = append(asked, admin(p))
		}
	}
	for _, r := range rooms {
		var people []Person
		for _, id := range named(r) {
			if p, ok := k.Known[id]; ok && p.Role != Member {
				people = append(people, p)
			}
		}
		stand := k.stand
		if len(people) == 0 {
			people, stand = k.Admins, admin
		}
		for _, p := range people {
			d := stand(p)
			d.RoomIDs = []int64{r.ID}
			asked = append(asked, d)
		}
	}
	return sameDeciders(asked)
}

// stand returns the user who is asked in place of p: p, or the last of their chain of deputies who is
// present. An unknown user cannot decide. If nobody in the chain is present, p is asked.
func (k *Roster) stand(p Person) Decider {
	chain := k.Away.Chain(p.UserID)
	for i := len(chain) - 1; i >= 0; i-- {
		_, away := k.Away.deputy(chain[i])
		if deputy, ok := k.Known[chain[i]]; ok && !away && deputy.Role != Member {
			return Decider{Person: deputy, For: []string{p.Name}}
		}
	}
	return Decider{Person: p}
}

// sameDeciders merges, by user ID, people who are asked for several reasons.
func sameDeciders(ds []Decider) []Decider {
	var out []Decider
	for _, d := range ds {
		i := slices.IndexFunc(out, func(o Decider) bool { return o.UserID == d.UserID })
		if i < 0 {
			out = append(out, d)
			continue
		}
		o := &out[i]
		o.RoomIDs = Union(o.RoomIDs, d.RoomIDs)
		if len(o.For) == 0 || len(d.For) == 0 {
			o.For = nil // they are also asked in their own right
			continue
		}
		o.For = Union(o.For, d.For)
	}
	slices.SortFunc(out, func(a, b Decider) int { return cmp.Compare(a.UserID, b.UserID) })
	return out
}

// Union returns the elements of both lists, in order.
func Union[T comparable](a, b []T) []T {
	out := slices.Clip(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// FirstEnd returns when the first absence of these users ends. This covers deputies of deputies,
// because everyone in the chain is among the users.
func (as Absences) FirstEnd(ids []int64) (end time.Time) {
	for _, a := range as {
		if slices.Contains(ids, a.UserID) && (end.IsZero() || a.Until.Before(end)) {
			end = a.Until
		}
	}
	return end
}

// Roster holds the users who may be asked to decide, at one instant.
type Roster struct {
	Away   Absences
	Known  map[int64]Person // approvers of rooms and their deputies
	Admins []Person
}
