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

// ID identifies a meeting. Rooms, sites and users have integer IDs of their own.
type ID = int64

// Status of a meeting as stored. [Meeting.EffectiveStatus] returns the status at an instant.
type Status string

const (
	Pending    Status = "pending"     // waits for a decision
	Confirmed  Status = "confirmed"   // will take place
	InProgress Status = "in_progress" // takes place now
	Ended      Status = "ended"
	Rejected   Status = "rejected"  // rejected, or not decided in time
	Cancelled  Status = "cancelled" // canceled
	Released   Status = "released"  // nobody checked in: the room was released
)

// Visibility says who sees the title and the people of the meeting.
type Visibility string

const (
	Public  Visibility = "public"
	Private Visibility = "private" // participants, approvers and admins only; "Busy" to others
)

// A Meeting holds one or more rooms for a slot. Methods that change it record history and notices,
// which the store writes in the same transaction as the meeting.
type Meeting struct {
	ID               ID
	Title            string
	Description      string
	Slot             clock.Slot // UTC, to the microsecond
	Timezone         string     // IANA zone of its local times, by default its first room's
	Shown            clock.Slot // local start and end in Timezone by the zone's rules when they were set, stored as UTC
	Organizer        Person     // UserID is set
	BookedBy         Person     // user who booked it for the organizer, by UserID and Name; without UserID: the organizer did
	RoomIDs          []int64
	RoomNames        []string // by RoomIDs, including deleted rooms; read by the store, never written
	Limits           []Limit  `json:"-"` // of its rooms and of those of a requested change, perhaps of more; never written
	Attendees        []Attendee
	Reminders        []Reminder // empty: none
	DefaultReminders bool       // Reminders follow the installation's defaults
	Visibility       Visibility
	TypeID           int64 // 0: an ordinary meeting
	Custom           []FieldValue
	Status           Status
	Approval         Approval
	Request          *Request // pending request; nil: none

	// Occupied holds what the meeting takes of each room, buffers included; nil: it holds none.
	Occupied []Occupancy

	SeriesID      int64     // 0: none
	OriginalStart time.Time // start by the series' rule, kept when the meeting moves; zero: not, or no longer, a date of the rule
	OriginalWall  time.Time // local OriginalStart in the series' zone by its rules when it was set, stored as UTC

	SeriesFirst ID // its series' [Series.FirstMeeting]; read, never written

	// SeriesSequence is the SEQUENCE of calendar mails about this date of a series. The store sets
	// it from [Series.Sequence] before it takes the notices; it is not stored.
	SeriesSequence int64

	// ReplyDomain is the domain of the mail address that calendars name as its organizer, so that
	// responses by mail arrive here; empty: they name the organizer's own. It never changes.
	ReplyDomain string

	Foreign OriginKind // how it came from a calendar program that goes on changing it; empty: it did not

	ChangeUntil time.Time // until when the reader may move or cancel it; zero: nothing limits them, or it was not asked. Not stored

	Origin *Origin // the event of another calendar that it comes from; nil: none, or not read

	CheckIn                         CheckInWindow
	CheckedInAt, StartedAt, EndedAt time.Time // zero: has not happened

	// Undoable says until when the change that was just made can be undone; nil: it cannot. A store that
	// updates the meeting keeps what the change replaced.
	Undoable *Undoable `json:"-"`

	ScheduleVersion int64 // raised by the database with every change of time, room or cancellation
	Version         int64 // raised with every change; the ETag
	CreatedAt       time.Time
	UpdatedAt       time.Time

	bookedBy  string         // name of the user who books it now for somebody else; empty: the organizer does
	History   []Entry        `json:"-"` // recorded since it was read; see TakeHistory
	Notices   []Notice       `json:"-"` // recorded since it was read; see TakeNotices
	checked   []checkedRoom  // see CheckedClosures
	posted    bool           // see Posted
	claims    []policy.Claim // see Claims
	requested []Occupancy    // see Asked
}

// Claims returns the quotas that the meeting uses more of since it was read. A store that saves the
// meeting locks each pair of room and user, in an order that all callers share. It then calls
// [policy.Claim.Check] with the user's other meetings, and returns a [*PolicyError] if it is
// exceeded.
func (m *Meeting) Claims() []policy.Claim { return m.claims }

// Occupancy is the interval that a meeting takes of one room. The database refuses overlapping
// ones.
type Occupancy struct {
	RoomID int64
	Slot   clock.Slot

	// Lapses is the instant from which it holds nothing, even if its timer is late; zero: never.
	// Stores set it in conflicts; see [Meeting.Lapses] for a meeting's own.
	Lapses time.Time
}

// Person is an organizer or attendee of a meeting, with or without an account.
type Person struct {
	UserID   int64 // 0: not a user of this installation
	Email    string
	Name     string
	Phone    string
	Locale   string
	Timezone string
	Role     Role // of a user, from the Directory; not stored with a meeting

	// CalendarMails says that meetings which the user organizes arrive as mails for their calendar, also
	// what they do themselves. Read of an organizer, never written.
	CalendarMails bool
}

// Address returns the address of the person on a channel; empty: none. Nothing is sent to the
// domain .invalid (RFC 2606), which devices use.
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

// Key identifies a person: by email address, or by phone number if they have none.
func (p Person) Key() string {
	if p.Email == "" {
		return p.Phone
	}
	return strings.ToLower(p.Email)
}

// Label names the person to everyone who sees the meeting, without a phone number.
func (p Person) Label() string {
	if p.Email == "" {
		return cmp.Or(p.Name, "Guest")
	}
	return p.Email
}

