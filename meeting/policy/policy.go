package policy

import (
	"time"

	"punctual/meeting/clock"
)

// Policy limits the meetings of a room; a zero field does not limit.
type Policy struct {
	OpeningHours []OpeningHours
	MinDuration  time.Duration
	MaxDuration  time.Duration // 0: the installation's limit
	Step         time.Duration // starts and ends are on this grid, counted from midnight in the room's zone; divides a day
	MinNotice    time.Duration
	MaxAdvance   time.Duration // 0: the installation's limit
	LastChange   time.Duration // before the start, for moving and canceling by members; 0: the installation's limit
	BufferBefore time.Duration // kept free before each meeting
	BufferAfter  time.Duration // and after it
	Quota        *Quota
}

// OpeningHours are times of day on some days of the week. To may be "24:00".
type OpeningHours struct {
	Days []string `json:"days"` // MO TU WE TH FR SA SU
	From string   `json:"from"` // HH:MM
	To   string   `json:"to"`
}

// Quota of one person for one room.
type Quota struct {
	Per      string        // day, week or month
	Count    int           // 0: not limited
	Duration time.Duration // 0: not limited
	Groups   []GroupQuota  // for members of these groups instead, see [Quota.For]
}

// GroupQuota is the quota of each member of a group in the period of a [Quota].
type GroupQuota struct {
	GroupID  int64
	Count    int           // 0: not limited
	Duration time.Duration // 0: not limited
}

// Limits of the installation apply to every room; a room may be stricter. Zero means no limit.
type Limits struct {
	MaxDuration    time.Duration
	MaxAdvance     time.Duration
	LastChange     time.Duration // before the start, for moving and canceling by members
	MaxOccurrences int           // of one series
	MaxInvitations int           // of one series: attendees times dates
	MaxRoomDates   int           // of one series: rooms times dates
	MaxWaits       int           // places that one person has on the waiting list at a time
	Person         PersonLimits
}

// Room is a room as far as policies need it. Times of day in its policy are in its Zone.
type Room struct {
	ID        int64
	Name      string
	SiteID    int64  // 0: none
	Zone      string // the IANA zone in force; set by the store and the service, never empty
	Capacity  int    // 0: unknown
	Active    bool   // an inactive room takes no new meeting
	Policy    Policy
	Blackouts []Blackout   // current and future, by start; set by the service
	Person    PersonLimits // the installation's; set by the service
}

// Blackout is a time at which a room, or every room of a site, takes no meetings. Those that
// were booked before stay.
type Blackout struct {
	ID         int64
	RoomID     int64      // 0: of a site
	SiteID     int64      // 0: of a room
	Slot       clock.Slot // UTC, to the microsecond
	Reason     string
	CalendarID int64 // of holidays that it follows; 0: none
	Version    int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Covers reports whether the blackout closes the room.
func (b *Blackout) Covers(r *Room) bool {
	return b.RoomID == r.ID || b.SiteID != 0 && b.SiteID == r.SiteID
}
