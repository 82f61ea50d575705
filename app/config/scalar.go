package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"punctual/account/fault"
	"punctual/delayjob"
)

// A Schedule is a period or a robfig/cron spec.
type Schedule struct {
	Every time.Duration // zero: Spec counts
	Spec  string
}

func (s *Schedule) parse(text string) error {
	if d, err := parseDuration(text); err == nil {
		*s = Schedule{Every: d}
		return nil
	}
	if _, err := parseCron(text); err != nil {
		return fmt.Errorf("%q is neither a duration such as 15s nor a cron schedule: %w", text, err)
	}
	*s = Schedule{Spec: text}
	return nil
}

// Cron returns the schedule as a robfig/cron spec.
func (s Schedule) Cron() string {
	if s.Every > 0 {
		return "@every " + s.Every.String()
	}
	return s.Spec
}

func (s Schedule) String() string {
	if s.Every > 0 {
		return fault.FormatDuration(s.Every)
	}
	return s.Spec
}

// A Rate is a count per second, minute or hour: 10/m.
type Rate struct {
	Count int
	Per   time.Duration
}

func (r *Rate) parse(text string) error {
	count, unit, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if !ok || err != nil || n < 1 || per == 0 {
		return fmt.Errorf("%q is not a rate; write a count from 1 and a unit, such as 10/m (s, m or h)", text)
	}
	*r = Rate{Count: n, Per: per}
	return nil
}

func (r Rate) String() string {
	return fmt.Sprintf("%d/%s", r.Count, map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[r.Per])
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || strings.Trim(text, "+-0123456789.") == "" {
		return 0, fmt.Errorf("%q is not a duration; write a number with a unit, such as 90s, 15m or 24h", text)
	}
	return d, nil
}

// parseCron returns an error for specs that make robfig/cron v3.0.1 panic.
func parseCron(spec string) (cron.Schedule, error) {
	if err := delayjob.CheckSchedule(spec); err != nil {
		return nil, err
	}
	return cron.ParseStandard(spec)
}

// Longest returns the longest time between two of the next thousand ticks.
func (s Schedule) Longest() time.Duration {
	if s.Every != 0 || s.Spec == "" {
		return s.Every
	}
	spec, err := parseCron(s.Spec)
	if err != nil {
		return 0
	}
	longest, last := time.Duration(0), time.Now().UTC()
	for range 1000 {
		next := spec.Next(last)
		if next.IsZero() {
			return year // it never occurs (again)
		}
		longest, last = max(longest, next.Sub(last)), next
	}
	return longest
}