// Attendee is a person invited to a meeting, by an email address or a phone number or both.
type Attendee struct {
	Person
	Response Response
	Comment  string // sent with the response, for the organizer
}

// Anchor is the edge of a meeting that a reminder counts from.
type Anchor string

const (
	BeforeStart Anchor = "start"
	BeforeEnd   Anchor = "end"
)

// Channel of a notification.
type Channel string

const (
	Email Channel = "email"
	SMS   Channel = "sms"
	Chat  Channel = "chat" // a [ChatChannel]
)

// Reminder notifies the people of a meeting some time before its start or end. A meeting has at
// most one for each Before and Offset.
type Reminder struct {
	Before   Anchor
	Offset   time.Duration // whole seconds, 0 to 366 days
	Channels []Channel
}

// Approval of a meeting: whether it is required, and the decisions so far.
type Approval struct {
	Required  bool
	Deadline  time.Time // the earlier of the time-out and the start; zero if not Required
	DecidedAt time.Time
	DecidedBy int64  // user; 0: not decided, or by the time-out
	Comment   string // of the user who decided
	Reason    string // one of the Reason constants, if no user decided

	// OnTimeout is the status after the deadline of the last request: [Rejected] (also when empty)
	// or [Confirmed].
	OnTimeout Status

	Agreed    []Agreement // approvals of the meeting as it is, at each level
	Requested int64       // number of times that a level was asked; the Number of the last request
	Decision  *Decision   // on the last request that ended; nil: none
}

// Clone returns a copy without what a store writes besides the meeting: history, notices, and what
// is checked when it is saved. Changes of the copy leave m as it is.
func (m *Meeting) Clone() *Meeting {
	c := *m
	c.RoomIDs, c.RoomNames, c.Occupied = slices.Clone(m.RoomIDs), slices.Clone(m.RoomNames), slices.Clone(m.Occupied)
	c.Limits = slices.Clone(m.Limits)
	c.Attendees, c.Reminders, c.Custom = slices.Clone(m.Attendees), slices.Clone(m.Reminders), slices.Clone(m.Custom)
	c.Approval.Agreed = slices.Clone(m.Approval.Agreed)
	c.Request = m.Request.clone()
	c.History, c.Notices, c.checked, c.claims, c.requested = nil, nil, nil, nil, nil
	return &c
}

// Untouched reports whether the meeting equals an earlier copy and has no history to write. Its
// request may differ.
func (m *Meeting) Untouched(before *Meeting) bool {
	a, b := *m, *before
	for _, c := range []*Meeting{&a, &b} {
		c.Request, c.Notices, c.History = nil, nil, nil
	}
	return len(m.History) == 0 && reflect.DeepEqual(a, b)
}

// RaisesSequence reports whether a notice changes a date of a series in calendars, so that the
// store must raise [Series.Sequence].
func (m *Meeting) RaisesSequence() bool {
	return m.SeriesID != 0 && slices.ContainsFunc(m.Notices, Notice.forCalendars)
}

// TakeHistory returns and clears the history entries recorded since the last call.
func (m *Meeting) TakeHistory() []Entry { h := m.History; m.History = nil; return h }

// TakeNotices returns and clears the notices recorded since the last call, with the meeting's ID. A
// store calls it once the meeting has an ID, and sets the notices' own IDs in the returned slice.
// TakeHistory and TakeNotices may be called on a copy of the meeting, to keep their results for a
// retry.
func (m *Meeting) TakeNotices() []Notice {
	for i := range m.Notices {
		m.Notices[i].complete(m.ID)
		if !m.Notices[i].Single {
			m.Notices[i].Facts.SetOccurrence(m)
		}
		m.Notices[i].Facts.ScheduleVersion, m.Notices[i].Facts.ReplyDomain = m.ScheduleVersion, m.ReplyDomain
		if f := &m.Notices[i].Facts; f.SeriesID != 0 {
			f.Sequence = m.SeriesSequence
		}
	}
	n := m.Notices
	m.Notices = nil
	return n
}

// checkedRoom is the state of a room's blackouts that a meeting was checked against.
type checkedRoom struct{ roomID, closures int64 }

// CheckedClosures returns the [Room.Closures] of the room that the meeting's time and rooms were
// checked against. A store returns [ErrRoomsChanged] if the room has another number when it saves
// them. ok is false if they were not checked.
func (m *Meeting) CheckedClosures(roomID int64) (closures int64, ok bool) {
	for _, c := range m.checked {
		if c.roomID == roomID {
			return c.closures, true
		}
	}
	return 0, false
}

// Posted reports whether chat channels may be about the new meeting, as its rooms were when it was booked.
func (m *Meeting) Posted() bool { return m.posted }

// QuotaClaims returns a person's use of quotas by a slot of the rooms. held is the meeting as it is, or
// nil if it is new.
func QuotaClaims(userID int64, rooms []*Room, slot clock.Slot, held *Meeting) []policy.Claim {
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
	Opens time.Time // until the end of the meeting; zero: the start
	Until time.Time // deadline, when unattended rooms are released; zero: no check-in is required
}

// Response of an attendee to the invitation.
type Response string

const (
	NeedsAction Response = "needs_action"
	Accepted    Response = "accepted"
	Declined    Response = "declined"
	Tentative   Response = "tentative"
)

// Answers reports whether the response is one that an attendee can give.
func (r Response) Answers() bool { return r == Accepted || r == Declined || r == Tentative }

func (a Attendee) SameAddress(b Attendee) bool { return a.Key() == b.Key() }
