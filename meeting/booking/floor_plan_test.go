package booking_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/places"
)

const planSVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100"><path d="M0 0h200v100z"/></svg>`

func TestFloorPlan_places(t *testing.T) {
	w := newWorld(t)
	image := []byte(planSVG)
	if _, err := w.places.CreateFloorPlan(t.Context(), w.mona, places.FloorPlanFields{Image: image}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager: %v", err)
	}
	good := []meeting.PlacedRoom{{RoomID: w.desk.ID, X: 0.1, Y: 0.2, Width: 0.3, Height: 0.8}, {RoomID: w.board.ID, X: 1, Y: 1}}
	p, err := w.places.CreateFloorPlan(t.Context(), w.root, places.FloorPlanFields{Image: image, Floor: new(" 3 "), Rooms: &good})
	if err != nil || p.Floor != "3" || p.Width != 1600 || p.Height != 800 || p.Picture == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, tt := range map[string]struct {
		room meeting.PlacedRoom
		want []string
	}{
		"unknown":      {meeting.PlacedRoom{RoomID: 999}, []string{"rooms[0].room_id unknown_room"}},
		"left of it":   {meeting.PlacedRoom{RoomID: w.desk.ID, X: -0.1}, []string{"rooms[0].x out_of_range"}},
		"beyond it":    {meeting.PlacedRoom{RoomID: w.desk.ID, X: 0.5, Y: 0.5, Width: 0.6, Height: 0.1}, []string{"rooms[0].x out_of_range"}},
		"no number":    {meeting.PlacedRoom{RoomID: w.desk.ID, X: math.NaN(), Y: math.Inf(1)}, []string{"rooms[0].x out_of_range", "rooms[0].y out_of_range"}},
		"a line":       {meeting.PlacedRoom{RoomID: w.desk.ID, Width: 0.2}, []string{"rooms[0].height contradiction"}},
		"a hole":       {meeting.PlacedRoom{RoomID: w.desk.ID, X: 0.5, Width: -0.2, Height: -0.2}, []string{"rooms[0].width out_of_range", "rooms[0].height out_of_range"}},
		"huge numbers": {meeting.PlacedRoom{RoomID: w.desk.ID, Width: 1e300, Height: 1e300}, []string{"rooms[0].x out_of_range", "rooms[0].y out_of_range", "rooms[0].width out_of_range", "rooms[0].height out_of_range"}},
	} {
		_, err := w.places.UpdateFloorPlan(t.Context(), w.root, p.ID, nil, places.FloorPlanFields{Rooms: &[]meeting.PlacedRoom{tt.room}})
		if got := faultsOf(err); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if got := faultsOf(func() error {
		_, err := w.places.UpdateFloorPlan(t.Context(), w.root, p.ID, nil, places.FloorPlanFields{Rooms: &[]meeting.PlacedRoom{good[1], good[1]}})
		return err
	}()); !slices.Equal(got, []string{"rooms[1].room_id duplicate"}) {
		t.Errorf("twice: %v", got)
	}
	// All faults at once, of the picture too.
	_, err = w.places.CreateFloorPlan(t.Context(), w.root, places.FloorPlanFields{Image: []byte("GIF89a"), Floor: new("3"), SiteID: new(int64(77))})
	if got := faultsOf(err); !slices.Equal(got, []string{"image unknown_image", "site_id unknown_site"}) {
		t.Errorf("several: %v", got)
	}
	if got := faultsOf(func() error {
		_, err := w.places.CreateFloorPlan(t.Context(), w.root, places.FloorPlanFields{Image: image, Floor: new("3")})
		return err
	}()); !slices.Equal(got, []string{"floor duplicate"}) {
		t.Errorf("the same floor: %v", got)
	}
	// A deleted room is not on the plan any longer, which can still be changed.
	delete(w.store.rooms, w.desk.ID)
	if p, err = w.places.UpdateFloorPlan(t.Context(), w.root, p.ID, &p.Version, places.FloorPlanFields{Floor: new("4")}); err != nil || p.Floor != "4" || len(p.Rooms) != 1 {
		t.Errorf("without a deleted room: %+v, %v", p, err)
	}
}

// faultsOf returns the locations and codes of an invalid request.
func faultsOf(err error) (found []string) {
	if e, ok := errors.AsType[*fault.InvalidError](err); ok {
		for _, f := range e.Faults {
			found = append(found, f.Location+" "+f.Code)
		}
	}
	return found
}
