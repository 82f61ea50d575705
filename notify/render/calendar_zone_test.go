package render

import (
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"
)

// A described zone has the offset of every hour of two years, and what it calls DAYLIGHT is
// ahead of what it calls STANDARD, whatever the law calls it.
func TestTimezone(t *testing.T) {
	from, to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Africa/Casablanca", "Europe/Dublin",
		"Asia/Shanghai", "Asia/Kathmandu",
	} {
		loc := zone(name)
		type period struct {
			onset    time.Time
			offset   int
			daylight bool
		}
		var periods []period
		for _, c := range timezone(from.In(loc), to.In(loc)).Components {
			var base *ics.ComponentBase
			p := period{}
			switch c := c.(type) {
			case *ics.Daylight:
				base, p.daylight = &c.ComponentBase, true
			case *ics.Standard:
				base = &c.ComponentBase
			}
			text := func(p ics.Property) string { return base.GetProperty(ics.ComponentProperty(p)).Value }
			seconds := func(p ics.Property) int {
				at, err := time.Parse("-0700", text(p))
				if err != nil {
					t.Fatal(err)
				}
				_, s := at.Zone()
				return s
			}
			wall, err := time.Parse(localTime, text(ics.PropertyDtstart))
			if err != nil {
				t.Fatal(err)
			}
			p.onset, p.offset = wall.Add(-time.Duration(seconds(ics.PropertyTzoffsetfrom))*time.Second), seconds(ics.PropertyTzoffsetto)
			periods = append(periods, p)
		}
		for at, i := from, 0; at.Before(to); at = at.Add(time.Hour) {
			for i+1 < len(periods) && !at.Before(periods[i+1].onset) {
				i++
			}
			if _, want := at.In(loc).Zone(); periods[i].offset != want || at.Before(periods[i].onset) {
				t.Fatalf("%s at %v: offset %d, want %d", name, at, periods[i].offset, want)
			}
		}
		for i := 1; i < len(periods); i++ {
			if periods[i].offset == periods[i-1].offset {
				continue
			}
			if ahead := periods[i].offset > periods[i-1].offset; periods[i].daylight != ahead || periods[i-1].daylight == ahead {
				t.Errorf("%s: daylight %v with offset %d after daylight %v with %d", name, periods[i].daylight, periods[i].offset, periods[i-1].daylight, periods[i-1].offset)
			}
		}
	}
}
