package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/app"
	"punctual/meeting"
	"punctual/meeting/places"
)

// install makes an installation in a folder of its own, with a user and two rooms.
func install(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if _, err := runCommand(t, "a long password\n", "user", "add", "--name", "Ada, the first", "--role", "admin", "--password-stdin", "--email", "ada@example.org"); err != nil {
		t.Fatal(err)
	}
	c := &cli{stderr: io.Discard}
	root := c.root()
	root.SetOut(io.Discard)
	root.SetArgs([]string{})               // not those of the test
	if err := root.Execute(); err != nil { // sets the defaults of flags
		t.Fatal(err)
	}
	err := c.withApplication(t.Context(), func(a *app.Application) error {
		for _, name := range []string{"Turing", "Hopper, large"} {
			if _, err := a.Places().CreateRoom(t.Context(), meeting.Actor{Kind: meeting.ActorSystem}, places.RoomFields{Name: &name}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// randomCalendar has series, some with changed dates, and single events, each in a month of its own.
func randomCalendar(r *rand.Rand) string {
	first := time.Now().UTC().AddDate(0, -2, 0).Truncate(24 * time.Hour)
	rules := []string{"", "RRULE:FREQ=DAILY;COUNT=6", "RRULE:FREQ=WEEKLY;COUNT=4", "RRULE:FREQ=DAILY;INTERVAL=3;COUNT=5"}
	text := "BEGIN:VCALENDAR\r\n"
	for i := range 8 {
		start := first.AddDate(0, i, r.IntN(5)).Add(time.Duration(r.IntN(23*60)) * time.Minute)
		zone := []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"}[r.IntN(4)]
		at := func(t time.Time) string { return ";TZID=" + zone + ":" + t.Format("20060102T150405") }
		lines := []string{
			"BEGIN:VEVENT", fmt.Sprintf("UID:%d", i), fmt.Sprintf("SUMMARY:Meeting %d\\, with a comma", i), "ORGANIZER:mailto:ada@example.org",
			"LOCATION:" + []string{"Turing", "Hopper\\, large", "Turing\\, Hopper\\, large"}[r.IntN(2)], "DESCRIPTION:First line\\nsecond; line",
			"ATTENDEE;CN=Ben;PARTSTAT=TENTATIVE:mailto:ben@example.org", "CLASS:" + []string{"PUBLIC", "PRIVATE"}[r.IntN(2)],
			"DTSTART" + at(start), "DTEND" + at(start.Add(45*time.Minute)),
		}
		if rule := rules[r.IntN(len(rules))]; rule != "" {
			lines = append(lines, rule)
			if r.IntN(2) == 0 {
				lines = append(lines, "EXDATE"+at(start.AddDate(0, 0, 3)))
			}
		}
		text += strings.Join(append(lines, "END:VEVENT", ""), "\r\n")
		if i == 0 || r.IntN(2) == 0 { // one of the first dates differs
			continue
		}
		second := map[string]int{"RRULE:FREQ=DAILY;COUNT=6": 1, "RRULE:FREQ=WEEKLY;COUNT=4": 7}
		for _, line := range lines {
			if days := second[line]; days > 0 {
				day := start.AddDate(0, 0, days)
				text += strings.Join([]string{
					"BEGIN:VEVENT", fmt.Sprintf("UID:%d", i), "SUMMARY:Changed", "ORGANIZER:mailto:ada@example.org", "LOCATION:Turing", "RECURRENCE-ID" + at(day),
					"DTSTART" + at(day.Add(time.Hour)), "DTEND" + at(day.Add(2*time.Hour)), "END:VEVENT", "",
				}, "\r\n")
			}
		}
	}
	return text + "END:VCALENDAR\r\n"
}

// own is what differs between installations.
var own = regexp.MustCompile(`(?m)^(UID|DTSTAMP|LAST-MODIFIED|SEQUENCE|URL|X-WR-CALDESC):.*\r\n( .*\r\n)*`)

// What is exported can be imported into an empty installation, and is the same there.
func TestCommands_exportAndImport(t *testing.T) {
	const seed = 2420 // all zones, rules, and changes, and times of day at which no clock changes: dates are relative to today
	file := filepath.Join(t.TempDir(), "all.ics")
	calendar := randomCalendar(rand.New(rand.NewPCG(seed, 0)))
	if err := os.WriteFile(file, []byte(calendar), 0o600); err != nil {
		t.Fatal(err)
	}
	var exported []string
	for range 2 {
		install(t)
		if out, err := runCommand(t, "", "import", "ics", file); err != nil || !strings.Contains(out, " created.") {
			t.Fatalf("seed %d: %s %v", seed, out, err)
		}
		if out, err := runCommand(t, "", "import", "ics", file); err != nil || !strings.Contains(out, " unchanged.") || strings.Contains(out, "created") {
			t.Fatalf("seed %d, again: %s %v", seed, out, err)
		}
		out, err := runCommand(t, "", "export", "ics", "--all")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		events := strings.Split(own.ReplaceAllString(out, ""), "BEGIN:VEVENT")
		slices.Sort(events)
		exported = append(exported, strings.Join(events, "\n"))
	}
	if n := strings.Count(exported[0], "SUMMARY"); n < 8 {
		t.Errorf("exported %d events", n)
	}
	if given, got := strings.Count(calendar, "RRULE:"), strings.Count(exported[0], "RRULE:"); got != given {
		t.Errorf("seed %d: %d series were exported as %d", seed, given, got)
	}
	if diff := cmp.Diff(exported[0], exported[1]); diff != "" {
		t.Errorf("seed %d: %s", seed, diff)
	}
	for _, c := range []struct{ args, want string }{
		{"export ics", "one of --room, --user and --all"},
		{"export ics --all --room Turing", "one of --room, --user and --all"},
		{"export ics --room Moon", `no room is named "Moon"`},
		{"export ics --user nobody@example.org", "no user has the address"},
		{"export ics --all --from yesterday", "must be a date"},
		{"import ics missing.ics", "no such file"},
		{"import ics . ", "has no .ics files"},
		{"import ics - --on-conflict maybe", "must be fail, skip or other_room"},
		{"import ics - --room Moon", "not an iCalendar"},
	} {
		if _, err := runCommand(t, "", strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}
