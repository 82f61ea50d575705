package gormstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

// A booking that was judged by settings of a room or its site that changed since is refused, so
// that it is judged again.
func TestUpdateRoom_bookingsJudgedBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Berlin", Timezone: "Europe/Berlin", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		changes := map[string]func(*meeting.Room){
			"active":   func(r *meeting.Room) { r.Active = false },
			"capacity": func(r *meeting.Room) { r.Capacity = 3 },
			"timezone": func(r *meeting.Room) { r.Timezone = "Asia/Tokyo" },
			"site":     func(r *meeting.Room) { r.SiteID = 0 },
			"check-in": func(r *meeting.Room) { r.CheckIn = meeting.CheckIn{Required: true, Grace: time.Minute} },
			"opening hours": func(r *meeting.Room) {
				r.Policy.OpeningHours = []policy.OpeningHours{{Days: []string{"MO"}, From: "08:00", To: "09:00"}}
			},
			"buffer":             func(r *meeting.Room) { r.Policy.BufferAfter = time.Minute },
			"approval":           func(r *meeting.Room) { r.Approval.Required = true },
			"approvers":          func(r *meeting.Room) { r.Approval.ApproverIDs = []int64{f.manager.ID} },
			"timezone of a site": nil,
		}
		for name, change := range changes {
			t.Run(name, func(t *testing.T) {
				room := f.room(name, func(r *meeting.Room) { r.SiteID = site.ID })
				seen, err := f.store.Rooms(t.Context(), []int64{room.ID})
				if err != nil {
					t.Fatal(err)
				}
				if change != nil {
					_, err = f.store.UpdateRoom(t.Context(), room.ID, func(r *meeting.Room) error { change(r); return nil })
				} else {
					_, err = f.store.UpdateSite(t.Context(), site.ID, func(s *meeting.Site) error { s.Timezone = "Asia/Tokyo"; return nil })
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.create(terms(slot("10:00", "11:00"), seen...), f.anna); !errors.Is(err, meeting.ErrRoomsChanged) {
					t.Errorf("booked by the earlier settings: %v", err)
				}
				if seen, err = f.store.Rooms(t.Context(), []int64{room.ID}); err != nil {
					t.Fatal(err)
				}
				if _, err := f.create(terms(slot("10:00", "11:00"), seen...), f.anna); err != nil {
					t.Errorf("booked by the settings in force: %v", err)
				}
			})
		}
	})
}

// Once a room is inactive, no booking that was under way is saved in it.
func TestUpdateRoom_inactiveAgainstBookings(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		for round := range 10 {
			room := f.room("Closing soon")
			day := meeting.MeetingQuery{RoomID: room.ID, From: now, To: now.AddDate(1, 0, 0)}
			var before []*meeting.Meeting
			errs := together(9, func(i int) (err error) {
				if i == 0 {
					if _, err = l.svc.places.UpdateRoom(t.Context(), f.admin, room.ID, nil, places.RoomFields{Active: new(false)}); err == nil {
						before, _, err = f.store.ListMeetings(t.Context(), day, meeting.Page{Limit: 500})
					}
					return err
				}
				for n := 0; ; n++ { // until the room is refused
					if _, err := l.svc.Book(t.Context(), f.anna, wish(on(8*n+i, "10:00", "11:00"), room)); err != nil {
						return err
					}
				}
			})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			for _, err := range errs[1:] {
				p, _ := errors.AsType[*meeting.PolicyError](err)
				if p == nil || !slices.ContainsFunc(p.Violations, func(v meeting.Fault) bool { return v.Code == "room_inactive" }) {
					t.Errorf("round %d: refused by %v", round, err)
				}
			}
			after, _, err := f.store.ListMeetings(t.Context(), day, meeting.Page{Limit: 500})
			if err != nil || len(after) != len(before) {
				t.Fatalf("round %d: %d meetings when the change was answered, %d afterwards, %v", round, len(before), len(after), err)
			}
		}
	})
}
