package httpapi

import "punctual/meeting"

// Access says what members of groups may do in a room. Admins may do everything, and approvers of a room
// may see and book it.
type Access struct {
	See             []int64 `json:"see,omitempty" nullable:"false" maximum:"9007199254740991" doc:"IDs of groups that may see the room. Groups of the other lists may see it, too. Empty if everyone may"`
	Details         []int64 `json:"details,omitempty" nullable:"false" maximum:"9007199254740991" doc:"IDs of groups that see the details of meetings; other users see Busy. Empty if everyone who sees the room does"`
	Book            []int64 `json:"book,omitempty" nullable:"false" maximum:"9007199254740991" doc:"IDs of groups that may book; empty if everyone may"`
	WithoutApproval []int64 `json:"book_without_approval,omitempty" nullable:"false" maximum:"9007199254740991" doc:"IDs of groups whose bookings need no approval"`
	Override        []int64 `json:"override,omitempty" nullable:"false" maximum:"9007199254740991" doc:"IDs of groups that may override policies, as admins can"`
}

func accessOf(a *meeting.Access) *Access {
	if a == nil {
		return nil
	}
	return &Access{See: append([]int64{}, a.See...), Details: append([]int64{}, a.Details...), Book: append([]int64{}, a.Book...), WithoutApproval: append([]int64{}, a.WithoutApproval...), Override: append([]int64{}, a.Override...)}
}

func (a Access) access() meeting.Access {
	return meeting.Access{See: a.See, Details: a.Details, Book: a.Book, WithoutApproval: a.WithoutApproval, Override: a.Override}
}

// roomAccess returns the requested access; a pointer to nil is that of the site.
func (p RoomPatch) roomAccess() **meeting.Access {
	if p.Access.Null {
		return new(*meeting.Access)
	}
	return mapField(p.Access, func(a Access) *meeting.Access { return new(a.access()) })
}
