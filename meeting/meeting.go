package meeting

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// ID identifies a meeting; rooms, sites and people have integer ids of their own.
type ID = int64

// Status of a meeting. See [Meeting.EffectiveStatus] for what holds at an instant.
type Status string

const (
	Pending    Status = "pending"     // waits for a decision
	Confirmed  Status = "confirmed"   // will take place
	InProgress Status = "in_progress" // takes place now
	Ended      Status = "ended"
	Rejected   Status = "rejected"  // decided against, or not decided in time
	Cancelled  Status = "cancelled" // called off
	Released   Status = "released"  // nobody checked in: the room was released
)

// Visibility says who sees what the meeting is about and whose it is.
type Visibility string

const (
	Public  Visibility = "public"
	Private Visibility = "private" // participants, approvers and admins only; "Busy" to others
)

// A Meeting holds one or more rooms for a slot. Methods that change it record what they did:
// the store writes those entries and notices in the same transaction as the meeting.
type Meeting struct {
	ID               ID
	Title            string
	Description      string
	Slot             clock.Slot // UTC, to the microsecond
	Timezone         string     // IANA zone its times were given in, or its first room's
	Shown            clock.Slot // what clocks in Timezone showed at both ends when they were set, in UTC: by the rules of the zone then
	Organizer        Person     // UserID is set
	RoomIDs          []int64
	RoomNames        []string // by RoomIDs, of deleted rooms too; read by the store, never written
	Attendees        []Attendee
	Reminders        []Reminder // empty: none
	DefaultReminders bool       // Reminders follow the installation's defaults
	Visibility       Visibility
	Status           Status
	Approval         Approval
	Request          *Request // the decision that it waits for; nil: none

	// Occupied is what the meeting takes of each room, buffers included; nil when it holds none.
	Occupied []Occupancy

	SeriesID      int64     // 0: none
	OriginalStart time.Time // when the series' rule would have it, which it keeps if it is moved; zero: it is not, or no longer, a date of the rule
	OriginalWall  time.Time // what clocks in the series' zone show at OriginalStart, by the rules of the zone when it was set, in UTC

	// SeriesSequence is the SEQUENCE of what calendars are sent about this date of a series. The
	// store sets it from [Series.Sequence] before it takes the notices; it is not kept.
	SeriesSequence int64

	CheckIn                         CheckInWindow
	CheckedInAt, StartedAt, EndedAt time.Time // zero: has not happened

	ScheduleVersion int64 // raised by the database with every change of time, room or cancellation
	Version         int64 // raised with every change; the ETag
	CreatedAt       time.Time
	UpdatedAt       time.Time

	history   []Entry
	notices   []Notice
	checked   []checkedRoom  // see CheckedClosures
	claims    []policy.Claim // see Claims
	requested []Occupancy    // see Asked
}

// Claims returns the quotas that the meeting uses more of since it was read. A store that saves
// the meeting locks each pair of room and user, in an order that all callers share. It then calls
// [policy.Claim.Check] with the user's other meetings, and rejects with a [*PolicyError].
func (m *Meeting) Claims() []policy.Claim { return m.claims }

// Occupancy is the interval that a meeting takes of one room. The database refuses two that overlap.
type Occupancy struct {
	RoomID int64
	Slot   clock.Slot

	// Lapses is from when on it holds nothing, even if the timer that removes it is late; zero:
	// never. Stores set it in what they find in the way; see [Meeting.Lapses] for a meeting's own.
	Lapses time.Time
}

// Person is somebody a meeting concerns.
type Person struct {
	UserID   int64 // 0: not a user of this installation
	Email    string
	Name     string
	Phone    string
	Locale   string
	Timezone string
	Role     Role // of a user, from the Directory; not stored with a meeting
}

// Address of the person on a channel; empty if there is none. Nothing is sent to .invalid,
// where nobody is (RFC 2606): such are the addresses of devices.
func (p Person) Address(c Channel) string {
	switch c {
	case Email:
		if strings.HasSuffix(strings.ToLower(p.Email), ".invalid") {
			return ""
		}
		return p.Email
	case SMS:
		return p.Phone
	default:
		return ""
	}
}

// key identifies a person: by email address, or by number if they have none.
func (p Person) key() string {
	if p.Email == "" {
		return p.Phone
	}
	return strings.ToLower(p.Email)
}

// label names the person to all who see the meeting. A number is not for them.
func (p Person) label() string {
	if p.Email == "" {
		return cmp.Or(p.Name, "Guest")
	}
	return p.Email
}

// Attendee is a person invited to a meeting, by an email address or a phone number or both.
type Attendee struct {
	Person
	Response Response
	Comment  string // that came with the response; for the organizer
}

