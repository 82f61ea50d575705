package gormstore_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/policy"
)

func TestCandidates(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Here", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		room := func(name string, capacity int, features ...string) {
			f.room(name, func(r *meeting.Room) { r.SiteID, r.Capacity, r.Features = site.ID, capacity, features })
		}
		room("Unknown", 0, "video")
		room("Large", 20, "video")
		room("Small", 2, "video")
		room("Bare", 8)
		room("b fits", 8, "video")
		room("A fits", 8, "video", "piano")
		f.room("Closed", func(r *meeting.Room) { r.SiteID, r.Features, r.Active = site.ID, []string{"video"}, false })
		var last *meeting.Room
		find := func(n finding.Need, after *meeting.Room, limit int) []string {
			t.Helper()
			rooms, err := f.store.Candidates(t.Context(), n, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, r := range rooms {
				names, last = append(names, r.Name), r
			}
			return names
		}
		need := finding.Need{Persons: 5, Features: []string{"video"}, SiteID: site.ID}
		f.want("all that fit", find(need, nil, 10), []string{"A fits", "b fits", "Large", "Unknown"})
		f.want("some", find(need, nil, 1), []string{"A fits"})
		f.want("the next", find(need, last, 2), []string{"b fits", "Large"})
		f.want("the last", find(need, last, 2), []string{"Unknown"})
		f.want("no more", find(need, last, 10), []string(nil))
		f.want("one", find(finding.Need{RoomIDs: []int64{f.turing.ID}}, nil, 10), []string{"Turing"})
	})
}

func TestKinds(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Here", Timezone: "Asia/Tokyo", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		rules := policy.Policy{
			OpeningHours: []policy.OpeningHours{{Days: []string{"MO"}, From: "08:00", To: "18:00"}}, MinDuration: time.Minute, MaxDuration: time.Hour,
			Step: 5 * time.Minute, MinNotice: time.Hour, MaxAdvance: 48 * time.Hour, BufferBefore: time.Minute, BufferAfter: 2 * time.Minute,
			Quota: &policy.Quota{Per: policy.PerDay, Count: 2, Duration: time.Hour},
		}
		room := func(zone string, capacity int, p policy.Policy) int64 {
			return f.room("Alike", func(r *meeting.Room) {
				r.SiteID, r.Timezone, r.Capacity, r.Policy, r.Features = site.ID, zone, capacity, p, []string{"video"}
			}).ID
		}
		first, second, named := room("", 9, rules), room("", 5, rules), room("Asia/Tokyo", 5, rules)
		abroad, plain := room("Asia/Seoul", 5, rules), room("", 5, policy.Policy{})
		room("", 4, rules) // too small
		f.room("Closed", func(r *meeting.Room) { r.SiteID, r.Features, r.Active = site.ID, []string{"video"}, false })
		kinds, err := f.store.Kinds(t.Context(), finding.Need{Persons: 5, Features: []string{"video"}, SiteID: site.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			slices.Sort(k.RoomIDs)
		}
		slices.SortFunc(kinds, func(a, b *finding.Kind) int { return cmp.Compare(a.RoomIDs[0], b.RoomIDs[0]) })
		f.want("kinds", kinds, []*finding.Kind{
			{SiteID: site.ID, Zone: "Asia/Tokyo", Policy: rules, RoomIDs: []int64{first, second}},
			{SiteID: site.ID, Zone: "Asia/Tokyo", Policy: rules, RoomIDs: []int64{named}}, // by the room itself
			{SiteID: site.ID, Zone: "Asia/Seoul", Policy: rules, RoomIDs: []int64{abroad}},
			{SiteID: site.ID, Zone: "Asia/Tokyo", RoomIDs: []int64{plain}},
		})
		if kinds, err = f.store.Kinds(t.Context(), finding.Need{RoomIDs: []int64{f.turing.ID}}); err != nil || len(kinds) != 1 || kinds[0].SiteID != 0 || kinds[0].Zone != "" {
			t.Errorf("of one room without a site: %+v, %v", kinds, err)
		}
	})
}

