package itip

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/account/fault"
	"punctual/meeting/recurrence"
)

var update = flag.Bool("update", false, "write the golden files")

// horizon ends endless rules in tests.
var horizon = time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)

func mustRead(t testing.TB, text string) *Calendar {
	t.Helper()
	c, err := Read(strings.NewReader(text), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// described is all that matters of a calendar, as text.
func described(c *Calendar, loc *time.Location) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("method %q", c.Method)
	for _, o := range c.Objects {
		e := o.Head()
		sequence, stamp := o.Newest()
		line("\nline %d, %s", o.Line(), o.UID)
		line("  %q at %q, sequence %d of %s", e.Title, e.Location, sequence, stamp.Format(time.RFC3339))
		if e.Description != "" {
			line("  description %q", e.Description)
		}
		line("  organizer %q <%s>", e.Organizer.Name, e.Organizer.Email)
		for _, a := range e.Attendees {
			line("  attendee %q <%s> %s %s", a.Name, a.Email, a.Kind, a.Status)
		}
		line("  private %t, cancelled %t, transparent %t", e.Private, e.Cancelled, e.Transparent)
		for _, f := range o.Faults() {
			line("  fault in line %d: %s", f.Line, f.Message)
		}
		d, err := o.Dates(loc, horizon)
		if err != nil {
			line("  no dates: %v", err)
			continue
		}
		line("  zone %s, %s to %s", d.Zone, d.Slot.Start.Format(time.RFC3339), d.Slot.End.Format(time.RFC3339))
		if d.Set == nil {
			continue
		}
		line("  rule %s", d.Set.Rule)
		for _, x := range d.Set.Dates(recurrence.AllDates) {
			line("    %s to %s", x.Slot.Start.Format(time.RFC3339), x.Slot.End.Format(time.RFC3339))
		}
		for _, x := range d.Differs {
			title := "only its length differs"
			if x.Event != nil {
				title = x.Event.Title
			}
			line("    but %s: %s to %s, %s", x.Wall.Format("2006-01-02T15:04"), x.Slot.Start.Format(time.RFC3339), x.Slot.End.Format(time.RFC3339), title)
		}
	}
	return b.String()
}

// The calendars of each program are read as its users mean them.
func TestRead_programs(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.ics")
	if len(files) < 5 {
		t.Fatalf("only %d calendars", len(files))
	}
	berlin, _ := fault.Zone("Europe/Berlin")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for name, form := range map[string]string{
				"as it is": string(text), "with CRLF": strings.ReplaceAll(string(text), "\n", "\r\n"), "with a byte order mark": "\ufeff" + string(text),
			} {
				got := described(mustRead(t, form), berlin)
				golden := strings.TrimSuffix(file, ".ics") + ".golden"
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

// event is a calendar with one event.
func event(lines ...string) string {
	all := append([]string{"BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:1"}, lines...)
	return strings.Join(append(all, "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}

func TestRead_refuses(t *testing.T) {
	small := Limits{Size: 2_000, Events: 2, Components: 5, Depth: 3, Line: 100, Properties: 10}
	whole := event("DTSTART:20270210T090000Z", "DTEND:20270210T100000Z")
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "not an iCalendar"},
		{"another format", "BEGIN:VCARD\nEND:VCARD\n", "not an iCalendar"},
		{"a page", "<html>\n<a:b>\n", "not an iCalendar"},
		{"no end of the calendar", strings.TrimSuffix(whole, "END:VCALENDAR\r\n"), "cut off: END:VCALENDAR"},
		{"no end of the event", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\n", "cut off: END:VEVENT"},
		{"an end of something else", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VTODO\nEND:VCALENDAR\n", "does not match"},
		{"something after it", whole + "UID:2\n", "must be BEGIN:VCALENDAR"},
		{"too large", whole + strings.Repeat("\r\n", 2_000), "too large"},
		{"too many events", "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nEND:VEVENT\n", 3) + "END:VCALENDAR\n", "too many events"},
		{"too many components", "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VTODO\nEND:VTODO\n", 5) + "END:VCALENDAR\n", "too many components"},
		{"too many observances", "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\n" + strings.Repeat("BEGIN:STANDARD\nEND:STANDARD\n", 5), "too many components"},
		{"nested too deeply", "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:X\n", 5), "nested too deeply"},
		{"too long a line", event("SUMMARY:" + strings.Repeat("x", 100)), "SUMMARY is too long"},
		{"too long when unfolded", event("SUMMARY:x" + strings.Repeat("\n "+strings.Repeat("x", 20), 5)), "SUMMARY is too long"},
		{"too many properties", event(strings.Repeat("EXDATE:20270210\n", 10)), "too many properties"},
		{"a zone that is cut off", "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nBEGIN:STANDARD\nTZOFFSETTO:+0100\n", "cut off: END:STANDARD"},
	} {
		_, err := Read(strings.NewReader(c.text), small)
		if e, ok := errors.AsType[*SyntaxError](err); !ok || e.Line < 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader(event("ATTACH:"+strings.Repeat("x", 500))), small); err != nil {
		t.Errorf("a long attachment: %v", err)
	}
}

// A calendar that ends anywhere before its end is refused, whatever was read until then.
func TestRead_cutOffAnywhere(t *testing.T) {
	text, err := os.ReadFile("testdata/google.ics")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.TrimRight(string(text), "\n")
	for n := range len(whole) {
		if _, err := Read(strings.NewReader(whole[:n]), DefaultLimits); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(whole))
		}
	}
	mustRead(t, whole)
}

// What cannot be used is a fault of its event; all others are read.
func TestRead_faults(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  string
	}{
		{"", "DTSTART is missing"},
		{"DTSTART:tomorrow", "DTSTART: must be a date"},
		{"DTSTART:20270231T090000Z", "DTSTART: must be a date"},
		{"DTSTART:20270210T090000Z\nDTEND:20270210T25", "DTEND: must be a date"},
		{"DTSTART:20270210T090000Z\nDURATION:an hour", "DURATION: must be a duration"},
		{"DTSTART:20270210T090000Z\nDURATION:P", "DURATION: must be a duration"},
		{"DTSTART:20270210T090000Z\nDURATION:-PT1H", "DURATION: must not be negative"},
		{"DTSTART;TZID=Mars/Base:20270210T090000", `DTSTART: time zone "Mars/Base" is unknown`},
		{"DTSTART;TZID=Local:20270210T090000", `DTSTART: time zone "Local" is unknown`},
		{"DTSTART;TZID=/example.com/Mars/Base:20270210T090000", `time zone "/example.com/Mars/Base" is unknown`},
		{"DTSTART:20270210T090000Z\nDTEND;TZID=Mars/Base:20270210T100000", "DTEND: time zone"},
		{"DTSTART:20270210T090000Z\nEXDATE:x", "EXDATE: must be a date"},
		{"DTSTART:20270210T090000Z\nRDATE:20270211/x", "RDATE: must be a date"},
		{"DTSTART:20270210T090000Z\nEXRULE:FREQ=DAILY;COUNT=2", "EXRULE is not supported"},
		{"DTSTART:20270210T090000Z\nRECURRENCE-ID;RANGE=THISANDFUTURE:20270210T090000Z", "THISANDFUTURE"},
	} {
		o := mustRead(t, event(strings.Split(c.lines, "\n")...)).Objects[0]
		if fs := o.Faults(); len(fs) == 0 || !strings.Contains(fs[0].Message, c.want) || fs[0].Line < 2 {
			t.Errorf("%s: %+v, want %q", c.lines, fs, c.want)
		}
		if _, err := o.Dates(time.UTC, horizon); err == nil {
			t.Errorf("%s: has dates", c.lines)
		}
	}
}

