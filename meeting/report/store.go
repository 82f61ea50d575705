package report

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Store is the persistence that reports need. It never reveals what a meeting is about.
type Store interface {
	// Types and CustomFields return all of them, also inactive ones.
	Types(ctx context.Context) ([]*meeting.Type, error)
	CustomFields(ctx context.Context) ([]*meeting.CustomField, error)

	// ReportedRooms returns all rooms of a site, or of all sites if it is 0, by name, then ID. It
	// includes deleted rooms. Their Zone is empty if neither room nor site has one. Unless each is set,
	// rooms of a site with the same rules are returned as one, and Room.Alike counts the others.
	ReportedRooms(ctx context.Context, siteID int64, each bool) ([]Room, error)
	HiddenRooms(ctx context.Context, by meeting.Actor) ([]int64, error) // that the actor, whose groups are known, may not see
	// RoomUse aggregates the meetings that touch q's span by its grouping, with their status at an
	// instant. A meeting is counted where it begins, or at the start of the span if it began
	// before. Days and hours are those of the rooms' zones.
	RoomUse(ctx context.Context, q Query, at time.Time) ([]RoomUse, error)
	// AddUpDays adds up some of the days that reports read, as they are at an instant; zone is that of
	// rooms for which none is named. It reports whether there may be more. Unless all is set it may add
	// up only days that have changed, not those that are new. Reports are right without it, but slower.
	AddUpDays(ctx context.Context, zone string, at time.Time, all bool) (more bool, err error)
	// Punctuality returns how late meetings of span were started, and how late those were ended
	// that ran to their end. It counts how many are within each bound, and how many are beyond the
	// last.
	Punctuality(ctx context.Context, span clock.Slot, bounds []time.Duration) (started, ended Lateness, err error)
}

// Query selects what a report of use covers.
type Query struct {
	Group  Grouping
	Span   clock.Slot
	SiteID int64 // only rooms of this site; 0: all rooms

	// Zone of rooms for which none is named. The service sets it.
	Zone string

	// Private counts the persons of private meetings as well. The service sets it for admins.
	Private bool
}

// Room is a room in a report, with its opening hours.
type Room struct {
	ID       int64
	Name     string
	SiteID   int64 // 0: none
	SiteName string
	Zone     string
	Policy   *policy.Policy // the same for all rooms with the same one
	Bookable bool           // active, and not deleted
	Alike    int            // further rooms that differ only by name; see [Store.ReportedRooms]
}

// ZoneDay is a day in a zone, or the part of one that a report covers.
type ZoneDay struct {
	Zone string // as the room or its site names it; empty: the installation's
	Day  string // YYYY-MM-DD; of an hour its [HourOfWeek]
	Slot clock.Slot
}

// RoomUse is the aggregated use of a group. A meeting in two rooms counts in both.
type RoomUse struct {
	ID  int64  // of the room or site; 0: none
	Day string // of days, and of hours

	Booked    time.Duration // planned time of meetings, attended or not
	Used      time.Duration // actual time so far: without no-shows and without the rest of meetings that ended early
	Meetings  int           // booked; neither canceled, rejected nor pending
	NoShows   int           // of them, released because nobody was there
	Cancelled int
	Rejected  int           // by an approver or by the time-out
	Freed     time.Duration // of Booked: time released by no-shows and early ends

	// Of the booked meetings whose persons are counted; see [Query].
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
