package caldav

import (
	"maps"
	"slices"
	"strings"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// noRoom stands for an address of a site that has no free room. It declines.
const noRoom = -1

// chooseRooms gives each address of a site the room of it that the meeting has, or else the best free
// room.
func (u *upload) chooseRooms(target Member) error {
	if len(u.sites) == 0 || !u.own || !u.Settings().Schedule {
		return nil
	}
	var held []*meeting.Room
	if target != (Member{}) {
		e, err := u.entry(u.ctx(), u.collection(), target)
		if err != nil {
			return err
		}
		if e == nil {
			return ErrChanged
		}
		if held, err = u.Store.Rooms(u.ctx(), slices.Concat(e.Single, e.All)[0].RoomIDs); err != nil {
			return err
		}
	}
	addresses := slices.Sorted(maps.Keys(u.sites))
	for _, address := range addresses {
		u.mailed[address] = noRoom // nobody who comes
	}
	taken := slices.Clone(u.rooms)
	for _, address := range addresses {
		id, err := u.anyRoom(address, held, taken)
		if err != nil {
			return err
		}
		u.mailed[address] = id
		taken = append(taken, id)
	}
	u.findRooms()
	return nil
}

// anyRoom returns a room for the address of a site that is not among the taken ones.
func (u *upload) anyRoom(address string, held []*meeting.Room, taken []int64) (int64, error) {
	site := u.sites[address]
	for _, room := range held {
		if room.SiteID == site && !slices.Contains(taken, room.ID) {
			return room.ID, nil
		}
	}
	dates, err := u.dates(nil)
	if err != nil {
		return 0, err
	}
	local, _, _ := strings.Cut(address, "@")
	features, err := u.Store.FeaturesAsked(u.ctx(), site, local)
	if err != nil {
		return 0, err
	}
	need := finding.Need{Persons: len(*u.fields(u.object.Head()).Attendees) + 1, SiteID: site, Features: features}
	found, err := u.Suggest(u.ctx(), u.by, need, dates.Slot.Duration(), clock.Slot{Start: dates.Slot.Start, End: dates.Slot.End}, len(taken)+1)
	if err != nil {
		if _, refused := refusal(err); refused { // such as a time in the past
			return noRoom, nil
		}
		return 0, err
	}
	for _, s := range found {
		if !slices.Contains(taken, s.Room.ID) {
			return s.Room.ID, nil
		}
	}
	return noRoom, nil
}

// mostTried is how many rooms of a site are tried for an event.
const mostTried = 10

// insteadOf returns another room of the site if a room that cannot be booked stands for any of them.
func (u *upload) insteadOf(id int64, invited []int64) ([]int64, error) {
	for _, address := range slices.Sorted(maps.Keys(u.sites)) {
		if u.mailed[address] != id || len(u.tried) == mostTried {
			continue
		}
		u.tried = append(u.tried, id)
		other, err := u.anyRoom(address, nil, slices.Concat(u.tried, invited))
		if err != nil || other == noRoom {
			return nil, err
		}
		u.mailed[address] = other
		return []int64{other}, nil
	}
	return nil, nil
}
