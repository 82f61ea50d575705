package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func codes(fs []fault.Fault) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Location+" "+f.Code)
	}
	return out
}

func utc(t *testing.T, s string) time.Time {
	t.Helper()
	m, err := clock.Parse(s).In(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return m.At
}
