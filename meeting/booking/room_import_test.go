package booking_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"punctual/meeting"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

func TestImportRooms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site, err := w.places.CreateSite(t.Context(), w.root, places.SiteFields{Name: new("Berlin")})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		rooms, _, err := w.Rooms(t.Context(), meeting.RoomQuery{IncludeInactive: true}, meeting.Page{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		return len(rooms)
	}
	before := count()
	open := []policy.OpeningHours{{Days: []string{"MO", "TU"}, From: "08:00", To: "18:00"}}
	const csv = "name,capacity,floor,features,site\nAda,8,3,projector;video,berlin\nGrace,,,,\n"
	for _, tt := range []struct {
		dry         bool
		exists, add int
	}{{true, 0, 0}, {false, 0, 2}, {false, 2, 2}} {
		rows, err := w.places.ImportRooms(t.Context(), w.root, places.RoomList{CSV: csv, OpeningHours: open}, tt.dry)
		if err != nil {
			t.Fatal(err)
		}
		exist := 0
		for _, r := range rows {
			if r.Exists {
				exist++
			}
		}
		if r := rows[1].Room; tt.exists == 0 && !slices.EqualFunc(r.Policy.OpeningHours, open, func(a, b policy.OpeningHours) bool {
			return slices.Equal(a.Days, b.Days) && a.From == b.From && a.To == b.To
		}) {
			t.Errorf("open at %+v", r.Policy.OpeningHours)
		}
		if r := rows[0].Room; exist != tt.exists || count() != before+tt.add || rows[0].Line != 2 || r.SiteID != site.ID || r.Capacity != 8 || len(r.Features) != 2 || !r.Active {
			t.Errorf("%+v: %d exist, %d rooms, first %+v", tt, exist, count()-before, r)
		}
	}

	// All or none, each fault with its line.
	const faulty = "Curie,4\nMeitner,many\n,3\nNoether,1,2,3,Paris\ncurie,9\n"
	_, err = w.places.ImportRooms(t.Context(), w.root, places.RoomList{CSV: faulty}, false)
	invalid, ok := errors.AsType[*meeting.InvalidError](err)
	if !ok {
		t.Fatal(err)
	}
	var found []string
	for _, f := range invalid.Faults {
		found = append(found, f.Location+" "+f.Code)
	}
	want := "csv[2].capacity malformed, csv[3].name too_short, csv[4].site unknown_site, csv[5].name duplicate"
	if got := strings.Join(found, ", "); got != want || count() != before+2 {
		t.Errorf("faults %s, want %s; %d rooms", got, want, count()-before)
	}

	var many strings.Builder
	for i := range 1000 + 1 {
		fmt.Fprintf(&many, "Room %d\n", i)
	}
	for name, text := range map[string]string{"empty": " \n", "too many": many.String(), "an open quote": "\"Ada,8\n"} {
		if _, err := w.places.ImportRooms(t.Context(), w.root, places.RoomList{CSV: text}, true); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	_, err = w.places.ImportRooms(t.Context(), w.root, places.RoomList{CSV: "Ada", OpeningHours: []policy.OpeningHours{{From: "8", To: "18:00"}}}, true)
	if invalid, ok := errors.AsType[*meeting.InvalidError](err); !ok || len(invalid.Faults) != 2 || invalid.Faults[1].Location != "opening_hours[0].from" {
		t.Errorf("wrong opening hours: %v", err)
	}
	if _, err := w.places.ImportRooms(t.Context(), w.ann, places.RoomList{CSV: csv}, true); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a member: %v", err)
	}
	if _, err := w.places.ImportRooms(t.Context(), w.root, places.RoomList{CSV: "Ada", SiteID: 999}, true); err == nil {
		t.Error("an unknown site was accepted")
	}
}
