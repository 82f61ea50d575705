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

// absences of the moment.
type absences []Absence

func (as absences) deputy(id int64) (deputy int64, away bool) {
	for _, a := range as {
		if a.UserID == id {
			return a.DeputyID, true
		}
	}
	return 0, false
}

// behalf are those in whose place the actor decides on rooms that name these users. For a room
// that names the actor, they decide for themselves.
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
				all = union(all, []Represented{p})
			}
		}
	}
	return all
}

// atLevel are the users whom a room names at a level, with those for what takes too long.
func atLevel(level int, escalated bool) func(*Room) []int64 {
	return func(r *Room) []int64 {
		if escalated {
			return union(r.deciders(level), r.Approval.EscalateTo)
		}
		return r.deciders(level)
	}
}

// DecidedFor are those in whose place the user decided who did, on the meeting as it is.
func (a Approval) DecidedFor() []Represented {
	if a.DecidedBy == 0 {
		return nil
	}
	if v := a.Decision; v != nil && v.UserID == a.DecidedBy && v.At.Equal(a.DecidedAt) {
		return v.For
	}
	return agreedFor(a.Agreed, a.DecidedBy)
}

// agreedFor are those in whose place a user agreed.
func agreedFor(agreed []Agreement, user int64) []Represented {
	var all []Represented
	for _, g := range agreed {
		if g.UserID == user {
			all = union(all, g.For)
		}
	}
	return all
}

// decidedFor adds to the changes of a history entry in whose place its actor decided.
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

// chain are those who stand in for a user, one for the other: the deputy, the deputy's deputy
// if that one is away, too, and so on. A chain that comes back to somebody ends there.
func (as absences) chain(id int64) []int64 {
	var chain []int64
	for seen := []int64{id}; ; {
		deputy, away := as.deputy(id)
		if !away || slices.Contains(seen, deputy) {
			return chain
		}
		chain, seen, id = append(chain, deputy), append(seen, deputy), deputy
	}
}

// representedBy are the users in whose place a user may decide.
func (as absences) representedBy(id int64) []int64 {
	var ids []int64
	for _, a := range as {
		if a.UserID != id && slices.Contains(as.chain(a.UserID), id) {
			ids = append(ids, a.UserID)
		}
	}
	return ids
}

// Decider is somebody who is asked.
type Decider struct {
	Person
	For     []string // names of those who are away, for whom they stand in
	RoomIDs []int64  // for which they are asked
}

// deciders returns the users who decide on the rooms of a level.
func (k *roster) deciders(levels approvalLevels, level int) []Decider {
	return k.asked(levels.at(level), func(r *Room) []int64 { return r.deciders(level) })
}

// others returns the users who are asked as well when those take long.
func (k *roster) others(levels approvalLevels) []Decider {
	return k.asked(levels.at(firstLevel), func(r *Room) []int64 { return r.Approval.EscalateTo })
}

// awaited is the request with those who are asked now.
func (k *roster) awaited(r *Request, levels approvalLevels) *Request {
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
func (k *roster) asked(rooms []*Room, named func(*Room) []int64) []Decider {
	admin := func(p Person) Decider { return Decider{Person: p} }
	var asked []Decider
	if len(rooms) == 0 {
		for _, p := range k.admins {
			asked = append(asked, admin(p))
		}
	}
	for _, r := range rooms {
		var people []Person
		for _, id := range named(r) {
			if p, ok := k.known[id]; ok && p.Role != Member {
				people = append(people, p)
			}
		}
		stand := k.stand
		if len(people) == 0 {
			people, stand = k.admins, admin
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
func (k *roster) stand(p Person) Decider {
	chain := k.away.chain(p.UserID)
	for i := len(chain) - 1; i >= 0; i-- {
		_, away := k.away.deputy(chain[i])
		if deputy, ok := k.known[chain[i]]; ok && !away && deputy.Role != Member {
			return Decider{Person: deputy, For: []string{p.Name}}
		}
	}
	return Decider{Person: p}
}

// sameDeciders joins people who are asked for several reasons, by their ID.
func sameDeciders(ds []Decider) []Decider {
	var out []Decider
	for _, d := range ds {
		i := slices.IndexFunc(out, func(o Decider) bool { return o.UserID == d.UserID })
		if i < 0 {
			out = append(out, d)
			continue
		}
		o := &out[i]
		o.RoomIDs = union(o.RoomIDs, d.RoomIDs)
		if len(o.For) == 0 || len(d.For) == 0 {
			o.For = nil // they are asked themselves
			continue
		}
		o.For = union(o.For, d.For)
	}
	slices.SortFunc(out, func(a, b Decider) int { return cmp.Compare(a.UserID, b.UserID) })
	return out
}

// union of two lists, in the order in which things come.
func union[T comparable](a, b []T) []T {
	out := slices.Clip(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// firstEnd is when the first absence of these users ends. A deputy's deputy depends on no other
// absence: whoever is between them is among the users.
func (as absences) firstEnd(ids []int64) (end time.Time) {
	for _, a := range as {
		if slices.Contains(ids, a.UserID) && (end.IsZero() || a.Until.Before(end)) {
			end = a.Until
		}
	}
	return end
}

// roster is who may be asked to decide, at one instant.
type roster struct {
	away   absences
	known  map[int64]Person // those whom rooms name, and who stand in for them
	admins []Person
}
