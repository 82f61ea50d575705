package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/teambition/rrule-go"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// A Set is a recurrence set: a rule, its first date, and the dates to leave out or to add. Its
// times are wall-clock times in UTC, whatever the zone.
type Set struct {
	Start, End time.Time // of the first date
	Zone       *time.Location
	Rule       *Rule
	ExDates    []WallTime // left out
	RDates     []WallTime // added
}

// A Date is one date of a set.
type Date struct {
	Wall time.Time // when it begins by the clocks of the zone, in UTC
	Slot clock.Slot

	Key   string // identifies the date within the set, even if all dates move
	Extra bool   // one of the RDates
}

// horizon bounds the search for dates: some rules have none for decades.
const horizon = 60 // years

// AllDates is a limit that no stored set reaches, even if it was made under higher limits.
const AllDates = 20_000

// expansion is how far the dates of a rule were followed.
type expansion int

const (
	whole   expansion = iota
	tooMany           // there are more than asked for
	tooFar            // the next one is beyond the horizon
)

// walls returns the first dates of the rule by clocks, at most limit. The start must be one of
// them, which keeps the search short.
func (r *Set) walls(limit int) ([]time.Time, expansion) {
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

func (u until) before(wall time.Time, loc *time.Location) bool {
	if !u.utc.IsZero() {
		return clock.InstantOrShift(wall, loc).After(u.utc)
	}
	return wall.After(u.wall)
}

// Dates returns all dates in order, at most limit of those that the rule generates.
func (r *Set) Dates(limit int) []Date {
	dates, _ := r.expand(limit)
	return dates
}

func (r *Set) expand(limit int) ([]Date, expansion) {
	walls, how := r.walls(limit)
	var dates []Date
	for i, wall := range walls {
		if !slices.ContainsFunc(r.ExDates, func(x WallTime) bool { return x.Matches(wall) }) {
			dates = append(dates, r.date(wall, "#"+strconv.Itoa(i)))
		}
	}
	for _, x := range r.RDates {
		wall := x.On(r.Start)
		there := slices.ContainsFunc(dates, func(d Date) bool { return d.Wall.Equal(wall) })
		out := slices.ContainsFunc(r.ExDates, func(x WallTime) bool { return x.Matches(wall) })
		if !there && !out {
			d := r.date(wall, x.String())
			d.Extra = true
			dates = append(dates, d)
		}
	}
	slices.SortStableFunc(dates, func(a, b Date) int { return a.Wall.Compare(b.Wall) })
	return dates, how
}

// Date returns the date that begins at a wall-clock time. All dates end when clocks show the
// same time, so that a night in which clocks change is an hour longer or shorter. If nothing
// would be left, the date is as long as clocks show for the others. Key is empty.
func (r *Set) Date(wall time.Time) Date { return r.date(wall, "") }

func (r *Set) date(wall time.Time, key string) Date {
	length := r.End.Sub(r.Start)
	slot := clock.Slot{Start: clock.InstantOrShift(wall, r.Zone), End: clock.InstantOrShift(wall.Add(length), r.Zone)}
	if !slot.Start.Before(slot.End) {
		slot.End = slot.Start.Add(length)
	}
	return Date{Wall: wall, Slot: slot, Key: key}
}

// filled returns the rule with the parts that RFC 5545 takes from the first date.
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

// iterator returns the dates of a filled rule without its end, from start or a little before.
//
// It works around three limits of the library. BYSETPOS of the first week counts from the start,
// so the iteration begins with the week. BYDAY values with and without a number cannot be mixed,
// so all get one. BYWEEKNO is incomplete around New Year, so the caller filters by it again.
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

// mostNth returns how often a weekday occurs at most in the month or year in which BYDAY counts.
func (r *Rule) mostNth() int {
	if r.freq == "YEARLY" && len(r.months) == 0 {
		return 53
	}
	return 5
}

func libraryDay(d time.Weekday) rrule.Weekday {
	return [...]rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}[d]
}

// has reports whether a day is a date of the filled rule. The library would iterate to the
// year 9999 to find out.
func (r *Rule) has(day time.Time) bool {
	if len(r.positions) == 0 {
		return r.fits(day)
	}
	return slices.ContainsFunc(r.chosen(r.period(day)), day.Equal)
}

// chosen returns the days of the period from first to last that the filled rule selects.
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

// period returns the day, week, month or year within which BYSETPOS counts, with the time of day.
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

// fits reports whether the day satisfies every BY... part except BYSETPOS.
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

