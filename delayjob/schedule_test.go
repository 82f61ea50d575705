package delayjob_test

import (
	"context"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones below exist on every machine

	"punctual/delayjob"
)

func ran(context.Context, time.Time) error { return nil }

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestRecurring_plannedTimes(t *testing.T) {
	tests := []struct {
		name, spec, zone, after string
		want                    []string
	}{
		{"daily in winter and summer", "30 8 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T08:30:00+01:00", "2026-03-29T08:30:00+02:00", "2026-03-30T08:30:00+02:00"}},
		{"a skipped time runs later, once", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"... also when planned within that hour", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:10:00Z",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"... and not twice if the later time is planned, too", "30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"a repeated time runs the first time", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"... not again when planned in between", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z",
			[]string{"2026-10-26T02:30:00+01:00"}},
		{"every hour, also the repeated one", "0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}},
		{"every hour, without the skipped one", "0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z",
			[]string{"2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"}},
		{"midnight does not exist", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"clock changes of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			[]string{"2026-10-04T02:45:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"descriptor", "@monthly", "", "2026-12-05T00:00:00Z", []string{"2027-01-01T00:00:00Z"}},
		{"interval", "@every 90m", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"}},
		{"interval from within", "@every 90m", "", "2026-01-01T01:29:59Z", []string{"2026-01-01T01:30:00Z"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := delayjob.NewRecurring("r", test.spec, ran, delayjob.RecurringOptions{Zone: zone(t, test.zone)})
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, test.after)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				at = r.Next(at)
				if got := at.Format(time.RFC3339); got != want {
					t.Fatalf("next is %s, want %s", got, want)
				}
			}
		})
	}
}

func TestNewRecurring_faults(t *testing.T) {
	tests := []struct{ spec, want string }{
		{"", "empty"},
		{"* * *", "5 fields"},
		{"61 * * * *", "61"},
		{"0 0 31 2 *", "no time in the next five years"},
		{"@every 0s", "at least 1s"},
		{"@every 1500ms", "whole seconds"},
		{"CRON_TZ=Europe/Berlin 0 8 * * *", "set Zone"},
		{"TZ=", "set Zone"},
	}
	for _, test := range tests {
		_, err := delayjob.NewRecurring("report", test.spec, ran, delayjob.RecurringOptions{})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "report") {
			t.Errorf("%q: error %v, want one about report that says %q", test.spec, err, test.want)
		}
	}
	if _, err := delayjob.NewRecurring("report", "@daily", nil, delayjob.RecurringOptions{}); err == nil {
		t.Error("a job without a function was accepted")
	}
	if _, err := delayjob.NewRecurring("report", "@daily", ran, delayjob.RecurringOptions{MaxLate: -1}); err == nil {
		t.Error("a negative MaxLate was accepted")
	}
}
