package importing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
)

// roomNames finds rooms by what calendars call them.
type roomNames struct {
	byID   map[int64]*meeting.Room
	byName map[string][]int64 // several: the name is ambiguous
}

// readRooms reads all active rooms, which options may name.
func readRooms(ctx context.Context, s *booking.Service, o Options) (*roomNames, error) {
	names := &roomNames{byID: map[int64]*meeting.Room{}, byName: map[string][]int64{}}
	for page := (meeting.Page{Limit: 500}); ; {
		rooms, next, err := s.Rooms(ctx, meeting.RoomQuery{}, page)
		if err != nil {
			return nil, err
		}
		for _, r := range rooms {
			names.byID[r.ID] = r
			name := fold(r.Name)
			names.byName[name] = append(names.byName[name], r.ID)
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	var faults fault.List
	if o.RoomID != 0 && names.byID[o.RoomID] == nil {
		faults.Add("room_id", "unknown_room", "there is no active room %d", o.RoomID)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Rooms)) {
		id := o.Rooms[name]
		if names.byID[id] == nil {
			faults.Add("rooms."+name, "unknown_room", "there is no active room %d", id)
		}
		names.byName[fold(name)] = []int64{id}
	}
	return names, faults.Err()
}

// fold makes names equal that differ only in case and white space.
func fold(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// of returns the rooms of an event: those that it invites, or else those of its location. If it names
// none that is known, the error says what it names.
func (n *roomNames) of(e *itip.Event) ([]int64, error) {
	var ids []int64
	add := func(texts ...string) (found bool, err error) {
		for _, text := range texts {
			switch known := n.byName[fold(text)]; {
			case text == "" || len(known) == 0:
				continue
			case len(known) > 1:
				return false, fmt.Errorf("several rooms are named %q", text)
			default:
				if !slices.Contains(ids, known[0]) {
					ids = append(ids, known[0])
				}
				return true, nil
			}
		}
		return false, nil
	}
	var unknown []string
	for _, a := range e.Attendees {
		if !a.IsRoom() {
			continue
		}
		local, _, _ := strings.Cut(a.Email, "@")
		found, err := add(a.Name, a.Email, local)
		if err != nil {
			return nil, err
		}
		if !found {
			unknown = append(unknown, firstOf(a.Name, a.Email))
		}
	}
	if len(ids) > 0 {
		return ids, nil
	}
	if e.Location != "" {
		if found, err := add(e.Location, strings.SplitN(e.Location, "\n", 2)[0]); found || err != nil {
			return ids, err
		}
		for _, part := range strings.FieldsFunc(e.Location, func(c rune) bool { return c == ',' || c == ';' || c == '\n' }) {
			if _, err := add(part); err != nil {
				return nil, err
			}
		}
		unknown = append(unknown, strings.ReplaceAll(e.Location, "\n", ", "))
	}
	switch {
	case len(ids) > 0:
		return ids, nil
	case len(unknown) > 0:
		return nil, fmt.Errorf("no room is named %q", unknown[0])
	default:
		return nil, fmt.Errorf("the event names no room")
	}
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// takePlanned notes what a dry run would book of rooms, and returns what it would have booked before.
func (r *run) takePlanned(rooms []int64, slots []clock.Slot) (conflicts []meeting.Occupancy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range rooms {
		for _, slot := range slots {
			for _, other := range r.planned[id] {
				if other.Overlaps(slot) {
					conflicts = append(conflicts, meeting.Occupancy{RoomID: id, Slot: other})
				}
			}
		}
	}
	if len(conflicts) == 0 {
		for _, id := range rooms {
			r.planned[id] = append(r.planned[id], slots...)
		}
	}
	return conflicts
}

// lookUpRooms returns what looks up the rooms of one event. Most events are in rooms that the one before had. So only
// the second look-up of an event reads them again: the booking noticed that they have changed.
func (r *run) lookUpRooms() func(context.Context, []int64) ([]*meeting.Room, error) {
	again := false
	return func(ctx context.Context, ids []int64) ([]*meeting.Room, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if again || slices.ContainsFunc(ids, func(id int64) bool { return r.latest[id] == nil }) {
			found, err := r.meetings.RoomsByID(ctx, ids)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				delete(r.latest, id)
			}
			for _, room := range found {
				r.latest[room.ID] = room
			}
		}
		again = true
		var rooms []*meeting.Room
		for _, id := range ids {
			if room := r.latest[id]; room != nil {
				rooms = append(rooms, room.Clone())
			}
		}
		return rooms, nil
	}
}
