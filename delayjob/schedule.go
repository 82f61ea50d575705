package delayjob

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A schedule computes planned times. They depend only on the spec and the zone, so that all
// processes compute the same.
type schedule struct {
	every   time.Duration      // of "@every"; 0: spec counts
	spec    *cron.SpecSchedule // in UTC, or in zone if elapsed
	zone    *time.Location
	elapsed bool // runs in every hour, so it follows elapsed time and not the wall clock
}

const everyHour = 1<<24 - 1

func parseSchedule(spec string, zone *time.Location) (schedule, error) {
	if strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=") {
		return schedule{}, fmt.Errorf("%q: must not contain a zone, set Zone of RecurringOptions instead", spec)
	}
	if err := CheckSchedule(spec); err != nil { // also catches the panics of the parser
		return schedule{}, fmt.Errorf("%q: %w", spec, err)
	}
	parsed, err := cron.ParseStandard(spec)
	if err != nil {
		return schedule{}, fmt.Errorf("%q: %w", spec, err)
	}
	s := schedule{zone: zone}
	switch p := parsed.(type) {
	case *cron.SpecSchedule:
		s.elapsed = p.Hour&everyHour == everyHour
		p.Location = time.UTC
		if s.elapsed {
			p.Location = zone
		}
		s.spec = p
		if s.next(time.Now()).IsZero() {
			return schedule{}, fmt.Errorf("%q: no time in the next five years", spec)
		}
	case cron.ConstantDelaySchedule:
		// The parser rounds, so the text counts.
		d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(spec, "@every")))
		if err != nil || d < time.Second || d%time.Second != 0 {
			return schedule{}, fmt.Errorf("%q: must be whole seconds, at least 1s", spec)
		}
		s.every = d
	default:
		return schedule{}, errors.New("unknown kind of schedule")
	}
	return s, nil
}

// next returns the first planned time after t, in the zone; zero: none in five years.
func (s schedule) next(t time.Time) time.Time {
	if s.every > 0 {
		return t.UTC().Truncate(s.every).Add(s.every).In(s.zone)
	}
	if s.elapsed {
		return s.spec.Next(t.In(s.zone))
	}
	wall := s.wall(t)
	if before := t.Add(-25 * time.Hour); s.wall(before).Sub(before) != wall.Sub(t) { // a skipped time may still be due
		wall = s.wall(before)
	}
	for {
		wall = s.spec.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if at := s.instant(wall); at.After(t) {
			return at
		}
	}
}

// wall returns the reading of the zone's clock at t, as if it were UTC.
func (s schedule) wall(t time.Time) time.Time {
	_, offset := t.In(s.zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant returns when the zone's clock reads wall: the first time if it does so twice; if it never
// does, as much later as the clock was advanced.
func (s schedule) instant(wall time.Time) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(s.zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(s.zone).Zone()
	first := wall.Add(-time.Duration(before) * time.Second)
	if second := wall.Add(-time.Duration(after) * time.Second); !s.wall(first).Equal(wall) && s.wall(second).Equal(wall) {
		first = second
	}
	return first.In(s.zone)
}
