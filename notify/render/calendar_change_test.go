package render

import (
	"archive/zip"
	"errors"
	"go/build"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/notify"
)

// Every instant around every change of clocks from 2026 to 2028, in every zone of the tz database,
// is what a reader makes of the calendar's text alone.
func TestCalendar_readsBackAtEveryChange(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
	changes := 0
	for _, name := range zoneNames(t) {
		loc := zone(name)
		if loc == nil {
			t.Errorf("%s cannot be loaded", name)
			continue
		}
		_, at := from.In(loc).ZoneBounds()
		for ; !at.IsZero() && at.Before(to); _, at = at.ZoneBounds() {
			changes++
			for _, minutes := range []int{-25 * 60, -90, -60, -30, -15, 0, 15, 30, 59, 60, 90, 25 * 60} {
				start := at.Add(time.Duration(minutes) * time.Minute)
				n := sample(notify.Invitation, "en")
				n.Facts.Timezone, n.Facts.Start, n.Facts.End = name, start, start.Add(45*time.Minute)
				text, _ := r.calendar(n)
				c := readCalendar(t, text)
				for property, want := range map[string]time.Time{"DTSTART": n.Facts.Start, "DTEND": n.Facts.End} {
					got, err := c.instant(property)
					if err != nil || !got.Equal(want) {
						t.Fatalf("%s: %s of %v reads as %v (%v)\n%s", name, property, want.UTC(), got.UTC(), err, text)
					}
				}
			}
		}
	}
	if changes < 1000 {
		t.Errorf("%d changes of clocks, want those of some 150 zones with summer time in three years", changes)
	}
}

func zoneNames(t *testing.T) []string {
	t.Helper()
	database, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	var names []string
	for _, f := range database.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	return names
}

// calendarText is a calendar of one event as a reader sees it that knows no zones.
type calendarText struct {
	observances []observed
	event       []string
}

// observed is what a VTIMEZONE says: from some local time on clocks are ahead of UTC by that much.
type observed struct {
	begin  time.Time // as clocks showed it before
	before time.Duration
	after  time.Duration
}

func readCalendar(t *testing.T, text string) (c calendarText) {
	t.Helper()
	var now observed
	inEvent := false
	for l := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n ", ""), "\r\n", "\n"), "\n") {
		name, value, _ := strings.Cut(l, ":")
		var err error
		switch {
		case l == "BEGIN:STANDARD", l == "BEGIN:DAYLIGHT":
			now = observed{}
		case l == "END:STANDARD", l == "END:DAYLIGHT":
			c.observances = append(c.observances, now)
		case l == "BEGIN:VEVENT":
			inEvent = true
		case inEvent:
			c.event = append(c.event, l)
		case name == "DTSTART":
			now.begin, err = time.Parse("20060102T150405", value)
		case name == "TZOFFSETFROM":
			now.before, err = offsetOf(value)
		case name == "TZOFFSETTO":
			now.after, err = offsetOf(value)
		}
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
	}
	return c
}

func offsetOf(text string) (time.Duration, error) {
	n, err := strconv.Atoi(text[1:])
	if len(text) == 5 {
		n *= 100
	}
	d := time.Duration(n/10000)*time.Hour + time.Duration(n/100%100)*time.Minute + time.Duration(n%100)*time.Second
	if text[0] == '-' {
		d = -d
	}
	return d, err
}

// instant of a property of the event. A local time is the first instant at which the described
// clocks show it; nothing is known of the time before the first observance.
func (c calendarText) instant(property string) (time.Time, error) {
	for _, l := range c.event {
		name, value, _ := strings.Cut(l, ":")
		if name, _, _ = strings.Cut(name, ";"); name != property {
			continue
		}
		if strings.HasSuffix(value, "Z") {
			return time.Parse("20060102T150405Z", value)
		}
		local, err := time.Parse("20060102T150405", value)
		if err != nil {
			return local, err
		}
		if len(c.observances) == 0 || local.Before(c.observances[0].begin) {
			return local, errors.New("is before the first observance of the zone")
		}
		for i, o := range c.observances {
			at := local.Add(-o.after)
			begun := !at.Before(o.begin.Add(-o.before))
			over := i+1 < len(c.observances) && !at.Before(c.observances[i+1].begin.Add(-c.observances[i+1].before))
			if begun && !over {
				return at, nil
			}
		}
		return local, errors.New("is shown by no clock")
	}
	return time.Time{}, errors.New("is not there")
}
