package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"

	"punctual/notify"
)

// calendar returns the iCalendar part of n and its method, or "" for kinds without one. It depends
// only on n, so every attempt sends the same.
func (r *Renderer) calendar(n notify.Notification) (body, method string) {
	f := n.Facts
	status := ics.ObjectStatusConfirmed
	switch n.Kind {
	case notify.Invitation, notify.Change:
		method = string(ics.MethodRequest)
		if n.Facts.ReplyDomain == "" && strings.EqualFold(n.To.Address, n.Facts.Organizer.Email) { // nobody invites themselves
			method = string(ics.MethodPublish)
		}
	case notify.Cancellation:
		method, status = string(ics.MethodCancel), ics.ObjectStatusCancelled
	default:
		return "", ""
	}
	cal := ics.NewCalendar()
	cal.SetProductId("-//Punctual//Punctual//EN")
	cal.SetMethod(ics.Method(method))
	cal.SetCalscale("GREGORIAN")

	c := &eventBuilder{Renderer: r, n: n, status: status}
	if f.Series != nil {
		c.series(cal)
	} else {
		c.single(cal)
	}
	return unquote.Replace(cal.Serialize(ics.WithNewLineWindows)), method
}

// Entry returns an iCalendar to import: a meeting, or the series of its facts, with the UID of its
// invitations, or another one unless that is empty. The result depends only on the arguments.
func (r *Renderer) Entry(f notify.Facts, uid string, tentative bool, changedAt time.Time) []byte {
	cal := ics.NewCalendar()
	cal.SetProductId("-//Punctual//Punctual//EN")
	cal.SetMethod(ics.MethodPublish)
	cal.SetCalscale("GREGORIAN")
	c := &eventBuilder{Renderer: r, n: notify.Notification{Facts: f, CreatedAt: changedAt}, status: ics.ObjectStatusConfirmed, foreign: uid}
	if tentative {
		c.status = ics.ObjectStatusTentative
	}
	if f.Series != nil {
		c.series(cal)
	} else {
		c.single(cal)
	}
	return []byte(unquote.Replace(cal.Serialize(ics.WithNewLineWindows)))
}

type eventBuilder struct {
	*Renderer
	n       notify.Notification
	status  ics.ObjectStatus
	foreign string // UID of an event of another calendar program; empty: it is ours
}

func (c *eventBuilder) single(cal *ics.Calendar) {
	f := c.n.Facts
	ev := c.event(f.Title, f.Description, f.Rooms, f.Attendees)
	t := times{zoneOf(f), f.Start, f.End}
	t.describe(cal)
	if f.SeriesID != 0 && f.OriginalStart != nil {
		t.set(ev, ics.ComponentPropertyRecurrenceId, *f.OriginalStart)
	}
	t.setBoth(ev)
	cal.AddVEvent(ev)
}

// series adds a recurring event, and an event for each date that differs. For a cancellation of
// some dates it adds an event for each of those.
func (c *eventBuilder) series(cal *ics.Calendar) {
	f, s := c.n.Facts, c.n.Facts.Series
	loc := zoneOf(f)
	first, err := time.ParseInLocation(localTime, s.Start, orUTC(loc))
	if err != nil {
		first = f.Start
	}
	begin, end := first, s.Last.Add(f.End.Sub(f.Start))
	if f.Start.Before(begin) {
		begin = f.Start
	}
	for _, o := range slices.Concat(s.Overrides, s.Cancelled) {
		for _, t := range []time.Time{o.Start, o.OriginalStart} {
			if t.Before(begin) {
				begin = t
			}
		}
		if o.End.After(end) {
			end = o.End
		}
	}
	times{loc, begin, end}.describe(cal)
	if len(s.Cancelled) > 0 {
		for _, o := range s.Cancelled {
			c.occurrence(cal, loc, o)
		}
		return
	}
	ev := c.event(f.Title, f.Description, c.seriesRooms(), f.Attendees)
	local := func(p ics.ComponentProperty, texts []string) {
		if len(texts) == 0 {
			return
		}
		if loc == nil {
			for i, text := range texts {
				texts[i] = text + "Z"
			}
			ev.SetProperty(p, strings.Join(texts, ","))
			return
		}
		ev.SetProperty(p, strings.Join(texts, ","), ics.WithTZID(loc.String()))
	}
	local(ics.ComponentPropertyDtStart, []string{s.Start})
	local(ics.ComponentPropertyDtEnd, []string{s.End})
	ev.SetProperty(ics.ComponentPropertyRrule, s.Rule)
	local(ics.ComponentPropertyExdate, slices.Clone(s.ExDates))
	local(ics.ComponentPropertyRdate, slices.Clone(s.RDates))
	cal.AddVEvent(ev)
	for _, o := range s.Overrides {
		c.occurrence(cal, loc, o)
	}
}

