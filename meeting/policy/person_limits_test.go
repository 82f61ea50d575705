package policy

import (
	"testing"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

func TestPersonLimits(t *testing.T) {
	now := utc(t, "2027-02-10T09:00")
	slot := func(from, to string) clock.Slot {
		return clock.Slot{Start: utc(t, "2027-02-10T"+from), End: utc(t, "2027-02-10T"+to)}
	}
	claim := func(l PersonLimits, rooms int, slot clock.Slot, heldRooms int, held clock.Slot) Claim {
		of := make([]*Room, rooms)
		for i := range of {
			of[i] = &Room{Person: l.At(now)}
		}
		return QuotaClaims(1, of, slot, Held{Slot: held, RoomIDs: make([]int64, heldRooms)})[0]
	}
	none := clock.Slot{}
	hours, rooms := PersonLimits{Ahead: 4 * time.Hour}, PersonLimits{Rooms: 2}
	tests := []struct {
		name   string
		claim  Claim
		others []clock.Slot
		want   []fault.Figures
	}{
		{"as much as there is", claim(hours, 2, slot("12:00", "13:00"), 0, none), []clock.Slot{slot("10:00", "11:00"), slot("10:00", "11:00")}, nil},
		{"more", claim(hours, 2, slot("12:00", "13:30"), 0, none), []clock.Slot{slot("10:00", "12:00")}, []fault.Figures{{Limit: "4h", Used: "2h", Actual: "5h"}}},
		{"the part that is over does not count", claim(hours, 1, slot("12:00", "13:00"), 0, none), []clock.Slot{slot("06:00", "12:00"), slot("05:00", "08:00")}, nil},
		{"shorter than before, under a lowered limit", claim(hours, 1, slot("12:00", "18:00"), 1, slot("12:00", "19:00")), nil, nil},
		{"longer than before", claim(hours, 1, slot("12:00", "17:00"), 1, slot("12:00", "16:00")), nil, []fault.Figures{{Limit: "4h", Used: "0s", Actual: "5h"}}},
		{"rooms at different times", claim(rooms, 1, slot("10:00", "12:00"), 0, none), []clock.Slot{slot("10:00", "11:00"), slot("11:00", "12:00"), slot("12:00", "13:00")}, nil},
		{"rooms at the same time", claim(rooms, 1, slot("10:00", "12:00"), 0, none), []clock.Slot{slot("09:00", "11:01"), slot("11:00", "12:00")}, []fault.Figures{{Limit: 2, Used: 2, Actual: 3}}},
		{"three rooms at once", claim(rooms, 3, slot("10:00", "12:00"), 0, none), nil, []fault.Figures{{Limit: 2, Used: 0, Actual: 3}}},
		{"one room less, under a lowered limit", claim(rooms, 3, slot("10:00", "12:00"), 4, slot("10:00", "12:00")), nil, nil},
		{"moved, under a lowered limit", claim(rooms, 3, slot("11:00", "13:00"), 3, slot("10:00", "12:00")), nil, []fault.Figures{{Limit: 2, Used: 0, Actual: 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []fault.Figures
			for _, f := range tt.claim.Check(tt.others) {
				got = append(got, f.Figures)
			}
			same(t, "figures", got, tt.want)
		})
	}
}
