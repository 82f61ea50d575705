package itip

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// Dates are when an object takes place.
type Dates struct {
	Zone string // IANA, of the wall-clock times of Set
	// Set has all dates, those that differ included and cancelled ones left out. It is nil if the
	// object takes place once.
	Set     *recurrence.Set
	Slot    clock.Slot // of the only date, or of the first
	Differs []Differing
}

// Differing is a date of a series that is not like the others.
type Differing struct {
	Wall  time.Time // of the date, by the clocks of the series' zone
	Slot  clock.Slot
	Event *Event // what it says; nil: only its length differs
}

// maxDates bounds a series that can only be stored as a list of dates.
const maxDates = 2_000

// Dates returns when the object takes place. Floating times and whole days count in loc. A rule that
// never ends is followed up to horizon.
func (o *Object) Dates(loc *time.Location, horizon time.Time) (*Dates, error) {
	e := o.first()
	if len(o.Faults()) > 0 {
		return nil, errors.New("the event has faults")
	}
	begin, end := e.Start.In(e.floating(loc).Location), e.End.In(e.floating(loc).Location)
	if !begin.Before(end) {
		return nil, errors.New("the event must end after it starts")
	}
	zone := e.Start.Zone
	if zone == nil {
		zone = e.floating(loc)
	}
	if o.Master == nil && len(o.Overrides) == 1 || o.Master != nil && len(e.Rules)+len(e.RDates)+len(o.Overrides) == 0 {
		return &Dates{Zone: zone.name(), Slot: clock.Slot{Start: begin, End: end}}, nil
	}
	s := &seriesOf{Object: o, loc: e.floating(loc).Location, zone: zone, horizon: horizon}
	return s.dates()
}

// name of the zone in which a series is stored. Dates in a zone without a name are stored as instants.
func (z *Zone) name() string {
	if z.Name == "" {
		return "UTC"
	}
	return z.Name
}

// seriesOf works out the dates of an object that takes place more than once.
type seriesOf struct {
	*Object
	loc     *time.Location // of floating times
	zone    *Zone
	horizon time.Time
}

func (s *seriesOf) dates() (*Dates, error) {
	set, simple, err := s.ruled()
	if err != nil {
		return nil, err
	}
	d := &Dates{Zone: s.zone.name(), Set: set}
	s.addOverrides(d)
	if len(set.Dates(recurrence.AllDates)) == 0 {
		return nil, errors.New("the series has no date")
	}
	if !simple || slices.ContainsFunc(set.RDates, func(w recurrence.WallTime) bool { return w.Before(set.Start) }) {
		if err := s.list(d); err != nil {
			return nil, err
		}
	}
	d.Slot = d.Set.Date(d.Set.Start).Slot
	return d, nil
}

// ruled returns the set of the master, without the dates that differ. simple reports whether a series
// can be stored like that.
func (s *seriesOf) ruled() (set *recurrence.Set, simple bool, err error) {
	e := s.first()
	set = &recurrence.Set{Start: s.wall(e.Start), End: s.wall(e.End), Zone: s.zone.Location}
	if !set.Start.Before(set.End) { // clocks change during the only night
		set.End = set.Start.Add(e.End.In(s.loc).Sub(e.Start.In(s.loc)))
	}
	set.Rule, _ = recurrence.ParseRule("FREQ=DAILY;COUNT=1")
	if s.Master == nil { // some dates of a series, whose others are unknown
		return set, true, nil
	}
	simple = s.zone.Name != "" && len(e.Rules) <= 1
	for i, text := range e.Rules {
		rule, err := s.rule(text)
		if err != nil {
			return nil, false, err
		}
		first, ok := rule.First(set.Start)
		switch {
		case !ok:
			return nil, false, fmt.Errorf("RRULE:%s has no date", cut(text))
		case i == 0 && first.Equal(set.Start):
			set.Rule = rule
		default:
			// DTSTART is a date even if the rule does not have it, and COUNT counts it.
			if simple = false; rule.HasCount() {
				n := rule.Count() - 1
				if n == 0 {
					continue
				}
				rule = rule.WithCount(n)
			}
			more := &recurrence.Set{Start: first, End: first.Add(set.End.Sub(set.Start)), Zone: set.Zone, Rule: rule}
			for _, d := range more.Dates(recurrence.AllDates) {
				set.RDates = append(set.RDates, recurrence.WallTime{Time: d.Wall})
			}
		}
	}
	for _, x := range e.RDates {
		if wall := s.date(x.Start, set.Start); !wall.Equal(set.Start) {
			set.RDates = append(set.RDates, recurrence.WallTime{Time: wall})
		}
	}
	for _, t := range e.ExDates {
		if t.Day {
			set.ExDates = append(set.ExDates, recurrence.WallTime{Time: t.Wall, Day: true})
		} else {
			set.ExDates = append(set.ExDates, recurrence.WallTime{Time: s.walled(set, t)})
		}
	}
	return set, simple, nil
}

