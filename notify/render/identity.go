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

func (i Identity) meeting(id int64) string { return i.uid("meeting-", id, i.FormerMeeting) }
func (i Identity) series(id int64) string  { return i.uid("series-", id, i.FormerSeries) }

func (i Identity) uid(prefix string, id, former int64) string {
	domain := cmp.Or(i.Domain, "localhost")
	if id <= former {
		domain = i.FormerDomain
	}
	return prefix + strconv.FormatInt(id, 10) + "@" + domain
}
