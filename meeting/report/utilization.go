package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Grouping of a report.
type Grouping string

const (
	ByRoom Grouping = "room"
	BySite Grouping = "site"
	ByDay  Grouping = "day"
	ByHour Grouping = "hour" // of the week
)

// maxSpan is the longest span of a report.
const maxSpan = 366 * 24 * time.Hour

// Utilization of a room, of the rooms of a site, or of all rooms on a day or in an hour of the week.
type Utilization struct {
	RoomUse
	Name     string // of the room or site
	SiteID   int64  // of a room's site; 0: none
	SiteName string // of a room's site

	// OpenSeconds are the opening hours of bookable rooms, all day without opening hours; 0: none.
	// 10,000 rooms are open for more than 292 years in three weeks, the most that a [time.Duration] holds.
	OpenSeconds float64
}

// share returns a share of the opening hours; 0 if there are none.
func share(of time.Duration, openSeconds float64) float64 {
	if openSeconds <= 0 {
		return 0
	}
	return of.Seconds() / openSeconds
}

// BookedShare is the share of the opening hours for which rooms were booked. It exceeds 1 if
// meetings took place outside of them.
func (u *Utilization) BookedShare() float64 { return share(u.Booked, u.OpenSeconds) }

// UsedShare is the share of the opening hours in which meetings took place.
func (u *Utilization) UsedShare() float64 { return share(u.Used, u.OpenSeconds) }

// add adds another group's figures.
func (u *Utilization) add(o *Utilization) {
	u.Booked += o.Booked
	u.Used += o.Used
	u.OpenSeconds += o.OpenSeconds
	u.Meetings += o.Meetings
	u.NoShows += o.NoShows
	u.Cancelled += o.Cancelled
	u.Rejected += o.Rejected
	u.Freed += o.Freed
	u.Counted += o.Counted
	u.Persons += o.Persons
	u.Seated += o.Seated
	u.Seats += o.Seats
	u.SeatedMeetings += o.SeatedMeetings
}

// LocalDay is a day by the clocks of a zone.
type LocalDay struct {
	Date string // YYYY-MM-DD
	Slot clock.Slot
}

// LocalDays returns the days that span touches in a zone.
func LocalDays(span clock.Slot, loc *time.Location) []LocalDay {
	var days []LocalDay
	y, mo, d := span.Start.In(loc).Date()
	day := time.Date(y, mo, d, 0, 0, 0, 0, time.UTC) // a date, not an instant
	for ; ; day = day.AddDate(0, 0, 1) {
		slot := clock.Slot{Start: clock.InstantOrChange(day, loc), End: clock.InstantOrChange(day.AddDate(0, 0, 1), loc)}
		if !slot.Start.Before(span.End) {
			return days
		}
		if slot.Overlaps(span) {
			days = append(days, LocalDay{Date: day.Format(time.DateOnly), Slot: slot})
		}
	}
}

// zoneDays returns the days that span touches in each of the zones, cut to it. inForce replaces
// empty zones.
func zoneDays(span clock.Slot, zones []string, inForce string) []ZoneDay {
	var days []ZoneDay
	for _, name := range zones {
		for _, d := range LocalDays(span, clock.ZoneOrUTC(cmp.Or(name, inForce))) {
			part, _ := d.Slot.Intersect(span)
			days = append(days, ZoneDay{Zone: name, Day: d.Date, Slot: part})
		}
	}
	return days
}

// HourOfWeek is the weekday, 1 for Monday to 7, and the hour of the clock: "1 09".
func HourOfWeek(t time.Time) string {
	return fmt.Sprintf("%d %02d", (int(t.Weekday())+6)%7+1, t.Hour())
}

// LocalHours returns the hours of the clock within a slot, the first and the last cut to it.
func LocalHours(slot clock.Slot, loc *time.Location) []clock.Slot {
	var hours []clock.Slot
	for t := slot.Start; t.Before(slot.End); {
		local := t.In(loc)
		next := t.Add(time.Hour - time.Duration(local.Minute())*time.Minute - time.Duration(local.Second())*time.Second - time.Duration(local.Nanosecond()))
		next = clock.Earlier(next, slot.End)
		hours = append(hours, clock.Slot{Start: t, End: next})
		t = next
	}
	return hours
}

