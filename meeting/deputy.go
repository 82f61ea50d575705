package meeting

import "slices"

// Absence of a user who named a deputy for it.
type Absence struct{ UserID, DeputyID int64 }

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

// standsFor are the users in whose place a user may decide.
func (as absences) standsFor(id int64) []int64 {
	var ids []int64
	for _, a := range as {
		if a.UserID != id && slices.Contains(as.chain(a.UserID), id) {
			ids = append(ids, a.UserID)
		}
	}
	return ids
}

// stand says who is asked in the place of people: themselves, or whoever of their chain is
// there. Known has the people of all chains; who is not in it cannot decide. Where nobody of
// a chain is there, the person is asked all the same.
func (as absences) stand(people []Person, known map[int64]Person) []Decider {
	var asked []Decider
	for _, p := range people {
		d := Decider{Person: p}
		chain := as.chain(p.UserID)
		for i := len(chain) - 1; i >= 0; i-- { // the last is the one who is there
			_, away := as.deputy(chain[i])
			if deputy, ok := known[chain[i]]; ok && !away && deputy.Role != Member {
				d = Decider{Person: deputy, For: []string{p.Name}}
				break
			}
		}
		asked = append(asked, d)
	}
	return sameDeciders(asked)
}