func TestAllBusy(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.book(slot("08:00", "09:00"), f.turing)
		f.book(slot("09:30", "11:00"), f.turing, f.hopper)
		f.book(slot("11:30", "12:30"), f.hopper) // and behind it
		long := f.room("Long")
		f.book(clock.Slot{Start: at("09:00").Add(-25 * time.Hour), End: at("12:00")}, long)
		want := []clock.Slot{slot("09:30", "11:00")}
		f.want("busy", f.allBusy(slot("09:00", "11:30"), time.Time{}), map[int64][]clock.Slot{
			f.turing.ID: want, f.hopper.ID: want, long.ID: {{Start: at("09:00").Add(-25 * time.Hour), End: at("12:00")}},
		}, cmpopts.EquateApproxTime(0))
	})
}

// allBusy collects what AllBusy finds, by room.
func (f *fixture) allBusy(span clock.Slot, at time.Time) map[int64][]clock.Slot {
	f.Helper()
	found := map[int64][]clock.Slot{}
	err := f.store.AllBusy(f.Context(), span, at, func(taken clock.Slot, rooms []int64) {
		for _, room := range rooms {
			found[room] = append(found[room], taken)
		}
	})
	if err != nil {
		f.Fatal(err)
	}
	return found
}

func TestBusy(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		first := f.book(slot("09:00", "10:00"), f.turing, f.hopper)
		second := f.book(slot("10:00", "11:00"), f.turing)
		f.book(slot("11:00", "12:00"), f.wide) // 10:50 to 12:05
		cancelled := f.book(slot("11:00", "12:00"), f.turing)
		f.change(cancelled.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })

		taken, err := f.store.Busy(t.Context(), []int64{f.turing.ID, f.hopper.ID, f.wide.ID, 999}, slot("10:00", "10:51"), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		f.want("taken", taken, map[int64][]clock.Slot{
			f.turing.ID: {slot("10:00", "11:00")},
			f.wide.ID:   {{Start: at("10:50"), End: at("12:05")}},
		}, cmpopts.EquateApproxTime(0))
		if none, err := f.store.Busy(t.Context(), nil, slot("09:00", "10:00"), time.Time{}); err != nil || len(none) != 0 {
			t.Errorf("of no room: %v, %v", none, err)
		}

		occupants := func(room *meeting.Room, s clock.Slot) []meeting.ID {
			t.Helper()
			ms, err := f.store.Occupants(t.Context(), room.ID, s)
			if err != nil {
				t.Fatal(err)
			}
			var ids []meeting.ID
			for _, m := range ms {
				ids = append(ids, m.ID)
			}
			return ids
		}
		f.want("all day", occupants(f.turing, slot("00:00", "23:00")), []meeting.ID{first.ID, second.ID})
		f.want("from ten", occupants(f.turing, slot("10:00", "23:00")), []meeting.ID{second.ID})
		f.want("by its buffer", len(occupants(f.wide, clock.Slot{Start: at("12:04"), End: at("12:04").Add(time.Second)})), 1)
	})
}

func TestBooked(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		small := f.room("Small", func(r *meeting.Room) { r.Policy.BufferBefore, r.Policy.BufferAfter = time.Hour, time.Hour })
		plain := f.room("Plain")
		book := func(from, to string, rooms ...*meeting.Room) *meeting.Meeting {
			return f.book(slot(from, to), rooms...)
		}
		book("06:00", "07:00", small) // only its buffer reaches into the span
		book("10:00", "12:00", small)
		early := book("14:00", "16:00", small, plain)
		f.sql("UPDATE meetings SET status = 'ended', ended_at = ? WHERE id = ?", at("15:00"), early.ID)
		cancelled := book("18:00", "19:00", plain)
		f.change(cancelled.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		book("20:00", "21:00", plain) // behind it

		booked, err := f.store.Booked(t.Context(), []int64{small.ID, plain.ID}, slot("07:30", "20:00"), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		f.want("booked", booked, map[int64][]clock.Slot{
			small.ID: {slot("06:00", "07:00"), slot("10:00", "12:00"), slot("14:00", "15:00")},
			plain.ID: {slot("14:00", "15:00")},
		})
		if booked, err = f.store.Booked(t.Context(), []int64{plain.ID}, slot("19:30", "23:00"), time.Time{}); err != nil {
			t.Fatal(err)
		}
		f.want("one room", booked, map[int64][]clock.Slot{plain.ID: {slot("20:00", "21:00")}})
	})
}
