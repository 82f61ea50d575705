package series

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// substitutes holds substitute rooms, looked up once for a plan.
type substitutes struct {
	bySite map[int64][]*meeting.Room
	byRoom map[substitution][]*meeting.Room
	taken  map[roomOfDate]bool // by other meetings, from the database
}

type roomOfDate struct {
	date *plannedDate
	room int64
}

// substitution of a room for this number of people.
type substitution struct {
	room    int64
	persons int
}

func newSubstitutes() substitutes {
	return substitutes{bySite: map[int64][]*meeting.Room{}, byRoom: map[substitution][]*meeting.Room{}, taken: map[roomOfDate]bool{}}
}

// findOthers searches substitute rooms for the dates that cannot be booked, once for each date, and
// reports whether it found any. Of the suitable rooms of the same site it takes the one with the
// fewest spare places, then the first by name.
func (p *planner) findOthers(ctx context.Context, dates []*plannedDate) (found bool, err error) {
	for _, w := range dates {
		if w.skip == nil || !w.room || w.other {
			continue
		}
		rooms, err := p.replaced(ctx, w, dates)
		if err != nil {
			return false, err
		}
		changed := w.terms
		changed.Rooms = rooms
		if rooms == nil || p.accept(&changed, changed.Violations(w.base, p.by, p.conf.Limits, p.at)) != nil {
			continue
		}
		w.terms, w.skip, w.other = changed, nil, true
		p.leave(w)
		p.keep(w)
		p.take(w)
		found = true
	}
	return found, nil
}

// replaced returns the rooms of a date with substitutes for those that it cannot have; nil if there
// are none. Each room gets its best substitute, unless a later one would get none then.
func (p *planner) replaced(ctx context.Context, w *plannedDate, dates []*plannedDate) ([]*meeting.Room, error) {
	var blocked []int
	for i, r := range w.terms.Rooms {
		is, err := p.blocked(ctx, w, r, dates)
		if err != nil {
			return nil, err
		}
		if is {
			blocked = append(blocked, i)
		}
	}
	if len(blocked) == 0 {
		return nil, nil
	}
	choices, fits := make([][]*meeting.Room, len(blocked)), map[int64]bool{}
	for i, at := range blocked {
		var err error
		if choices[i], err = p.choices(ctx, w, w.terms.Rooms[at], len(blocked), fits, dates); err != nil {
			return nil, err
		}
	}
	given := assign(choices)
	if given == nil {
		return nil, nil
	}
	rooms := slices.Clone(w.terms.Rooms)
	for i, at := range blocked {
		rooms[at] = given[i]
	}
	return rooms, nil
}

// blocked reports whether this room prevents the date.
func (p *planner) blocked(ctx context.Context, w *plannedDate, r *meeting.Room, dates []*plannedDate) (bool, error) {
	if slices.ContainsFunc(w.skip.Conflicts, func(o meeting.Occupancy) bool { return o.RoomID == r.ID }) {
		return true, nil
	}
	if p.override != nil {
		return w.terms.Bars(w.base, p.by, r), nil
	}
	return p.refused(ctx, w, r, dates)
}

// refused reports whether the room's policies, access and quotas included, prevent the date.
func (p *planner) refused(ctx context.Context, w *plannedDate, r *meeting.Room, dates []*plannedDate) (bool, error) {
	wish := policy.Proposal{Slot: w.terms.Slot, Persons: len(w.terms.Attendees), Now: p.at}
	if w.terms.Bars(w.base, p.by, r) || len(r.Check(wish, p.conf.Limits)) > 0 {
		return true, nil
	}
	over, err := p.exceeded(ctx, w, []*meeting.Room{r}, dates)
	return len(over) > 0, err
}

// choices returns up to n rooms that can replace r on the date, best first. fits caches which rooms
// were checked for this date.
func (p *planner) choices(ctx context.Context, w *plannedDate, r *meeting.Room, n int, fits map[int64]bool, dates []*plannedDate) ([]*meeting.Room, error) {
	all, err := p.equals(ctx, r, len(w.terms.Attendees))
	if err != nil {
		return nil, err
	}
	var good []*meeting.Room
	for size := 16; len(all) > 0 && len(good) < n; size *= 4 { // usually one of the first is free
		some := all[:min(size, len(all))]
		all = all[len(some):]
		if err := p.findFitting(ctx, w, some, fits, dates); err != nil {
			return nil, err
		}
		for _, o := range some {
			if fits[o.ID] {
				good = append(good, o)
			}
		}
	}
	return good[:min(n, len(good))], nil
}

