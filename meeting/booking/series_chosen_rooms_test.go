package booking_test

import (
	"errors"
	"slices"
	"testing"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

// Each choice is of one date that the change concerns, of which nothing else was chosen, and of
// rooms that there are.
func TestSeries_choices(t *testing.T) {
	w := newWorld(t)
	other := w.room(t, places.RoomFields{Name: new("Other")})
	first, second := "2027-02-11T09:00:00Z", "2027-02-18T10:00:00+01:00"
	choose := func(date string, ids ...int64) series.Choice {
		c := series.Choice{RoomIDs: ids}
		if date != "" {
			c.OriginalStart = new(clock.Parse(date))
		}
		return c
	}
	for name, tt := range map[string]struct {
		choices []series.Choice
		want    []string
	}{
		"one":             {[]series.Choice{choose(second, other.ID)}, nil},
		"each":            {[]series.Choice{choose(second, other.ID), choose(first, other.ID, w.desk.ID)}, nil},
		"a date twice":    {[]series.Choice{choose(first, other.ID), choose("2027-02-11T10:00:00", w.desk.ID)}, []string{"choices[1].original_start duplicate"}},
		"no date":         {[]series.Choice{choose("", other.ID)}, []string{"choices[0].original_start required"}},
		"another date":    {[]series.Choice{choose("2027-02-12T09:00:00Z", other.ID)}, []string{"choices[0].original_start unknown_date"}},
		"no time":         {[]series.Choice{choose("soon", other.ID)}, []string{"choices[0].original_start unknown_date"}},
		"no room":         {[]series.Choice{choose(first)}, []string{"choices[0].room_ids too_few"}},
		"an unknown room": {[]series.Choice{choose(first, other.ID, 99)}, []string{"choices[0].room_ids[1] unknown_room"}},
		"a room twice":    {[]series.Choice{choose(first, other.ID, other.ID)}, []string{"choices[0].room_ids[1] duplicate"}},
		"all at once": {[]series.Choice{choose(first), choose(first, 99), choose("", other.ID)},
			[]string{"choices[0].room_ids too_few", "choices[1].room_ids[0] unknown_room", "choices[1].original_start duplicate", "choices[2].original_start required"}},
	} {
		f := w.weekly("FREQ=WEEKLY;COUNT=2", w.desk)
		f.Choices = tt.choices
		r, err := w.series.Preview(t.Context(), w.ann, f)
		var got []string
		if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
			got = codes(e.Faults)
		} else if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if name == "each" {
			same(t, "rooms", roomsOn(r.Meetings), []string{"Other+Desk", "Other"})
		}
	}
}
