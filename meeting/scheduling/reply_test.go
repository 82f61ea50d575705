package scheduling

import (
	"strings"
	"testing"
	"time"

	"punctual/meeting/itip"
)

// An answer names the zone of its times if the clock of the event differs from it at that time.
func TestZoneOfTimes(t *testing.T) {
	t.Parallel()
	event := &event{words: english, zoneName: "Europe/Berlin"}
	for zone, differs := range map[string]bool{"Europe/Berlin": false, "Europe/Paris": false, "America/New_York": true} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		calendar, err := itip.Read(strings.NewReader("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20270301T090000\r\nDTEND:20270301T100000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"), itip.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		floating := calendar.Objects[0].Master.Start
		if got := event.zoneOfTimes(floating, loc); strings.Contains(got, zone) != differs {
			t.Errorf("in %s: %q", zone, got)
		}
		floating.Day = true
		if got := event.zoneOfTimes(floating, loc); got != "" {
			t.Errorf("a whole day in %s: %q", zone, got)
		}
	}
}
