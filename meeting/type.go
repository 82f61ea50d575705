package meeting

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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

// maxTypes bounds how many types there are: people choose from a list.
const maxTypes = 100

// maxPlaces bounds the sites and rooms that a type names.
const maxPlaces = 1_000

var ranks = map[Role]int{Member: 1, Manager: 2, Admin: 3}

// TypeFields are the requested fields of a type; nil: not requested.
type TypeFields struct {
	Name        *string
	Names       *map[string]string
	Color       *Color
	MinRole     *Role
	SiteIDs     *[]int64
	RoomIDs     *[]int64
	QuotaExempt *bool
	Active      *bool

	Faults []Fault // found while decoding
}

func (f *TypeFields) apply(t *Type) error {
	var found fault.List
	if f.Name != nil {
		t.Name = strings.TrimSpace(*f.Name)
		checkName(&found, "name", t.Name, maxTitle)
	} else if t.Name == "" {
		found.Add("name", "required", "is required")
	}
	if f.Names != nil {
		t.Names = translations(&found, "names", *f.Names)
	}
	set(&t.Color, f.Color)
	if !slices.Contains(Colors, t.Color) {
		found.Add("color", "unknown_value", "must be a color of the palette")
	}
	set(&t.MinRole, f.MinRole)
	if ranks[t.MinRole] == 0 {
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
			if !slices.ContainsFunc(rooms, func(r *Room) bool { return r.ID == id }) {
				found.Add(index("room_ids", i), "unknown_room", "room %d does not exist", id)
			}
		}
	}
	if f.SiteIDs != nil && len(*f.SiteIDs) <= maxPlaces {
		for i, id := range *f.SiteIDs {
			switch _, err := s.store.Site(ctx, id); {
			case errors.Is(err, ErrNotFound):
				found.Add(index("site_ids", i), "unknown_site", "site %d does not exist", id)
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
func (s *Service) CreateType(ctx context.Context, by Actor, f TypeFields) (*Type, error) {
	if !by.MayManageRooms() {
		return nil, ErrForbidden
	}
	if err := f.check(ctx, s); err != nil {
		return nil, err
	}
	all, err := s.store.Types(ctx)
	if err != nil {
		return nil, err
	}
	t := &Type{Names: map[string]string{}, Color: Colors[0], MinRole: Member, Active: true, CreatedAt: s.clock()}
	t.UpdatedAt = t.CreatedAt
	if err := f.apply(t); err != nil {
		return nil, err
	}
	if len(all) >= maxTypes {
		return nil, fault.Invalid("name", "too_many", "must not be more than %d types", maxTypes)
	}
	return t, s.store.CreateType(ctx, t)
}

// Type finds a type.
func (s *Service) Type(ctx context.Context, id int64) (*Type, error) { return s.store.Type(ctx, id) }

// Types returns all types by name, including inactive ones.
func (s *Service) Types(ctx context.Context) ([]*Type, error) { return s.store.Types(ctx) }

// UpdateType changes a type. Meetings of the type stay as they are. ifMatch, unless nil, is the
// expected version.
func (s *Service) UpdateType(ctx context.Context, by Actor, id int64, ifMatch *int64, f TypeFields) (*Type, error) {
	if !by.MayManageRooms() {
		return nil, ErrForbidden
	}
	if err := f.check(ctx, s); err != nil {
		return nil, err
	}
	var same *Type
	t, err := s.store.UpdateType(ctx, id, func(t *Type) error {
		if err := checkVersion(ifMatch, t.Version); err != nil {
			return err
		}
		before := *t
		if err := f.apply(t); err != nil {
			return err
		}
		if reflect.DeepEqual(*t, before) {
			same = t
			return errUnchanged
		}
		t.UpdatedAt = s.clock()
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return same, nil
	}
	return t, err
}

// DeleteType deletes a type that no meeting has. ifMatch, unless nil, is the expected version.
func (s *Service) DeleteType(ctx context.Context, by Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return ErrForbidden
	}
	return s.store.DeleteType(ctx, id, func(t *Type) error { return checkVersion(ifMatch, t.Version) })
}

// lookUpType finds the type that the meeting will have; nil: none, or an unknown one.
func (s *Service) lookUpType(ctx context.Context, f *Fields, base *Meeting) (*Type, error) {
	var id int64
	switch {
	case f.TypeID != nil:
		id = *f.TypeID
	case base != nil:
		id = base.TypeID
	}
	if id == 0 {
		return nil, nil
	}
	t, err := s.store.Type(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up type: %w", err)
	}
	return t, nil
}

// meetingType sets the type: the requested one, or the one that the meeting has.
func (f *Fields) meetingType(t *Terms, base *Meeting, k known, found *fault.List) {
	t.Type = k.kind
	if f.TypeID == nil || *f.TypeID == 0 {
		return
	}
	has := base != nil && base.TypeID == *f.TypeID
	if k.kind == nil || !k.kind.Active && !has {
		found.Add("type_id", "unknown_type", "must be an active meeting type")
	}
}

// id of the type; 0 for none.
func (t *Type) id() int64 {
	if t == nil {
		return 0
	}
	return t.ID
}

// exempt reports whether meetings of the type are exempt from quotas.
func (t *Type) exempt() bool { return t != nil && t.QuotaExempt }

// typeViolations returns the rules of the type that the terms violate: all of a type that base, nil
// for a new meeting, does not have, otherwise those of rooms that base does not have.
func (t *Terms) typeViolations(base *Meeting, by Actor) []Fault {
	if t.Type == nil {
		return nil
	}
	var v fault.List
	stays := base != nil && base.TypeID == t.Type.ID
	if !stays && !by.rules() && ranks[by.Role] < ranks[t.Type.MinRole] {
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

// lookUpTypes finds the types of the series and of its dates.
func (e *revision) lookUpTypes(ctx context.Context, target *Series) error {
	if target.TypeID == 0 && !slices.ContainsFunc(e.all, func(m *Meeting) bool { return m.TypeID != 0 }) {
		return nil
	}
	types, err := e.store.Types(ctx)
	if err != nil {
		return fmt.Errorf("look up types: %w", err)
	}
	e.types = map[int64]*Type{}
	for _, t := range types {
		e.types[t.ID] = t
	}
	return nil
}
