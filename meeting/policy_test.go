package meeting

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
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
			from, _ := ParseTime(tt.from, time.UTC)
			to, _ := ParseTime(tt.to, time.UTC)
			if got := r.Open(Slot{from, to}); got != tt.want {
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
		slot := Slot{start, start.Add(time.Duration(rapid.IntRange(1, 36*60).Draw(t, "minutes")) * time.Minute)}
		want := true
		for m := slot.Start; m.Before(slot.End) && want; m = m.Add(time.Minute) {
			want = r.Open(Slot{m, m.Add(time.Minute)})
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
	wish := func(in, long time.Duration, persons int) Wish {
		return Wish{Slot: Slot{now.Add(in), now.Add(in + long)}, Persons: persons, Now: now}
	}
	endOnly := wish(10*time.Minute, 3*time.Hour, 0)
	endOnly.EndOnly = true
	tests := []struct {
		name   string
		room   Room
		wish   Wish
		limits Limits
		want   []string
	}{
		{"fits", strict, wish(time.Hour, time.Hour, 2), Limits{}, nil},
		{"everything at once", closed, wish(0, 10*time.Minute, 3), Limits{}, []string{
			"body.attendees capacity", "body.end min_duration", "body.room_ids room_inactive", "body.start min_notice", "body.start opening_hours",
		}},
		{"long and far", strict, wish(25*time.Hour, 150*time.Minute, 0), Limits{}, []string{"body.end max_duration", "body.start max_advance"}},
		{"the installation is stricter", strict, wish(2*time.Hour, 90*time.Minute, 0), Limits{MaxDuration: time.Hour, MaxAdvance: time.Hour}, []string{"body.end max_duration", "body.start max_advance"}},
		{"exactly the limits", strict, wish(24*time.Hour, 2*time.Hour, 0), Limits{}, []string{"body.start opening_hours"}},
		{"only the end moves", closed, endOnly, Limits{}, []string{"body.end max_duration", "body.start opening_hours"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := codes(tt.room.Check(tt.wish, tt.limits)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m", time.Hour: "1h", 24 * time.Hour: "24h",
		90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 10 * time.Second: "10s", 10 * time.Minute: "10m", 100 * time.Hour: "100h",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}
