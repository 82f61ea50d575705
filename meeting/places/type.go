package places

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
)

// maxTypes bounds how many types there are: people choose from a list.
const maxTypes = 100

// TypeFields are the requested fields of a type; nil: not requested.
type TypeFields struct {
	Name        *string
	Names       *map[string]string
	Color       *meeting.Color
	MinRole     *meeting.Role
	SiteIDs     *[]int64
	RoomIDs     *[]int64
	QuotaExempt *bool
	Active      *bool

	Faults []meeting.Fault // found while decoding
}

func (f *TypeFields) apply(t *meeting.Type) error {
	var found fault.List
	if f.Name != nil {
		t.Name = strings.TrimSpace(*f.Name)
		found.Name("name", t.Name, fault.MaxName)
	} else if t.Name == "" {
		found.Add("name", "required", "is required")
	}
	if f.Names != nil {
		t.Names = translations(&found, "names", *f.Names)
	}
	set(&t.Color, f.Color)
	if !slices.Contains(meeting.Colors, t.Color) {
		found.Add("color", "unknown_value", "must be a color of the palette")
	}
	set(&t.MinRole, f.MinRole)
	if meeting.RoleRanks[t.MinRole] == 0 {
		found.Add("min_role", "unknown_value", "must be member, manager or admin")
	}
	set(&t.SiteIDs, f.SiteIDs)
	set(&t.RoomIDs, f.RoomIDs)
	if len(t.SiteIDs) > maxPlaces {
		found.Add("site_ids", "too_many", "must have at most %d sites", maxPlaces)
	}
	if len(t.RoomIDs) > maxPlaces {
		found.Add("room_ids", "too_many", "must have at most %d rooms", maxPlaces)
	}
	set(&t.QuotaExempt, f.QuotaExempt)
	set(&t.Active, f.Active)
	return fault.Merge(f.Faults, found).Err()
}

// check reports places that do not exist.
func (f *TypeFields) check(ctx context.Context, s *Service) error {
	var found fault.List
	if f.RoomIDs != nil && len(*f.RoomIDs) <= maxPlaces {
		rooms, err := s.store.Rooms(ctx, *f.RoomIDs)
		if err != nil {
			return fmt.Errorf("look up rooms: %w", err)
		}
		for i, id := range *f.RoomIDs {
			if !slices.ContainsFunc(rooms, func(r *meeting.Room) bool { return r.ID == id }) {
				found.Add(fault.Index("room_ids", i), "unknown_room", "room %d does not exist", id)
			}
		}
	}
	if f.SiteIDs != nil && len(*f.SiteIDs) <= maxPlaces {
		for i, id := range *f.SiteIDs {
			switch _, err := s.store.Site(ctx, id); {
			case errors.Is(err, meeting.ErrNotFound):
				found.Add(fault.Index("site_ids", i), "unknown_site", "site %d does not exist", id)
			case err != nil:
				return fmt.Errorf("look up site: %w", err)
			}
		}
	}
	f.Faults = append(f.Faults, found...)
	return nil
}

// CreateType adds a type; it is active, and all users can book it everywhere unless the fields say
// otherwise.
func (s *Service) CreateType(ctx context.Context, by meeting.Actor, f TypeFields) (*meeting.Type, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	if err := f.check(ctx, s); err != nil {
		return nil, err
	}
	all, err := s.store.Types(ctx)
	if err != nil {
		return nil, err
	}
	t := &meeting.Type{Names: map[string]string{}, Color: meeting.Colors[0], MinRole: meeting.Member, Active: true, CreatedAt: s.booking.Now()}
	t.UpdatedAt = t.CreatedAt
	if err := f.apply(t); err != nil {
		return nil, err
	}
	if len(all) >= maxTypes {
		return nil, fault.Invalid("name", "too_many", "must not be more than %d types", maxTypes)
	}
	return t, s.store.CreateType(ctx, t)
}

// Type finds a type; see [Service.Types].
func (s *Service) Type(ctx context.Context, by meeting.Actor, id int64) (*meeting.Type, error) {
	t, err := s.store.Type(ctx, id)
	if err != nil {
		return nil, err
	}
	seen, err := s.typesFor(ctx, by, []*meeting.Type{t})
	if err == nil && len(seen) == 0 {
		err = meeting.ErrNotFound
	}
	return t, err
}

// Types returns types by name, including inactive ones. It leaves out rooms that the actor may not see, and
// types that can be booked only in such rooms.
func (s *Service) Types(ctx context.Context, by meeting.Actor) ([]*meeting.Type, error) {
	types, err := s.store.Types(ctx)
	if err != nil {
		return nil, err
	}
	return s.typesFor(ctx, by, types)
}

func (s *Service) typesFor(ctx context.Context, by meeting.Actor, types []*meeting.Type) ([]*meeting.Type, error) {
	by, err := s.booking.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	hidden, err := s.store.HiddenRooms(ctx, by)
	if err != nil || len(hidden) == 0 {
		return types, err
	}
	return slices.DeleteFunc(types, func(t *meeting.Type) bool {
		limited := len(t.RoomIDs) > 0
		t.RoomIDs = slices.DeleteFunc(t.RoomIDs, func(id int64) bool { return slices.Contains(hidden, id) })
		return limited && len(t.RoomIDs)+len(t.SiteIDs) == 0
	}), nil
}

// UpdateType changes a type. Meetings of the type stay as they are. ifMatch, unless nil, is the
// expected version.
func (s *Service) UpdateType(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f TypeFields) (*meeting.Type, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	if err := f.check(ctx, s); err != nil {
		return nil, err
	}
	var same *meeting.Type
	t, err := s.store.UpdateType(ctx, id, func(t *meeting.Type) error {
		if err := fault.CheckVersion(ifMatch, t.Version); err != nil {
			return err
		}
		before := *t
		if err := f.apply(t); err != nil {
			return err
		}
		if reflect.DeepEqual(*t, before) {
			same = t
			return booking.ErrUnchanged
		}
		t.UpdatedAt = s.booking.Now()
		return nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		return same, nil
	}
	return t, err
}

// DeleteType deletes a type that no meeting has. ifMatch, unless nil, is the expected version.
func (s *Service) DeleteType(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteType(ctx, id, func(t *meeting.Type) error { return fault.CheckVersion(ifMatch, t.Version) })
}
