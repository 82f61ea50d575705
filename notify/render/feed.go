package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"punctual/notify"
)

// Event is a meeting in a calendar feed.
type Event struct {
	MeetingID   int64
	Title       string
	Description string
	Start, End  time.Time
	Timezone    string // of the room
	Rooms       []string
	Organizer   notify.Contact // empty: hidden
	Attendees   []notify.Contact
	Private     bool
	Tentative   bool // waits for approval
	Cancelled   bool // or rejected
	Sequence    int64
	ChangedAt   time.Time

	// Of an [Object].
	UID          string    // empty: that of the meeting
	RecurrenceID time.Time // date of the series that it replaces; zero: none
	Places       []Place   // rooms as attendees
}

// refresh is the suggested polling interval of calendars.
const refresh = "PT15M"

// Calendar returns an iCalendar with the events and a description that mentions until. Each date
// of a series is a separate event, because calendars handle recurring events with many exceptions
// badly. The result depends only on the arguments.
func (r *Renderer) Calendar(name string, events []Event, until time.Time) []byte {
	cal := publication(name, until)
	cal.SetRefreshInterval(refresh)
	cal.SetXPublishedTTL(refresh)
	for _, t := range zonesOf(events) {
		t.describe(cal)
	}
	for _, e := range events {
		cal.AddVEvent(r.published(e))
	}
	return []byte(unquote.Replace(cal.Serialize(ics.WithNewLineWindows)))
}

// publication is an iCalendar without events.
func publication(name string, until time.Time) *ics.Calendar {
	cal := ics.NewCalendar()
	cal.SetProductId("-//Punctual//Punctual//EN")
	cal.SetMethod(ics.MethodPublish)
	cal.SetCalscale("GREGORIAN")
	cal.SetXWRCalName(line(name))
	cal.SetXWRCalDesc("Meetings up to " + until.UTC().Format(time.DateOnly))
	return cal
}

func (r *Renderer) published(e Event) *ics.VEvent {
	ev := ics.NewEvent(cmp.Or(e.UID, r.uids.meeting(e.MeetingID)))
	ev.SetDtStampTime(e.ChangedAt.UTC())
	ev.SetLastModifiedAt(e.ChangedAt.UTC())
	ev.SetSequence(int(e.Sequence))
	ev.SetStatus(ics.ObjectStatusConfirmed)
	if e.Tentative {
		ev.SetStatus(ics.ObjectStatusTentative)
	}
	if e.Cancelled {
		ev.SetStatus(ics.ObjectStatusCancelled)
	}
	ev.SetSummary(line(e.Title))
	if d := strings.Join(lines(e.Description, maxDescription), "\n"); d != "" {
		ev.SetDescription(d)
	}
	if len(e.Rooms) > 0 {
		rooms := make([]string, len(e.Rooms))
		for i, name := range e.Rooms {
			rooms[i] = line(name)
		}
		ev.SetLocation(strings.Join(rooms, ", "))
	}
	if r.baseURL != "" {
		ev.SetURL(r.baseURL + "/meetings/" + strconv.FormatInt(e.MeetingID, 10))
	}
	if addr := mailto(e.Organizer.Email); addr != "" {
		ev.SetOrganizer(addr, cn(e.Organizer))
	}
	invite(ev, e.Attendees)
	for _, p := range e.Places {
		if addr := mailto(p.Email); addr != "" {
			ev.AddAttendee(addr, cn(notify.Contact{Name: p.Name}), ics.CalendarUserTypeRoom, ics.ParticipationRoleNonParticipant, partstat(p.Response),
				&ics.KeyValues{Key: "SCHEDULE-STATUS", Value: []string{"2.0"}})
		}
	}
	if e.Private {
		ev.SetClass(ics.ClassificationPrivate)
	}
	times{eventZone(e), e.Start, e.End}.setBoth(ev)
	ev.SetTimeTransparency(ics.TransparencyOpaque)
	return ev
}

func eventZone(e Event) *time.Location { return zoneOf(notify.Facts{Timezone: e.Timezone}) }

// zonesOf returns the zones of the events by name, each with the time span that its description
// must cover.
func zonesOf(events []Event) []times {
	var all []times
	for _, e := range events {
		loc := eventZone(e)
		if loc == nil {
			continue
		}
		i := slices.IndexFunc(all, func(t times) bool { return t.loc.String() == loc.String() })
		if i < 0 {
			all = append(all, times{loc, e.Start, e.End})
			continue
		}
		if t := &all[i]; e.Start.Before(t.start) {
			t.start = e.Start
		}
		if t := &all[i]; e.End.After(t.end) {
			t.end = e.End
		}
	}
	slices.SortFunc(all, func(a, b times) int { return cmp.Compare(a.loc.String(), b.loc.String()) })
	return all
}
