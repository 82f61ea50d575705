package recurrence

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// A Rule is a recurrence rule of RFC 5545 for whole days: DAILY, WEEKLY, MONTHLY or YEARLY,
// with an end. The time of day is that of the first date.
type Rule struct {
	parts []rulePart // as given, in upper case

	freq      string
	interval  int // at least 1
	count     int // 0: the rule ends by until
	until     until
	weekdays  []ruleDay
	months    []int
	monthDays []int // negative: from the end
	yearDays  []int
	weeks     []int
	positions []int // BYSETPOS
	weekStart time.Weekday
}

type rulePart struct{ name, value string }

// ruleDay is a weekday, or its n-th in the month or year; negative n count from the end.
type ruleDay struct {
	n   int // 0: each
	day time.Weekday
}

// until is the last time at which a date may begin. Only one of the two is set.
type until struct {
	utc  time.Time // an instant
	wall time.Time // what clocks show, in UTC; for a date, its last second
}

const (
	maxRule     = 500   // characters
	maxInterval = 9_999 // far beyond what can be booked ahead
)

// String returns the rule as it was given, in upper case.
func (r *Rule) String() string {
	texts := make([]string, len(r.parts))
	for i, p := range r.parts {
		texts[i] = p.name + "=" + p.value
	}
	return strings.Join(texts, ";")
}

// ParseRule parses a rule, with or without the prefix "RRULE:". It reports all faults at once,
// without a location. The rule is nil if there are any.
func ParseRule(text string) (*Rule, []fault.Fault) {
	p := ruleParser{rule: &Rule{interval: 1, weekStart: time.Monday}, seen: map[string]bool{}}
	text = strings.ToUpper(strings.TrimSpace(text))
	text = strings.TrimPrefix(text, "RRULE:")
	switch {
	case text == "":
		p.fault("required", "is required")
	case len(text) > maxRule:
		p.fault("too_long", "must have at most %d characters", maxRule)
	default:
		for part := range strings.SplitSeq(strings.TrimSuffix(text, ";"), ";") {
			p.part(part)
		}
		p.checkCombinations()
	}
	if len(p.found) > 0 {
		return nil, p.found
	}
	return p.rule, nil
}

type ruleParser struct {
	rule  *Rule
	seen  map[string]bool
	found fault.List
}

func (p *ruleParser) fault(code, format string, args ...any) {
	p.found.Add("", code, format, args...)
}

func (p *ruleParser) part(text string) {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || name == "" || value == "":
		p.fault("invalid_part", "%q must have the form NAME=VALUE", text)
		return
	case p.seen[name]:
		p.fault("duplicate_part", "%s must not appear twice", name)
		return
	}
	p.seen[name] = true
	r := p.rule
	r.parts = append(r.parts, rulePart{name, value})
	switch name {
	case "FREQ":
		p.frequency(value)
	case "INTERVAL":
		r.interval = p.number(name, value, 1, maxInterval)
	case "COUNT":
		r.count = p.number(name, value, 1, 1_000_000)
	case "UNTIL":
		p.until(value)
	case "BYDAY":
		p.weekdays(value)
	case "BYMONTH":
		r.months = p.numbers(name, value, 1, 12)
	case "BYMONTHDAY":
		r.monthDays = p.numbers(name, value, -31, 31)
	case "BYYEARDAY":
		r.yearDays = p.numbers(name, value, -366, 366)
	case "BYWEEKNO":
		r.weeks = p.numbers(name, value, -53, 53)
	case "BYSETPOS":
		r.positions = p.numbers(name, value, -366, 366)
	case "WKST":
		if i := slices.Index(clock.Weekdays, value); i >= 0 {
			r.weekStart = time.Weekday(i)
		} else {
			p.fault("invalid_part", "WKST=%s: must be one of MO TU WE TH FR SA SU", value)
		}
	case "BYHOUR", "BYMINUTE", "BYSECOND":
		p.fault("sub_daily", "%s: must not be set; a series repeats at most once a day", name)
	default:
		p.fault("unknown_part", "%s is not a known rule part", name)
	}
}

func (p *ruleParser) frequency(value string) {
	switch value {
	case "DAILY", "WEEKLY", "MONTHLY", "YEARLY":
		p.rule.freq = value
	case "SECONDLY", "MINUTELY", "HOURLY":
		p.fault("sub_daily", "FREQ=%s: must not repeat more than once a day", value)
	default:
		p.fault("invalid_part", "FREQ=%s: must be one of DAILY WEEKLY MONTHLY YEARLY", value)
	}
}

func (p *ruleParser) number(name, value string, least, most int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most || value[0] == '+' {
		p.fault("invalid_part", "%s=%s: must be a number from %d to %d", name, value, least, most)
		return least
	}
	return n
}

func (p *ruleParser) numbers(name, value string, least, most int) []int {
	var ns []int
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most || n == 0 {
			if least < 0 {
				p.fault("invalid_part", "%s=%s: %q must be from 1 to %d or from -1 to %d", name, value, text, most, least)
			} else {
				p.fault("invalid_part", "%s=%s: %q must be from %d to %d", name, value, text, least, most)
			}
			continue
		}
		if !slices.Contains(ns, n) {
			ns = append(ns, n)
		}
	}
	return ns
}

