package render

import (
	"cmp"
	"strconv"
)

// Identity makes the UIDs of events, by which calendars all over the world know them. It must
// never change, and no two installations may share one.
type Identity struct {
	Domain string // right side of UIDs; empty: "localhost"

	// Events up to these IDs were sent with another domain, which they keep.
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