// zoneHours splits days into hours by the local clock.
func zoneHours(days []ZoneDay, inForce string) []ZoneDay {
	var hours []ZoneDay
	for _, d := range days {
		loc := clock.ZoneOrUTC(cmp.Or(d.Zone, inForce))
		for _, h := range LocalHours(d.Slot, loc) {
			hours = append(hours, ZoneDay{Zone: d.Zone, Day: HourOfWeek(h.Start.In(loc)), Slot: h})
		}
	}
	return hours
}

// openFor returns how long rooms with the policy are open within a slot.
func openFor(p *policy.Policy, slot clock.Slot, loc *time.Location) time.Duration {
	var sum time.Duration
	for _, open := range p.OpenHours(slot, loc) {
		sum += open.Duration()
	}
	return sum
}

// openings computes how long rooms are open. Rooms with the same policy and zone are computed once.
type openings struct {
	span    clock.Slot
	days    map[string][]ZoneDay // by zone; nil: the span as a whole
	inForce string               // the zone of rooms for which none is named
	known   map[opening]map[string]time.Duration
}

type opening struct {
	policy *policy.Policy
	zone   string
}

// of a room, by day; "" is the whole span.
func (o *openings) of(r *Room) map[string]time.Duration {
	key := opening{r.Policy, r.Zone}
	if open, ok := o.known[key]; ok {
		return open
	}
	loc := clock.ZoneOrUTC(cmp.Or(r.Zone, o.inForce))
	open := map[string]time.Duration{}
	if o.days == nil {
		open[""] = openFor(r.Policy, o.span, loc)
	}
	if days := o.days[r.Zone]; len(days) > 0 {
		// All at once: a year has 8,784 hours.
		hours := r.Policy.OpenHours(clock.Slot{Start: days[0].Slot.Start, End: days[len(days)-1].Slot.End}, loc)
		for _, d := range days {
			for len(hours) > 0 && !hours[0].End.After(d.Slot.Start) {
				hours = hours[1:]
			}
			var sum time.Duration
			for _, h := range hours {
				part, ok := h.Intersect(d.Slot)
				if !ok {
					break
				}
				sum += part.Duration()
			}
			open[d.Day] += sum
		}
	}
	o.known[key] = open
	return open
}

// utilization joins the use of rooms with the rooms' opening hours.
func utilization(group Grouping, rooms []Room, used []RoomUse, open *openings) []*Utilization {
	type key struct {
		id  int64
		day string
	}
	found := map[key]*Utilization{}
	at := func(id int64, day string) *Utilization {
		k := key{id, day}
		if found[k] == nil {
			found[k] = &Utilization{RoomUse: RoomUse{ID: id, Day: day}}
		}
		return found[k]
	}
	for _, u := range used {
		at(u.ID, u.Day).RoomUse = u
	}
	for _, days := range open.days {
		for _, d := range days {
			at(0, d.Day) // includes days on which no room was open
		}
	}
	for i := range rooms {
		r := &rooms[i]
		u := Utilization{Name: r.SiteName}
		switch group {
		case ByRoom:
			u = Utilization{RoomUse: RoomUse{ID: r.ID}, Name: r.Name, SiteID: r.SiteID, SiteName: r.SiteName}
		case BySite:
			u.ID = r.SiteID
		case ByDay, ByHour:
			u.Name = ""
		}
		if known := found[key{u.ID, ""}]; known != nil {
			known.Name, known.SiteID, known.SiteName = u.Name, u.SiteID, u.SiteName
		}
		if !r.Bookable {
			continue
		}
		for day, d := range open.of(r) {
			g := at(u.ID, day)
			g.OpenSeconds += d.Seconds() * float64(1+r.Alike)
			g.Name, g.SiteID, g.SiteName = u.Name, u.SiteID, u.SiteName
		}
	}
	all := make([]*Utilization, 0, len(found))
	for _, u := range found {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *Utilization) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return all
}