func (p *ruleParser) weekdays(value string) {
	for text := range strings.SplitSeq(value, ",") {
		d := ruleDay{}
		i := -1
		if len(text) >= 2 {
			i = slices.Index(clock.Weekdays, text[len(text)-2:])
		}
		ok := i >= 0
		if ok && len(text) > 2 {
			n, err := strconv.Atoi(text[:len(text)-2])
			ok, d.n = err == nil && n != 0 && n >= -53 && n <= 53, n
		}
		if !ok {
			p.fault("invalid_part", "BYDAY=%s: %q must be a weekday like MO, 2MO or -1FR", value, text)
			continue
		}
		if d.day = time.Weekday(i); !slices.Contains(p.rule.weekdays, d) {
			p.rule.weekdays = append(p.rule.weekdays, d)
		}
	}
}

func (p *ruleParser) until(value string) {
	u := &p.rule.until
	var err error
	switch {
	case len(value) == len("20060102"):
		u.wall, err = time.Parse("20060102", value)
		u.wall = u.wall.Add(24*time.Hour - time.Second)
	case strings.HasSuffix(value, "Z"):
		u.utc, err = time.Parse("20060102T150405Z", value)
	default:
		u.wall, err = time.Parse("20060102T150405", value)
	}
	if err != nil {
		p.fault("invalid_part", "UNTIL=%s: must be a date like 20271231, or a time like 20271231T090000 (local) or 20271231T080000Z", value)
	}
}

func (p *ruleParser) checkCombinations() {
	r := p.rule
	has := func(name string) bool { return p.seen[name] }
	if !has("FREQ") {
		p.fault("required", "FREQ is required")
	}
	switch {
	case has("COUNT") && has("UNTIL"):
		p.fault("contradiction", "COUNT and UNTIL must not be used together")
	case !has("COUNT") && !has("UNTIL"):
		p.fault("endless", "must have an end: COUNT or UNTIL")
	}
	numbered := slices.ContainsFunc(r.weekdays, func(d ruleDay) bool { return d.n != 0 })
	switch {
	case numbered && (r.freq == "DAILY" || r.freq == "WEEKLY"):
		p.fault("contradiction", "BYDAY: a numbered weekday requires MONTHLY or YEARLY")
	case numbered && has("BYWEEKNO"):
		p.fault("contradiction", "BYDAY: a numbered weekday must not be used with BYWEEKNO")
	}
	if most := r.mostNth(); numbered && slices.ContainsFunc(r.weekdays, func(d ruleDay) bool { return d.n > most || d.n < -most }) {
		p.fault("contradiction", "BYDAY: the number must be at most %d in a month", most)
	}
	if r.freq == "WEEKLY" && has("BYMONTHDAY") {
		p.fault("contradiction", "BYMONTHDAY must not be used with WEEKLY")
	}
	for _, name := range []string{"BYYEARDAY", "BYWEEKNO"} {
		if has(name) && r.freq != "YEARLY" && r.freq != "" {
			p.fault("contradiction", "%s requires YEARLY", name)
		}
	}
	if has("BYSETPOS") && has("BYWEEKNO") {
		p.fault("unsupported", "BYSETPOS with BYWEEKNO is not supported")
	}
	if has("BYSETPOS") && !slices.ContainsFunc([]string{"BYDAY", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"}, has) {
		p.fault("contradiction", "BYSETPOS requires another BY... part")
	}
}

// Shift returns the rule for a first date that moves from one wall-clock time to another. UNTIL
// moves along, so that the number of dates stays the same. zone is where an UNTIL in UTC counts.
func (r *Rule) Shift(from, to time.Time, zone *time.Location) *Rule {
	i := slices.IndexFunc(r.parts, func(p rulePart) bool { return p.name == "UNTIL" })
	switch {
	case i < 0:
		return r
	case len(r.parts[i].value) == len("20060102"):
		return r.withEnd("UNTIL", r.until.wall.Add(dayOf(to).Sub(dayOf(from))).Format("20060102"))
	case !r.until.utc.IsZero():
		return r.withEnd("UNTIL", clock.Wall(r.until.utc, zone).Add(to.Sub(from)).Format("20060102T150405"))
	default:
		return r.withEnd("UNTIL", r.until.wall.Add(to.Sub(from)).Format("20060102T150405"))
	}
}

// InUTC returns the text of the rule with an UNTIL in UTC, as calendars expect it. A local UNTIL
// is read in zone.
func (r *Rule) InUTC(zone *time.Location) string {
	if wall := r.until.wall; !wall.IsZero() {
		r = r.withEnd("UNTIL", clock.InstantOrShift(wall, zone).Format("20060102T150405Z"))
	}
	return r.String()
}

// HasCount reports whether the rule ends by COUNT, and not by UNTIL.
func (r *Rule) HasCount() bool { return r.count > 0 }

// withEnd returns the rule with another end: part is COUNT or UNTIL, and replaces either.
func (r *Rule) withEnd(part, value string) *Rule {
	parts := slices.Clone(r.parts)
	i := slices.IndexFunc(parts, func(p rulePart) bool { return p.name == "COUNT" || p.name == "UNTIL" })
	parts[i] = rulePart{part, value}
	changed, found := ParseRule((&Rule{parts: parts}).String())
	if len(found) > 0 {
		panic("rule: " + fault.List(found).Err().Error()) // the parts have been parsed before
	}
	return changed
}