// TestRead_lenient: a zone whose name has a colon without quotes is read, and a UID that is too long for a database gets
// another one, the same each time.
func TestRead_lenient(t *testing.T) {
	o := mustRead(t, event("DTSTART;TZID=tzone://Microsoft/Utc:20270210T090000", "DTEND;TZID=tzone://Microsoft/Utc:20270210T100000")).Objects[0]
	d, err := o.Dates(time.FixedZone("", 3600), horizon)
	if want := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC); err != nil || !d.Slot.Start.Equal(want) {
		t.Errorf("%+v %v", d, err)
	}
	var uids []string
	for _, last := range []string{"a", "a", "b"} {
		text := strings.Replace(event("DTSTART:20270210T090000Z"), "UID:1", "UID:"+strings.Repeat("x", 3000)+last, 1)
		uids = append(uids, mustRead(t, text).Objects[0].UID)
	}
	if uids[0] != uids[1] || uids[0] == uids[2] || len(uids[0]) > 100 {
		t.Errorf("UIDs %q", uids)
	}
}

func TestZones_names(t *testing.T) {
	for _, c := range []struct{ tzid, want string }{
		{"Europe/Berlin", "Europe/Berlin"},
		{"UTC", "UTC"},
		{"W. Europe Standard Time", "Europe/Berlin"},
		{"w. europe standard time", "Europe/Berlin"},
		{"Tokyo Standard Time", "Asia/Tokyo"},
		{"tzone://Microsoft/Utc", "UTC"},
		{"/freeassociation.sourceforge.net/Europe/Berlin", "Europe/Berlin"},
		{"/mozilla.org/20050126_1/America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"},
		{"/softwarestudio.org/Tzfile/Asia/Kolkata", "Asia/Kolkata"},
		{"/citadel.org/20070227_1/Europe/London", "Europe/London"},
	} {
		z, err := newZones().resolve(c.tzid, 2027)
		if err != nil || z.Name != c.want {
			t.Errorf("%s is %v (%v), want %s", c.tzid, z, err, c.want)
		}
	}
	byName, candidates := windows()
	if len(byName) < 130 {
		t.Errorf("%d names of Windows", len(byName))
	}
	for _, name := range candidates {
		if _, err := fault.Zone(name); err != nil {
			t.Errorf("the table of Windows: %v", err)
		}
	}
}

