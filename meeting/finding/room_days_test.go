package finding

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

func TestDaysOf(t *testing.T) {
	hour := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	berlin := clock.ZoneOrUTC("Europe/Berlin")
	weekdays := &policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR"}, From: "08:00", To: "20:00"}}}
	for _, row := range []struct {
		name      string
		from      string
		days      int
		policy    *policy.Policy
		blackouts []policy.Blackout
		booked    []clock.Slot
		want      []RoomDay
	}{
		{
			"a meeting over midnight counts on both days", "2027-02-11", 3, weekdays, nil,
			[]clock.Slot{
				{Start: hour("2027-02-10T09:00:00+01:00"), End: hour("2027-02-10T10:00:00+01:00")},
				{Start: hour("2027-02-11T22:00:00+01:00"), End: hour("2027-02-12T01:30:00+01:00")},
				{Start: hour("2027-02-12T09:00:00+01:00"), End: hour("2027-02-12T10:00:00+01:00")},
			},
			[]RoomDay{{2 * time.Hour, 12 * time.Hour, 1}, {150 * time.Minute, 12 * time.Hour, 2}, {}},
		},
		{
			"a blackout closes what was open", "2027-02-08", 2, weekdays,
			[]policy.Blackout{{Slot: clock.Slot{Start: hour("2027-02-08T18:00:00+01:00"), End: hour("2027-02-09T09:00:00+01:00")}}}, nil,
			[]RoomDay{{Open: 10 * time.Hour}, {Open: 11 * time.Hour}},
		},
		{
			"clocks go forward", "2027-03-28", 1, &policy.Policy{}, nil,
			[]clock.Slot{{Start: hour("2027-03-27T12:00:00+01:00"), End: hour("2027-03-30T12:00:00+02:00")}},
			[]RoomDay{{23 * time.Hour, 23 * time.Hour, 1}},
		},
		{
			"clocks go back", "2027-10-31", 1, &policy.Policy{}, nil,
			[]clock.Slot{{Start: hour("2027-10-31T01:00:00+02:00"), End: hour("2027-10-31T04:00:00+01:00")}},
			[]RoomDay{{4 * time.Hour, 25 * time.Hour, 1}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			room := &meeting.Room{Room: policy.Room{Zone: "Europe/Berlin", Policy: *row.policy, Blackouts: row.blackouts}}
			from, err := time.Parse(time.DateOnly, row.from)
			if err != nil {
				t.Fatal(err)
			}
			c := calendarOf(from, row.days, berlin)
			if got := daysOf(room, c, room.OpenHours(c.span()), row.booked); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}
