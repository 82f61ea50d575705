package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func instantOf(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestOpenFor(t *testing.T) {
	berlin := clock.ZoneOrUTC("Europe/Berlin")
	weekdays := []string{"MO", "TU", "WE", "TH", "FR"}
	day := &policy.Policy{OpeningHours: []policy.OpeningHours{{Days: weekdays, From: "08:00", To: "20:00"}}}
	overlapping := &policy.Policy{OpeningHours: []policy.OpeningHours{{Days: weekdays, From: "08:00", To: "14:00"}, {Days: weekdays, From: "12:00", To: "18:00"}, {Days: weekdays, From: "09:00", To: "10:00"}}}
	night := &policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"SA"}, From: "22:00", To: "04:00"}}}
	for _, row := range []struct {
		name, from, to string
		policy         *policy.Policy
		want           time.Duration
	}{
		{"a week", "2027-02-08T00:00:00+01:00", "2027-02-15T00:00:00+01:00", day, 60 * time.Hour},
		{"a part of a day", "2027-02-08T19:00:00+01:00", "2027-02-09T09:30:00+01:00", day, 150 * time.Minute},
		{"a weekend", "2027-02-13T00:00:00+01:00", "2027-02-15T00:00:00+01:00", day, 0},
		{"overlapping hours count once", "2027-02-08T00:00:00+01:00", "2027-02-09T00:00:00+01:00", overlapping, 10 * time.Hour},
		{"clocks go forward in the night", "2027-03-27T12:00:00+01:00", "2027-03-29T12:00:00+02:00", night, 5 * time.Hour},
		{"clocks go back in the night", "2027-10-30T12:00:00+02:00", "2027-11-01T12:00:00+01:00", night, 7 * time.Hour},
		{"always open", "2027-03-28T00:00:00+01:00", "2027-03-29T00:00:00+02:00", &policy.Policy{}, 23 * time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			same(t, "open", openFor(row.policy, clock.Slot{Start: instantOf(t, row.from), End: instantOf(t, row.to)}, berlin), row.want)
		})
	}
}

func TestZoneDays(t *testing.T) {
	span := clock.Slot{Start: instantOf(t, "2027-03-27T12:00:00Z"), End: instantOf(t, "2027-03-29T12:00:00Z")}
	for zone, want := range map[string][]time.Duration{
		"":              {12 * time.Hour, 24 * time.Hour, 12 * time.Hour},
		"Europe/Berlin": {11 * time.Hour, 23 * time.Hour, 14 * time.Hour},
		"Asia/Tokyo":    {3 * time.Hour, 24 * time.Hour, 21 * time.Hour},
	} {
		var got []time.Duration
		for _, d := range zoneDays(span, []string{zone}, "UTC") {
			got = append(got, d.Slot.End.Sub(d.Slot.Start))
		}
		same(t, zone, got, want)
	}
}

// The opening hours of all days and hours of a span, found at once, are those of each, also where clocks change.
func TestOpenings_ofEachDayAndHour(t *testing.T) {
	hours := &policy.Policy{OpeningHours: []policy.OpeningHours{
		{Days: []string{"MO", "TU", "SU"}, From: "00:30", To: "03:15"}, {Days: []string{"MO", "SA", "SU"}, From: "08:20", To: "24:00"},
	}}
	for _, span := range []clock.Slot{
		{Start: instantOf(t, "2027-03-26T05:10:00Z"), End: instantOf(t, "2027-04-05T20:40:00Z")},
		{Start: instantOf(t, "2027-10-29T05:10:00Z"), End: instantOf(t, "2027-11-10T20:40:00Z")},
	} {
		for _, zone := range []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"} {
			days := zoneDays(span, []string{zone}, "")
			for name, parts := range map[string][]ZoneDay{"days": days, "hours": zoneHours(days, "")} {
				for _, p := range []*policy.Policy{hours, {}} {
					want := map[string]time.Duration{}
					for _, d := range parts {
						want[d.Day] += openFor(p, d.Slot, clock.ZoneOrUTC(zone))
					}
					open := &openings{span: span, days: map[string][]ZoneDay{zone: parts}, known: map[opening]map[string]time.Duration{}}
					same(t, zone+" "+name, open.of(&Room{Zone: zone, Policy: p}), want)
				}
			}
		}
	}
}

func TestReport(t *testing.T) {
	span := clock.Slot{Start: instantOf(t, "2027-02-08T00:00:00Z"), End: instantOf(t, "2027-02-10T00:00:00Z")}
	hours := &policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"MO", "TU"}, From: "08:00", To: "18:00"}}}
	rooms := []Room{
		{ID: 1, Name: "Ada", SiteID: 7, SiteName: "Here", Policy: hours, Bookable: true},
		{ID: 2, Name: "Bohr", SiteID: 7, SiteName: "Here", Policy: &policy.Policy{}, Bookable: true},
		{ID: 3, Name: "Curie", Policy: hours}, // was used, and is no more
		{ID: 4, Name: "Dirac", Policy: hours}, // was not used, and is no more
	}
	look := func(group Grouping, used ...RoomUse) []*Utilization {
		t.Helper()
		open := &openings{span: span, inForce: "UTC", known: map[opening]map[string]time.Duration{}}
		if group == ByDay {
			open.days = map[string][]ZoneDay{"": zoneDays(span, []string{""}, "UTC")}
		}
		return utilization(group, rooms, used, open)
	}
	same(t, "rooms", look(ByRoom, RoomUse{ID: 1, Booked: 5 * time.Hour, Meetings: 3}, RoomUse{ID: 3, Booked: time.Hour}), []*Utilization{
		{RoomUse: RoomUse{ID: 1, Booked: 5 * time.Hour, Meetings: 3}, Name: "Ada", SiteID: 7, SiteName: "Here", OpenSeconds: 20 * 3600},
		{RoomUse: RoomUse{ID: 2}, Name: "Bohr", SiteID: 7, SiteName: "Here", OpenSeconds: 48 * 3600},
		{RoomUse: RoomUse{ID: 3, Booked: time.Hour}, Name: "Curie"},
	})
	same(t, "sites", look(BySite, RoomUse{ID: 7, Meetings: 2}, RoomUse{Meetings: 1}), []*Utilization{
		{RoomUse: RoomUse{Meetings: 1}},
		{RoomUse: RoomUse{ID: 7, Meetings: 2}, Name: "Here", OpenSeconds: 68 * 3600},
	})
	days := look(ByDay, RoomUse{Day: "2027-02-09", Booked: 17 * time.Hour})
	same(t, "days", days, []*Utilization{
		{RoomUse: RoomUse{Day: "2027-02-08"}, OpenSeconds: 34 * 3600},
		{RoomUse: RoomUse{Day: "2027-02-09", Booked: 17 * time.Hour}, OpenSeconds: 34 * 3600},
	})
	same(t, "share", days[1].BookedShare(), 0.5)

	// More than a time.Duration can be.
	rooms[1].Alike = 9_999
	total := &Utilization{}
	for _, u := range look(BySite) {
		for range 100 {
			total.add(u)
		}
	}
	same(t, "open for long", total.OpenSeconds, 100*(20+48*10_000)*3600.0)
}
