package booking

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

func (s *Service) CreateSite(ctx context.Context, by meeting.Actor, f SiteFields) (*meeting.Site, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	site := &meeting.Site{CreatedAt: s.clock()}
	if err := f.apply(site); err != nil {
		return nil, err
	}
	site.UpdatedAt = site.CreatedAt
	if err := s.store.CreateSite(ctx, site); err != nil {
		return nil, err
	}
	return site, nil
}

// Site finds a site.
func (s *Service) Site(ctx context.Context, id int64) (*meeting.Site, error) {
	return s.store.Site(ctx, id)
}

// Sites lists sites.
func (s *Service) Sites(ctx context.Context, p meeting.Page) (sites []*meeting.Site, next string, err error) {
	return s.store.ListSites(ctx, p)
}

// UpdateSite changes a site. ifMatch, unless nil, is the expected version.
func (s *Service) UpdateSite(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f SiteFields) (*meeting.Site, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	var same *meeting.Site
	site, err := s.store.UpdateSite(ctx, id, func(site *meeting.Site) error {
		if err := checkVersion(ifMatch, site.Version); err != nil {
			return err
		}
		before := *site
		if err := f.apply(site); err != nil {
			return err
		}
		if reflect.DeepEqual(*site, before) {
			same = site
			return errUnchanged
		}
		site.UpdatedAt = s.clock()
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return same, nil
	}
	return site, err
}

// DeleteSite deletes a site without rooms. ifMatch, unless nil, is the expected version.
func (s *Service) DeleteSite(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteSite(ctx, id, func(site *meeting.Site) error { return checkVersion(ifMatch, site.Version) })
}

// CreateRoom adds a room; it is active unless the fields say otherwise.
func (s *Service) CreateRoom(ctx context.Context, by meeting.Actor, f RoomFields) (*meeting.Room, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	r := &meeting.Room{Room: policy.Room{Active: true}, CheckIn: s.conf().CheckIn, Inherits: true, CreatedAt: s.clock()}
	look, err := s.lookUpRoom(ctx, &f)
	if err != nil {
		return nil, err
	}
	if err := f.apply(r, look); err != nil {
		return nil, err
	}
	r.UpdatedAt = r.CreatedAt
	if err := s.store.CreateRooms(ctx, []*meeting.Room{r}); err != nil {
		return nil, err
	}
	return s.Room(ctx, r.ID) // with the zone in force
}

// Room returns a room with its current and future blackouts.
func (s *Service) Room(ctx context.Context, id int64) (*meeting.Room, error) {
	rooms, err := s.rooms(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	if len(rooms) == 0 {
		return nil, meeting.ErrNotFound
	}
	return rooms[0], s.withBlackouts(ctx, rooms, s.clock())
}

// Rooms lists rooms with their current and future blackouts.
func (s *Service) Rooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error) {
	rooms, next, err = s.store.ListRooms(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	return s.zoned(rooms), next, s.withBlackouts(ctx, rooms, s.clock())
}

// UpdateRoom changes a room. Booked meetings stay as they are, even if they violate the new
// policies. ifMatch, unless nil, is the expected version.
func (s *Service) UpdateRoom(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f RoomFields) (*meeting.Room, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	look, err := s.lookUpRoom(ctx, &f)
	if err != nil {
		return nil, err
	}
	var before *meeting.Room
	_, err = s.store.UpdateRoom(ctx, id, func(r *meeting.Room) error {
		if err := checkVersion(ifMatch, r.Version); err != nil {
			return err
		}
		before = cloneRoom(r)
		if err := f.apply(r, look); err != nil {
			return err
		}
		if reflect.DeepEqual(r, before) {
			return errUnchanged
		}
		r.UpdatedAt = s.clock()
		return nil
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return nil, err
	}
	room, err := s.Room(ctx, id)
	if err == nil {
		s.widened(ctx, before, room)
	}
	return room, err
}

// FollowCheckIn applies the installation's check-in settings to the rooms that follow them and to
// their upcoming meetings. It returns how many rooms changed. It may be called again, and
// concurrently.
func (s *Service) FollowCheckIn(ctx context.Context) (changed int, err error) {
	follows := func(r *meeting.Room) bool { return r.Inherits && r.CheckIn != s.conf().CheckIn }
	for p := (meeting.Page{Limit: 500}); ; {
		rooms, next, err := s.store.ListRooms(ctx, meeting.RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return changed, err
		}
		for _, r := range slices.DeleteFunc(rooms, func(r *meeting.Room) bool { return !follows(r) }) {
			_, err := s.store.UpdateRoom(ctx, r.ID, func(r *meeting.Room) error {
				if !follows(r) {
					return errUnchanged
				}
				r.CheckIn, r.UpdatedAt = s.conf().CheckIn, s.clock()
				return nil
			})
			switch {
			case err == nil:
				changed++
			case !errors.Is(err, errUnchanged) && !errors.Is(err, meeting.ErrNotFound):
				return changed, err
			}
		}
		if next == "" {
			return changed, nil
		}
		p.Cursor = next
	}
}

// widened serves the waiting list of a room after its buffers changed, since more of the room may
// be free. Attendees need no notice: the outdated messages of their meetings bring the new state.
func (s *Service) widened(ctx context.Context, before, room *meeting.Room) {
	if before.Policy.BufferBefore == room.Policy.BufferBefore && before.Policy.BufferAfter == room.Policy.BufferAfter {
		return
	}
	at := s.clock()
	s.freed(ctx, []meeting.Occupancy{{RoomID: room.ID, Slot: clock.Slot{Start: at, End: at.AddDate(100, 0, 0)}}})
}

// DeleteRoom deletes a room without future meetings; past meetings keep its name. ifMatch, unless
// nil, is the expected version.
func (s *Service) DeleteRoom(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteRoom(ctx, id, s.clock(), func(room *meeting.Room) error { return checkVersion(ifMatch, room.Version) })
}

// rooms returns rooms by ID, in order, without unknown ones.
func (s *Service) rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rooms, err := s.store.Rooms(ctx, ids)
	return s.zoned(rooms), err
}

// theirRooms returns the rooms of meetings, each once.
func (s *Service) theirRooms(ctx context.Context, ms []*meeting.Meeting) ([]*meeting.Room, error) {
	var want []int64
	for _, m := range ms {
		want = append(want, m.RoomIDs...)
	}
	slices.Sort(want)
	return s.rooms(ctx, slices.Compact(want))
}
