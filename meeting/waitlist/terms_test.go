package waitlist

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// What was asked for is asked for again, word for word.
func TestWished_fields(t *testing.T) {
	start := time.Date(2027, 3, 28, 0, 30, 0, 0, time.UTC) // an hour before clocks change in Berlin
	asked := meeting.Terms{
		Title: "Review", Description: "x", Slot: clock.Slot{Start: start, End: start.Add(2 * time.Hour)}, Timezone: "Europe/Berlin",
		Rooms: []*meeting.Room{{Room: policy.Room{ID: 3, Name: "Turing"}}}, Attendees: []meeting.Attendee{{Person: meeting.Person{Email: "b@example.org", Name: "B"}, Response: meeting.NeedsAction}},
		Reminders: []meeting.Reminder{{Before: meeting.BeforeStart, Offset: time.Minute, Channels: []meeting.Channel{meeting.Email}}}, Visibility: meeting.Private,
	}
	f := fieldsOf(meeting.NewWait(asked, meeting.Actor{}, time.Time{}, start).Wished)
	got, err := f.Terms(nil, booking.Known{Rooms: asked.Rooms, Timezone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Title != asked.Title || got.Description != asked.Description || got.Slot != asked.Slot || got.Timezone != asked.Timezone ||
		got.Visibility != asked.Visibility || !slices.Equal(got.Attendees, asked.Attendees) || !meeting.SameReminders(got.Reminders, asked.Reminders) || got.DefaultReminders {
		t.Errorf("got %+v", got)
	}
	asked.DefaultReminders = true
	f = fieldsOf(meeting.NewWait(asked, meeting.Actor{}, time.Time{}, start).Wished)
	if got, err := f.Terms(nil, booking.Known{Rooms: asked.Rooms, Timezone: "UTC"}); err != nil || !got.DefaultReminders || len(got.Reminders) != 0 {
		t.Errorf("the installation's reminders: %+v, %v", got, err)
	}
}

func TestRefusal(t *testing.T) {
	rules := &meeting.PolicyError{Violations: []meeting.Fault{{Message: "Turing is closed"}, {Message: "Turing is small"}}}
	for _, c := range []struct {
		err            error
		reason, detail string
	}{
		{rules, meeting.ReasonRules, "Turing is closed; Turing is small"},
		{&meeting.InvalidError{Faults: []meeting.Fault{{Message: "room 3 does not exist"}}}, meeting.ReasonRules, "room 3 does not exist"},
		{errInactive, meeting.ReasonAccount, ""},
		{&meeting.ConflictError{}, "", ""},
		{errors.New("the database is down"), "", ""},
		{nil, "", ""},
	} {
		if reason, detail := refusal(c.err); reason != c.reason || detail != c.detail {
			t.Errorf("%v: %q, %q", c.err, reason, detail)
		}
	}
}
