package meeting

import (
	"punctual/meeting/clock"
	"slices"
	"time"

	"github.com/teambition/rrule-go"
)

// Recurrence is a rule with all that makes dates of it. Its times are those of clocks, kept
// in UTC whatever their zone.
type Recurrence struct {
	Start, End time.Time // of the first date
	Zone       *time.Location
	Rule       *Rule
	ExDates    []WallTime // are left out
	RDates     []WallTime // come on top
}

// WallTime is a date, or a date and a time, by the clocks of some zone.
type WallTime struct {
	time.Time      // in UTC
	Day       bool // the whole day

	at time.Time // the instant that was given; zero: what clocks show was
}

const (
	wallLayout = "2006-01-02T15:04:05"
	dayLayout  = time.DateOnly
)

// String is how the REST resource writes it.
func (w WallTime) String() string {
	if w.Day {
		return w.Format(dayLayout)
	}
	return w.Format(wallLayout)
}

// on is the instant's day or second as clocks show it: at the given time of day, if only the
// day is named.
func (w WallTime) on(timeOfDay time.Time) time.Time {
	if !w.Day {
		return w.Time
	}
	h, m, s := timeOfDay.Clock()
	return w.Time.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
}

func (w WallTime) names(wall time.Time) bool {
	if w.Day {
		return w.Format(dayLayout) == wall.Format(dayLayout)
	}
	return w.Equal(wall)
}

// Date is one date of a recurrence.
type Date struct {
	Wall time.Time // when it begins by the clocks of the zone, in UTC
	Slot clock.Slot

	key   string // which of the recurrence's dates it is, however they are moved
	extra bool   // by an RDATE
}

// horizon bounds how far dates are sought: a rule may have none for longer than anybody
// books, but nobody waits for the year 9999.
const horizon = 60 // years

// expansion is how far the dates of a rule were followed.
type expansion int

const (
	whole   expansion = iota
	tooMany           // there are more than asked for
	tooFar            // the next one is beyond the horizon
)

// walls are the first dates of the rule by clocks, at most limit. The start must be one of
// them, which is what keeps the search short.
func (r *Recurrence) walls(limit int) ([]time.Time, expansion) {
	rule := r.Rule.filled(r.Start)
	next := rule.iterator(r.Start)
	end := r.Start.AddDate(horizon, 0, 0)
	var walls []time.Time
	for {
		wall, ok := next()
		switch {
		case ok && (wall.Before(r.Start) || len(rule.weeks) > 0 && !rule.fits(wall)):
			continue
		case !ok || wall.After(end):
			if rule.count == 0 && !rule.until.before(end, r.Zone) {
				return walls, tooFar
			}
			if rule.count > len(walls) {
				return walls, tooFar
			}
			return walls, whole
		case rule.count == 0 && rule.until.before(wall, r.Zone):
			return walls, whole
		case len(walls) == limit:
			return walls, tooMany
		}
		walls = append(walls, wall)
		if len(walls) == rule.count {
			return walls, whole
		}
	}
}

// before reports whether a date that begins at wall is past the end.
func (u until) before(wall time.Time, loc *time.Location) bool {
	if !u.utc.IsZero() {
		return clock.InstantOrShift(wall, loc).After(u.utc)
	}
	return wall.After(u.wall)
}

// Dates are all dates in order, at most limit of the rule's own.
func (r *Recurrence) Dates(limit int) ([]Date, expansion) {
	walls, how := r.walls(limit)
	var dates []Date
	for i, wall := range walls {
		if !slices.ContainsFunc(r.ExDates, func(x WallTime) bool { return x.names(wall) }) {
			dates = append(dates, r.date(wall, index("#", i)))
		}
	}
	for _, x := range r.RDates {
		wall := x.on(r.Start)
		there := slices.ContainsFunc(dates, func(d Date) bool { return d.Wall.Equal(wall) })
		out := slices.ContainsFunc(r.ExDates, func(x WallTime) bool { return x.names(wall) })
		if !there && !out {
			d := r.date(wall, x.String())
			d.extra = true
			dates = append(dates, d)
		}
	}
	slices.SortStableFunc(dates, func(a, b Date) int { return a.Wall.Compare(b.Wall) })
	return dates, how
}

// date that begins at wall. It ends when clocks show the same time as they do at the end of
// the others: a night in which they change is an hour longer or shorter. Where that would
// leave nothing of it, it is as long as clocks say the others are.
func (r *Recurrence) date(wall time.Time, key string) Date {
	length := r.End.Sub(r.Start)
	slot := clock.Slot{Start: clock.InstantOrShift(wall, r.Zone), End: clock.InstantOrShift(wall.Add(length), r.Zone)}
	if !slot.Start.Before(slot.End) {
		slot.End = slot.Start.Add(length)
	}
	return Date{Wall: wall, Slot: slot, key: key}
}

