package recurrence

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Rules of time zones begin centuries before the years that matter.
func TestRule_Between(t *testing.T) {
	first := time.Date(1601, 1, 1, 2, 0, 0, 0, time.UTC)
	from, to := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), time.Date(2028, 3, 12, 0, 0, 0, 0, time.UTC)
	for rule, want := range map[string]string{
		"FREQ=YEARLY;BYDAY=2SU;BYMONTH=3":                              "2026-03-08 2027-03-14",
		"FREQ=YEARLY;BYMONTH=3;BYDAY=SU;BYMONTHDAY=8,9,10,11,12,13,14": "2026-03-08 2027-03-14",
		"FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10":                            "2026-10-25 2027-10-31",
		"FREQ=YEARLY":                                                  "2027-01-01 2028-01-01",
		"FREQ=YEARLY;BYMONTH=5,11;BYDAY=-1SU;BYSETPOS=-1":              "2026-11-29 2027-11-28",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29":                          "2028-02-29",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30":                          "",
	} {
		r, found := ParseRule(rule + ";COUNT=1")
		if len(found) > 0 {
			t.Fatal(rule, found)
		}
		var got []string
		for _, d := range r.Between(first, from, to) {
			if got = append(got, d.Format(time.DateOnly)); d.Hour() != 2 {
				t.Errorf("%s at %v", rule, d)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Error(rule, diff)
		}
	}
}
