package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// Open reports whether the room is open during the whole slot. A room without opening hours is
// always open.
func (r *Room) Open(slot clock.Slot) bool {
	if len(r.Policy.OpeningHours) == 0 || slot.Empty() {
		return true
	}
	until := slot.Start
	for open := range r.Policy.intervals(slot, clock.ZoneOrUTC(r.Zone)) {
		if open.Start.After(until) {
			return false
		}
		if until = clock.Later(until, open.End); !until.Before(slot.End) {
			return true
		}
	}
	return false
}

// intervals yields when the room is open on the days that slot touches, by start, and on the day
// before, whose night may reach into the morning.
func (p *Policy) intervals(slot clock.Slot, loc *time.Location) iter.Seq[clock.Slot] {
	return func(yield func(clock.Slot) bool) {
		y, mo, d := slot.Start.In(loc).Date()
		day := time.Date(y, mo, d-1, 0, 0, 0, 0, time.UTC) // a date, not an instant
		times := make([]struct{ from, to time.Duration }, len(p.OpeningHours))
		for i, h := range p.OpeningHours {
			from, to := h.minutes()
			if to <= from {
				to += 24 * 60
			}
			times[i].from, times[i].to = time.Duration(from)*time.Minute, time.Duration(to)*time.Minute
		}
		var open []clock.Slot
		for ; clock.InstantOrChange(day, loc).Before(slot.End); day = day.AddDate(0, 0, 1) {
			open = open[:0]
			for i, h := range p.OpeningHours {
				if slices.Contains(h.Days, clock.Weekdays[day.Weekday()]) {
					open = append(open, clock.Slot{
						Start: clock.InstantOrChange(day.Add(times[i].from), loc),
						End:   clock.InstantOrChange(day.Add(times[i].to), loc),
					})
				}
			}
			slices.SortFunc(open, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
			for _, s := range open {
				if !yield(s) {
					return
				}
			}
		}
	}
}

func (h OpeningHours) minutes() (from, to int) {
	from, _ = ParseTimeOfDay(h.From)
	to, _ = ParseTimeOfDay(h.To)
	return from, to
}

// ParseTimeOfDay parses HH:MM, 00:00 to 24:00, as minutes since midnight.
func ParseTimeOfDay(s string) (minutes int, ok bool) {
	if s == "24:00" {
		return 24 * 60, true
	}
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, false
	}
	return t.Hour()*60 + t.Minute(), true
}

// hours returns text such as "MO TU 08:00-20:00, SA 10:00-14:00".
func (p *Policy) hours() string {
	parts := make([]string, len(p.OpeningHours))
	for i, h := range p.OpeningHours {
		parts[i] = fmt.Sprintf("%s %s-%s", strings.Join(h.Days, " "), h.From, h.To)
	}
	return strings.Join(parts, ", ")
}

// OpenHours returns the parts of span in which the room is open. A room in an unknown time zone
// never is.
func (r *Room) OpenHours(span clock.Slot) []clock.Slot {
	loc, err := fault.StoredZone(r.Zone)
	if err != nil {
		return nil
	}
	return r.Policy.OpenHours(span, loc)
}

// OpenHours returns the parts of span within the opening hours, adjacent ones joined. Without
// opening hours it returns the whole span.
func (p *Policy) OpenHours(span clock.Slot, loc *time.Location) []clock.Slot {
	if len(p.OpeningHours) == 0 {
		return []clock.Slot{span}
	}
	var open []clock.Slot
	for s := range p.intervals(span, loc) {
		s, ok := s.Intersect(span)
		if !ok {
			continue
		}
		if n := len(open); n > 0 && !s.Start.After(open[n-1].End) {
			open[n-1].End = clock.Later(open[n-1].End, s.End)
		} else {
			open = append(open, s)
		}
	}
	return open
}

// OpenSpans remembers what [Room.OpenHours] returned: hundreds of rooms have the same hours. Callers
// must not change its slots. The zero value is ready to use.
type OpenSpans struct{ known map[openKey][]clock.Slot }

type openKey struct {
	zone, hours string
	span        clock.Slot
}

// Of returns the parts of span in which the room is open; see [Room.OpenHours].
func (o *OpenSpans) Of(r *Room, span clock.Slot) []clock.Slot {
	key := openKey{r.Zone, r.Policy.hours(), span}
	open, ok := o.known[key]
	if !ok {
		if o.known == nil {
			o.known = map[openKey][]clock.Slot{}
		}
		open = r.OpenHours(span)
		o.known[key] = open
	}
	return open
}
