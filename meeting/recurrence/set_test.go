package recurrence

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting/clock"
)

func TestSet_days(t *testing.T) {
	for _, c := range []struct{ name, start, rule, days string }{
		{"daily", "2027-02-26T09:00:00", "FREQ=DAILY;COUNT=4", "2027-02-26 02-27 02-28 03-01"},
		{"every other day", "2028-02-26T09:00:00", "FREQ=DAILY;INTERVAL=2;COUNT=3", "2028-02-26 02-28 03-01"},
		{"weekdays", "2027-02-12T09:00:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=3", "2027-02-12 02-15 02-16"},
		{"two weeks from Monday", "2027-02-14T09:00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;COUNT=4;WKST=MO", "2027-02-14 02-23 02-28 03-09"},
		{"two weeks from Sunday", "2027-02-14T09:00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;COUNT=4;WKST=SU", "2027-02-14 02-16 02-28 03-02"},
		{"the RFC's week start, Monday", "1997-08-05T09:00:00", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05 08-10 08-19 08-24"},
		{"the RFC's week start, Sunday", "1997-08-05T09:00:00", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05 08-17 08-19 08-31"},
		{"last Fridays", "2027-02-26T09:00:00", "FREQ=MONTHLY;BYDAY=-1FR;COUNT=4", "2027-02-26 03-26 04-30 05-28"},
		{"second Tuesdays", "2027-02-09T09:00:00", "FREQ=MONTHLY;BYDAY=2TU;COUNT=3", "2027-02-09 03-09 04-13"},
		{"thirty-firsts", "2027-01-31T09:00:00", "FREQ=MONTHLY;COUNT=4", "2027-01-31 03-31 05-31 07-31"},
		{"last days", "2027-01-31T09:00:00", "FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", "2027-01-31 02-28 03-31"},
		{"leap days", "2028-02-29T09:00:00", "FREQ=YEARLY;COUNT=3", "2028-02-29 2032-02-29 2036-02-29"},
		{"leap days over 2100", "2096-02-29T09:00:00", "FREQ=YEARLY;COUNT=2", "2096-02-29 2104-02-29"},
		{"last workdays", "2027-01-29T09:00:00", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=4", "2027-01-29 02-26 03-31 04-30"},
		{"the second day of a week's three, from the second", "2027-02-10T09:00:00", "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=2;COUNT=3", "2027-02-10 02-17 02-24"},
		{"Friday the thirteenth", "2026-11-13T09:00:00", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=2", "2026-11-13 2027-08-13"},
		{"Mondays and first Tuesdays", "2027-02-01T09:00:00", "FREQ=MONTHLY;BYDAY=MO,1TU;COUNT=6", "2027-02-01 02-02 02-08 02-15 02-22 03-01"},
		{"the hundredth day", "2027-04-10T09:00:00", "FREQ=YEARLY;BYYEARDAY=100,-1;COUNT=3", "2027-04-10 12-31 2028-04-09"},
		{"week 20", "2027-05-17T09:00:00", "FREQ=YEARLY;BYWEEKNO=20;COUNT=3", "2027-05-17 2028-05-15 2029-05-14"},
		{"in March and in May", "2027-03-15T09:00:00", "FREQ=YEARLY;BYMONTH=3,5;COUNT=3", "2027-03-15 05-15 2028-03-15"},
		{"up to a day", "2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20270212", "2027-02-10 02-11 02-12"},
		{"up to a local time, which counts", "2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20270212T090000", "2027-02-10 02-11 02-12"},
		{"up to just before it", "2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20270212T085959", "2027-02-10 02-11"},
		{"up to an instant", "2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20270212T080000Z", "2027-02-10 02-11 02-12"}, // 09:00 in Berlin
		{"up to just before that", "2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20270212T075959Z", "2027-02-10 02-11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newSet(t, c.start, "Europe/Berlin", c.rule)
			if found := r.Check(366); len(found) > 0 {
				t.Fatal(found)
			}
			dates, how := r.expand(366)
			if how != whole {
				t.Errorf("expanded %v", how)
			}
			if diff := cmp.Diff(daysOf(c.days), days(dates)); diff != "" {
				t.Error(diff)
			}
			for _, d := range dates {
				if got := d.Slot.Start.In(r.Zone).Format("15:04"); got != "09:00" {
					t.Errorf("%v begins at %s", d.Wall, got)
				}
			}
		})
	}
}

// daysOf reads "2027-02-26 02-27 2028-01-01".
func daysOf(s string) []string {
	all := strings.Fields(s)
	for i, d := range all {
		if len(d) == len("02-27") {
			all[i] = all[i-1][:5] + d
		}
	}
	return all
}

func days(dates []Date) []string {
	all := make([]string, len(dates))
	for i, d := range dates {
		all[i] = d.Wall.Format(time.DateOnly)
	}
	return all
}

// Both changes of offset in zones that do it in their own ways.
func TestSet_changesOfOffset(t *testing.T) {
	for _, c := range []struct {
		name, zone, start, end, rule string
		slots                        string // in UTC, day hour:minute-hour:minute
	}{
		{"Berlin, forward", "Europe/Berlin", "2027-03-27T09:00", "2027-03-27T10:00", "FREQ=DAILY;COUNT=2", "27 08:00-09:00, 28 07:00-08:00"},
		{"Berlin, back", "Europe/Berlin", "2027-10-30T09:00", "2027-10-30T10:00", "FREQ=DAILY;COUNT=2", "30 07:00-08:00, 31 08:00-09:00"},
		{"Berlin, begins in the gap", "Europe/Berlin", "2027-03-27T02:30", "2027-03-27T04:00", "FREQ=DAILY;COUNT=3", "27 01:30-03:00, 28 01:30-02:00, 29 00:30-02:00"},
		{"Berlin, all in the gap", "Europe/Berlin", "2027-03-27T02:10", "2027-03-27T02:50", "FREQ=DAILY;COUNT=2", "27 01:10-01:50, 28 01:10-01:50"},
		{"Berlin, ends where the gap does", "Europe/Berlin", "2027-03-27T02:30", "2027-03-27T03:00", "FREQ=DAILY;COUNT=2", "27 01:30-02:00, 28 01:30-02:00"},
		{"Berlin, ends in the gap", "Europe/Berlin", "2027-03-27T01:30", "2027-03-27T02:30", "FREQ=DAILY;COUNT=2", "27 00:30-01:30, 28 00:30-01:30"},
		{"Berlin, a time that comes twice: the first", "Europe/Berlin", "2027-10-30T02:30", "2027-10-30T02:45", "FREQ=DAILY;COUNT=2", "30 00:30-00:45, 31 00:30-00:45"},
		{"Berlin, over the hour that comes twice", "Europe/Berlin", "2027-10-30T01:30", "2027-10-30T03:30", "FREQ=DAILY;COUNT=2", "29 23:30-01:30, 30 23:30-02:30"},
		{"Berlin, the short night", "Europe/Berlin", "2027-03-26T22:00", "2027-03-27T06:00", "FREQ=DAILY;COUNT=3", "26 21:00-05:00, 27 21:00-04:00, 28 20:00-04:00"},
		{"Berlin, the long night", "Europe/Berlin", "2027-10-29T22:00", "2027-10-30T06:00", "FREQ=DAILY;COUNT=3", "29 20:00-04:00, 30 20:00-05:00, 31 21:00-05:00"},
		{"New York, forward, in the gap", "America/New_York", "2027-03-13T02:30", "2027-03-13T03:30", "FREQ=DAILY;COUNT=3", "13 07:30-08:30, 14 07:30-08:30, 15 06:30-07:30"},
		{"New York, back", "America/New_York", "2027-11-06T01:30", "2027-11-06T01:45", "FREQ=DAILY;COUNT=3", "06 05:30-05:45, 07 05:30-05:45, 08 06:30-06:45"},
		{"Lord Howe, half an hour forward, in the gap", "Australia/Lord_Howe", "2027-10-02T02:15", "2027-10-02T03:15", "FREQ=DAILY;COUNT=3", "01 15:45-16:45, 02 15:45-16:15, 03 15:15-16:15"},
		{"Lord Howe, half an hour back", "Australia/Lord_Howe", "2027-04-03T01:45", "2027-04-03T01:50", "FREQ=DAILY;COUNT=3", "02 14:45-14:50, 03 14:45-14:50, 04 15:15-15:20"},
		{"Cairo, forward at midnight, in the gap", "Africa/Cairo", "2027-04-29T00:30", "2027-04-29T01:30", "FREQ=DAILY;COUNT=3", "28 22:30-23:30, 29 22:30-23:30, 30 21:30-22:30"},
		{"Cairo, back at midnight", "Africa/Cairo", "2027-10-28T23:30", "2027-10-29T00:30", "FREQ=DAILY;COUNT=2", "28 20:30-22:30, 29 21:30-22:30"},
		{"Santiago, forward at midnight, in the gap", "America/Santiago", "2027-09-04T00:30", "2027-09-04T01:30", "FREQ=DAILY;COUNT=3", "04 04:30-05:30, 05 04:30-05:30, 06 03:30-04:30"},
		{"Santiago, back at midnight", "America/Santiago", "2027-04-03T23:30", "2027-04-04T00:30", "FREQ=DAILY;COUNT=2", "04 02:30-04:30, 05 03:30-04:30"},
		{"Casablanca, back for Ramadan", "Africa/Casablanca", "2027-02-06T02:30", "2027-02-06T03:30", "FREQ=DAILY;COUNT=3", "06 01:30-02:30, 07 01:30-03:30, 08 02:30-03:30"},
		{"Casablanca, forward after it, in the gap", "Africa/Casablanca", "2027-03-13T02:30", "2027-03-13T03:30", "FREQ=DAILY;COUNT=3", "13 02:30-03:30, 14 02:30-03:30, 15 01:30-02:30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkSlots(t, c.zone, c.start, c.end, c.rule, c.slots)
		})
	}
}

func checkSlots(t *testing.T, zone, start, end, rule, want string) {
	t.Helper()
	r := newSet(t, start, zone, rule)
	r.End = wallOf(t, end)
	dates := r.Dates(366)
	var got []string
	for _, d := range dates {
		got = append(got, d.Slot.Start.Format("02 15:04-")+d.Slot.End.Format("15:04"))
	}
	if diff := cmp.Diff(strings.Split(want, ", "), got); diff != "" {
		t.Error(diff)
	}
}

func TestSet_exdatesAndRDates(t *testing.T) {
	r := newSet(t, "2027-02-10T09:00:00", "Europe/Berlin", "FREQ=WEEKLY;COUNT=4")
	for _, s := range []string{"2027-02-17", "2027-02-24T08:00:00", "2027-03-03T08:00:00Z"} { // the second is none of the dates
		w, _ := WallTimeOf(clock.ParseDate(s), r.Zone)
		r.ExDates = append(r.ExDates, w)
	}
	for _, s := range []string{"2027-02-12", "2027-02-13T15:00:00", "2027-02-24", "2027-02-17"} { // one there already, one taken out
		w, _ := WallTimeOf(clock.ParseDate(s), r.Zone)
		r.RDates = append(r.RDates, w)
	}
	dates := r.Dates(366)
	var got []string
	for _, d := range dates {
		got = append(got, d.Slot.Start.In(r.Zone).Format("2006-01-02T15:04")+" "+d.Slot.Duration().String())
	}
	want := []string{"2027-02-10T09:00 1h0m0s", "2027-02-12T09:00 1h0m0s", "2027-02-13T15:00 1h0m0s", "2027-02-24T09:00 1h0m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSet_check(t *testing.T) {
	for _, c := range []struct{ start, rule, location, code, says string }{
		{"2027-02-10T09:00:00", "FREQ=DAILY;COUNT=367", "", "too_many_dates", "COUNT=367"},
		{"2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20280301", "", "too_many_dates", "UNTIL"},
		{"2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=99991231T235959Z", "", "too_many_dates", "UNTIL"},
		{"2027-02-10T09:00:00", "FREQ=YEARLY;UNTIL=99991231T235959Z", "", "too_far", "UNTIL"},
		{"2027-02-10T09:00:00", "FREQ=YEARLY;COUNT=300", "", "too_far", "COUNT=300"},
		{"2027-02-10T09:00:00", "FREQ=DAILY;UNTIL=20270209", "", "until_before_start", "UNTIL"},
		{"0001-01-01T09:00:00", "FREQ=WEEKLY;COUNT=2", "start", "out_of_range", "must not be before the year 1600"},
		{"1599-12-31T09:00:00", "FREQ=DAILY;COUNT=2", "start", "out_of_range", "must not be before the year 1600"},
		{"2027-02-10T09:00:00", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=3", "", "impossible", "no day"},
		{"2027-02-10T09:00:00", "FREQ=DAILY;BYMONTH=4;BYMONTHDAY=31;COUNT=3", "", "impossible", "no day"},
		{"2027-02-10T09:00:00", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6;COUNT=3", "", "impossible", "no day"},
		{"2027-02-10T09:00:00", "FREQ=YEARLY;BYDAY=MO;BYSETPOS=99;COUNT=3", "", "impossible", "no day"},
		{"2027-02-10T09:00:00", "FREQ=YEARLY;BYWEEKNO=20;BYMONTH=12;COUNT=3", "", "impossible", "no day"},
		{"2027-02-10T09:00:00", "FREQ=WEEKLY;BYDAY=MO;COUNT=3", "start", "not_in_rule", "must be a date of the rule: WE 2027-02-10 is not; the first one is MO 2027-02-15"},
		{"2027-02-10T09:00:00", "FREQ=MONTHLY;BYDAY=-1FR;COUNT=3", "start", "not_in_rule", "FR 2027-02-26"},
		{"2027-02-10T09:00:00", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=3", "start", "not_in_rule", "TU 2028-02-29"},
	} {
		begun := time.Now()
		found := newSet(t, c.start, "Europe/Berlin", c.rule).Check(366)
		if len(found) != 1 || found[0].Location != c.location || found[0].Code != c.code || !strings.Contains(found[0].Message, c.says) {
			t.Errorf("%s: %+v, want %s at %s: %s", c.rule, found, c.code, c.location, c.says)
		}
		if d := time.Since(begun); d > 20*time.Second { // it takes milliseconds
			t.Errorf("%s took %v", c.rule, d)
		}
	}
}

// reference is what RFC 5545 says of one day after the other, with no thought of speed: the
// day's period is one of those that count, and of the days of that period which every part
// names it is at a position that counts.
type reference struct {
	freq                                          string
	interval                                      int
	months, monthDays, yearDays, weeks, positions []int
	days                                          []ruleDay
	weekStart                                     time.Weekday
}

func (r reference) dates(start time.Time, count int) []string {
	var found []string
	var chosen []time.Time // of the day's period
	for day := start; len(found) < count && day.Year() < start.Year()+12; day = day.AddDate(0, 0, 1) {
		if day == start || r.opens(day) {
			chosen = nil
			if r.counts(start, day) {
				chosen = r.chosen(start, day)
			}
		}
		if slices.Contains(chosen, day) {
			found = append(found, day.Format(time.DateOnly))
		}
	}
	return found
}

// begin of the period that the day is in.
func (r reference) begin(day time.Time) time.Time {
	for !r.opens(day) {
		day = day.AddDate(0, 0, -1)
	}
	return day
}

func (r reference) opens(day time.Time) bool {
	switch r.freq {
	case "WEEKLY":
		return day.Weekday() == r.weekStart
	case "MONTHLY":
		return day.Day() == 1
	case "YEARLY":
		return day.YearDay() == 1
	}
	return true
}

// counts reports whether as many periods have begun between the two as the interval wants.
func (r reference) counts(start, day time.Time) bool {
	first, this := r.begin(start), r.begin(day)
	switch r.freq {
	case "DAILY":
		return int(this.Sub(first).Hours()/24)%r.interval == 0
	case "WEEKLY":
		return int(this.Sub(first).Hours()/24/7)%r.interval == 0
	case "MONTHLY":
		return (this.Year()*12+int(this.Month())-first.Year()*12-int(first.Month()))%r.interval == 0
	default:
		return (this.Year()-first.Year())%r.interval == 0
	}
}

func (r reference) chosen(start, day time.Time) []time.Time {
	var fit []time.Time
	for d := r.begin(day); len(fit) == 0 || !r.opens(d); d = d.AddDate(0, 0, 1) {
		if d.After(day.AddDate(1, 0, 1)) {
			return nil
		}
		if d != r.begin(day) && r.opens(d) {
			break
		}
		if r.names(start, d) {
			fit = append(fit, d)
		}
		if r.freq == "DAILY" {
			break
		}
	}
	if len(r.positions) == 0 {
		return fit
	}
	var at []time.Time
	for _, p := range r.positions {
		if p < 0 {
			p = len(fit) + p + 1
		}
		if p >= 1 && p <= len(fit) {
			at = append(at, fit[p-1])
		}
	}
	return at
}

func (r reference) names(start, d time.Time) bool {
	left := func(same func(time.Time) bool) (n int) { // days from this one to the last of its month or year
		for e := d; same(e); e = e.AddDate(0, 0, 1) {
			n++
		}
		return n
	}
	inMonth := func(e time.Time) bool { return e.Month() == d.Month() && e.Year() == d.Year() }
	inYear := func(e time.Time) bool { return e.Year() == d.Year() }
	in := func(list []int, n, fromEnd int) bool {
		return slices.Contains(list, n) || slices.Contains(list, -fromEnd)
	}

	if len(r.months) > 0 && !slices.Contains(r.months, int(d.Month())) {
		return false
	}
	if len(r.monthDays) > 0 && !in(r.monthDays, d.Day(), left(inMonth)) {
		return false
	}
	if len(r.yearDays) > 0 && !in(r.yearDays, d.YearDay(), left(inYear)) {
		return false
	}
	if len(r.weeks) > 0 { // weeks that begin on Mondays are the standard library's
		year, week := d.ISOWeek()
		_, weeks := time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
		if !in(r.weeks, week, weeks-week+1) {
			return false
		}
	}
	if len(r.days) > 0 {
		at, rest := d.Day(), left(inMonth)
		if r.freq == "YEARLY" && len(r.months) == 0 {
			at, rest = d.YearDay(), left(inYear)
		}
		return slices.ContainsFunc(r.days, func(w ruleDay) bool {
			return w.day == d.Weekday() && (w.n == 0 || w.n > 0 && (at-1)/7+1 == w.n || w.n < 0 && (rest-1)/7+1 == -w.n)
		})
	}
	// What no part says is the first date's.
	switch {
	case len(r.monthDays)+len(r.yearDays) > 0, r.freq == "DAILY":
		return true
	case len(r.weeks) > 0, r.freq == "WEEKLY":
		return d.Weekday() == start.Weekday()
	case r.freq == "YEARLY" && len(r.months) == 0:
		return d.Day() == start.Day() && d.Month() == start.Month()
	default:
		return d.Day() == start.Day()
	}
}

// drawn is a rule as a text and as the reference has it.
func drawn(t *rapid.T) (string, reference) {
	r := reference{interval: rapid.IntRange(1, 4).Draw(t, "interval"), weekStart: time.Monday}
	r.freq = rapid.SampledFrom([]string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}).Draw(t, "freq")
	text := "FREQ=" + r.freq + ";INTERVAL=" + strconv.Itoa(r.interval)
	some := func(name string, least, most, odds int) (ns []int) {
		if rapid.IntRange(1, odds).Draw(t, name+"?") > 1 {
			return nil
		}
		g := rapid.IntRange(least, most).Filter(func(n int) bool { return n != 0 })
		ns = rapid.SliceOfNDistinct(g, 1, 4, rapid.ID[int]).Draw(t, name)
		var texts []string
		for _, n := range ns {
			texts = append(texts, strconv.Itoa(n))
		}
		text += ";" + name + "=" + strings.Join(texts, ",")
		return ns
	}
	r.months = some("BYMONTH", 1, 12, 3)
	if r.freq != "WEEKLY" {
		r.monthDays = some("BYMONTHDAY", -31, 31, 3)
	}
	if r.freq == "YEARLY" {
		if r.yearDays = some("BYYEARDAY", -366, 366, 5); r.yearDays == nil && r.monthDays == nil {
			r.weeks = some("BYWEEKNO", -53, 53, 5)
		}
	}
	if rapid.Bool().Draw(t, "BYDAY?") {
		var texts []string
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 4, rapid.ID[int]).Draw(t, "BYDAY") {
			d := ruleDay{day: time.Weekday(i)}
			if (r.freq == "MONTHLY" || r.freq == "YEARLY") && len(r.weeks) == 0 && rapid.Bool().Draw(t, "numbered") {
				d.n = rapid.SampledFrom([]int{-5, -2, -1, 1, 2, 3, 5}).Draw(t, "n")
			}
			name := clock.Weekdays[i]
			if d.n != 0 {
				name = strconv.Itoa(d.n) + name
			}
			r.days, texts = append(r.days, d), append(texts, name)
		}
		text += ";BYDAY=" + strings.Join(texts, ",")
	}
	if len(r.weeks) == 0 && len(r.days)+len(r.monthDays)+len(r.months)+len(r.yearDays) > 0 {
		r.positions = some("BYSETPOS", -4, 4, 3)
	}
	if len(r.weeks) == 0 && rapid.Bool().Draw(t, "WKST?") {
		r.weekStart = time.Weekday(rapid.IntRange(0, 6).Draw(t, "WKST"))
		text += ";WKST=" + clock.Weekdays[r.weekStart]
	}
	return text + ";COUNT=9", r
}

// Any rule gives the dates that a slow, independent reading of RFC 5545 gives; where its
// start is none of them, it says which day is.
func TestSet_asTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, ref := drawn(t)
		start := time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 1500).Draw(t, "day"))
		rule, found := ParseRule(text)
		if len(found) > 0 {
			t.Fatalf("%s: %v", text, found)
		}
		r := &Set{Start: start, End: start.Add(time.Hour), Zone: time.UTC, Rule: rule}
		if found := r.Check(366); len(found) > 0 && found[0].Code != "too_far" {
			if slices.Contains(ref.dates(start, 1), start.Format(time.DateOnly)) {
				t.Fatalf("%s from %s: %v", text, start.Format(time.DateOnly), found)
			}
			first, ok := rule.filled(start).first(start)
			if !ok {
				return
			}
			r.Start, r.End = first, first.Add(time.Hour)
			if found := r.Check(366); len(found) > 0 && found[0].Code == "not_in_rule" {
				t.Fatalf("%s: said that %s is a date: %v", text, first.Format(time.DateOnly), found)
			}
		}
		dates := r.Dates(366)
		got := days(dates)
		want := ref.dates(r.Start, 9)
		got = got[:min(len(got), len(want))]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s from %s: %s", text, r.Start.Format(time.DateOnly), diff)
		}
	})
}