func (c *eventBuilder) occurrence(cal *ics.Calendar, loc *time.Location, o notify.Occurrence) {
	f := c.n.Facts
	rooms, description, attendees := o.Rooms, f.Description, o.Attendees
	if len(rooms) == 0 {
		rooms = c.seriesRooms()
	}
	if o.Description != nil {
		description = *o.Description
	}
	if attendees == nil {
		attendees = f.Attendees
	}
	ev := c.event(cmp.Or(o.Title, f.Title), description, rooms, attendees)
	t := times{loc, o.Start, o.End}
	t.set(ev, ics.ComponentPropertyRecurrenceId, o.OriginalStart)
	t.setBoth(ev)
	cal.AddVEvent(ev)
}

// seriesRooms returns the rooms of the regular dates. Those of the facts belong to the dates that
// the text describes.
func (c *eventBuilder) seriesRooms() []string {
	if rooms := c.n.Facts.Series.Rooms; len(rooms) > 0 {
		return rooms
	}
	return c.n.Facts.Rooms
}

func (c *eventBuilder) uid() string {
	switch f := c.n.Facts; {
	case c.foreign != "":
		return c.foreign
	case f.SeriesFirst != 0:
		return c.uids.meeting(f.SeriesFirst)
	case f.SeriesID != 0:
		return c.uids.series(f.SeriesID)
	}
	return c.uids.meeting(c.meetingID())
}

// organize names the organizer. If responses arrive here by mail, the organizer is the address of the
// meeting, with the name of the person, who then is among those who come.
func (c *eventBuilder) organize(ev *ics.VEvent) {
	f := c.n.Facts
	person := mailto(f.Organizer.Email)
	if f.ReplyDomain == "" {
		if person != "" {
			ev.SetOrganizer(person, cn(f.Organizer))
		}
		return
	}
	name, _, _ := strings.Cut(c.uid(), "@")
	ev.SetOrganizer("mailto:"+name+"@"+f.ReplyDomain, cn(f.Organizer))
	if person != "" {
		ev.AddAttendee(person, cn(f.Organizer), ics.CalendarUserTypeIndividual, ics.ParticipationRoleChair, ics.ParticipationStatusAccepted)
	}
}

func (c *eventBuilder) meetingID() int64 { return cmp.Or(c.n.Facts.MeetingID, c.n.MeetingID) }

func (c *eventBuilder) event(title, description string, roomNames []string, attendees []notify.Contact) *ics.VEvent {
	f := c.n.Facts
	ev := ics.NewEvent(c.uid())
	ev.SetDtStampTime(c.n.CreatedAt.UTC())
	ev.SetSequence(int(f.Sequence))
	ev.SetStatus(c.status)
	ev.SetSummary(line(title))
	if d := strings.Join(lines(description, maxDescription), "\n"); d != "" {
		ev.SetDescription(d)
	}
	rooms := make([]string, len(roomNames))
	for i, name := range roomNames {
		rooms[i] = line(name)
	}
	if len(rooms) > 0 {
		ev.SetLocation(strings.Join(rooms, ", "))
	}
	if c.baseURL != "" {
		ev.SetURL(c.baseURL + "/meetings/" + strconv.FormatInt(c.meetingID(), 10))
	}
	c.organize(ev)
	invite(ev, slices.DeleteFunc(slices.Clone(attendees), func(a notify.Contact) bool {
		return f.ReplyDomain != "" && strings.EqualFold(a.Email, f.Organizer.Email) // who is named already
	}))
	ev.SetTimeTransparency(ics.TransparencyOpaque)
	return ev
}

// invite adds the attendees. Guests without an email address are omitted. ATTENDEE accepts any URI
// (RFC 5545, 3.3.3), but a tel: URI would show the guest's number to everybody, and calendars reply
// only by mail.
func invite(ev *ics.VEvent, attendees []notify.Contact) {
	for _, a := range attendees {
		if addr := mailto(a.Email); addr != "" {
			status, rsvp := partstat(string(a.Response)), "TRUE"
			if status != ics.ParticipationStatusNeedsAction {
				rsvp = "FALSE"
			}
			ev.AddAttendee(addr, cn(a), ics.CalendarUserTypeIndividual, ics.ParticipationRoleReqParticipant,
				status, &ics.KeyValues{Key: "RSVP", Value: []string{rsvp}})
		}
	}
}

func partstat(response string) ics.ParticipationStatus {
	switch response {
	case "accepted":
		return ics.ParticipationStatusAccepted
	case "declined":
		return ics.ParticipationStatusDeclined
	case "tentative":
		return ics.ParticipationStatusTentative
	default:
		return ics.ParticipationStatusNeedsAction
	}
}

