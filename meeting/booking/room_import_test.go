package booking_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"punctual/meeting"
	"punctual/meeting/places"
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
	const csv = "name,capacity,floor,features,site\nAda,8,3,projector;video,berlin\nGrace,,,,\n"
	for _, tt := range []struct {
		dry         bool
		exists, add int
	}{{true, 0, 0}, {false, 0, 2}, {false, 2, 2}} {
		rows, err := w.places.ImportRooms(t.Context(), w.root, csv, 0, tt.dry)
		if err != nil {
			t.Fatal(err)
		}
		exist := 0
		for _, r := range rows {
			if r.Exists {
				exist++
			}
		}
		if r := rows[0].Room; exist != tt.exists || count() != before+tt.add || rows[0].Line != 2 || r.SiteID != site.ID || r.Capacity != 8 || len(r.Features) != 2 || !r.Active {
			t.Errorf("%+v: %d exist, %d rooms, first %+v", tt, exist, count()-before, r)
		}
	}

	// All or none, each fault with its line.
	const faulty = "Curie,4\nMeitner,many\n,3\nNoether,1,2,3,Paris\ncurie,9\n"
	_, err = w.places.ImportRooms(t.Context(), w.root, faulty, 0, false)
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
		if _, err := w.places.ImportRooms(t.Context(), w.root, text, 0, true); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := w.places.ImportRooms(t.Context(), w.ann, csv, 0, true); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a member: %v", err)
	}
	if _, err := w.places.ImportRooms(t.Context(), w.root, "Ada", 999, true); err == nil {
		t.Error("an unknown site was accepted")
	}
}