// week returns the number of the week and how many weeks its year has. The first week of a
// year is the first with four days in it.
func (r *Rule) week(day time.Time) (n, of int) {
	for year := day.Year() + 1; ; year-- {
		if first := r.firstWeek(year); !dayOf(day).Before(first) {
			return int(dayOf(day).Sub(first)/(7*24*time.Hour)) + 1, int(r.firstWeek(year+1).Sub(first) / (7 * 24 * time.Hour))
		}
	}
}

func (r *Rule) firstWeek(year int) time.Time {
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	return fourth.AddDate(0, 0, -int(fourth.Weekday()-r.weekStart+7)%7)
}

func dayOf(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// FirstYear is the first year in which a series may begin. Calendars begin birthdays without a year in 1604.
// Rules cannot be expanded from the year 0 on, which a zone may make of the year 1.
const FirstYear = 1600

// Check reports what is wrong with the rule for a series that begins at Start and may have
// at most limit dates. Faults are at the location "start", or at none if the rule is wrong.
func (r *Set) Check(limit int) []fault.Fault {
	var found fault.List
	exceeds := func(figures fault.Figures, format string, args ...any) {
		found = append(found, fault.Fault{Code: "too_many_dates", Message: fmt.Sprintf(format, args...), Figures: figures})
	}
	if r.Start.Year() < FirstYear {
		return append(found, fault.New("start", "out_of_range", "must not be before the year %d", FirstYear))
	}
	rule := r.Rule.filled(r.Start)
	if rule.count == 0 && rule.until.before(r.Start, r.Zone) {
		found.Add("", "until_before_start", "UNTIL must not be before the start")
	}
	if rule.count > limit {
		exceeds(fault.Figures{Limit: limit, Actual: rule.count}, "COUNT=%d: must be at most %d", rule.count, limit)
	}
	if !rule.has(r.Start) {
		if first, ok := rule.first(r.Start); ok {
			want, got := first.Format(time.DateOnly), r.Start.Format(time.DateOnly)
			found = append(found, fault.Fault{
				Location: "start", Code: "not_in_rule", Figures: fault.Figures{Limit: want, Actual: got},
				Message: fmt.Sprintf("must be a date of the rule: %s %s is not; the first one is %s %s",
					clock.Weekdays[r.Start.Weekday()], got, clock.Weekdays[first.Weekday()], want),
			})
		} else {
			found.Add("", "impossible", "must match at least one date: no day matches all of its parts")
		}
	}
	if len(found) > 0 {
		return found
	}
	switch _, how := r.walls(limit); {
	case how == tooMany:
		exceeds(fault.Figures{Limit: limit}, "UNTIL must give at most %d dates", limit)
	case how == tooFar && rule.count > 0:
		found.Add("", "too_far", "COUNT=%d: must not span more than %d years", rule.count, horizon)
	case how == tooFar:
		found.Add("", "too_far", "UNTIL must be at most %d years ahead", horizon)
	}
	return found
}

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

// Split divides the set at a date, given by its wall-clock time. Both parts keep the rule. ok is
// false if the rule has no date before it.
func (r *Set) Split(wall time.Time) (first, second Set, ok bool) {
	walls, _ := r.walls(AllDates)
	n, _ := slices.BinarySearchFunc(walls, wall, time.Time.Compare)
	if n == 0 {
		return Set{}, Set{}, false
	}
	first, second = *r, *r
	if r.Rule.HasCount() {
		first.Rule = r.Rule.withEnd("COUNT", strconv.Itoa(n))
	} else {
		first.Rule = r.Rule.withEnd("UNTIL", walls[n-1].Format("20060102T150405"))
	}
	switch {
	case n == len(walls): // only RDates follow
		second.Start = wall
		second.Rule, _ = ParseRule("FREQ=DAILY;COUNT=1")
	case r.Rule.HasCount():
		second.Start = walls[n]
		second.Rule = r.Rule.withEnd("COUNT", strconv.Itoa(len(walls)-n))
	default:
		second.Start = walls[n]
	}
	second.End = second.Start.Add(r.End.Sub(r.Start))
	before := func(w WallTime) bool { return w.On(r.Start).Before(wall) }
	after := func(w WallTime) bool { return !before(w) }
	first.ExDates, second.ExDates = except(r.ExDates, after), except(r.ExDates, before)
	first.RDates, second.RDates = except(r.RDates, after), except(r.RDates, before)
	return first, second, true
}

func except(ws []WallTime, drop func(WallTime) bool) []WallTime {
	return slices.DeleteFunc(slices.Clone(ws), drop)
}