// times of an event are written in the zone of its room, or in UTC without one. See [localForm]
// for instants that only UTC can express.
type times struct {
	loc        *time.Location // nil: UTC
	start, end time.Time
}

func zoneOf(f notify.Facts) *time.Location {
	loc := zone(f.Timezone)
	if loc == time.UTC || loc != nil && loc.String() == "UTC" {
		return nil
	}
	return loc
}

func orUTC(loc *time.Location) *time.Location { return cmp.Or(loc, time.UTC) }

func (t times) describe(cal *ics.Calendar) {
	if t.loc != nil {
		cal.AddVTimezone(timezone(t.start.In(t.loc), t.end.In(t.loc)))
	}
}

func (t times) setBoth(ev *ics.VEvent) {
	t.set(ev, ics.ComponentPropertyDtStart, t.start)
	t.set(ev, ics.ComponentPropertyDtEnd, t.end)
}

func (t times) set(ev *ics.VEvent, p ics.ComponentProperty, at time.Time) {
	if local, ok := localForm(at, t.loc); ok {
		ev.SetProperty(p, local, ics.WithTZID(t.loc.String()))
		return
	}
	ev.SetProperty(p, at.UTC().Format(localTime+"Z"))
}

const localTime = "20060102T150405"

// localForm formats an instant as local time in loc. It returns false for a nil loc, and for the
// second pass of a repeated hour, because readers assume the first pass.
func localForm(at time.Time, loc *time.Location) (text string, ok bool) {
	if loc == nil {
		return "", false
	}
	at = at.In(loc)
	if change, _ := at.ZoneBounds(); !change.IsZero() {
		_, before := change.Add(-time.Second).Zone()
		_, after := at.Zone()
		if first := at.Add(time.Duration(after-before) * time.Second); first.Before(change) {
			return "", false
		}
	}
	return at.Format(localTime), true
}

// observedBefore is the minimum time that a zone description covers before an event. Readers
// compare local times, which differ from instants by less than a day and a half.
const observedBefore = 48 * time.Hour

// timezone describes the zone of start from the last change before start to the first after end. A
// single event needs no more, and the description never becomes outdated.
func timezone(start, end time.Time) *ics.VTimezone {
	tz := ics.NewTimezone(start.Location().String())
	for t := start.Add(-observedBefore); ; {
		from, to := t.ZoneBounds()
		tz.Components = append(tz.Components, observance(t, from))
		if to.IsZero() || t.After(end) {
			return tz
		}
		t = to
	}
}

// observance describes the offset at t, valid since from (zero: always). The larger offset is
// DAYLIGHT, even where the law defines it the other way round, as in Dublin and Casablanca,
// because calendar programs assume so.
func observance(t, from time.Time) ics.Component {
	name, offset := t.Zone()
	begin, before, daylight := "19700101T000000", offset, t.IsDST()
	if !from.IsZero() {
		was := from.Add(-time.Second)
		_, before = was.Zone()
		begin = from.UTC().Add(time.Duration(before) * time.Second).Format(localTime)
		if was.IsDST() != daylight {
			daylight = offset > before
		}
	}
	base := ics.ComponentBase{}
	set := func(p ics.Property, value string) { base.SetProperty(ics.ComponentProperty(p), value) }
	set(ics.PropertyDtstart, begin)
	set(ics.PropertyTzoffsetfrom, utcOffset(before))
	set(ics.PropertyTzoffsetto, utcOffset(offset))
	set(ics.PropertyTzname, name)
	if daylight {
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

// mailto returns a calendar address, or "" for an email that could break out of it.
func mailto(email string) string {
	if email == "" || strings.ContainsFunc(email, func(c rune) bool { return hidden(c) || unicode.IsSpace(c) }) {
		return ""
	}
	return "mailto:" + email
}

// cn returns the parameter with a person's name. RFC 5545 requires quotes around commas, colons
// and semicolons. The library would escape them and apostrophes with backslashes, which calendars
// display. Private-use characters replace them until [unquote]; line removes such characters from
// all other text.
func cn(c notify.Contact) ics.PropertyParameter {
	return ics.WithCN("\uE000" + quote.Replace(contact(c)) + "\uE000")
}

var (
	quote   = strings.NewReplacer(`"`, "\uE004", `,`, "\uE001", `;`, "\uE002", `:`, "\uE003", `'`, "\uE004", `\`, "\uE005")
	unquote = strings.NewReplacer("\uE000", `"`, "\uE001", `,`, "\uE002", `;`, "\uE003", `:`, "\uE004", `'`, "\uE005", `\`)
)
