package finding

import (
	"cmp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// No room stays behind of which a closer look finds a time, however much was booked of it; one that is
// taken or closed all the time does.
func TestSieve(t *testing.T) {
	minutes := func(t *rapid.T, name string, of ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(of).Draw(t, name)) * time.Minute
	}
	found, stayed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom([]time.Time{
			time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC), time.Date(2027, 3, 27, 13, 7, 0, 123000, time.UTC), time.Date(2027, 10, 30, 22, 50, 30, 0, time.UTC),
		}).Draw(t, "at")
		a := &searcher{now: at, settings: meeting.Settings{Timezone: "Europe/Berlin", Limits: policy.Limits{MaxDuration: 24 * time.Hour, MaxAdvance: 60 * time.Hour}}}
		drawn := func(name string) clock.Slot {
			start := at.Add(time.Duration(rapid.IntRange(-20, 300).Draw(t, name)) * 10 * time.Minute)
			return clock.Slot{Start: start, End: start.Add(minutes(t, name+" lasts", 5, 30, 60, 600, 3000))}
		}
		k := &Kind{SiteID: 3, Zone: rapid.SampledFrom([]string{"", "Australia/Lord_Howe", "America/New_York"}).Draw(t, "zone"), Policy: policy.Policy{
			BufferBefore: minutes(t, "before", 0, 0, 10), BufferAfter: minutes(t, "after", 0, 0, 60), MinDuration: minutes(t, "min", 0, 30),
			MaxDuration: minutes(t, "max", 0, 0, 90), MinNotice: minutes(t, "notice", 0, 0, 90), MaxAdvance: minutes(t, "advance", 0, 0, 600),
			Step: minutes(t, "step", 0, 0, 30, 60),
		}}
		if rapid.Bool().Draw(t, "hours") {
			k.Policy.OpeningHours = []policy.OpeningHours{{Days: []string{"WE", "FR", "SU"}, From: "20:00", To: "04:15"}, {Days: []string{"TH"}, From: "09:00", To: "17:00"}}
		}
		var blackouts []policy.Blackout
		for range rapid.IntRange(0, 2).Draw(t, "blackouts") {
			b := policy.Blackout{Slot: drawn("blackout"), SiteID: rapid.SampledFrom([]int64{0, 3, 4}).Draw(t, "site")}
			if b.SiteID == 0 {
				b.RoomID = rapid.SampledFrom([]int64{1, 2}).Draw(t, "room")
			}
			blackouts = append(blackouts, b)
		}
		span, length := drawn("span"), minutes(t, "length", 15, 30, 40, 60, 120)
		if span, _ = a.need.searched(length, span, at); span.Duration() < length {
			return
		}
		v := k.sieve(a, length, span, blackouts)
		for range 30 { // of which none is to see what is of those before
			var taken []clock.Slot // with gaps that may just do
			for from := span.Start; from.Before(span.End); {
				from = from.Add(rapid.SampledFrom([]time.Duration{0, 0, length, length + 10*time.Minute, length + time.Hour}).Draw(t, "gap"))
				m := clock.Slot{Start: from, End: from.Add(minutes(t, "taken", 30, 45, 90, 600, 3000))}
				taken, from = append(taken, m), m.End
			}
			r := &meeting.Room{Room: policy.Room{ID: 1, SiteID: 3, Active: true, Policy: k.Policy, Zone: cmp.Or(k.Zone, "Europe/Berlin")}}
			for _, b := range blackouts {
				if b.Covers(&r.Room) {
					r.Blackouts = append(r.Blackouts, b)
				}
			}
			some := a.suggest(r, length, span, taken, nil, 1)
			c := v.candidate()
			for _, t := range taken {
				c.add(intervalOf(t))
			}
			switch passes := c.passes(); {
			case len(some) > 0 && !passes:
				t.Fatalf("%v can be had, and did not pass", some[0].Slot)
			case len(some) > 0:
				found++
			case !passes:
				stayed++
			}
			all := v.candidate()
			if all.add(intervalOf(span)); all.passes() {
				t.Fatal("it is taken all the time, and passed")
			}
		}
	})
	if found == 0 || stayed == 0 {
		t.Errorf("%d found, %d left out", found, stayed)
	}
}
