package meeting

import (
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/policy"
)

// Type is a kind of meeting that admins define, such as an exam. A meeting without one is ordinary.
type Type struct {
	ID int64
	policy.MeetingType
	Names       map[string]string // by language, in addition to Name
	Color       Color
	MinRole     Role // of users who can book it
	QuotaExempt bool // its meetings neither count for quotas nor are limited by them
	Active      bool // an inactive type stays with its meetings, but cannot be chosen
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Color is one of a palette that the page shows with enough contrast in both themes.
type Color string

// Colors of the palette.
var Colors = []Color{"gray", "blue", "teal", "green", "yellow", "orange", "red", "pink", "purple"}

// Languages that names can have.
var Languages = []string{"en", "de", "zh"}

var RoleRanks = map[Role]int{Member: 1, Manager: 2, Admin: 3}

// id of the type; 0 for none.
func (t *Type) id() int64 {
	if t == nil {
		return 0
	}
	return t.ID
}

// Exempt reports whether meetings of the type are exempt from quotas.
func (t *Type) Exempt() bool { return t != nil && t.QuotaExempt }

// typeViolations returns the rules of the type that the terms violate: all of a type that base, nil
// for a new meeting, does not have, otherwise those of rooms that base does not have.
func (t *Terms) typeViolations(base *Meeting, by Actor) []Fault {
	if t.Type == nil {
		return nil
	}
	var v fault.List
	stays := base != nil && base.TypeID == t.Type.ID
	ranks := func(a Actor) bool { return a.IsAdmin() || RoleRanks[a.Role] >= RoleRanks[t.Type.MinRole] }
	if !stays && !ranks(by.alone()) {
		v.Violate("type_id", "type_role", Figures{Limit: string(t.Type.MinRole)}, "meetings of the type %s are only for the role %s", t.Type.Name, t.Type.MinRole)
	}
	var rooms []*policy.Room
	for _, r := range t.Rooms {
		if !stays || !slices.Contains(base.RoomIDs, r.ID) {
			rooms = append(rooms, &r.Room)
		}
	}
	return append(v, t.Type.Check(rooms)...)
}

// typeOrNil is the ID of a type in the history; nil for none.
func typeOrNil(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}
