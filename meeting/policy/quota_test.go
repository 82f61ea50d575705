package policy

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

func TestQuota_periods(t *testing.T) {
	tests := []struct {
		name, zone, per string
		from, to        string
		want            string // days in the zone
	}{
		{"a day", "UTC", PerDay, "2027-02-10T09:00", "2027-02-10T10:00", "02-10"},
		{"until midnight", "UTC", PerDay, "2027-02-10T09:00", "2027-02-11T00:00", "02-10"},
		{"across midnight", "UTC", PerDay, "2027-02-10T22:00", "2027-02-11T02:00", "02-10 02-11"},
		{"across the room's midnight", "Europe/Berlin", PerDay, "2027-02-10T22:00", "2027-02-10T23:30", "02-10 02-11"},
		{"weeks begin on Monday", "UTC", PerWeek, "2027-02-14T23:00", "2027-02-15T01:00", "02-08 02-15"},
		{"a Sunday belongs to the week before", "UTC", PerWeek, "2027-02-14T09:00", "2027-02-14T10:00", "02-08"},
		{"months", "UTC", PerMonth, "2027-01-31T22:00", "2027-02-01T01:00", "01-01 02-01"},
		{"midnight that is skipped", "America/Santiago", PerDay, "2027-09-05T03:30", "2027-09-05T04:30", "09-04 09-05"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loc := clock.ZoneOrUTC(tt.zone)
			var got []string
			for _, p := range (&Quota{Per: tt.per}).periods(clock.Slot{Start: utc(t, tt.from), End: utc(t, tt.to)}, loc) {
				got = append(got, p.Start.In(loc).Format("01-02"))
			}
			same(t, "periods", strings.Join(got, " "), tt.want)
		})
	}
}

func TestClaim_Check(t *testing.T) {
	slot := func(from, to string) clock.Slot {
		return clock.Slot{Start: utc(t, from), End: utc(t, to)}
	}
	tests := []struct {
		name   string
		quota  Quota
		wanted clock.Slot
		had    clock.Slot
		others []clock.Slot
		want   []fault.Figures // without room and period
	}{
		{"the last one", Quota{PerDay, 2, 0, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T11:00", "2027-02-10T12:00")}, nil},
		{"one too many", Quota{PerDay, 1, 0, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T11:00", "2027-02-10T12:00")},
			[]fault.Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerDay}}},
		{"another day", Quota{PerDay, 1, 0, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-11T11:00", "2027-02-11T12:00")}, nil},
		{"a night counts on both days", Quota{PerDay, 1, 0, nil}, slot("2027-02-11T09:00", "2027-02-11T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T22:00", "2027-02-11T02:00")},
			[]fault.Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerDay}}},
		{"with its hours of that day", Quota{PerDay, 0, 3 * time.Hour, nil}, slot("2027-02-11T09:00", "2027-02-11T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T20:00", "2027-02-11T02:00")}, nil},
		{"and no more", Quota{PerDay, 0, 3 * time.Hour, nil}, slot("2027-02-11T09:00", "2027-02-11T10:01"), clock.Slot{}, []clock.Slot{slot("2027-02-10T20:00", "2027-02-11T02:00")},
			[]fault.Figures{{Limit: "3h", Used: "2h", Actual: "3h1m", Per: PerDay}}},
		{"in each period", Quota{PerDay, 0, time.Hour, nil}, slot("2027-02-10T22:00", "2027-02-11T02:00"), clock.Slot{}, nil,
			[]fault.Figures{{Limit: "1h", Used: "0s", Actual: "2h", Per: PerDay}, {Limit: "1h", Used: "0s", Actual: "2h", Per: PerDay}}},
		{"count and length", Quota{PerWeek, 1, time.Hour, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-11T09:00", "2027-02-11T09:30")},
			[]fault.Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerWeek}, {Limit: "1h", Used: "30m", Actual: "1h30m", Per: PerWeek}}},
		{"a move within the week, over a quota that was lowered", Quota{PerWeek, 1, 0, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, nil},
		{"a move within the week, over a length that was lowered", Quota{PerWeek, 0, time.Hour, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, nil},
		{"and longer", Quota{PerWeek, 0, time.Hour, nil}, slot("2027-02-10T09:00", "2027-02-10T10:01"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, []fault.Figures{{Limit: "1h", Used: "1h", Actual: "2h1m", Per: PerWeek}}},
		{"a move into the week", Quota{PerWeek, 1, 0, nil}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-18T09:00", "2027-02-18T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, []fault.Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerWeek}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Claim{RoomID: 7, room: &Room{ID: 7, Name: "Turing", Zone: "UTC", Policy: Policy{Quota: &tt.quota}}, slot: tt.wanted, held: tt.had}.In(nil)
			var got []fault.Figures
			for _, f := range c.Check(tt.others) {
				if f.Code != "quota" || f.Figures.RoomID != 7 || f.Figures.Span.Start.IsZero() {
					t.Errorf("fault %+v", f)
				}
				f.Figures.RoomID, f.Figures.Span = 0, fault.Span{}
				got = append(got, f.Figures)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Who asks for a year of days is told of some of them.
func TestClaim_Check_tellsSome(t *testing.T) {
	room := &Room{ID: 7, Zone: "UTC", Policy: Policy{Quota: &Quota{Per: PerDay, Duration: time.Hour}}}
	c := Claim{RoomID: 7, room: room, slot: clock.Slot{Start: utc(t, "2027-01-01T00:00"), End: utc(t, "2027-12-31T00:00")}}.In(nil)
	same(t, "told", len(c.Check(nil)), maxPeriods)
}

// Of the groups that a quota names, the most generous limits count; without any, the general ones.
func TestQuota_For(t *testing.T) {
	t.Parallel()
	const staff, students, tutors = 1, 2, 3
	q := &Quota{Per: PerWeek, Count: 3, Duration: 4 * time.Hour, Groups: []GroupQuota{
		{GroupID: staff}, {GroupID: students, Count: 1, Duration: 2 * time.Hour}, {GroupID: tutors, Count: 5, Duration: time.Hour},
	}}
	for name, tt := range map[string]struct {
		groups []int64
		want   *Quota
	}{
		"in no group":        {nil, &Quota{Per: PerWeek, Count: 3, Duration: 4 * time.Hour}},
		"in another group":   {[]int64{9}, &Quota{Per: PerWeek, Count: 3, Duration: 4 * time.Hour}},
		"stricter":           {[]int64{students, 9}, &Quota{Per: PerWeek, Count: 1, Duration: 2 * time.Hour}},
		"the most of each":   {[]int64{tutors, students}, &Quota{Per: PerWeek, Count: 5, Duration: 2 * time.Hour}},
		"not limited":        {[]int64{staff}, nil},
		"not limited by one": {[]int64{students, staff}, nil},
	} {
		got := q.For(tt.groups)
		if (got == nil) != (tt.want == nil) || got != nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if general := (&Quota{Per: PerDay, Groups: []GroupQuota{{GroupID: students, Count: 1}}}); general.For(nil) != nil || general.For([]int64{students}).Count != 1 {
		t.Error("a quota for one group alone limits others, or not the group")
	}
	if (*Quota)(nil).For(nil) != nil {
		t.Error("no quota limits")
	}
}
