package clock

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime_bothChangesOfTheClock(t *testing.T) {
	tests := []struct {
		zone, local, want string // want "": clocks skip it
	}{
		{"Europe/Berlin", "2027-03-28T01:59:59", "2027-03-28T00:59:59Z"},
		{"Europe/Berlin", "2027-03-28T02:00:00", ""},
		{"Europe/Berlin", "2027-03-28T02:59:59", ""},
		{"Europe/Berlin", "2027-03-28T03:00:00", "2027-03-28T01:00:00Z"},
		{"Europe/Berlin", "2027-10-31T02:30:00", "2027-10-31T00:30:00Z"},
		{"Europe/Berlin", "2027-10-31T03:00:00", "2027-10-31T02:00:00Z"},

		{"America/New_York", "2027-03-14T02:30", ""},
		{"America/New_York", "2027-03-14T03:00", "2027-03-14T07:00:00Z"},
		{"America/New_York", "2027-11-07T01:30", "2027-11-07T05:30:00Z"},
		{"America/New_York", "2027-11-07T02:00", "2027-11-07T07:00:00Z"},

		// Half an hour, and clocks go back in April.
		{"Australia/Lord_Howe", "2027-10-03T02:15:00", ""},
		{"Australia/Lord_Howe", "2027-10-03T02:30:00", "2027-10-02T15:30:00Z"},
		{"Australia/Lord_Howe", "2027-04-04T01:45:00", "2027-04-03T14:45:00Z"},

		// At midnight: the day begins at 01:00, or has its last hour twice.
		{"Africa/Cairo", "2027-04-30T00:30:00", ""},
		{"Africa/Cairo", "2027-04-30T01:00:00", "2027-04-29T22:00:00Z"},
		{"Africa/Cairo", "2027-10-28T23:30:00", "2027-10-28T20:30:00Z"},
		{"America/Santiago", "2027-09-05T00:30:00", ""},
		{"America/Santiago", "2027-04-03T23:30:00", "2027-04-04T02:30:00Z"},

		// Back for Ramadan and forth after it.
		{"Africa/Casablanca", "2027-02-07T02:30:00", "2027-02-07T01:30:00Z"},
		{"Africa/Casablanca", "2027-03-14T02:30:00", ""},

		// A whole day was skipped.
		{"Pacific/Apia", "2011-12-30T12:00:00", ""},
		{"Asia/Kolkata", "2027-01-01T05:30:00.25", "2027-01-01T00:00:00.25Z"},
		{"UTC", "2027-02-28T23:59:59.9999999", "2027-02-28T23:59:59.999999Z"},

		// With an offset the zone does not count.
		{"Europe/Berlin", "2027-03-28T02:30:00+05:45", "2027-03-27T20:45:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.zone+" "+tt.local, func(t *testing.T) {
			got, err := Parse(tt.local).In(ZoneOrUTC(tt.zone))
			if tt.want == "" {
				if _, ok := errors.AsType[*GapError](err); !ok {
					t.Fatalf("got %v, %v; want a GapError", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := got.At.Format(time.RFC3339Nano); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

func TestParseTime_refuses(t *testing.T) {
	for _, s := range []string{"", "now", "2027-02-30T10:00:00Z", "2027-02-10", "2027-02-10 10:00:00", "2027-02-10T25:00:00", "2027-02-10T10:00:60Z", "1770000000", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00", "0001-01-01T00:00:00+01:00", "9999-12-31T23:00:00-02:00"} {
		if got, err := Parse(s).In(time.UTC); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

// Whatever clocks show at an instant leads back to it, or to an earlier instant at which
// they showed the same.
func TestInstant_invertsTheClock(t *testing.T) {
	names := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		loc := ZoneOrUTC(rapid.SampledFrom(names).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(1_262_304_000, 2_524_608_000).Draw(t, "unix"), 0).In(loc)
		got, err := Instant(at, loc)
		if err != nil {
			t.Fatalf("%v: %v", at, err)
		}
		if got.After(at) || !sameClock(got, at) {
			t.Fatalf("%v became %v", at, got.In(loc))
		}
	})
}
