package meeting

import "time"

// Site is a place with rooms that share a time zone.
type Site struct {
	ID        int64
	Name      string
	Timezone  string // IANA; empty: the installation's
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Room is what a meeting holds. Times of day in its policy are in its Zone.
type Room struct {
	ID        int64
	Name      string
	SiteID    int64 // 0: none
	Floor     string
	Capacity  int // 0: unknown
	Features  []string
	Timezone  string // IANA, as given for this room; empty: the site's, then the installation's
	Zone      string // the zone in force; set by the store and the service, never empty
	Active    bool   // an inactive room takes no new meeting
	Approval  RoomApproval
	Policy    Policy
	CheckIn   CheckIn
	Inherits  bool         // CheckIn is the installation's, and follows it
	Closures  int64        // raised by the store with every change of a blackout of the room or its site, and of the settings that bookings are judged by; 0: there was never one
	Blackouts []Blackout   // that are not over, by start; set by the service for bookings and answers
	Person    PersonLimits // the installation's; set by the service
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// RoomApproval says who must agree to a meeting in the room.
type RoomApproval struct {
	Required      bool
	ApproverIDs   []int64       // users; empty: the admins decide
	SecondIDs     []int64       // users who decide when the approvers have agreed; empty: there is no second level
	Timeout       time.Duration // 0: the installation's
	OnTimeout     Status        // [Rejected] or [Confirmed]; empty: the installation's
	EscalateAfter time.Duration // until others are asked as well; 0: the installation's
	EscalateTo    []int64       // users; empty: the admins
}

// Policy limits the meetings of a room; a zero field does not limit.
type Policy struct {
	OpeningHours []OpeningHours
	MinDuration  time.Duration
	MaxDuration  time.Duration // 0: the installation's limit
	Step         time.Duration // starts and ends are on this grid, counted from midnight in the room's zone; divides a day
	MinNotice    time.Duration
	MaxAdvance   time.Duration // 0: the installation's limit
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
}

// CheckIn says whether people must say that they came, and when.
type CheckIn struct {
	Required bool
	Opens    time.Duration // before the start
	Grace    time.Duration // after the start, until the room is released
}
