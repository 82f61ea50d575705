package policy

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting/clock"
)

func TestOpenings(t *testing.T) {
	berlin := clock.ZoneOrUTC("Europe/Berlin")
	day := func(clock string) time.Time { // Friday, 26 March 2027; clocks go forward on Sunday
		at, err := time.ParseInLocation("02 15:04", clock, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2027, 3, at.Day(), at.Hour(), at.Minute(), 0, 0, berlin)
	}
	slot := func(from, to string) clock.Slot { return clock.Slot{Start: day(from), End: day(to)} }
	office := []OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR"}, From: "08:00", To: "12:00"}}
	for _, c := range []struct {
		name   string
		room   Room
		span   clock.Slot
		length time.Duration
		taken  []clock.Slot
		want   []string
	}{
		{"all day free", Room{}, slot("26 09:00", "26 11:00"), time.Hour, nil, []string{"26 09:00", "26 10:00"}},
		{"on the quarter", Room{}, slot("26 09:07", "26 10:20"), time.Hour, nil, []string{"26 09:15"}},
		{"on the room's own step", Room{Policy: Policy{Step: time.Hour}}, slot("26 09:07", "26 11:00"), time.Hour, nil, []string{"26 10:00"}},
		{"between what is taken", Room{}, slot("26 09:00", "26 12:00"), time.Hour,
			[]clock.Slot{slot("26 09:30", "26 10:00"), slot("26 11:00", "26 11:10")}, []string{"26 10:00"}},
		{"with the room's buffers around", Room{Policy: Policy{BufferBefore: 10 * time.Minute, BufferAfter: 5 * time.Minute}}, slot("26 09:00", "26 12:00"), 45 * time.Minute,
			[]clock.Slot{slot("26 10:00", "26 10:30")}, []string{"26 09:00", "26 10:45"}},
		{"in opening hours, over the weekend", Room{Policy: Policy{OpeningHours: office}}, slot("26 11:00", "29 10:00"), 2 * time.Hour, nil, []string{"29 08:00"}},
		{"not in a blackout", Room{Blackouts: []Blackout{{Slot: slot("26 09:00", "26 10:00")}}}, slot("26 09:00", "26 11:00"), time.Hour, nil, []string{"26 10:00"}},
		{"nothing is long enough", Room{}, slot("26 09:00", "26 10:00"), 2 * time.Hour, nil, nil},
		{"to the minute, if the quarter comes too late", Room{}, slot("26 09:07", "26 10:10"), time.Hour, nil, []string{"26 09:07"}},
		{"between two meetings", Room{}, slot("26 09:00", "26 13:00"), time.Hour,
			[]clock.Slot{slot("26 09:30", "26 09:50"), slot("26 10:50", "26 12:00")}, []string{"26 09:50", "26 12:00"}},
		{"never off the room's own step", Room{Policy: Policy{Step: 15 * time.Minute}}, slot("26 09:07", "26 10:10"), time.Hour, nil, nil},
		{"at any hour, if it has no opening hours", Room{Policy: Policy{Step: time.Hour}}, slot("26 23:00", "27 02:00"), time.Hour, nil,
			[]string{"26 23:00", "27 00:00", "27 01:00"}},
		{"an hour that clocks skip", Room{Policy: Policy{Step: time.Hour}}, slot("28 01:00", "28 05:00"), time.Hour, nil, []string{"28 01:00", "28 03:00", "28 04:00"}},
	} {
		c.room.Zone = "Europe/Berlin"
		var got []string
		for s := range c.room.Openings(c.span, c.length, c.taken, nil) {
			got = append(got, s.Start.In(berlin).Format("02 15:04"))
			if s.Duration() != c.length {
				t.Errorf("%s: %v is not %v long", c.name, s, c.length)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestQuota_Spent(t *testing.T) {
	noon := time.Date(2027, 2, 10, 12, 0, 0, 0, time.UTC)
	hours := func(from, to int) clock.Slot {
		return clock.Slot{Start: noon.Add(time.Duration(from-12) * time.Hour), End: noon.Add(time.Duration(to-12) * time.Hour)}
	}
	held := []clock.Slot{hours(8, 10)}
	for _, c := range []struct {
		name   string
		quota  *Quota
		length time.Duration
		want   []clock.Slot
	}{
		{"no quota", nil, time.Hour, nil},
		{"one more", &Quota{Per: PerDay, Count: 2}, time.Hour, nil},
		{"none more, that day", &Quota{Per: PerDay, Count: 1}, time.Hour, []clock.Slot{hours(0, 24)}},
		{"time enough", &Quota{Per: PerDay, Duration: 3 * time.Hour}, time.Hour, nil},
		{"too little time, but for a night that reaches into the day", &Quota{Per: PerDay, Duration: 3 * time.Hour}, 2 * time.Hour, []clock.Slot{hours(1, 23)}},
		{"too much already", &Quota{Per: PerDay, Duration: time.Hour}, time.Minute, []clock.Slot{hours(0, 24)}},
		{"both", &Quota{Per: PerDay, Count: 1, Duration: 9 * time.Hour}, 2 * time.Hour, []clock.Slot{hours(0, 24)}},
	} {
		same(t, c.name, c.quota.Spent(hours(9, 33), c.length, held, time.UTC), c.want)
	}
}

func TestOpenSpans_remembersByHoursZoneAndSpan(t *testing.T) {
	at := time.Date(2027, 3, 26, 0, 0, 0, 0, time.UTC)
	hours := func(from string) Policy {
		return Policy{OpeningHours: []OpeningHours{{Days: []string{"FR", "SU"}, From: from, To: "18:00"}}}
	}
	var open OpenSpans
	for range 2 {
		for _, zone := range []string{"Europe/Berlin", "Asia/Tokyo"} {
			for _, p := range []Policy{{}, hours("08:00"), hours("09:00")} {
				for days := range 3 {
					r, span := &Room{Zone: zone, Policy: p}, clock.Slot{Start: at, End: at.AddDate(0, 0, 1+days)}
					if got, want := open.Of(r, span), r.OpenHours(span); !slices.Equal(got, want) {
						t.Errorf("%s %v in %v: %v instead of %v", zone, p.OpeningHours, span, got, want)
					}
				}
			}
		}
	}
}

// When clocks are put back, a length of a whole day by the clock is allowed only across the change.
func TestRoom_Lasting(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	change := time.Date(2027, 10, 31, 1, 0, 0, 0, time.UTC)
	whole := clock.Slot{Start: change.Add(-3 * day), End: change.Add(3 * day)}
	for _, tt := range []struct {
		name   string
		length time.Duration
		policy Policy
		want   clock.Slot
	}{
		{"over the change alone", day + time.Hour, Policy{MaxDuration: day}, clock.Slot{Start: change.Add(-day - time.Hour), End: change.Add(day + time.Hour)}},
		{"also elsewhere", day, Policy{MinDuration: day}, whole},
		{"anywhere", time.Hour, Policy{MaxDuration: day}, whole},
		{"nowhere", 2 * day, Policy{MaxDuration: day}, clock.Slot{}},
		{"off the steps", 10 * time.Minute, Policy{Step: 15 * time.Minute}, clock.Slot{}},
	} {
		r := &Room{Zone: "Europe/Berlin", Policy: tt.policy}
		if got := r.Lasting(tt.length, whole, Limits{}); !got.Start.Equal(tt.want.Start) || !got.End.Equal(tt.want.End) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
