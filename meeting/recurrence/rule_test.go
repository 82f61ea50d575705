package recurrence

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting/clock"
)

func TestParseRule_faults(t *testing.T) {
	for _, c := range []struct{ rule, code, names string }{
		{"", "required", ""},
		{"COUNT=3", "required", "FREQ"},
		{"FREQ=WEEKLY", "endless", "COUNT"},
		{"FREQ=FORTNIGHTLY;COUNT=3", "invalid_part", "FREQ"},
		{"FREQ=HOURLY;COUNT=3", "sub_daily", "FREQ"},
		{"FREQ=MINUTELY;COUNT=3", "sub_daily", "FREQ"},
		{"FREQ=DAILY;COUNT=3;BYHOUR=9,10", "sub_daily", "BYHOUR"},
		{"FREQ=DAILY;COUNT=0", "invalid_part", "COUNT"},
		{"FREQ=DAILY;COUNT=-1", "invalid_part", "COUNT"},
		{"FREQ=DAILY;COUNT=+1", "invalid_part", "COUNT"},
		{"FREQ=DAILY;COUNT=99999999999999999999", "invalid_part", "COUNT"},
		{"FREQ=DAILY;COUNT=2;INTERVAL=0", "invalid_part", "INTERVAL"},
		{"FREQ=DAILY;COUNT=2;UNTIL=20270301", "contradiction", "UNTIL"},
		{"FREQ=DAILY;COUNT=2;COUNT=3", "duplicate_part", "COUNT"},
		{"FREQ=DAILY;COUNT=2;BYEASTER=0", "unknown_part", "BYEASTER"},
		{"FREQ=DAILY;COUNT=2;nonsense", "invalid_part", "NONSENSE"},
		{"FREQ=DAILY;COUNT=", "invalid_part", "COUNT"},
		{"FREQ=DAILY;UNTIL=20270231", "invalid_part", "UNTIL"},
		{"FREQ=DAILY;UNTIL=2027-02-28", "invalid_part", "UNTIL"},
		{"FREQ=WEEKLY;COUNT=2;BYDAY=XX", "invalid_part", "BYDAY"},
		{"FREQ=WEEKLY;COUNT=2;BYDAY=", "invalid_part", "BYDAY"},
		{"FREQ=WEEKLY;COUNT=2;BYDAY=2MO", "contradiction", "BYDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYDAY=0MO", "invalid_part", "BYDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYDAY=6MO", "contradiction", "BYDAY"},
		{"FREQ=YEARLY;COUNT=2;BYMONTH=3;BYDAY=-6MO", "contradiction", "BYDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYDAY=99MO", "invalid_part", "BYDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYMONTHDAY=0", "invalid_part", "BYMONTHDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYMONTHDAY=32", "invalid_part", "BYMONTHDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYMONTH=13", "invalid_part", "BYMONTH"},
		{"FREQ=MONTHLY;COUNT=2;BYMONTH=-1", "invalid_part", "BYMONTH"},
		{"FREQ=WEEKLY;COUNT=2;BYMONTHDAY=3", "contradiction", "BYMONTHDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYYEARDAY=3", "contradiction", "BYYEARDAY"},
		{"FREQ=MONTHLY;COUNT=2;BYWEEKNO=3", "contradiction", "BYWEEKNO"},
		{"FREQ=YEARLY;COUNT=2;BYWEEKNO=3;BYDAY=1MO", "contradiction", "BYDAY"},
		{"FREQ=DAILY;COUNT=2;BYSETPOS=1", "contradiction", "BYSETPOS"},
		{"FREQ=YEARLY;COUNT=2;BYWEEKNO=3;BYSETPOS=1", "unsupported", "BYWEEKNO"},
		{"FREQ=DAILY;COUNT=2;WKST=8", "invalid_part", "WKST"},
		{strings.Repeat("FREQ=DAILY;", 60), "too_long", ""},
	} {
		r, found := ParseRule(c.rule)
		if r != nil || len(found) == 0 {
			t.Errorf("%q was taken", c.rule)
			continue
		}
		if f := found[0]; f.Location != "" || f.Code != c.code || !strings.Contains(f.Message, c.names) {
			t.Errorf("%q: %+v, want code %s naming %s", c.rule, f, c.code, c.names)
		}
	}
}

func TestParseRule_allFaultsAtOnce(t *testing.T) {
	_, found := ParseRule("FREQ=HOURLY;INTERVAL=0;COUNT=0;UNTIL=x;BYDAY=AA,MO,BB")
	var codes []string
	for _, f := range found {
		codes = append(codes, f.Code)
	}
	want := []string{"sub_daily", "invalid_part", "invalid_part", "invalid_part", "invalid_part", "invalid_part", "contradiction"}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
}

func TestRule_String(t *testing.T) {
	r, found := ParseRule(" rrule:freq=weekly;byday=mo,we; ")
	if r != nil || len(found) != 1 {
		t.Fatalf("%v, %v", r, found)
	}
	r, found = ParseRule("rrule:freq=weekly;count=10;byday=mo,we;")
	if len(found) > 0 || r.String() != "FREQ=WEEKLY;COUNT=10;BYDAY=MO,WE" {
		t.Fatalf("%v, %v", r, found)
	}
	if got := r.withEnd("UNTIL", "20270301T090000").String(); got != "FREQ=WEEKLY;UNTIL=20270301T090000;BYDAY=MO,WE" {
		t.Error(got)
	}
}

// wallOf reads a time as clocks show it.
func wallOf(t testing.TB, s string) time.Time {
	t.Helper()
	w, ok := WallTimeOf(clock.ParseDate(s), time.UTC)
	if !ok {
		t.Fatalf("%q is not a time", s)
	}
	return w.Time
}

// newSet is the recurrence set of a meeting of an hour.
func newSet(t testing.TB, start, zone, rule string) *Set {
	t.Helper()
	r, found := ParseRule(rule)
	if len(found) > 0 {
		t.Fatalf("%s: %v", rule, found)
	}
	begin := wallOf(t, start)
	return &Set{Start: begin, End: begin.Add(time.Hour), Zone: clock.ZoneOrUTC(zone), Rule: r}
}