// filled is the rule with what RFC 5545 takes from the first date put into words.
func (r *Rule) filled(start time.Time) *Rule {
	f := *r
	none := len(f.weekdays)+len(f.monthDays)+len(f.yearDays)+len(f.weeks) == 0
	switch {
	case f.freq == "WEEKLY" && len(f.weekdays) == 0, len(f.weeks) > 0 && len(f.weekdays)+len(f.monthDays)+len(f.yearDays) == 0:
		f.weekdays = []ruleDay{{day: start.Weekday()}}
	case f.freq == "MONTHLY" && none:
		f.monthDays = []int{start.Day()}
	case f.freq == "YEARLY" && none:
		if len(f.months) == 0 {
			f.months = []int{int(start.Month())}
		}
		f.monthDays = []int{start.Day()}
	}
	return &f
}

var frequencies = map[string]rrule.Frequency{"DAILY": rrule.DAILY, "WEEKLY": rrule.WEEKLY, "MONTHLY": rrule.MONTHLY, "YEARLY": rrule.YEARLY}

// iterator over the dates of a filled rule without its end, from start or a little before.
//
// The library counts BYSETPOS of the first week from the start and not from the week's, and
// wants a day that BYDAY names with a number to be one that it names without as well. So it
// begins with the week, and gets all with numbers or none. Of the days between the years it
// does not know all weeks: what BYWEEKNO leaves out is left out by the caller.
func (r *Rule) iterator(start time.Time) rrule.Next {
	if r.freq == "WEEKLY" && len(r.positions) > 0 {
		start = start.AddDate(0, 0, -int(start.Weekday()-r.weekStart+7)%7)
	}
	o := rrule.ROption{
		Freq: frequencies[r.freq], Dtstart: start, Interval: r.interval, Wkst: libraryDay(r.weekStart), Bysetpos: r.positions,
		Bymonth: r.months, Bymonthday: r.monthDays, Byyearday: r.yearDays,
	}
	numbered := slices.ContainsFunc(r.weekdays, func(d ruleDay) bool { return d.n != 0 })
	for _, d := range r.weekdays {
		switch day := libraryDay(d.day); {
		case d.n != 0:
			o.Byweekday = append(o.Byweekday, day.Nth(d.n))
		case numbered:
			for n := 1; n <= r.mostNth(); n++ {
				o.Byweekday = append(o.Byweekday, day.Nth(n))
			}
		default:
			o.Byweekday = append(o.Byweekday, day)
		}
	}
	rule, err := rrule.NewRRule(o)
	if err != nil {
		panic("rule: " + err.Error()) // every part has been checked
	}
	return rule.Iterator()
}

// mostNth is how often a weekday comes at most in the month or year in which BYDAY counts.
func (r *Rule) mostNth() int {
	if r.freq == "YEARLY" && len(r.months) == 0 {
		return 53
	}
	return 5
}

func libraryDay(d time.Weekday) rrule.Weekday {
	return [...]rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}[d]
}

// has reports whether a day is one of the filled rule's in the period that the day is in:
// the question that the library answers by walking to the year 9999.
func (r *Rule) has(day time.Time) bool {
	if len(r.positions) == 0 {
		return r.fits(day)
	}
	return slices.ContainsFunc(r.chosen(r.period(day)), day.Equal)
}

// chosen are the days from first to last, a period, that the filled rule names.
func (r *Rule) chosen(first, last time.Time) []time.Time {
	var fit []time.Time
	for d := first; !d.After(last); d = d.AddDate(0, 0, 1) {
		if r.fits(d) {
			fit = append(fit, d)
		}
	}
	if len(r.positions) == 0 {
		return fit
	}
	var days []time.Time
	for i, d := range fit {
		if slices.Contains(r.positions, i+1) || slices.Contains(r.positions, i-len(fit)) {
			days = append(days, d)
		}
	}
	return days
}

// period is the day, week, month or year within which BYSETPOS counts, with the time of day.
func (r *Rule) period(day time.Time) (first, last time.Time) {
	switch r.freq {
	case "WEEKLY":
		first = day.AddDate(0, 0, -int(day.Weekday()-r.weekStart+7)%7)
		return first, first.AddDate(0, 0, 6)
	case "MONTHLY":
		first = day.AddDate(0, 0, 1-day.Day())
		return first, first.AddDate(0, 1, -1)
	case "YEARLY":
		first = day.AddDate(0, 0, 1-day.YearDay())
		return first, first.AddDate(1, 0, -1)
	default:
		return day, day
	}
}

