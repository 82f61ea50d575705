package policy

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

func TestRoom_Open(t *testing.T) {
	all := weekdays
	week := []string{"MO", "TU", "WE", "TH", "FR"}
	tests := []struct {
		name     string
		zone     string
		hours    []OpeningHours
		from, to string
		want     bool
	}{
		{"no hours", "UTC", nil, "2027-02-13T03:00", "2027-02-14T03:00", true},
		{"the whole day", "UTC", []OpeningHours{{week, "08:00", "20:00"}}, "2027-02-10T08:00", "2027-02-10T20:00", true},
		{"a moment early", "UTC", []OpeningHours{{week, "08:00", "20:00"}}, "2027-02-10T07:59", "2027-02-10T20:00", false},
		{"a moment late", "UTC", []OpeningHours{{week, "08:00", "20:00"}}, "2027-02-10T19:00", "2027-02-10T20:01", false},
		{"a Saturday", "UTC", []OpeningHours{{week, "08:00", "20:00"}}, "2027-02-13T10:00", "2027-02-13T11:00", false},
		{"over the lunch break", "UTC", []OpeningHours{{week, "08:00", "12:00"}, {week, "13:00", "20:00"}}, "2027-02-10T11:00", "2027-02-10T14:00", false},
		{"hours that touch", "UTC", []OpeningHours{{week, "12:00", "20:00"}, {week, "08:00", "12:00"}}, "2027-02-10T11:00", "2027-02-10T14:00", true},
		{"until midnight", "UTC", []OpeningHours{{week, "08:00", "24:00"}}, "2027-02-10T23:00", "2027-02-11T00:00", true},
		{"past midnight, closed", "UTC", []OpeningHours{{week, "08:00", "24:00"}}, "2027-02-10T23:00", "2027-02-11T00:01", false},
		{"past midnight, open all day", "UTC", []OpeningHours{{all, "00:00", "24:00"}}, "2027-02-10T23:00", "2027-02-13T01:00", true},
		{"a night", "UTC", []OpeningHours{{[]string{"FR"}, "22:00", "06:00"}}, "2027-02-12T23:00", "2027-02-13T06:00", true},
		{"its morning alone", "UTC", []OpeningHours{{[]string{"FR"}, "22:00", "06:00"}}, "2027-02-13T04:00", "2027-02-13T05:00", true},
		{"the morning before", "UTC", []OpeningHours{{[]string{"FR"}, "22:00", "06:00"}}, "2027-02-12T04:00", "2027-02-12T05:00", false},
		{"in the room's zone", "Asia/Tokyo", []OpeningHours{{[]string{"TH"}, "08:00", "20:00"}}, "2027-02-10T23:00", "2027-02-11T11:00", true},
		{"opens while clocks skip the hour", "Europe/Berlin", []OpeningHours{{[]string{"SU"}, "02:30", "10:00"}}, "2027-03-28T01:00", "2027-03-28T08:00", true},
		{"and not before the change", "Europe/Berlin", []OpeningHours{{[]string{"SU"}, "02:30", "10:00"}}, "2027-03-28T00:59", "2027-03-28T08:00", false},
		{"a day of 25 hours", "Europe/Berlin", []OpeningHours{{[]string{"SU"}, "00:00", "24:00"}}, "2027-10-30T22:00", "2027-10-31T23:00", true},
		{"midnight is skipped", "America/Santiago", []OpeningHours{{[]string{"SU"}, "00:00", "10:00"}}, "2027-09-05T04:00", "2027-09-05T13:00", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Room{Zone: tt.zone, Policy: Policy{OpeningHours: tt.hours}}
			from, _ := clock.Parse(tt.from).In(time.UTC)
			to, _ := clock.Parse(tt.to).In(time.UTC)
			if got := r.Open(clock.Slot{Start: from.At, End: to.At}); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A room is open in a slot exactly if it is open in every minute of it.
func TestRoom_Open_isOpenInEveryMinute(t *testing.T) {
	hour := rapid.SampledFrom([]string{"00:00", "02:30", "08:00", "12:00", "18:30", "23:00"})
	rapid.Check(t, func(t *rapid.T) {
		r := Room{Zone: rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Africa/Cairo"}).Draw(t, "zone")}
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			h := OpeningHours{Days: rapid.SliceOfNDistinct(rapid.SampledFrom(weekdays), 1, 7, rapid.ID).Draw(t, "days"), From: hour.Draw(t, "from"), To: hour.Draw(t, "to")}
			if h.From != h.To {
				r.Policy.OpeningHours = append(r.Policy.OpeningHours, h)
			}
		}
		start := time.Date(2027, 3, 26, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 3*24*60).Draw(t, "start")) * time.Minute)
		slot := clock.Slot{Start: start, End: start.Add(time.Duration(rapid.IntRange(1, 36*60).Draw(t, "minutes")) * time.Minute)}
		want := true
		for m := slot.Start; m.Before(slot.End) && want; m = m.Add(time.Minute) {
			want = r.Open(clock.Slot{Start: m, End: m.Add(time.Minute)})
		}
		if got := r.Open(slot); got != want {
			t.Fatalf("open in %v: %v, minute by minute %v", slot, got, want)
		}
	})
}

func TestRoom_Check(t *testing.T) {
	now := time.Date(2027, 2, 10, 12, 0, 0, 0, time.UTC)
	strict := Room{
		Name: "Vault", Zone: "UTC", Active: true, Capacity: 2,
		Policy: Policy{
			OpeningHours: []OpeningHours{{weekdays, "13:00", "20:00"}},
			MinDuration:  30 * time.Minute, MaxDuration: 2 * time.Hour, MinNotice: time.Hour, MaxAdvance: 24 * time.Hour,
		},
	}
	closed := strict
	closed.Active = false
	wish := func(in, long time.Duration, persons int) Proposal {
		return Proposal{Slot: clock.Slot{Start: now.Add(in), End: now.Add(in + long)}, Persons: persons, Now: now}
	}
	tests := []struct {
		name   string
		room   Room
		wish   Proposal
		limits Limits
		want   []string
	}{
		{"fits", strict, wish(time.Hour, time.Hour, 2), Limits{}, nil},
		{"everything at once", closed, wish(0, 10*time.Minute, 3), Limits{}, []string{
			"attendees capacity", "end min_duration", "room_ids room_inactive", "start min_notice", "start opening_hours",
		}},
		{"long and far", strict, wish(25*time.Hour, 150*time.Minute, 0), Limits{}, []string{"end max_duration", "start max_advance"}},
		{"the installation is stricter", strict, wish(2*time.Hour, 90*time.Minute, 0), Limits{MaxDuration: time.Hour, MaxAdvance: time.Hour}, []string{"end max_duration", "start max_advance"}},
		{"exactly the limits", strict, wish(24*time.Hour, 2*time.Hour, 0), Limits{}, []string{"start opening_hours"}},
		{"at the last moment", strict, wish(time.Hour-time.Second, time.Hour, 0), Limits{}, []string{"start min_notice", "start opening_hours"}},
		{"just begun", Room{Zone: "UTC", Active: true}, wish(-Tolerance, time.Hour, 0), Limits{}, nil},
		{"begun for long", Room{Zone: "UTC", Active: true}, wish(-Tolerance-time.Second, time.Hour, 0), Limits{}, []string{"start in_past"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := codes(tt.room.Check(tt.wish, tt.limits)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What a meeting has of a room was agreed: rules that came later forbid neither to give some of
// it back nor to leave it. What comes on top is judged.
func TestRoom_Check_agreed(t *testing.T) {
	now := utc(t, "2027-02-10T08:00")
	room := Room{
		Name: "Vault", Zone: "UTC", Capacity: 2, // and not active any more
		Policy: Policy{
			OpeningHours: []OpeningHours{{weekdays, "10:00", "14:00"}},
			MinDuration:  time.Hour, MaxDuration: 2 * time.Hour, Step: 15 * time.Minute, MinNotice: 24 * time.Hour, MaxAdvance: time.Minute,
		},
		Blackouts: []Blackout{{Slot: clock.Slot{Start: utc(t, "2027-02-10T09:00"), End: utc(t, "2027-02-10T11:30")}}, {Slot: clock.Slot{Start: utc(t, "2027-02-10T13:00"), End: utc(t, "2027-02-10T13:30")}}},
	}
	agreed := Booked{End: utc(t, "2027-02-10T12:07"), Persons: 4} // from 09:07
	tests := []struct {
		name    string
		end     string
		persons int
		want    []string
	}{
		{"as it is", "12:07", 4, nil},
		{"somebody leaves", "12:07", 3, nil},
		{"somebody comes", "12:07", 5, []string{"attendees capacity"}},
		{"shorter, but long still", "11:45", 4, nil},
		{"too short", "10:00", 4, []string{"end min_duration"}},
		{"off the grid", "11:44", 4, []string{"end step"}},
		{"longer", "12:45", 4, []string{"end max_duration"}},
		{"into a blackout", "13:15", 4, []string{"end max_duration", "end blackout"}},
		{"after hours, with more people", "14:15", 5, []string{"attendees capacity", "end max_duration", "end opening_hours", "end blackout"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Proposal{Slot: clock.Slot{Start: utc(t, "2027-02-10T09:07"), End: utc(t, "2027-02-10T"+tt.end)}, Persons: tt.persons, Now: now, Booked: &agreed}
			if got := codes(room.Check(w, Limits{})); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A longer meeting is a step to where the room wants it, even if it is too short still.
func TestRoom_Check_longerButTooShort(t *testing.T) {
	start := utc(t, "2027-02-10T09:00")
	r := Room{Zone: "UTC", Policy: Policy{MinDuration: time.Hour}}
	for minutes, want := range map[int][]string{20: {"end min_duration"}, 30: nil, 40: nil} {
		w := Proposal{Slot: clock.Slot{Start: start, End: start.Add(time.Duration(minutes) * time.Minute)}, Now: start, Booked: &Booked{End: start.Add(30 * time.Minute)}}
		if got := codes(r.Check(w, Limits{})); !slices.Equal(got, want) {
			t.Errorf("%d minutes: got %q, want %q", minutes, got, want)
		}
	}
}

// Who books by the clock gets what clocks show, also in a night in which they change.
func TestRoom_Check_durationByTheClock(t *testing.T) {
	tests := []struct {
		name       string
		zone       string
		start, end string // by the zone's clocks
		least      time.Duration
		most       time.Duration
		want       []string
	}{
		{"a day of 25 hours", "Europe/Berlin", "2027-10-31T00:00", "2027-11-01T00:00", 24 * time.Hour, 24 * time.Hour, nil},
		{"a day of 23 hours", "Europe/Berlin", "2027-03-28T00:00", "2027-03-29T00:00", 24 * time.Hour, 24 * time.Hour, nil},
		{"a minute more", "Europe/Berlin", "2027-10-31T00:00", "2027-11-01T00:01", 0, 24 * time.Hour, []string{"end max_duration"}},
		{"a minute less", "Europe/Berlin", "2027-03-28T00:01", "2027-03-29T00:00", 24 * time.Hour, 0, []string{"end min_duration"}},
		{"what passes counts, too", "Europe/Berlin", "2027-03-28T01:00", "2027-03-28T04:00", 0, 2 * time.Hour, nil},
		{"and back", "Europe/Berlin", "2027-10-31T01:00", "2027-10-31T03:00", 3 * time.Hour, 0, nil},
		{"half an hour", "Australia/Lord_Howe", "2027-04-04T00:00", "2027-04-04T08:00", 8 * time.Hour, 8 * time.Hour, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Room{Zone: tt.zone, Active: true, Policy: Policy{MinDuration: tt.least, MaxDuration: tt.most}}
			start, _ := clock.Parse(tt.start).In(clock.ZoneOrUTC(tt.zone))
			end, _ := clock.Parse(tt.end).In(clock.ZoneOrUTC(tt.zone))
			if got := codes(r.Check(Proposal{Slot: clock.Slot{Start: start.At, End: end.At}, Now: start.At}, Limits{})); !slices.Equal(got, tt.want) {
				t.Errorf("%v passes: got %q, want %q", end.At.Sub(start.At), got, tt.want)
			}
		})
	}
	// Clocks show an earlier time at the end than at the start: what passes counts.
	back := clock.Slot{Start: utc(t, "2027-10-31T00:50"), End: utc(t, "2027-10-31T01:20")}
	r := Room{Zone: "Europe/Berlin", Active: true, Policy: Policy{MaxDuration: 20 * time.Minute}}
	if got := codes(r.Check(Proposal{Slot: back, Now: back.Start}, Limits{})); !slices.Equal(got, []string{"end max_duration"}) {
		t.Errorf("half an hour across the change: %q", got)
	}
}

func TestRoom_checkStep(t *testing.T) {
	tests := []struct {
		name       string
		zone       string
		step       time.Duration
		start, end string // UTC
		endOnly    bool
		want       []string
	}{
		{"none", "UTC", 0, "2027-02-10T09:07", "2027-02-10T09:08", false, nil},
		{"on the grid", "UTC", 15 * time.Minute, "2027-02-10T09:15", "2027-02-10T10:00", false, nil},
		{"the start", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:00", false, []string{"start step"}},
		{"both ends", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:05", false, []string{"start step", "end step"}},
		{"a second", "UTC", 15 * time.Minute, "2027-02-10T09:00:01", "2027-02-10T10:00", false, []string{"start step"}},
		{"an agreed start", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:00", true, nil},
		{"the new end of it", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:05", true, []string{"end step"}},
		{"by the room's clock", "Asia/Kolkata", time.Hour, "2027-02-10T09:30", "2027-02-10T10:30", false, nil},
		{"and not by UTC", "Asia/Kolkata", time.Hour, "2027-02-10T09:00", "2027-02-10T10:00", false, []string{"start step", "end step"}},
		{"a day of 23 hours", "Europe/Berlin", 24 * time.Hour, "2027-03-27T23:00", "2027-03-28T22:00", false, nil},
		{"midnight is skipped", "Africa/Cairo", 24 * time.Hour, "2027-04-28T22:00", "2027-04-29T22:00", false, nil},
		{"an hour behind that", "Africa/Cairo", 24 * time.Hour, "2027-04-28T22:00", "2027-04-29T23:00", false, []string{"end step"}},
		{"a day of 25 hours", "Europe/Berlin", 12 * time.Hour, "2027-10-30T22:00", "2027-10-31T23:00", false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Room{ID: 7, Name: "Turing", Zone: tt.zone, Policy: Policy{Step: tt.step}}
			var v fault.List
			w := Proposal{Slot: clock.Slot{Start: utc(t, tt.start), End: utc(t, tt.end)}}
			if tt.endOnly {
				w.Booked = &Booked{End: w.Slot.End.Add(time.Hour)}
			}
			r.checkStep(w, &v)
			var got []string
			for _, f := range v {
				got = append(got, f.Location+" "+f.Code)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A program reads from each broken rule what is allowed and what it asked for.
func TestRoom_Check_figures(t *testing.T) {
	now := utc(t, "2027-02-10T12:00")
	closed := clock.Slot{Start: utc(t, "2027-02-11T00:00"), End: utc(t, "2027-02-12T00:00")}
	r := Room{
		ID: 7, Name: "Turing", Zone: "Europe/Berlin", Active: true, Capacity: 2,
		Policy: Policy{
			OpeningHours: []OpeningHours{{[]string{"MO", "TU"}, "08:00", "20:00"}},
			MaxDuration:  time.Hour, MaxAdvance: 2 * time.Hour, Step: 15 * time.Minute,
		},
		Blackouts: []Blackout{{ID: 5, RoomID: 7, Slot: closed, Reason: "paint"}},
	}
	got := map[string]fault.Figures{}
	for _, f := range r.Check(Proposal{Slot: clock.Slot{Start: utc(t, "2027-02-11T09:05"), End: utc(t, "2027-02-11T11:15")}, Persons: 3, Now: now}, Limits{}) {
		got[f.Code] = f.Figures
	}
	same(t, "figures", got, map[string]fault.Figures{
		"capacity":      {RoomID: 7, Limit: 2, Actual: 3},
		"max_duration":  {RoomID: 7, Limit: "1h", Actual: "2h10m"},
		"max_advance":   {RoomID: 7, Limit: "2h", Actual: "21h5m"},
		"step":          {RoomID: 7, Limit: "15m", Actual: "10:05"},
		"opening_hours": {RoomID: 7, Limit: "MO TU 08:00-20:00", Actual: "2027-02-11 10:05 to 2027-02-11 12:15"},
		"blackout":      {RoomID: 7, Span: fault.Span(closed), BlackoutID: 5, Reason: "paint"},
	})
	free := Room{ID: 7, Zone: "UTC", Active: true, Policy: Policy{MaxDuration: 3 * time.Hour, MaxAdvance: 3 * time.Hour}}
	for _, f := range free.Check(Proposal{Slot: clock.Slot{Start: utc(t, "2027-02-10T14:00"), End: utc(t, "2027-02-10T16:00")}, Now: now}, Limits{MaxDuration: time.Hour, MaxAdvance: time.Hour}) {
		same(t, "of the installation, "+f.Code, f.Figures, fault.Figures{Limit: "1h", Actual: "2h"})
	}
	past := r.Check(Proposal{Slot: clock.Slot{Start: utc(t, "2027-02-09T09:00"), End: utc(t, "2027-02-09T09:30")}, Now: now}, Limits{})
	same(t, "past", past[0].Figures, fault.Figures{Limit: "2027-02-10T12:00:00Z", Actual: "2027-02-09T09:00:00Z"})
}