// No text makes the parser or the expansion fail, or last.
func FuzzRule(f *testing.F) {
	for _, s := range []string{
		"FREQ=WEEKLY;COUNT=10", "RRULE:FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20271231T000000Z", "FREQ=YEARLY;BYWEEKNO=53;COUNT=2;WKST=SU",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=3", "FREQ=DAILY;INTERVAL=9999;BYMONTHDAY=29;BYMONTH=2;COUNT=300",
		"FREQ=MONTHLY;BYDAY=MO,1TU,-1WE;BYSETPOS=-1,366;COUNT=9", ";;=;=", "FREQ=DAILY;COUNT=1;BYDAY=,MO", "FREQ=YEARLY;BYYEARDAY=366;INTERVAL=3;COUNT=4",
	} {
		f.Add(s, int64(0))
		f.Add(s, int64(59))
	}
	f.Fuzz(func(t *testing.T, text string, day int64) {
		rule, found := ParseRule(text)
		if (rule == nil) != (len(found) > 0) {
			t.Fatalf("rule %v with faults %v", rule, found)
		}
		if rule == nil {
			return
		}
		start := time.Date(2027, 1, 1, 2, 30, 0, 0, time.UTC).AddDate(0, 0, int(day%4000))
		r := &Set{Start: start, End: start.Add(time.Hour), Zone: clock.ZoneOrUTC("Europe/Berlin"), Rule: rule}
		begun := time.Now()
		if len(r.Check(366)) == 0 {
			dates, how := r.expand(366)
			if how != whole || len(dates) == 0 || !dates[0].Wall.Equal(start) || len(dates) > 366 {
				t.Errorf("%d dates (%v) of %s from %v", len(dates), how, text, start)
			}
		}
		if d := time.Since(begun); d > 20*time.Second {
			t.Errorf("%s took %v", text, d)
		}
	})
}

