package meeting

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"punctual/meeting/clock"
)

func (s *fakeStore) Candidates(ctx context.Context, n Need, after *Room, limit int) ([]*Room, error) {
	rooms, _, err := s.ListRooms(ctx, RoomQuery{}, Page{})
	rooms = slices.DeleteFunc(rooms, func(r *Room) bool {
		return !r.Active || len(r.missing(n)) > 0 || n.SiteID != 0 && r.SiteID != n.SiteID || len(n.RoomIDs) > 0 && !slices.Contains(n.RoomIDs, r.ID) ||
			r.Capacity != 0 && r.Capacity < n.Persons
	})
	slices.SortFunc(rooms, func(a, b *Room) int {
		return cmp.Or(cmp.Compare(a.surplus(n.Persons), b.surplus(n.Persons)), cmp.Compare(a.Name, b.Name))
	})
	if after != nil {
		rooms = rooms[1+slices.IndexFunc(rooms, func(r *Room) bool { return r.ID == after.ID }):]
	}
	return rooms[:min(limit, len(rooms))], err
}

func (s *fakeStore) Busy(_ context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	taken := map[int64][]clock.Slot{}
	for _, m := range s.meetings {
		for _, o := range unlapsed(takenBy(m), at) {
			if slices.Contains(rooms, o.RoomID) && o.Slot.Overlaps(span) {
				taken[o.RoomID] = append(taken[o.RoomID], o.Slot)
			}
		}
	}
	return taken, nil
}

// Kinds has each room on its own.
func (s *fakeStore) Kinds(ctx context.Context, n Need) ([]*Kind, error) {
	rooms, err := s.Candidates(ctx, n, nil, 1<<30)
	var kinds []*Kind
	for _, r := range rooms {
		kinds = append(kinds, &Kind{SiteID: r.SiteID, Zone: r.Zone, Policy: r.Policy, RoomIDs: []int64{r.ID}})
	}
	return kinds, err
}

func (s *fakeStore) AllBusy(ctx context.Context, span clock.Slot, at time.Time, each func(int64, clock.Slot)) error {
	busy, err := s.Busy(ctx, slices.Collect(maps.Keys(s.rooms)), span, at)
	for room, slots := range busy {
		slices.SortFunc(slots, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
		for _, t := range slots {
			each(room, t)
		}
	}
	return err
}

func (s *fakeStore) HeldBy(_ context.Context, userID int64, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	held := map[int64][]clock.Slot{}
	for _, m := range s.meetings {
		for _, o := range unlapsed(occupiedBy(m), at) {
			if slices.Contains(rooms, o.RoomID) && m.Organizer.UserID == userID && m.Slot.Overlaps(span) {
				held[o.RoomID] = append(held[o.RoomID], m.Slot)
			}
		}
	}
	return held, nil
}

func (s *fakeStore) Booked(_ context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	booked := map[int64][]clock.Slot{}
	for _, m := range s.meetings {
		for _, o := range unlapsed(occupiedBy(m), at) {
			if slices.Contains(rooms, o.RoomID) && m.Slot.Overlaps(span) {
				booked[o.RoomID] = append(booked[o.RoomID], m.Slot)
			}
		}
	}
	for _, slots := range booked {
		slices.SortFunc(slots, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
	}
	return booked, nil
}

func (s *fakeStore) Occupants(_ context.Context, roomID int64, span clock.Slot) ([]*Meeting, error) {
	var ms []*Meeting
	for _, m := range s.meetings {
		if slices.ContainsFunc(m.Occupied, func(o Occupancy) bool { return o.RoomID == roomID && o.Slot.Overlaps(span) }) {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return ms, nil
}

func (s *fakeStore) FindPeople(_ context.Context, q PeopleQuery) ([]Person, error) {
	s.people = q
	return []Person{{Name: "Ada", Email: "ada@example.org"}}, nil
}
