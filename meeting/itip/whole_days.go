package itip

import (
	"cmp"
	"slices"
	"time"

	"punctual/meeting/recurrence"
)

// WholeDays is a span of whole days of a calendar, such as a holiday.
type WholeDays struct {
	UID         string
	First, Last time.Time // dates, at midnight UTC; Last is included
	Name        string
}

// LeftOut is an event that WholeDays does not return.
type LeftOut struct {
	Line   int
	Name   string
	Reason string // not_whole_days, or invalid
}

// WholeDays returns the events of whole days that end on or after a date, by their first day, and what
// was left out. Recurring events are followed up to a horizon. Canceled events are ignored. Whether an
// event is marked as free time does not matter: many calendars of holidays mark all their events so.
// It stops after more than most.
func (c *Calendar) WholeDays(from, horizon time.Time, most int) (days []WholeDays, out []LeftOut) {
	for _, o := range c.Objects {
		head := o.Head()
		if head.Cancelled || len(days) > most {
			continue
		}
		leave := func(reason string) { out = append(out, LeftOut{head.Line, head.Title, reason}) }
		if len(o.Faults()) == 0 && !head.Start.Day {
			leave("not_whole_days")
			continue
		}
		dates, err := o.Dates(time.UTC, horizon)
		if err != nil {
			leave("invalid")
			continue
		}
		length := dates.Slot.End.Sub(dates.Slot.Start)
		add := func(name string, start, end time.Time) {
			last := end.Add(-time.Nanosecond).Truncate(24 * time.Hour)
			if !last.Before(from) && start.Before(horizon) {
				days = append(days, WholeDays{UID: o.UID, First: start.Truncate(24 * time.Hour), Last: last, Name: name})
			}
		}
		if dates.Set == nil {
			add(head.Title, dates.Slot.Start, dates.Slot.End)
			continue
		}
		for _, occurrence := range dates.Set.Dates(recurrence.AllDates) {
			start, end, name := occurrence.Wall, occurrence.Wall.Add(length), head.Title
			for _, d := range dates.Differs {
				if d.Wall.Equal(occurrence.Wall) {
					start, end = d.Slot.Start, d.Slot.End
					if d.Event != nil {
						name = d.Event.Title
					}
				}
			}
			add(name, start, end)
		}
	}
	slices.SortStableFunc(days, func(a, b WholeDays) int {
		return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last), cmp.Compare(a.Name, b.Name))
	})
	return days, out
}