// rule parses a rule and gives it an end. Parts that repeat the time of day of the start are left out.
func (s *seriesOf) rule(text string) (*recurrence.Rule, error) {
	start := s.wall(s.first().Start)
	var parts []string
	ends := false
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "":
			continue
		case name == "BYHOUR" && value == fmt.Sprint(start.Hour()), name == "BYMINUTE" && value == fmt.Sprint(start.Minute()),
			name == "BYSECOND" && value == fmt.Sprint(start.Second()):
			continue
		case name == "COUNT" || name == "UNTIL":
			ends = true
		}
		parts = append(parts, name+"="+value)
	}
	if !ends {
		parts = append(parts, "UNTIL="+s.horizon.UTC().Format("20060102T150405Z"))
	}
	rule, faults := recurrence.ParseRule(strings.Join(parts, ";"))
	if len(faults) > 0 {
		return nil, fmt.Errorf("RRULE:%s: %s", cut(text), faults[0].Message)
	}
	return rule, nil
}

// wall returns what clocks in the series' zone show.
func (s *seriesOf) wall(t Time) time.Time {
	if t.Zone == s.zone || t.Zone == nil {
		return t.Wall
	}
	return clock.Wall(t.In(s.loc), s.zone.Location)
}

// date is wall for a date that is added: a whole day has the series' time of day.
func (s *seriesOf) date(t Time, start time.Time) time.Time {
	if t.Day {
		return t.Wall.Add(clock.SinceMidnight(start))
	}
	return s.wall(t)
}

// walled is the date of the set that begins at t. Where clocks skip the time of a date, they show
// another one at its instant.
func (s *seriesOf) walled(set *recurrence.Set, t Time) time.Time {
	wall := s.date(t, set.Start)
	at := clock.InstantOrShift(wall, s.zone.Location)
	usual := dayOf(wall).Add(clock.SinceMidnight(set.Start))
	if !usual.Equal(wall) && clock.InstantOrShift(usual, s.zone.Location).Equal(at) {
		return usual
	}
	return wall
}

func dayOf(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// addOverrides adds the dates that differ.
func (s *seriesOf) addOverrides(d *Dates) {
	set := d.Set
	if s.Master == nil {
		set.Start = s.walled(set, *s.Overrides[0].RecurrenceID)
		set.End = set.Start.Add(s.Overrides[0].End.In(s.loc).Sub(s.Overrides[0].Start.In(s.loc)))
	}
	there := map[int64]bool{}
	for _, x := range set.Dates(recurrence.AllDates) {
		there[x.Wall.Unix()] = true
	}
	length := set.End.Sub(set.Start)
	if s.Master != nil {
		for _, x := range s.Master.RDates {
			wall := s.date(x.Start, set.Start)
			if x.End != nil && there[wall.Unix()] && s.wall(*x.End).Sub(wall) != length {
				start := clock.InstantOrShift(wall, set.Zone)
				d.Differs = append(d.Differs, Differing{Wall: wall, Slot: clock.Slot{Start: start, End: x.End.In(s.loc)}})
			}
		}
	}
	for _, e := range s.Overrides {
		wall := s.walled(set, *e.RecurrenceID)
		d.Differs = slices.DeleteFunc(d.Differs, func(x Differing) bool { return x.Wall.Equal(wall) })
		switch {
		case e.Cancelled:
			if there[wall.Unix()] {
				set.ExDates = append(set.ExDates, recurrence.WallTime{Time: wall})
			}
			continue
		case !there[wall.Unix()]:
			set.ExDates = slices.DeleteFunc(set.ExDates, func(x recurrence.WallTime) bool { return !x.Day && x.Matches(wall) })
			if !slices.ContainsFunc(set.Dates(recurrence.AllDates), func(x recurrence.Date) bool { return x.Wall.Equal(wall) }) {
				set.RDates = append(set.RDates, recurrence.WallTime{Time: wall})
			}
		}
		d.Differs = append(d.Differs, Differing{Wall: wall, Slot: clock.Slot{Start: e.Start.In(s.loc), End: e.End.In(s.loc)}, Event: e})
	}
	slices.SortFunc(d.Differs, func(a, b Differing) int { return a.Wall.Compare(b.Wall) })
}

// list stores the dates one by one, because no single rule has them. In a zone without a name they
// are instants in UTC.
func (s *seriesOf) list(d *Dates) error {
	dates := d.Set.Dates(recurrence.AllDates)
	if len(dates) > maxDates {
		return fmt.Errorf("a series without a simple rule must have at most %d dates; this one has %d", maxDates, len(dates))
	}
	zone, stored := s.zone.Location, func(wall time.Time) time.Time { return wall }
	if s.zone.Name == "" {
		zone = time.UTC
		stored = func(wall time.Time) time.Time { return clock.InstantOrShift(wall, s.zone.Location) }
	}
	for i := range d.Differs {
		d.Differs[i].Wall = stored(d.Differs[i].Wall)
	}
	set := &recurrence.Set{Start: stored(dates[0].Wall), Zone: zone}
	set.End = set.Start.Add(dates[0].Slot.Duration())
	set.Rule, _ = recurrence.ParseRule("FREQ=DAILY;COUNT=1")
	for _, x := range dates[1:] {
		set.RDates = append(set.RDates, recurrence.WallTime{Time: stored(x.Wall)})
	}
	d.Set = set
	return nil
}
