package policy

import (
	"slices"

	"punctual/account/fault"
)

// MeetingType is what the rules know of a kind of meeting.
type MeetingType struct {
	Name    string
	SiteIDs []int64 // with RoomIDs: where it can be booked; both empty: everywhere
	RoomIDs []int64
}

// Takes reports whether the room takes meetings of the type.
func (t *MeetingType) Takes(r *Room) bool {
	return len(t.SiteIDs)+len(t.RoomIDs) == 0 || slices.Contains(t.RoomIDs, r.ID) || r.SiteID != 0 && slices.Contains(t.SiteIDs, r.SiteID)
}

// Check returns a fault for each room that does not take meetings of the type.
func (t *MeetingType) Check(rooms []*Room) []fault.Fault {
	var v fault.List
	for _, r := range rooms {
		if !t.Takes(r) {
			v.Violate("type_id", "type_room", fault.Figures{RoomID: r.ID}, "%s is not available for meetings of the type %s", r.Name, t.Name)
		}
	}
	return v
}
