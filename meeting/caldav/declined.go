package caldav

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"punctual/meeting/itip"
)

// Rooms that cannot be booked stay in the user's event, as attendees that declined. So does a date of a series that no
// room can be booked for: there is no meeting, but the user's calendar goes on showing it.

// decline notes that rooms decline a date of the event that differs.
func (u *upload) decline(o *itip.Event, rooms []int64) {
	events, kids := u.object.Events(), u.text.kidsNamed("VEVENT")
	slices.SortFunc(events, func(a, b *itip.Event) int { return cmp.Compare(a.Line, b.Line) })
	if i := slices.Index(events, o); i >= 0 && len(events) == len(kids) {
		u.note(kids[i], rooms)
	} else if i < 0 { // it is like the others now
		u.declineDate(o.RecurrenceID.In(time.UTC), o.End.In(time.UTC).Sub(o.Start.In(time.UTC)))
	}
}

func (u *upload) note(ev *component, rooms []int64) {
	if u.declinedOn == nil {
		u.declinedOn = map[*component][]int64{}
	}
	u.declinedOn[ev] = rooms
}

// declineDate notes that no room can be booked for a date of the rule. The event gets a part for that date.
func (u *upload) declineDate(begins time.Time, length time.Duration) {
	for _, ev := range u.text.kidsNamed("VEVENT") {
		if _, differs := ev.first("RECURRENCE-ID"); differs {
			continue
		}
		utc := func(t time.Time) string { return t.UTC().Format(utcForm) }
		date := &component{name: "VEVENT", kids: ev.kids, lines: []line{
			{name: "RECURRENCE-ID", value: utc(begins)}, {name: "DTSTART", value: utc(begins)}, {name: "DTEND", value: utc(begins.Add(length))},
		}}
		for _, l := range ev.lines {
			switch l.name {
			case "RRULE", "RDATE", "EXDATE", "DTSTART", "DTEND", "DURATION":
			default:
				date.lines = append(date.lines, l)
			}
		}
		u.text.kids = append(u.text.kids, date)
		u.note(date, u.rooms)
		u.edited = true
		return
	}
}

// answerForRooms notes in the event, as it is kept, which of its rooms declined. The others are rendered with
// the meeting.
func (u *upload) answerForRooms() {
	for _, ev := range u.text.kidsNamed("VEVENT") {
		declined, own := u.declinedOn[ev]
		if !own {
			declined = u.declined
		}
		for i := range ev.lines {
			l := &ev.lines[i]
			id := u.invites(*l)
			switch {
			case id == 0:
				continue
			case slices.Contains(declined, id):
				if u.sites[emailOf(l.value)] == 0 {
					l.value = "mailto:" + u.address(id)
				}
				l.setParam("CUTYPE", "ROOM")
				l.setParam("PARTSTAT", "DECLINED")
				l.setParam("SCHEDULE-STATUS", `"2.0"`)
			default:
				l.setParam("PARTSTAT", "ACCEPTED")
			}
			l.setParam("RSVP", "")
			u.edited = true
		}
	}
}

// declines reports whether a line is a room that could not be booked.
func declines(l line) bool {
	return l.name == "ATTENDEE" && l.param("CUTYPE") == "ROOM" && l.param("PARTSTAT") == "DECLINED"
}

// keepDeclined adds to a rendered calendar the dates that no room could be booked for, as a program stored them. They
// are no longer excluded.
func keepDeclined(now, was *component) {
	kept := slices.DeleteFunc(was.kidsNamed("VEVENT"), func(ev *component) bool {
		rooms := slices.DeleteFunc(slices.Clone(ev.lines), func(l line) bool { return l.name != "ATTENDEE" || l.param("CUTYPE") != "ROOM" })
		return recurrenceKey(ev) == "" || !slices.ContainsFunc(rooms, declines) || slices.ContainsFunc(rooms, func(l line) bool { return !declines(l) })
	})
	if len(kept) == 0 {
		return
	}
	excluded := eventsOf(now)
	if len(excluded) == 0 || excluded[0].RecurrenceID != nil {
		return
	}
	stored := eventsOf(was)
	master := now.kidsNamed("VEVENT")[0]
	for i, ev := range was.kidsNamed("VEVENT") {
		if !slices.Contains(kept, ev) || len(stored) <= i || stored[i].RecurrenceID == nil {
			continue
		}
		at := stored[i].RecurrenceID.In(time.UTC)
		n := slices.IndexFunc(excluded[0].ExDates, func(t itip.Time) bool { return t.In(time.UTC).Equal(at) })
		if n < 0 { // there is a meeting
			continue
		}
		excluded[0].ExDates = slices.Delete(excluded[0].ExDates, n, n+1)
		master.dropValue("EXDATE", n)
		now.kids = append(now.kids, ev)
		for _, zone := range was.kidsNamed("VTIMEZONE") {
			if id, _ := zone.first("TZID"); !slices.ContainsFunc(now.kidsNamed("VTIMEZONE"), func(z *component) bool { l, _ := z.first("TZID"); return l.value == id.value }) {
				now.kids = slices.Insert(now.kids, 0, zone)
			}
		}
	}
}

// eventsOf reads the events of a calendar in their order; nil: they cannot be read.
func eventsOf(c *component) []*itip.Event {
	calendar, err := itip.Read(strings.NewReader(c.String()), limits)
	if err != nil || len(calendar.Objects) != 1 {
		return nil
	}
	events := calendar.Objects[0].Events()
	slices.SortFunc(events, func(a, b *itip.Event) int { return cmp.Compare(a.Line, b.Line) })
	if len(events) != len(c.kidsNamed("VEVENT")) {
		return nil
	}
	return events
}

// dropValue removes the n-th value of the properties with a name.
func (c *component) dropValue(name string, n int) {
	for i, l := range c.lines {
		if l.name != name {
			continue
		}
		values := strings.Split(l.value, ",")
		if n >= len(values) {
			n -= len(values)
			continue
		}
		if values = slices.Delete(values, n, n+1); len(values) == 0 {
			c.lines = slices.Delete(c.lines, i, i+1)
		} else {
			c.lines[i].value = strings.Join(values, ",")
		}
		return
	}
}
