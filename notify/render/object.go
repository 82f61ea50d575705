package render

import (
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"punctual/notify"
)

// Object is what a calendar shows under one UID: a meeting, or a series with the dates that differ
// from its rule.
type Object struct {
	UID    string         // empty: the one that mails about the meeting or series have
	Series *notify.Series // rule of the first of Events; nil: it is a single meeting, or single dates of a series
	Events []Event
}

// Place is a room of an event, as an attendee.
type Place struct {
	Name, Email string
	Response    string // of the room
}

// Object returns an iCalendar with an event, or with all events of a series. The result depends only
// on the argument.
func (r *Renderer) Object(o Object) []byte {
	cal := ics.NewCalendar()
	cal.SetProductId("-//Punctual//Punctual//EN")
	cal.SetCalscale("GREGORIAN")
	r.addObjects(cal, o)
	return []byte(unquote.Replace(cal.Serialize(ics.WithNewLineWindows)))
}

// Archive returns an iCalendar with objects and a description that mentions until. The result depends
// only on the arguments.
func (r *Renderer) Archive(name string, os []Object, until time.Time) []byte {
	cal := publication(name, until)
	r.addObjects(cal, os...)
	return []byte(unquote.Replace(cal.Serialize(ics.WithNewLineWindows)))
}

func (r *Renderer) addObjects(cal *ics.Calendar, os ...Object) {
	var spans []Event // for the zones: those of series last until their end
	for _, o := range os {
		for i, e := range o.Events {
			if i == 0 && o.Series != nil {
				e.End = later(e.End, o.Series.Last.Add(24*time.Hour))
			}
			spans = append(spans, e)
		}
	}
	for _, t := range zonesOf(spans) {
		t.describe(cal)
	}
	for _, o := range os {
		for i, e := range o.Events {
			if o.UID != "" {
				e.UID = o.UID
			}
			ev := r.published(e)
			if i == 0 && o.Series != nil {
				recurring(ev, o.Series, eventZone(e))
			}
			if !e.RecurrenceID.IsZero() {
				times{loc: eventZone(e)}.set(ev, ics.ComponentPropertyRecurrenceId, e.RecurrenceID)
			}
			cal.AddVEvent(ev)
		}
	}
}

// UID returns the UID of a meeting, or of its series.
func (r *Renderer) UID(meetingID, seriesID int64) string {
	if seriesID != 0 {
		return r.uids.series(seriesID)
	}
	return r.uids.meeting(meetingID)
}

// OwnUID reports whether a UID is that of a meeting or series of this installation.
func (r *Renderer) OwnUID(uid string) bool {
	name, _, _ := strings.Cut(uid, "@")
	kind, number, _ := strings.Cut(name, "-")
	id, err := strconv.ParseInt(number, 10, 64)
	return err == nil && (kind == "meeting" && uid == r.uids.meeting(id) || kind == "series" && uid == r.uids.series(id))
}

// UIDDomain returns the domain of the UIDs.
func (r *Renderer) UIDDomain() string { return r.uids.Domain }

// recurring gives an event the dates of a series.
func recurring(ev *ics.VEvent, s *notify.Series, loc *time.Location) {
	local := func(p ics.ComponentProperty, texts ...string) {
		switch {
		case len(texts) == 0:
		case loc == nil:
			ev.SetProperty(p, strings.Join(texts, "Z,")+"Z")
		default:
			ev.SetProperty(p, strings.Join(texts, ","), ics.WithTZID(loc.String()))
		}
	}
	local(ics.ComponentPropertyDtStart, s.Start)
	local(ics.ComponentPropertyDtEnd, s.End)
	ev.SetProperty(ics.ComponentPropertyRrule, s.Rule)
	local(ics.ComponentPropertyExdate, s.ExDates...)
	local(ics.ComponentPropertyRdate, s.RDates...)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
