package recurrence

import (
	"strconv"
	"time"

	"punctual/meeting/clock"
)

// Between returns the dates of a rule from one wall-clock time up to another, in order. They have the
// time of day of the first date, which may lie centuries before. COUNT and INTERVAL are ignored: the
// rules of time zones have none.
func (r *Rule) Between(first, from, to time.Time) []time.Time {
	rule := r.filled(first)
	var dates []time.Time
	day := dayOf(from).Add(clock.SinceMidnight(first))
	for begin, end := rule.period(day); begin.Before(to); begin, end = rule.period(end.AddDate(0, 0, 1)) {
		for _, d := range rule.chosen(begin, end) {
			if !d.Before(from) && !d.Before(first) && d.Before(to) {
				dates = append(dates, d)
			}
		}
	}
	return dates
}

// First returns the first date of the rule at or after a wall-clock time, as if the rule began there.
// ok is false if no day of the next decades satisfies the rule.
func (r *Rule) First(start time.Time) (first time.Time, ok bool) {
	return r.filled(start).first(start)
}

// WithCount returns the rule with another number of dates in place of its end.
func (r *Rule) WithCount(n int) *Rule { return r.withEnd("COUNT", strconv.Itoa(n)) }

// Count returns the number of dates after which the rule ends; 0: it ends by UNTIL.
func (r *Rule) Count() int { return r.count }
