package meeting

import (
	"testing"
	"time"

	"punctual/meeting/clock"
)

func TestPersonLimits(t *testing.T) {
	now := utc(t, "2027-02-10T09:00")
	slot := func(from, to string) clock.Slot {
		return clock.Slot{Start: utc(t, "2027-02-10T"+from), End: utc(t, "2027-02-10T"+to)}
	}
	claim := func(l PersonLimits, rooms int, wanted clock.Slot, hadRooms int, had clock.Slot) Claim {
		var held *Meeting
		if hadRooms > 0 {
			held = &Meeting{Slot: had, Occupied: make([]Occupancy, hadRooms)}
		}
		return l.at(now).claim(1, make([]*Room, rooms), wanted, held)
	}
	none := clock.Slot{}
	hours, rooms := PersonLimits{Ahead: 4 * time.Hour}, PersonLimits{Rooms: 2}
	tests := []struct {
		name   string
		claim  Claim
		others []clock.Slot
		want   []Figures
	}{
		{"as much as there is", claim(hours, 2, slot("12:00", "13:00"), 0, none), []clock.Slot{slot("10:00", "11:00"), slot("10:00", "11:00")}, nil},
		{"more", claim(hours, 2, slot("12:00", "13:30"), 0, none), []clock.Slot{slot("10:00", "12:00")}, []Figures{{Limit: "4h", Used: "2h", Actual: "5h"}}},
		{"the part that is over does not count", claim(hours, 1, slot("12:00", "13:00"), 0, none), []clock.Slot{slot("06:00", "12:00"), slot("05:00", "08:00")}, nil},
		{"shorter than before, under a lowered limit", claim(hours, 1, slot("12:00", "18:00"), 1, slot("12:00", "19:00")), nil, nil},
		{"longer than before", claim(hours, 1, slot("12:00", "17:00"), 1, slot("12:00", "16:00")), nil, []Figures{{Limit: "4h", Used: "0s", Actual: "5h"}}},
		{"rooms at different times", claim(rooms, 1, slot("10:00", "12:00"), 0, none), []clock.Slot{slot("10:00", "11:00"), slot("11:00", "12:00"), slot("12:00", "13:00")}, nil},
		{"rooms at the same time", claim(rooms, 1, slot("10:00", "12:00"), 0, none), []clock.Slot{slot("09:00", "11:01"), slot("11:00", "12:00")}, []Figures{{Limit: 2, Used: 2, Actual: 3}}},
		{"three rooms at once", claim(rooms, 3, slot("10:00", "12:00"), 0, none), nil, []Figures{{Limit: 2, Used: 0, Actual: 3}}},
		{"one room less, under a lowered limit", claim(rooms, 3, slot("10:00", "12:00"), 4, slot("10:00", "12:00")), nil, nil},
		{"moved, under a lowered limit", claim(rooms, 3, slot("11:00", "13:00"), 3, slot("10:00", "12:00")), nil, []Figures{{Limit: 2, Used: 0, Actual: 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []Figures
			for _, f := range tt.claim.Check(tt.others) {
				got = append(got, f.Figures)
			}
			same(t, "figures", got, tt.want)
		})
	}
}
