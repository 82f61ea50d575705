package places

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/photo"
)

const (
	maxFloorPlans = 200
	maxPlaced     = 500  // rooms on a plan
	maxPlanSide   = 2400 // of the picture, in pixels
)

// FloorPlanFields are the requested fields of a floor plan; nil: not requested.
type FloorPlanFields struct {
	SiteID *int64 // 0: none
	Floor  *string
	Image  []byte // a PNG, JPEG, WebP or SVG; nil: not requested
	Rooms  *[]meeting.PlacedRoom

	Faults []meeting.Fault // found while decoding
}

// apply sets the fields. picture is what Image shows, nil unless it was requested; all are the plans.
func (f *FloorPlanFields) apply(p *meeting.FloorPlan, picture *photo.Picture, all []*meeting.FloorPlan) error {
	var found fault.List
	set(&p.SiteID, f.SiteID)
	if f.Floor != nil {
		p.Floor = strings.TrimSpace(*f.Floor)
		found.Line("floor", p.Floor, maxFloor)
	}
	if slices.ContainsFunc(all, func(o *meeting.FloorPlan) bool {
		return o.ID != p.ID && o.SiteID == p.SiteID && strings.EqualFold(o.Floor, p.Floor)
	}) {
		found.Add("floor", "duplicate", "must not be the floor of another plan of the site")
	}
	if picture != nil {
		sum := sha256.Sum256(picture.Content)
		p.Picture, p.Width, p.Height = hex.EncodeToString(sum[:8]), picture.Width, picture.Height
	}
	if f.Rooms != nil {
		p.Rooms = *f.Rooms
		place(&found, p.Rooms)
	}
	return fault.Merge(f.Faults, found).Err()
}

// place reports rooms that are not within the picture, or placed twice.
func place(found *fault.List, rooms []meeting.PlacedRoom) {
	if len(rooms) > maxPlaced {
		found.Add("rooms", "too_many", "must have at most %d rooms", maxPlaced)
		return
	}
	const rounding = 1e-6
	seen := map[int64]bool{}
	for i, r := range rooms {
		at := fault.Index("rooms", i)
		if seen[r.RoomID] {
			found.Add(at+".room_id", "duplicate", "must not be a duplicate")
		}
		seen[r.RoomID] = true
		for _, n := range []struct {
			name string
			at   float64
			size float64
		}{{"x", r.X, r.Width}, {"y", r.Y, r.Height}} {
			if !(n.at >= 0 && n.at <= 1) {
				found.Add(at+"."+n.name, "out_of_range", "must be between 0 and 1")
			} else if n.size = max(n.size, 0); n.at+n.size > 1+rounding {
				found.Add(at+"."+n.name, "out_of_range", "must leave the room within the picture")
			}
		}
		if !(r.Width >= 0 && r.Width <= 1) {
			found.Add(at+".width", "out_of_range", "must be between 0 and 1")
		}
		if !(r.Height >= 0 && r.Height <= 1) {
			found.Add(at+".height", "out_of_range", "must be between 0 and 1")
		}
		if (r.Width == 0) != (r.Height == 0) {
			found.Add(at+".height", "contradiction", "must be 0 for a point, together with width")
		}
	}
}

// check reports a site or rooms that do not exist.
func (f *FloorPlanFields) check(ctx context.Context, by meeting.Actor, s *Service) error {
	if f.SiteID != nil && *f.SiteID != 0 {
		switch _, err := s.store.Site(ctx, *f.SiteID); {
		case errors.Is(err, meeting.ErrNotFound):
			f.Faults = append(f.Faults, fault.New("site_id", "unknown_site", "site %d does not exist", *f.SiteID))
		case err != nil:
			return fmt.Errorf("look up site: %w", err)
		}
	}
	if f.Rooms == nil || len(*f.Rooms) > maxPlaced {
		return nil
	}
	known, err := s.placed(ctx, by, *f.Rooms)
	if err != nil {
		return err
	}
	for i, r := range *f.Rooms {
		if !known[r.RoomID] {
			f.Faults = append(f.Faults, fault.New(fault.Index("rooms", i)+".room_id", "unknown_room", "room %d does not exist", r.RoomID))
		}
	}
	return nil
}

// placed returns which of the rooms the actor sees.
func (s *Service) placed(ctx context.Context, by meeting.Actor, rooms []meeting.PlacedRoom) (known map[int64]bool, err error) {
	known = map[int64]bool{}
	want := make([]int64, len(rooms))
	for i, r := range rooms {
		want[i] = r.RoomID
	}
	if len(want) == 0 {
		return known, nil
	}
	found, err := s.store.Rooms(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("look up rooms: %w", err)
	}
	for _, r := range by.VisibleRooms(found) {
		known[r.ID] = true
	}
	return known, nil
}

