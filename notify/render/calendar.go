package render

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"

	"punctual/notify"
)

// calendar returns the iCalendar part of n and its method, or nothing for kinds without one.
// It depends on n alone, so that every attempt carries the same.
func (r *Renderer) calendar(n notify.Notification) (body, method string) {
	f := n.Facts
	status := ics.ObjectStatusConfirmed
	switch n.Kind {
	case notify.Invitation, notify.Change:
		method = string(ics.MethodRequest)
	case notify.Cancellation:
		method, status = string(ics.MethodCancel), ics.ObjectStatusCancelled
	default:
		return "", ""
	}
	cal := ics.NewCalendar()
	cal.SetProductId("-//Punctual//Punctual//EN")
	cal.SetMethod(ics.Method(method))
	cal.SetCalscale("GREGORIAN")

	id := strconv.FormatInt(cmp.Or(f.MeetingID, n.MeetingID), 10)
	ev := ics.NewEvent("meeting-" + id + "@" + r.host)
	ev.SetDtStampTime(n.CreatedAt.UTC())
	ev.SetSequence(int(f.Sequence))
	ev.SetStatus(status)
	ev.SetSummary(line(f.Title))
	if d := strings.Join(lines(f.Description, maxDescription), "\n"); d != "" {
		ev.SetDescription(d)
	}
	rooms := make([]string, len(f.Rooms))
	for i, name := range f.Rooms {
		rooms[i] = line(name)
	}
	if len(rooms) > 0 {
		ev.SetLocation(strings.Join(rooms, ", "))
	}
	if r.baseURL != "" {
		ev.SetURL(r.baseURL + "/meetings/" + id)
	}
	if addr := mailto(f.Organizer.Email); addr != "" {
		ev.SetOrganizer(addr, cn(f.Organizer))
	}
	for _, a := range f.Attendees {
		if addr := mailto(a.Email); addr != "" {
			ev.AddAttendee(addr, cn(a), ics.CalendarUserTypeIndividual, ics.ParticipationRoleReqParticipant,
				ics.ParticipationStatusNeedsAction, &ics.KeyValues{Key: "RSVP", Value: []string{"TRUE"}})
		}
	}
	ev.SetTimeTransparency(ics.TransparencyOpaque)
	setTimes(cal, ev, f)
	cal.AddVEvent(ev)
	return unquote.Replace(cal.Serialize(ics.WithNewLineWindows)), method
}

// setTimes gives the event its times in the zone of its room, which the calendar describes;
// in UTC when there is none.
func setTimes(cal *ics.Calendar, ev *ics.VEvent, f notify.Facts) {
	loc := zone(f.Timezone)
	if loc == nil || loc == time.UTC || loc.String() == "UTC" {
		ev.SetStartAt(f.Start.UTC())
		ev.SetEndAt(f.End.UTC())
		return
	}
	start, end := f.Start.In(loc), f.End.In(loc)
	cal.AddVTimezone(timezone(start, end))
	ev.SetProperty(ics.ComponentPropertyDtStart, start.Format(localTime), ics.WithTZID(loc.String()))
	ev.SetProperty(ics.ComponentPropertyDtEnd, end.Format(localTime), ics.WithTZID(loc.String()))
}

const localTime = "20060102T150405"

// timezone describes the zone of start from the change before it to the change after end: all
// that a single event needs, and nothing that could go out of date.
func timezone(start, end time.Time) *ics.VTimezone {
	tz := ics.NewTimezone(start.Location().String())
	for t := start; ; {
		from, to := t.ZoneBounds()
		tz.Components = append(tz.Components, observance(t, from))
		if to.IsZero() || t.After(end) {
			return tz
		}
		t = to
	}
}

// observance describes what holds at t, since from; zero: always.
func observance(t, from time.Time) ics.Component {
	name, offset := t.Zone()
	begin, before := "19700101T000000", offset
	if !from.IsZero() {
		_, before = from.Add(-time.Second).Zone()
		begin = from.UTC().Add(time.Duration(before) * time.Second).Format(localTime)
	}
	base := ics.ComponentBase{}
	set := func(p ics.Property, value string) { base.SetProperty(ics.ComponentProperty(p), value) }
	set(ics.PropertyDtstart, begin)
	set(ics.PropertyTzoffsetfrom, utcOffset(before))
	set(ics.PropertyTzoffsetto, utcOffset(offset))
	set(ics.PropertyTzname, name)
	if t.IsDST() {
		return &ics.Daylight{ComponentBase: base}
	}
	return &ics.Standard{ComponentBase: base}
}

func utcOffset(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	s := fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds%3600/60)
	if seconds%60 != 0 {
		s += fmt.Sprintf("%02d", seconds%60)
	}
	return s
}

// mailto makes a calendar address, or nothing of what could break out of one.
func mailto(email string) string {
	if email == "" || strings.ContainsFunc(email, func(c rune) bool { return hidden(c) || unicode.IsSpace(c) }) {
		return ""
	}
	return "mailto:" + email
}

// cn is the parameter with a person's name. RFC 5545 wants it quoted when it holds a comma,
// colon or semicolon; the library would put a backslash before them and before apostrophes,
// which calendars then show. So these characters travel through it in disguise, as
// characters of private use, which line keeps out of all else.
func cn(c notify.Contact) ics.PropertyParameter {
	return ics.WithCN("\uE000" + quote.Replace(contact(c)) + "\uE000")
}

var (
	quote   = strings.NewReplacer(`"`, "\uE004", `,`, "\uE001", `;`, "\uE002", `:`, "\uE003", `'`, "\uE004", `\`, "\uE005")
	unquote = strings.NewReplacer("\uE000", `"`, "\uE001", `,`, "\uE002", `;`, "\uE003", `:`, "\uE004", `'`, "\uE005", `\`)
)