// Dates on top and left out, where clocks change, or named twice, or no dates of the rule.
func TestSet_oddDates(t *testing.T) {
	for _, c := range []struct {
		name, zone, start, rule string
		ex, on                  []string
		want                    string // in UTC, month-day hour:minute
	}{
		{"on top, in the gap", "Europe/Berlin", "2027-03-26T09:00", "FREQ=DAILY;COUNT=1", nil, []string{"2027-03-28T02:30:00"}, "03-26 08:00, 03-28 01:30"},
		{"on top, at a time that comes twice", "America/New_York", "2027-11-05T09:00", "FREQ=DAILY;COUNT=1", nil, []string{"2027-11-07T01:30:00"}, "11-05 13:00, 11-07 05:30"},
		{"on top, as an instant of the second pass", "America/New_York", "2027-11-05T09:00", "FREQ=DAILY;COUNT=1", nil, []string{"2027-11-07T01:30:00-05:00"}, "11-05 13:00, 11-07 05:30"},
		{"on top, a day in whose gap the start is", "Africa/Cairo", "2027-04-28T00:30", "FREQ=DAILY;COUNT=1", nil, []string{"2027-04-30"}, "04-27 22:30, 04-29 22:30"},
		{"left out, in the gap", "Europe/Berlin", "2027-03-27T02:30", "FREQ=DAILY;COUNT=3", []string{"2027-03-28T02:30:00"}, nil, "03-27 01:30, 03-29 00:30"},
		{"left out, the day", "Australia/Lord_Howe", "2027-10-02T02:15", "FREQ=DAILY;COUNT=3", []string{"2027-10-03"}, nil, "10-01 15:45, 10-03 15:15"},
		{"twice on top", "Europe/Berlin", "2027-02-10T09:00", "FREQ=DAILY;COUNT=1", nil, []string{"2027-02-12", "2027-02-12T09:00:00", "2027-02-12T08:00:00Z"}, "02-10 08:00, 02-12 08:00"},
		{"twice left out", "Europe/Berlin", "2027-02-10T09:00", "FREQ=DAILY;COUNT=3", []string{"2027-02-11", "2027-02-11T09:00:00"}, nil, "02-10 08:00, 02-12 08:00"},
		{"left out, what is none of its dates", "Europe/Berlin", "2027-02-10T09:00", "FREQ=DAILY;COUNT=2", []string{"2027-02-11T10:00:00", "2028-01-01"}, nil, "02-10 08:00, 02-11 08:00"},
		{"left out counts for COUNT", "Europe/Berlin", "2027-02-10T09:00", "FREQ=DAILY;COUNT=3", []string{"2027-02-10"}, nil, "02-11 08:00, 02-12 08:00"},
		{"on top and left out", "Europe/Berlin", "2027-02-10T09:00", "FREQ=DAILY;COUNT=1", []string{"2027-02-12"}, []string{"2027-02-12", "2027-02-13"}, "02-10 08:00, 02-13 08:00"},
		{"UNTIL as an instant in the gap's night", "Europe/Berlin", "2027-03-27T02:30", "FREQ=DAILY;UNTIL=20270328T013000Z", nil, nil, "03-27 01:30, 03-28 01:30"},
		{"UNTIL a moment before it", "Europe/Berlin", "2027-03-27T02:30", "FREQ=DAILY;UNTIL=20270328T012959Z", nil, nil, "03-27 01:30"},
		{"UNTIL between the passes", "America/New_York", "2027-11-06T01:30", "FREQ=DAILY;UNTIL=20271107T060000Z", nil, nil, "11-06 05:30, 11-07 05:30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSet(t, c.start, c.zone, c.rule)
			for list, texts := range map[*[]WallTime][]string{&r.ExDates: c.ex, &r.RDates: c.on} {
				for _, text := range texts {
					w, ok := WallTimeOf(clock.ParseDate(text), r.Zone)
					if !ok {
						t.Fatalf("%s is no date", text)
					}
					*list = append(*list, w)
				}
			}
			dates := r.Dates(366)
			var got []string
			for _, d := range dates {
				got = append(got, d.Slot.Start.Format("01-02 15:04"))
			}
			if diff := cmp.Diff(strings.Split(c.want, ", "), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