// picture reads the requested image; nil if there is none.
func (f *FloorPlanFields) picture() (*photo.Picture, error) {
	if f.Image == nil {
		return nil, nil
	}
	p, err := photo.NewPicture(f.Image, maxPlanSide)
	if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
		f.Faults = append(f.Faults, e.Faults...) // together with those of other fields
		return nil, nil
	}
	return p, err
}

// CreateFloorPlan stores a picture of a floor, and where its rooms are. What it refuses is an
// [*meeting.InvalidError].
func (s *Service) CreateFloorPlan(ctx context.Context, by meeting.Actor, f FloorPlanFields) (*meeting.FloorPlan, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	if f.Image == nil {
		f.Image = []byte{} // a fault of its own
	}
	picture, all, err := s.planInput(ctx, by, &f)
	if err != nil {
		return nil, err
	}
	p := &meeting.FloorPlan{CreatedAt: s.booking.Now()}
	p.UpdatedAt = p.CreatedAt
	if err := f.apply(p, picture, all); err != nil {
		return nil, err
	}
	if len(all) >= maxFloorPlans {
		return nil, fault.Invalid("floor", "too_many", "must not be more than %d floor plans", maxFloorPlans)
	}
	return p, s.store.CreateFloorPlan(ctx, p, picture)
}

func (s *Service) planInput(ctx context.Context, by meeting.Actor, f *FloorPlanFields) (*photo.Picture, []*meeting.FloorPlan, error) {
	picture, err := f.picture()
	if err != nil {
		return nil, nil, err
	}
	if err := f.check(ctx, by, s); err != nil {
		return nil, nil, err
	}
	all, err := s.store.FloorPlans(ctx)
	return picture, all, err
}

// FloorPlan finds a floor plan, with the rooms that the actor may see.
func (s *Service) FloorPlan(ctx context.Context, by meeting.Actor, id int64) (*meeting.FloorPlan, error) {
	p, err := s.store.FloorPlan(ctx, id)
	if err != nil {
		return nil, err
	}
	return p, s.onlyVisible(ctx, by, []*meeting.FloorPlan{p})
}

// FloorPlans returns all floor plans by site and floor, with the rooms that the actor may see.
func (s *Service) FloorPlans(ctx context.Context, by meeting.Actor) ([]*meeting.FloorPlan, error) {
	all, err := s.store.FloorPlans(ctx)
	if err != nil {
		return nil, err
	}
	return all, s.onlyVisible(ctx, by, all)
}

// onlyVisible removes rooms that the actor may not see, or that were deleted since they were placed.
func (s *Service) onlyVisible(ctx context.Context, by meeting.Actor, plans []*meeting.FloorPlan) error {
	var rooms []meeting.PlacedRoom
	for _, p := range plans {
		rooms = append(rooms, p.Rooms...)
	}
	by, err := s.booking.WithDeputies(ctx, by)
	if err != nil {
		return err
	}
	known, err := s.placed(ctx, by, rooms)
	if err != nil {
		return err
	}
	for _, p := range plans {
		p.Rooms = slices.DeleteFunc(p.Rooms, func(r meeting.PlacedRoom) bool { return !known[r.RoomID] })
	}
	return nil
}

// UpdateFloorPlan changes a floor plan. ifMatch, unless nil, is the expected version.
func (s *Service) UpdateFloorPlan(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f FloorPlanFields) (*meeting.FloorPlan, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	picture, all, err := s.planInput(ctx, by, &f)
	if err != nil {
		return nil, err
	}
	var same *meeting.FloorPlan
	p, err := s.store.UpdateFloorPlan(ctx, id, picture, func(p *meeting.FloorPlan) error {
		if err := fault.CheckVersion(ifMatch, p.Version); err != nil {
			return err
		}
		before := *p
		if err := f.apply(p, picture, all); err != nil {
			return err
		}
		if reflect.DeepEqual(*p, before) {
			same = p
			return booking.ErrUnchanged
		}
		p.UpdatedAt = s.booking.Now()
		return nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		p, err = same, nil
	}
	if err != nil {
		return nil, err
	}
	return p, s.onlyVisible(ctx, by, []*meeting.FloorPlan{p})
}

// DeleteFloorPlan deletes a floor plan; its rooms stay. ifMatch, unless nil, is the expected version.
func (s *Service) DeleteFloorPlan(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteFloorPlan(ctx, id, func(p *meeting.FloorPlan) error { return fault.CheckVersion(ifMatch, p.Version) })
}

// FloorPlanPicture returns the picture of a floor plan, and its version, which is another for each
// picture. Only its content and type are set.
func (s *Service) FloorPlanPicture(ctx context.Context, id int64) (picture *photo.Picture, version string, err error) {
	return s.store.FloorPlanPicture(ctx, id)
}
