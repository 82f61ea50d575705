package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"punctual/notify"
)

// A calendar of several zones describes each from its first event to its last, and can be read.
func TestRenderer_Calendar(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	summer := time.Date(2027, 7, 1, 7, 0, 0, 0, time.UTC)
	events := []Event{
		{MeetingID: 1, Title: "Winter; \"quoted\"", Description: "a\nb", Start: start, End: start.Add(time.Hour), Timezone: "Europe/Berlin", Rooms: []string{"Turing", "Hopper"},
			Organizer: notify.Contact{Name: "O'Brien, Conan", Email: "conan@example.org"}, Sequence: 3, ChangedAt: start.Add(-time.Hour)},
		{MeetingID: 2, Title: "Summer", Start: summer, End: summer.Add(time.Hour), Timezone: "Europe/Berlin", Tentative: true, ChangedAt: start},
		{MeetingID: 3, Title: "Nowhere", Start: start, End: start.Add(time.Hour), Timezone: "UTC", ChangedAt: start},
		{MeetingID: 4, Title: "Far", Start: start, End: start.Add(time.Hour), Timezone: "Asia/Shanghai", ChangedAt: start},
	}
	body := r.Calendar("Ada, Lovelace", events, start)
	if again := r.Calendar("Ada, Lovelace", events, start); !bytes.Equal(body, again) {
		t.Error("the same is not the same")
	}
	cal, err := ics.ParseCalendar(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if zones := cal.Timezones(); len(zones) != 2 || len(zones[1].Components) < 2 {
		t.Errorf("%d zones", len(zones))
	}
	for i, e := range cal.Events() {
		at, err := e.GetStartAt()
		if err != nil || !at.Equal(events[i].Start) {
			t.Errorf("%s begins %v, want %v (%v)", events[i].Title, at, events[i].Start, err)
		}
	}
	for _, want := range []string{"STATUS:TENTATIVE", "DTSTART;TZID=Europe/Berlin:20270701T090000", "LOCATION:Turing\\, Hopper", "UID:meeting-1@", "METHOD:PUBLISH", "X-WR-CALDESC:Meetings up to 2027-02-10"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}