// A zone of the calendar's own has the offsets of its rules, however long ago they begin.
func TestZones_described(t *testing.T) {
	zone := func(from, to, standard, daylight string) string {
		return "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:mine\nBEGIN:STANDARD\n" + standard + "\nTZOFFSETFROM:" + to + "\nTZOFFSETTO:" + from + "\nEND:STANDARD\n" +
			"BEGIN:DAYLIGHT\n" + daylight + "\nTZOFFSETFROM:" + from + "\nTZOFFSETTO:" + to + "\nEND:DAYLIGHT\nEND:VTIMEZONE\n"
	}
	const last, first = "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"
	for _, c := range []struct {
		name, zone     string
		want           string
		winter, summer string // 12:00 of 10 January and July, in UTC
	}{
		{"from 1601", zone("+0100", "+0200", "DTSTART:16010101T030000\n"+last, "DTSTART:16010101T020000\n"+first), "Europe/Budapest", "11:00", "10:00"},
		{"from 1970", zone("+0100", "+0200", "DTSTART:19701025T030000\n"+last, "DTSTART:19700329T020000\n"+first), "Europe/Budapest", "11:00", "10:00"},
		{"days of the month", zone("-0800", "-0700", "DTSTART:20071104T020000\nRRULE:FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=1,2,3,4,5,6,7;BYDAY=SU",
			"DTSTART:20070311T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=SU"), "America/Los_Angeles", "20:00", "19:00"},
		{"no zone of IANA", zone("+0245", "+0345", "DTSTART:16010101T030000\n"+last, "DTSTART:16010101T020000\n"+first), "", "09:15", "08:15"},
		{"rules that ended", zone("+0100", "+0200", "DTSTART:19701025T030000\n"+last+";UNTIL=19991031T010000Z", "DTSTART:19700329T020000\n"+first+";UNTIL=19990328T010000Z"), "Africa/Lagos", "11:00", "11:00"},
		{"no rules", "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:mine\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0530\nTZOFFSETTO:+0530\nEND:STANDARD\nEND:VTIMEZONE\n", "Asia/Calcutta", "06:30", "06:30"},
		{"dates", "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:mine\nBEGIN:STANDARD\nDTSTART:20261101T020000\nTZOFFSETFROM:+0345\nTZOFFSETTO:+0245\nRDATE:20271101T020000\nEND:STANDARD\n" +
			"BEGIN:DAYLIGHT\nDTSTART:20270401T020000\nTZOFFSETFROM:+0245\nTZOFFSETTO:+0345\nEND:DAYLIGHT\nEND:VTIMEZONE\n", "", "09:15", "08:15"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := mustRead(t, c.zone+"BEGIN:VEVENT\nUID:1\nDTSTART;TZID=mine:20270110T120000\nDURATION:PT1H\nEND:VEVENT\n"+
				"BEGIN:VEVENT\nUID:2\nDTSTART;TZID=mine:20270710T120000\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR\n")
			for i, want := range []string{c.winter, c.summer} {
				e := cal.Objects[i].Head()
				if len(e.Faults) > 0 {
					t.Fatal(e.Faults)
				}
				if got := e.Start.In(nil).Format("15:04"); got != want {
					t.Errorf("begins at %s, want %s", got, want)
				}
				if offsets, wanted := e.Start.Zone.Name, c.want; offsets != wanted {
					t.Errorf("is %q, want %q", offsets, wanted)
				}
			}
		})
	}
}

