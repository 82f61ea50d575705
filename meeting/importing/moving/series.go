package moving

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// maxSeries is the most dates of a rule that are looked at.
const maxSeries = 2_000

// formed is a series with its dates by what clocks show, as its rule has them.
type formed struct {
	series  *Series
	rule    *recurrence.Rule
	dates   map[time.Time]*Booking
	exDates []recurrence.WallTime
	rDates  []recurrence.WallTime
}

// form matches the rows of a series with its rule. What is missing becomes an exception, what is too
// much an additional date. If the rule does not describe the rows, the error says why.
func form(s *Series, rows []*Booking) (*formed, error) {
	if s.Rule == "" {
		return nil, fmt.Errorf("its rule cannot be expressed")
	}
	rule, faults := recurrence.ParseRule(s.Rule)
	if len(faults) > 0 {
		return nil, fmt.Errorf("its rule %s: %s", s.Rule, faults[0].Message)
	}
	zone := clock.ZoneOrUTC(s.Zone)
	set := &recurrence.Set{Start: s.Start, End: s.End, Zone: zone, Rule: rule}
	if faults := set.Check(maxSeries); len(faults) > 0 {
		return nil, fmt.Errorf("its rule %s: %s", s.Rule, faults[0].Message)
	}
	f := &formed{series: s, rule: rule, dates: map[time.Time]*Booking{}}
	ruled := map[time.Time]bool{}
	for _, d := range set.Dates(maxSeries) {
		ruled[d.Wall] = true
	}
	matched := 0
	for _, b := range rows {
		place := b.Place
		if place.IsZero() {
			place = b.Slot.Start
		}
		wall := clock.Wall(place, zone)
		if other := f.dates[wall]; other != nil {
			return nil, fmt.Errorf("%s and %s are for the same date", other.Ref, b.Ref)
		}
		if f.dates[wall] = b; ruled[wall] {
			matched++
		} else {
			f.rDates = append(f.rDates, recurrence.WallTime{Time: wall})
		}
	}
	if matched*2 < len(rows) || matched == 0 {
		return nil, fmt.Errorf("only %d of its %d dates follow its rule %s", matched, len(rows), s.Rule)
	}
	for wall := range ruled {
		if f.dates[wall] == nil {
			f.exDates = append(f.exDates, recurrence.WallTime{Time: wall})
		}
	}
	for _, ws := range [][]recurrence.WallTime{f.exDates, f.rDates} {
		slices.SortFunc(ws, func(a, b recurrence.WallTime) int { return a.Time.Compare(b.Time) })
	}
	return f, nil
}

// without returns the series without some dates; nil if none is left.
func (f *formed) without(drop func(wall time.Time, b *Booking) bool) *formed {
	kept := *f
	kept.dates = maps.Clone(f.dates)
	kept.exDates, kept.rDates = slices.Clone(f.exDates), slices.Clone(f.rDates)
	for wall, b := range f.dates {
		if !drop(wall, b) {
			continue
		}
		delete(kept.dates, wall)
		if i := slices.IndexFunc(kept.rDates, func(w recurrence.WallTime) bool { return w.Time.Equal(wall) }); i >= 0 {
			kept.rDates = slices.Delete(kept.rDates, i, i+1)
		} else {
			kept.exDates = append(kept.exDates, recurrence.WallTime{Time: wall})
		}
	}
	slices.SortFunc(kept.exDates, func(a, b recurrence.WallTime) int { return a.Time.Compare(b.Time) })
	if len(kept.dates) == 0 {
		return nil
	}
	return &kept
}

// walls returns what clocks show at the starts of the dates by the rule, in order.
func (f *formed) walls() []time.Time {
	return slices.SortedFunc(maps.Keys(f.dates), time.Time.Compare)
}

// differs reports whether a date has another time or content than the series.
func (f *formed) differs(wall time.Time, b *Booking) (content, moved bool) {
	set := &recurrence.Set{Start: f.series.Start, End: f.series.End, Zone: clock.ZoneOrUTC(f.series.Zone), Rule: f.rule}
	own, like := b.Content, f.series.Content
	own.Pending, like.Pending = false, false
	own.Organizer, like.Organizer = "", "" // a series has one
	return !sameContent(own, like), !set.Date(wall).Slot.Equal(b.Slot)
}

func sameContent(a, b Content) bool {
	if len(a.Fields) == 0 && len(b.Fields) == 0 {
		a.Fields, b.Fields = nil, nil
	}
	if len(a.Extra) == 0 && len(b.Extra) == 0 {
		a.Extra, b.Extra = nil, nil
	}
	if len(a.Attendees) == 0 && len(b.Attendees) == 0 {
		a.Attendees, b.Attendees = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// pending returns whether most of the dates wait for a decision.
func (f *formed) pending() bool {
	n := 0
	for _, b := range f.dates {
		if b.Pending {
			n++
		}
	}
	return cmp.Compare(2*n, len(f.dates)) > 0
}
