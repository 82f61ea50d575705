package meeting

import (
	"slices"
	"time"

	"punctual/meeting/clock"
)

// HolidayCalendar is a list of whole days on which sites are closed, such as public holidays. Its days
// become blackouts, in the zone of each site.
type HolidayCalendar struct {
	ID        int64
	Name      string
	SiteIDs   []int64 // empty: all sites, and rooms without a site
	Days      []Holiday
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Holiday is a span of whole days.
type Holiday struct {
	UID   string `json:"uid"`   // of the event in its calendar
	First string `json:"first"` // YYYY-MM-DD
	Last  string `json:"last"`  // included
	Name  string `json:"name"`
}

// Slot returns the time of the holiday in a zone.
func (h Holiday) Slot(loc *time.Location) clock.Slot {
	day := func(s string, more int) time.Time {
		t, _ := time.Parse(time.DateOnly, s) // it was written by Format
		return clock.InstantOrShift(t.AddDate(0, 0, more), loc).UTC()
	}
	return clock.Slot{Start: day(h.First, 0), End: day(h.Last, 1)}
}

// Closes reports whether the calendar applies to a place.
func (c *HolidayCalendar) Closes(p HolidayPlace) bool {
	if p.RoomID != 0 {
		return !p.Sited && len(c.SiteIDs) == 0
	}
	return len(c.SiteIDs) == 0 || slices.Contains(c.SiteIDs, p.SiteID)
}

// HolidayPlace is a site, or a room, whose blackouts follow holiday calendars. Those of a room on a site
// are the site's.
type HolidayPlace struct {
	SiteID, RoomID int64
	Sited          bool // of a room: it is on a site
	Zone           *time.Location
}
