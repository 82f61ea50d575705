package meeting

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

func TestChoose(t *testing.T) {
	nine := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	var all []Suggestion
	for i, r := range []policy.Room{{ID: 1, Name: "Huge", Capacity: 100}, {ID: 2, Name: "Fits", Capacity: 8}, {ID: 3, Name: "Asks", Capacity: 8},
		{ID: 4, Name: "Unknown"}, {ID: 5, Name: "Good", Capacity: 10}} {
		room := &Room{Room: r}
		for h := range 2 {
			at := nine.Add(time.Duration(h) * time.Hour)
			all = append(all, Suggestion{Room: room, Slot: clock.Slot{Start: at, End: at.Add(time.Hour)}, NeedsApproval: i == 2})
		}
	}
	var got []string
	for _, s := range choose(all, 8, 8) {
		got = append(got, s.Slot.Start.Format("15 ")+s.Room.Name)
	}
	want := []string{"09 Fits", "09 Good", "09 Huge", "09 Unknown", "09 Asks", "10 Fits", "10 Good", "10 Huge"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAvailability(t *testing.T) {
	w := newWorld(t)
	w.store.rooms = map[int64]*Room{}
	free := w.room(t, RoomFields{Name: new("Free"), Capacity: new(4), Features: &[]string{"video"}})
	taken := w.room(t, RoomFields{Name: new("Taken"), BufferAfter: new(10 * time.Minute)})
	small := w.room(t, RoomFields{Name: new("Small"), Capacity: new(2), MinNotice: new(48 * time.Hour)})
	asks := w.room(t, RoomFields{Name: new("Asks"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	limited := w.room(t, RoomFields{Name: new("Limited"), Quota: &policy.Quota{Per: policy.PerDay, Count: 1}})
	w.book(t, w.bob, w.fields(time.Hour, taken))

	slot := clock.Slot{Start: w.at.Add(2 * time.Hour), End: w.at.Add(3 * time.Hour)}
	look := func(by Actor, n Need, s clock.Slot) map[int64][]string {
		t.Helper()
		found, _, err := w.Availability(t.Context(), by, AvailabilityQuery{Need: n, Slot: s}, Page{})
		if err != nil {
			t.Fatal(err)
		}
		codes := map[int64][]string{}
		for _, a := range found {
			codes[a.Room.ID] = nil
			for _, r := range a.Reasons {
				codes[a.Room.ID] = append(codes[a.Room.ID], r.Code)
			}
			if want := a.Room.ID == asks.ID && by.ID == w.ann.ID; a.NeedsApproval != want {
				t.Errorf("%s needs approval: %v", a.Room.Name, a.NeedsApproval)
			}
		}
		return codes
	}
	want := func(what string, got map[int64][]string, room *Room, codes ...string) {
		t.Helper()
		if !slices.Equal(got[room.ID], codes) {
			t.Errorf("%s, %s: %v, want %v", what, room.Name, got[room.ID], codes)
		}
	}
	got := look(w.ann, Need{Persons: 3}, slot)
	want("three persons", got, free)
	want("three persons", got, taken, "room_conflict") // until ten past, with the buffer
	want("three persons", got, small, "capacity", "min_notice")
	want("three persons", got, asks)
	want("three persons", got, limited)
	before := clock.Slot{Start: w.at.Add(5 * time.Minute), End: w.at.Add(time.Hour)}
	want("until the meeting begins", look(w.ann, Need{}, before), taken, "room_conflict") // its own buffer reaches into the meeting
	before.End = before.End.Add(-10 * time.Minute)
	want("until the buffer fits", look(w.ann, Need{}, before), taken)
	got = look(w.mona, Need{Features: []string{"video", "piano"}}, clock.Slot{Start: slot.Start.Add(10 * time.Minute), End: slot.End})
	want("with a piano", got, free, "features")
	want("with a piano", got, taken, "features", "features")
	w.book(t, w.ann, w.fields(5*time.Hour, limited))
	want("who comes there today", look(w.ann, Need{}, slot), limited, "quota")

	for name, s := range map[string]clock.Slot{"an end before the start": {Start: slot.End, End: slot.Start}, "more than a year": {Start: slot.Start, End: slot.Start.Add(366*24*time.Hour + 1)}} {
		if _, _, err := w.Availability(t.Context(), w.ann, AvailabilityQuery{Slot: s}, Page{}); !errors.As(err, new(*InvalidError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	found, _, err := w.Availability(t.Context(), w.ann, AvailabilityQuery{Slot: slot, OnlyFree: true}, Page{})
	if err != nil || len(found) != 2 {
		t.Errorf("free ones: %d, %v", len(found), err)
	}
}

// When the rooms that fit best are all taken, the others are looked at.
func TestSuggestions_looksFurther(t *testing.T) {
	w := newWorld(t)
	w.store.rooms = map[int64]*Room{}
	for range firstBatch + 1 {
		w.room(t, RoomFields{Name: new("Short"), Capacity: new(4), MaxDuration: new(30 * time.Minute)})
	}
	far := w.room(t, RoomFields{Name: new("Far"), Capacity: new(400)})
	found, err := w.Suggestions(t.Context(), w.ann, Need{}, time.Hour, clock.Slot{}, 2)
	if err != nil || len(found) != 2 || found[0].Room.ID != far.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := w.Suggestions(t.Context(), w.ann, Need{}, 1500*time.Millisecond, clock.Slot{}, 2); !errors.As(err, new(*InvalidError)) {
		t.Errorf("half a second: %v", err)
	}
	if found, err = w.Suggestions(t.Context(), w.ann, Need{Persons: 401}, time.Hour, clock.Slot{}, 2); err != nil || len(found) != 0 {
		t.Errorf("too many people: %+v, %v", found, err)
	}
}

// Every suggestion can be booked.
func TestSuggestions_areBookable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.store.rooms = map[int64]*Room{}
		for i := range rapid.IntRange(1, 4).Draw(rt, "rooms") {
			minutes := func(name string, most int) *time.Duration {
				return new(time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Minute)
			}
			f := RoomFields{
				Name: new(string(rune('A' + i))), Capacity: new(rapid.IntRange(0, 6).Draw(rt, "capacity")),
				BufferBefore: minutes("before", 20), BufferAfter: minutes("after", 20), MinNotice: minutes("notice", 300),
				ApprovalRequired: new(rapid.Bool().Draw(rt, "asks")),
			}
			if rapid.Bool().Draw(rt, "step") {
				f.Step = new(30 * time.Minute)
			}
			if rapid.Bool().Draw(rt, "hours") {
				f.OpeningHours = &[]policy.OpeningHours{{Days: []string{"WE", "TH", "FR"}, From: "08:00", To: "18:00"}}
			}
			w.room(t, f)
		}
		rooms, _, _ := w.store.ListRooms(t.Context(), RoomQuery{}, Page{})
		for range rapid.IntRange(0, 20).Draw(rt, "meetings") {
			at := time.Duration(rapid.IntRange(0, 48*4).Draw(rt, "at")) * 15 * time.Minute
			f := w.fields(at, rapid.SampledFrom(rooms).Draw(rt, "room"))
			_, _ = w.Book(t.Context(), w.bob, f) // some are refused
		}
		n := Need{Persons: rapid.IntRange(0, 4).Draw(rt, "persons")}
		length := time.Duration(rapid.IntRange(1, 20).Draw(rt, "length")) * 10 * time.Minute
		found, err := w.Suggestions(t.Context(), w.ann, n, length, clock.Slot{End: w.at.Add(72 * time.Hour)}, 10)
		if err != nil {
			rt.Fatal(err)
		}
		for _, s := range found {
			f := w.fields(0, s.Room)
			f.Start, f.End = new(clock.At(s.Slot.Start)), new(clock.At(s.Slot.End))
			f.Attendees = &[]Person{}
			for i := range n.Persons {
				*f.Attendees = append(*f.Attendees, Person{Email: string(rune('a'+i)) + "@example.org"})
			}
			m, err := w.Book(t.Context(), w.ann, f)
			if err != nil {
				rt.Fatalf("%s at %v: %v", s.Room.Name, s.Slot, err)
			}
			if pending := m.Status == Pending; pending != s.NeedsApproval {
				rt.Errorf("%s: pending is %v, needs approval %v", s.Room.Name, pending, s.NeedsApproval)
			}
			delete(w.store.meetings, m.ID) // each is offered by itself, not all of them together
		}
	})
}

// Where lengths count by clocks that are put back, those of a whole day by them pass over the change alone.
func TestRoom_lasting(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	change := time.Date(2027, 10, 31, 1, 0, 0, 0, time.UTC)
	whole := clock.Slot{Start: change.Add(-3 * day), End: change.Add(3 * day)}
	for _, tt := range []struct {
		name   string
		length time.Duration
		policy policy.Policy
		want   clock.Slot
	}{
		{"over the change alone", day + time.Hour, policy.Policy{MaxDuration: day}, clock.Slot{Start: change.Add(-day - time.Hour), End: change.Add(day + time.Hour)}},
		{"also elsewhere", day, policy.Policy{MinDuration: day}, whole},
		{"anywhere", time.Hour, policy.Policy{MaxDuration: day}, whole},
		{"nowhere", 2 * day, policy.Policy{MaxDuration: day}, clock.Slot{}},
		{"off the steps", 10 * time.Minute, policy.Policy{Step: 15 * time.Minute}, clock.Slot{}},
	} {
		r := &Room{Room: policy.Room{Zone: "Europe/Berlin", Policy: tt.policy}}
		if got := r.Lasting(tt.length, whole, policy.Limits{}); !got.Start.Equal(tt.want.Start) || !got.End.Equal(tt.want.End) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
