package report

import (
	"context"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Store is what reports need from persistence. It never reveals what a meeting is about.
type Store interface {
	// ReportedRooms are all rooms of a site, or of all sites if it is 0, by name, then id. Deleted rooms
	// are included. Their Zone is empty where neither room nor site names one.
	ReportedRooms(ctx context.Context, siteID int64) ([]Room, error)
	// RoomUse adds up the meetings that touch q's span by its grouping; at is when it is looked
	// at. A meeting counts where it begins, or where the span does. Days are those of the rooms'
	// zones, or hours of them, within the span, in the order of their starts in each zone; groups of
	// rooms need none.
	RoomUse(ctx context.Context, q Query, days []ZoneDay, at time.Time) ([]RoomUse, error)
	// Punctuality returns how late meetings of span were started, and how late those were ended
	// that were not ended before. It counts how many are within each bound, and how many are after
	// the last.
	Punctuality(ctx context.Context, span clock.Slot, bounds []time.Duration) (started, ended Lateness, err error)
}

// Query chooses what a report of use is about.
type Query struct {
	Group  Grouping
	Span   clock.Slot
	SiteID int64 // rooms of this site alone; 0: all rooms

	// Private counts the persons of private meetings as well. The service sets it for admins.
	Private bool
}

// Room is what a report says of a room, and when it is open.
type Room struct {
	ID       int64
	Name     string
	SiteID   int64 // 0: none
	SiteName string
	Zone     string
	Policy   *policy.Policy // the same for all rooms with the same one
	Bookable bool           // active, and not deleted
}

// ZoneDay is a day in a zone, or the part of one that a report is about.
type ZoneDay struct {
	Zone string // as the room or its site names it; empty: the installation's
	Day  string // YYYY-MM-DD; of an hour its [HourOfWeek]
	Slot clock.Slot
}

// RoomUse is what came of the meetings of a group. A meeting in two rooms counts in both.
type RoomUse struct {
	ID  int64  // of the room or site; 0: none
	Day string // of days, and of hours

	Booked    time.Duration // that meetings were to take place, whether anybody came or not
	Used      time.Duration // that they did, so far: not those to which nobody came, and not what was left when they ended
	Meetings  int           // booked; neither cancelled nor rejected nor waiting
	NoShows   int           // of them, whose rooms were released because nobody was there
	Cancelled int
	Rejected  int           // by somebody, or because nobody decided
	Freed     time.Duration // of Booked: what was released, by no-shows and by meetings that ended early

	// Of the meetings booked whose persons are counted; see [Query].
	Counted        int
	Persons        int // organizers and attendees
	Seats          int // the capacity of their rooms, where it is known
	SeatedMeetings int // those in such rooms
	Seated         int // and their persons
}

// Lateness counts how late something was done.
type Lateness struct {
	Counts []int64 // by each bound, and after the last one
	Max    time.Duration
}
