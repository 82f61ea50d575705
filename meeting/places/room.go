package places

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"punctual/account/fault"
	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// CreateSite adds a site.
func (s *Service) CreateSite(ctx context.Context, by meeting.Actor, f SiteFields) (*meeting.Site, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	site := &meeting.Site{CreatedAt: s.booking.Now()}
	if err := f.apply(site); err != nil {
		return nil, err
	}
	site.UpdatedAt = site.CreatedAt
	if err := s.store.CreateSite(ctx, site); err != nil {
		return nil, err
	}
	return site, s.followHolidays(ctx, s.placeOfSite(site))
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
	var zone string
	site, err := s.store.UpdateSite(ctx, id, func(site *meeting.Site) error {
		if err := fault.CheckVersion(ifMatch, site.Version); err != nil {
			return err
		}
		before := *site
		zone = site.Timezone
		if err := f.apply(site); err != nil {
			return err
		}
		if reflect.DeepEqual(*site, before) {
			same = site
			return booking.ErrUnchanged
		}
		site.UpdatedAt = s.booking.Now()
		return nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		return same, nil
	}
	if err == nil && site.Timezone != zone {
		err = s.followHolidays(ctx, s.placeOfSite(site))
	}
	return site, err
}

// DeleteSite deletes a site without rooms. ifMatch, unless nil, is the expected version.
func (s *Service) DeleteSite(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteSite(ctx, id, func(site *meeting.Site) error { return fault.CheckVersion(ifMatch, site.Version) })
}

// CreateRoom adds a room; it is active unless the fields say otherwise.
func (s *Service) CreateRoom(ctx context.Context, by meeting.Actor, f RoomFields) (*meeting.Room, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	r := &meeting.Room{Room: policy.Room{Active: true}, CheckIn: s.booking.Settings().CheckIn, Inherits: true, CreatedAt: s.booking.Now()}
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
	if err := s.followHolidaysOf(ctx, r.ID); err != nil {
		return nil, err
	}
	return s.booking.Room(ctx, r.ID) // with the zone in force
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
		if err := fault.CheckVersion(ifMatch, r.Version); err != nil {
			return err
		}
		before = r.Clone()
		if err := f.apply(r, look); err != nil {
			return err
		}
		if reflect.DeepEqual(r, before) {
			return booking.ErrUnchanged
		}
		r.UpdatedAt = s.booking.Now()
		return nil
	})
	if err != nil && !errors.Is(err, booking.ErrUnchanged) {
		return nil, err
	}
	room, err := s.booking.Room(ctx, id)
	if err != nil {
		return nil, err
	}
	s.widened(ctx, before, room)
	if room.SiteID != before.SiteID || room.Timezone != before.Timezone {
		if err := s.followHolidays(ctx, placeOfRoom(room)); err != nil {
			return nil, err
		}
		return s.booking.Room(ctx, id)
	}
	return room, nil
}

// FollowCheckIn applies the installation's check-in settings to the rooms that follow them and to
// their upcoming meetings. It returns how many rooms changed. It may be called again, and
// concurrently.
func (s *Service) FollowCheckIn(ctx context.Context) (changed int, err error) {
	follows := func(r *meeting.Room) bool { return r.Inherits && r.CheckIn != s.booking.Settings().CheckIn }
	steps := pause.Begin()
	for p := (meeting.Page{Limit: 500}); ; {
		rooms, next, err := s.store.ListRooms(ctx, meeting.RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return changed, err
		}
		for _, r := range slices.DeleteFunc(rooms, func(r *meeting.Room) bool { return !follows(r) }) {
			_, err := s.store.UpdateRoom(ctx, r.ID, func(r *meeting.Room) error {
				if !follows(r) {
					return booking.ErrUnchanged
				}
				r.CheckIn, r.UpdatedAt = s.booking.Settings().CheckIn, s.booking.Now()
				return nil
			})
			switch {
			case err == nil:
				changed++
			case !errors.Is(err, booking.ErrUnchanged) && !errors.Is(err, meeting.ErrNotFound):
				return changed, err
			}
			if err := steps.Next(ctx); err != nil {
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
	at := s.booking.Now()
	s.booking.Freed(ctx, []meeting.Occupancy{{RoomID: room.ID, Slot: clock.Slot{Start: at, End: at.AddDate(100, 0, 0)}}})
}

// DeleteRoom deletes a room without future meetings; past meetings keep its name. ifMatch, unless
// nil, is the expected version.
func (s *Service) DeleteRoom(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteRoom(ctx, id, s.booking.Now(), func(room *meeting.Room) error { return fault.CheckVersion(ifMatch, room.Version) })
}