// Anchor is the edge of a meeting that a reminder counts from.
type Anchor string

const (
	BeforeStart Anchor = "start"
	BeforeEnd   Anchor = "end"
)

// Channel by which a notification is sent.
type Channel string

const (
	Email Channel = "email"
	SMS   Channel = "sms"
)

// Reminder notifies everybody in a meeting some time before its start or end. A meeting
// has at most one for each Before and Offset.
type Reminder struct {
	Before   Anchor
	Offset   time.Duration // whole seconds, 0 to 366 days
	Channels []Channel
}

// Approval of a meeting: whether somebody must decide, and what was decided.
type Approval struct {
	Required  bool
	Deadline  time.Time // the earlier of the time-out and the start; zero if not Required
	DecidedAt time.Time
	DecidedBy int64  // user; 0: nobody (yet, or the time-out)
	Comment   string // of who decided
	Reason    string // one of the Reason constants when nobody did

	// OnTimeout is what becomes of the last request at its deadline: [Rejected], also when
	// empty, or [Confirmed].
	OnTimeout Status

	Agreed    []Agreement // who agreed to the meeting as it is, at each level
	Requested int64       // how often a level was asked: the Number of the last request
	Decision  *Decision   // on the last request; nil: none has ended
}

// Untouched reports whether the meeting equals an earlier copy and has no history to write. Its
// request may differ.
func (m *Meeting) Untouched(before *Meeting) bool {
	a, b := *m, *before
	for _, c := range []*Meeting{&a, &b} {
		c.Request, c.notices, c.history = nil, nil, nil
	}
	return len(m.history) == 0 && reflect.DeepEqual(a, b)
}

// RaisesSequence reports whether a notice changes a date of a series in calendars, so that the
// store must raise [Series.Sequence].
func (m *Meeting) RaisesSequence() bool {
	return m.SeriesID != 0 && slices.ContainsFunc(m.notices, Notice.forCalendars)
}

// TakeHistory hands over the entries recorded since the last call.
func (m *Meeting) TakeHistory() []Entry { h := m.history; m.history = nil; return h }

// TakeNotices hands over the notices recorded since the last call, complete with the
// meeting's ID: a store calls it once the meeting has one, and sets the notices' own IDs in
// the slice it got. Both Takes may be called on a copy of the meeting to keep what they hand
// over for another attempt.
func (m *Meeting) TakeNotices() []Notice {
	for i := range m.notices {
		m.notices[i].complete(m.ID)
		m.notices[i].Facts.of(m)
		m.notices[i].Facts.ScheduleVersion = m.ScheduleVersion
		if f := &m.notices[i].Facts; f.SeriesID != 0 {
			f.Sequence = m.SeriesSequence
		}
	}
	n := m.notices
	m.notices = nil
	return n
}

// checkedRoom is the state of a room's blackouts that a meeting was checked against.
type checkedRoom struct{ roomID, closures int64 }

// CheckedClosures returns the [Room.Closures] of the room with which the meeting's time and rooms were
// checked since it was read. A store returns [ErrRoomsChanged] if the room has another number when
// it saves them. ok is false if they were not checked.
func (m *Meeting) CheckedClosures(roomID int64) (closures int64, ok bool) {
	for _, c := range m.checked {
		if c.roomID == roomID {
			return c.closures, true
		}
	}
	return 0, false
}

// claims returns what the meeting of a person uses of quotas in a slot of the rooms. held is the
// meeting as it is, or nil if it is new.
func claims(userID int64, rooms []*Room, slot clock.Slot, held *Meeting) []policy.Claim {
	of := make([]*policy.Room, len(rooms))
	for i, r := range rooms {
		of[i] = &r.Room
	}
	var h policy.Held
	if held != nil {
		h.Slot = held.Slot
		for _, o := range held.Occupied {
			h.RoomIDs = append(h.RoomIDs, o.RoomID)
		}
	}
	return policy.QuotaClaims(userID, of, slot, h)
}

// CheckInWindow is the time in which participants can check in, and the deadline by which one must.
type CheckInWindow struct {
	Opens time.Time // from then on, until the end of the meeting; zero: with the start
	Until time.Time // then its rooms are released unless somebody checked in; zero: no check-in is required
}

// Response of an attendee to the invitation.
type Response string

const (
	NeedsAction Response = "needs_action"
	Accepted    Response = "accepted"
	Declined    Response = "declined"
	Tentative   Response = "tentative"
)

// Answers reports whether it is one that an attendee can give.
func (r Response) Answers() bool { return r == Accepted || r == Declined || r == Tentative }

func (a Attendee) sameAddress(b Attendee) bool { return a.key() == b.key() }
