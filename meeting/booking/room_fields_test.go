package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

// Rules of a room that leave nothing to book are refused, with the place.
func TestService_rulesThatContradict(t *testing.T) {
	w := newWorld(t)
	r := w.room(t, places.RoomFields{Name: new("Lab"), Step: new(time.Hour), MinDuration: new(30 * time.Minute)})
	day := policy.OpeningHours{Days: []string{"MO"}, From: "08:00", To: "20:00"}
	for _, tt := range []struct {
		name string
		f    places.RoomFields
		want []string
	}{
		{"no step fits", places.RoomFields{MaxDuration: new(45 * time.Minute)}, []string{"policy.step contradiction"}},
		{"none in between", places.RoomFields{MinDuration: new(70 * time.Minute), MaxDuration: new(110 * time.Minute)}, []string{"policy.step contradiction"}},
		{"just one", places.RoomFields{MinDuration: new(60 * time.Minute), MaxDuration: new(60 * time.Minute)}, nil},
		{"one is not a multiple of the other", places.RoomFields{MinDuration: new(70 * time.Minute), MaxDuration: new(125 * time.Minute)}, nil},
		{"the same day twice", places.RoomFields{OpeningHours: &[]policy.OpeningHours{{Days: []string{"MO", "TU", "MO"}, From: "08:00", To: "20:00"}}}, []string{"policy.opening_hours[0].days[2] duplicate"}},
		{"two spans a day", places.RoomFields{OpeningHours: &[]policy.OpeningHours{day, day}}, nil},
		{"ends that are no times", places.RoomFields{OpeningHours: &[]policy.OpeningHours{{Days: day.Days, From: "24:00", To: "06:00"}}}, []string{"policy.opening_hours[0].from invalid_time"}},
		{"a quota of nothing", places.RoomFields{Quota: &policy.Quota{Count: 2}}, []string{"policy.quota.per required"}},
		{"a quota of less", places.RoomFields{Quota: &policy.Quota{Per: policy.PerDay, Count: -1}}, []string{"policy.quota.count out_of_range"}},
		{"a step that does not divide a day", places.RoomFields{Step: new(7 * time.Hour), MaxDuration: new(time.Duration(0))}, []string{"policy.step contradiction"}},
		{"longest before shortest", places.RoomFields{MinDuration: new(3 * time.Hour), MaxDuration: new(2 * time.Hour)}, []string{"policy.min_duration contradiction"}},
		{"notice beyond the window", places.RoomFields{MinNotice: new(2 * time.Hour), MaxAdvance: new(time.Hour)}, []string{"policy.min_notice contradiction"}},
	} {
		_, err := w.places.UpdateRoom(t.Context(), w.root, r.ID, nil, tt.f)
		var got []string
		if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
			got = codes(e.Faults)
		} else if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
