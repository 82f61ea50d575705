package render

import (
	"cmp"
	"strconv"
)

// Identity creates the UIDs of events, which identify them in all calendars. It must never change,
// and must be unique per installation.
type Identity struct {
	Domain string // domain of UIDs; "": "localhost"

	// Events up to these IDs keep the domain that they were sent with.
	FormerDomain                string
	FormerMeeting, FormerSeries int64
}

func (i Identity) meeting(id int64) string { return i.uid(meetingName(id), id, i.FormerMeeting) }
func (i Identity) series(id int64) string  { return i.uid(seriesName(id), id, i.FormerSeries) }

// The names of a meeting and of a series are the parts of UIDs before the @. In addresses to which
// calendars respond they are the local parts.
func meetingName(id int64) string { return "meeting-" + strconv.FormatInt(id, 10) }
func seriesName(id int64) string  { return "series-" + strconv.FormatInt(id, 10) }

func (i Identity) uid(name string, id, former int64) string {
	domain := cmp.Or(i.Domain, "localhost")
	if id <= former {
		domain = i.FormerDomain
	}
	return name + "@" + domain
}