// The newest of several events for the same date counts, wherever it stands.
func TestRead_newestCounts(t *testing.T) {
	version := func(title, sequence, stamp string, more ...string) string {
		return strings.Join(append(more, "UID:1", "SUMMARY:"+title, "SEQUENCE:"+sequence, "DTSTAMP:"+stamp, "DTSTART:20270210T090000Z", "DTEND:20270210T100000Z"), "\n")
	}
	versions := []string{version("old", "1", "20270103T000000Z"), version("new", "2", "20270101T000000Z"), version("newer", "2", "20270102T000000Z")}
	dates := []string{
		version("date", "1", "20270101T000000Z", "RECURRENCE-ID:20270217T090000Z"),
		version("same date", "3", "20270101T000000Z", "RECURRENCE-ID;TZID=Europe/Berlin:20270217T100000"),
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}} {
		text := "BEGIN:VCALENDAR\n"
		for _, i := range order {
			text += "BEGIN:VEVENT\n" + append(versions, dates...)[i] + "\nEND:VEVENT\n"
		}
		c := mustRead(t, text+"END:VCALENDAR\n")
		if len(c.Objects) != 1 || len(c.Objects[0].Overrides) != 1 {
			t.Fatalf("%d objects", len(c.Objects))
		}
		o := c.Objects[0]
		if o.Master.Title != "newer" || o.Overrides[0].Title != "same date" {
			t.Errorf("%v: %q and %q", order, o.Master.Title, o.Overrides[0].Title)
		}
		if sequence, stamp := o.Newest(); sequence != 3 || stamp.Day() != 2 {
			t.Errorf("newest is %d of %v", sequence, stamp)
		}
	}
}

// A date that is added has no ID of its own. It is known by its start from then on, also in answers.
func TestComponents_added(t *testing.T) {
	text := strings.Join([]string{
		"BEGIN:VCALENDAR", "METHOD:ADD", "BEGIN:VEVENT", "UID:1", "SEQUENCE:1", "DTSTART;TZID=Europe/Berlin:20270210T090000", "DURATION:PT1H", "END:VEVENT",
		"BEGIN:VEVENT", "UID:1", "SEQUENCE:1", "DTSTART:20270211T090000Z", "DTEND:20270211T100000Z", "END:VEVENT", "END:VCALENDAR", "",
	}, "\r\n")
	c := mustRead(t, text)
	if len(c.Objects) != 1 || c.Objects[0].Master != nil || len(c.Objects[0].Overrides) != 2 {
		t.Fatalf("%+v", c.Objects)
	}
	all := c.Components([]byte(text), "1")
	for i, want := range []string{"RECURRENCE-ID;TZID=Europe/Berlin:20270210T090000\r\n", "RECURRENCE-ID:20270211T090000Z\r\n"} {
		again := mustRead(t, all[i].Text).Objects[0]
		if !strings.Contains(all[i].Text, want) || len(again.Overrides) != 1 {
			t.Errorf("date %d is stored as\n%s", i, all[i].Text)
		}
		if reply := Reply(all[i].Text, Answer{Email: "room@example.org", Status: "ACCEPTED"}); !strings.Contains(reply, want) {
			t.Errorf("date %d is answered by\n%s", i, reply)
		}
	}
}

// No input makes the reader fail, or its dates contradict each other.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.ics")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(event("DTSTART;TZID=\"Europe/Berlin:20270210T090000", "DURATION:P1W2DT3H", "RDATE:20270211,20270212/PT1H", "RRULE:FREQ=YEARLY;BYDAY=53MO"))
	f.Add("BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\nDTSTART:00010101T000000\nTZOFFSETFROM:+2359\nTZOFFSETTO:-2359\nRRULE:FREQ=YEARLY;BYDAY=-1SU\nEND:STANDARD\nEND:VTIMEZONE\nEND:VCALENDAR")
	f.Add(event("DTSTART:00000101T0000", "DTEND:00000110T0000", "RRULE:FREQ=WEEKLY")) // no rule can be expanded from the year 0 on
	limits := Limits{Size: 20_000, Events: 20, Components: 50, Depth: 5, Line: 1_000, Properties: 50}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Read(strings.NewReader(text), limits)
		if err != nil {
			return
		}
		for _, o := range c.Objects {
			d, err := o.Dates(time.UTC, horizon)
			if err != nil {
				continue
			}
			if !d.Slot.Start.Before(d.Slot.End) {
				t.Errorf("%s ends at %v before it begins at %v", o.UID, d.Slot.End, d.Slot.Start)
			}
			if d.Set == nil {
				continue
			}
			there := map[int64]bool{}
			for _, x := range d.Set.Dates(recurrence.AllDates) {
				there[x.Wall.Unix()] = true
			}
			for _, x := range d.Differs {
				if !there[x.Wall.Unix()] {
					t.Errorf("%s: %v differs and is no date", o.UID, x.Wall)
				}
			}
		}
	})
}