// findFitting checks rooms that were not checked yet: they must be free at the date's time, now and
// by this plan, and their policies must allow the date.
func (p *planner) findFitting(ctx context.Context, w *plannedDate, rooms []*meeting.Room, fits map[int64]bool, dates []*plannedDate) error {
	rooms = slices.DeleteFunc(slices.Clone(rooms), func(r *meeting.Room) bool { _, known := fits[r.ID]; return known })
	if err := p.lookUpTaken(ctx, w, rooms, dates); err != nil {
		return err
	}
	own := meeting.RoomIDs(w.terms.Rooms)
	for i, would := range w.occupancies(rooms) {
		r := rooms[i]
		if p.substitutes.taken[roomOfDate{w, r.ID}] || slices.Contains(own, r.ID) || len(p.inTheWay(w, []meeting.Occupancy{would})) > 0 {
			fits[r.ID] = false
			continue
		}
		refused, err := p.refused(ctx, w, r, dates)
		if err != nil {
			return err
		}
		fits[r.ID] = !refused
	}
	return nil
}

// lookUpAtOnce limits the times of rooms that one statement looks up.
const lookUpAtOnce = 5000

// lookUpTaken looks up which of the rooms are taken at the date's time and, in the same statement,
// at the times of the dates still to be settled, which usually need the same rooms.
func (p *planner) lookUpTaken(ctx context.Context, w *plannedDate, rooms []*meeting.Room, dates []*plannedDate) error {
	rooms = slices.DeleteFunc(slices.Clone(rooms), func(r *meeting.Room) bool { _, known := p.substitutes.taken[roomOfDate{w, r.ID}]; return known })
	if len(rooms) == 0 {
		return nil
	}
	var asked []meeting.Occupancy
	var of []*plannedDate
	ask := func(w *plannedDate) {
		for _, o := range w.occupancies(rooms) {
			asked, of = append(asked, o), append(of, w)
		}
	}
	ask(w)
	for _, later := range dates[slices.Index(dates, w)+1:] {
		if len(asked)+len(rooms) > lookUpAtOnce {
			break
		}
		if later.skip != nil && later.room {
			ask(later)
		}
	}
	taken, err := p.taken(ctx, asked, dates)
	if err != nil {
		return err
	}
	for i, o := range asked {
		p.substitutes.taken[roomOfDate{of[i], o.RoomID}] = len(taken[i]) > 0
	}
	return nil
}

// equals returns the rooms that can replace r, best first.
func (p *planner) equals(ctx context.Context, r *meeting.Room, persons int) ([]*meeting.Room, error) {
	key := substitution{r.ID, persons}
	if good, ok := p.byRoom[key]; ok {
		return good, nil
	}
	all, err := p.roomsOf(ctx, r.SiteID)
	if err != nil {
		return nil, err
	}
	need := cmp.Or(r.Capacity, persons)
	var good []*meeting.Room
	for _, o := range all {
		lacks := slices.ContainsFunc(r.Features, func(f string) bool { return !slices.Contains(o.Features, f) })
		if o.ID != r.ID && o.Active && o.Capacity >= need && !lacks && (r.Approval.Required || !o.Approval.Required) {
			good = append(good, o)
		}
	}
	slices.SortFunc(good, func(a, b *meeting.Room) int {
		return cmp.Or(cmp.Compare(a.Capacity, b.Capacity), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	p.byRoom[key] = good
	return good, nil
}

// roomsOf returns the rooms of a site; 0: rooms without a site.
func (p *planner) roomsOf(ctx context.Context, site int64) ([]*meeting.Room, error) {
	if rooms, ok := p.bySite[site]; ok {
		return rooms, nil
	}
	rooms, page := []*meeting.Room{}, meeting.Page{Limit: 500}
	for {
		some, next, err := p.store.ListRooms(ctx, meeting.RoomQuery{SiteID: site, Viewer: &p.by}, page)
		if err != nil {
			return nil, fmt.Errorf("look up other rooms: %w", err)
		}
		for _, r := range some {
			if r.SiteID == site {
				rooms = append(rooms, r)
			}
		}
		if next == "" {
			p.bySite[site] = rooms
			return rooms, p.booking.PrepareRooms(ctx, rooms, clock.Slot{Start: p.at})
		}
		page.Cursor = next
	}
}

// assign gives each place one of its choices. It prefers earlier choices and uses no room twice. It
// returns nil if that is impossible. If all choices of a place are taken, another place moves to
// its next choice.
func assign(choices [][]*meeting.Room) []*meeting.Room {
	given := map[int64]int{} // room -> place
	rooms := make([]*meeting.Room, len(choices))
	var give func(place int, asked map[int64]bool) bool
	give = func(place int, asked map[int64]bool) bool {
		for _, r := range choices[place] {
			if _, taken := given[r.ID]; !taken {
				given[r.ID], rooms[place] = place, r
				return true
			}
		}
		for _, r := range choices[place] {
			if asked[r.ID] {
				continue
			}
			asked[r.ID] = true
			if give(given[r.ID], asked) {
				given[r.ID], rooms[place] = place, r
				return true
			}
		}
		return false
	}
	for place := range choices {
		if !give(place, map[int64]bool{}) {
			return nil
		}
	}
	return rooms
}