// fits reports whether every BY... part but BYSETPOS names the day.
func (r *Rule) fits(day time.Time) bool {
	names := func(list []int, n, length int) bool { // of n from 1 to length
		return len(list) == 0 || slices.Contains(list, n) || slices.Contains(list, n-length-1)
	}
	if len(r.months) > 0 && !slices.Contains(r.months, int(day.Month())) {
		return false
	}
	monthDays := day.AddDate(0, 1, -day.Day()).Day()
	yearDays := time.Date(day.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	if !names(r.monthDays, day.Day(), monthDays) || !names(r.yearDays, day.YearDay(), yearDays) {
		return false
	}
	if len(r.weeks) > 0 {
		week, of := r.week(day)
		if !names(r.weeks, week, of) {
			return false
		}
	}
	if len(r.weekdays) == 0 {
		return true
	}
	at, length := day.Day(), monthDays
	if r.freq == "YEARLY" && len(r.months) == 0 {
		at, length = day.YearDay(), yearDays
	}
	return slices.ContainsFunc(r.weekdays, func(d ruleDay) bool {
		return d.day == day.Weekday() && (d.n == 0 || d.n == (at+6)/7 || -d.n == (length-at)/7+1)
	})
}

// week of the year, and how many that year has: the first is the one with four days in it.
func (r *Rule) week(day time.Time) (n, of int) {
	for year := day.Year() + 1; ; year-- {
		if first := r.firstWeek(year); !dayOf(day).Before(first) {
			return int(dayOf(day).Sub(first)/(7*24*time.Hour)) + 1, int(r.firstWeek(year+1).Sub(first) / (7 * 24 * time.Hour))
		}
	}
}

// firstWeek is the day on which the year's first week begins.
func (r *Rule) firstWeek(year int) time.Time {
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	return fourth.AddDate(0, 0, -int(fourth.Weekday()-r.weekStart+7)%7)
}

func dayOf(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// check tells what is wrong with the rule for a series that begins at the start, of which at
// most limit dates may be made.
func (r *Recurrence) check(location string, limit int) []Fault {
	var found faults
	rule := r.Rule.filled(r.Start)
	if rule.count == 0 && rule.until.before(r.Start, r.Zone) {
		found.add(location, "until_before_start", "UNTIL is before the start")
	}
	if rule.count > limit {
		found.broken(location, "too_many_dates", Figures{Limit: limit, Actual: rule.count}, "COUNT=%d: a series has at most %d dates", rule.count, limit)
	}
	if !rule.has(r.Start) {
		if first, ok := rule.first(r.Start); ok {
			found.broken("body.start", "not_in_rule", Figures{Limit: first.Format(dayLayout), Actual: r.Start.Format(dayLayout)}, "%s %s is not a date of the rule; the first one that is, is %s %s",
				clock.Weekdays[r.Start.Weekday()], r.Start.Format(dayLayout), clock.Weekdays[first.Weekday()], first.Format(dayLayout))
		} else {
			found.add(location, "impossible", "gives no date at all: no day is in all of its parts")
		}
	}
	if len(found) > 0 {
		return found
	}
	switch _, how := r.walls(limit); {
	case how == tooMany:
		found.broken(location, "too_many_dates", Figures{Limit: limit}, "UNTIL gives more than %d dates, which is the most a series may have", limit)
	case how == tooFar && rule.count > 0:
		found.add(location, "too_far", "COUNT=%d takes more than %d years", rule.count, horizon)
	case how == tooFar:
		found.add(location, "too_far", "UNTIL is more than %d years ahead", horizon)
	}
	return found
}

// first day of the filled rule from start on.
func (r *Rule) first(start time.Time) (time.Time, bool) {
	end := start.AddDate(horizon, 0, 0)
	for from, to := r.period(start); from.Before(end); from, to = r.period(to.AddDate(0, 0, 1)) {
		for _, day := range r.chosen(from, to) {
			if !day.Before(start) {
				return day, true
			}
		}
	}
	return time.Time{}, false
}

// ParseWallTime reads 2027-02-10 or 2027-02-10T09:00:00, or a time with an offset, which it
// turns into what clocks in loc show then.
func ParseWallTime(s string, loc *time.Location) (WallTime, bool) {
	if t, err := time.Parse(dayLayout, s); err == nil {
		return WallTime{Time: t, Day: true}, true
	}
	if t, ok := clock.ParseLocal(s); ok && t.Nanosecond() == 0 {
		return WallTime{Time: t}, true
	}
	if t, err := clock.ParseInstant(s); err == nil && t.Nanosecond() == 0 {
		return WallTime{Time: clock.Wall(t, loc), at: t}, true
	}
	return WallTime{}, false
}
