package meeting

import (
	"slices"
	"strings"
	"time"
)

// Role of a user, from the least to the most rights.
type Role string

const (
	Member  Role = "member"  // books
	Manager Role = "manager" // also decides for the rooms that name them as approver
	Admin   Role = "admin"   // everything
)

// ActorKind is the kind of an [Actor].
type ActorKind string

const (
	ActorUser   ActorKind = "user"
	ActorTimer  ActorKind = "timer"  // a delay job; Name is the job's
	ActorSystem ActorKind = "system" // the installation itself: import, demo
)

// Actor is the user, timer or system that performs an action.
type Actor struct {
	Kind  ActorKind
	ID    int64 // of a user; else 0
	Name  string
	Email string // of a user, or of a guest who follows a link
	Phone string // of a guest without an email address who follows a link
	Role  Role   // of a user

	CalendarMails bool // see [Person.CalendarMails]

	// Blind actors see private meetings as strangers do, because their token has no scope for
	// meetings.
	Blind bool

	// AtRoom is the room whose door display or calendar an anonymous reader sees; 0: none. Such a reader
	// sees the room, whoever else may.
	AtRoom int64

	// Everywhere is set for readers who see all rooms and what is in them, except private meetings, such
	// as the webhooks of admins.
	Everywhere bool

	// Calendar actors act through the calendar program of a meeting's organizer. They may change what is
	// read-only for others here, and their changes cannot be undone.
	Calendar bool

	// Leaving actors hand over what a user organizes who leaves: neither this user nor the one who takes
	// over is notified of each meeting.
	Leaving bool

	// Quiet actors import: nobody is notified of what they do.
	Quiet bool

	// Delegate is the user who acts for the actor; nil: nobody does. The actor's meetings, access to rooms and
	// limits count. What else a role allows, such as to decide and to override, both must be allowed. History and
	// notifications name both.
	Delegate *Actor

	// ActsFor are users whose delegate the actor is, see [Actor.For]; nil: nobody's.
	ActsFor *[]ActsFor

	// Groups of a user. The service looks them up where they matter; nil: not looked up.
	Groups *[]int64

	// RepresentedIDs are absent users for whom a manager decides. The service looks them up where
	// they matter; nil: not looked up.
	RepresentedIDs  *[]int64
	Represents      *[]Represented // the same users
	RepresentsUntil time.Time      // when the first of their absences ends; zero: StandsFor is empty
}

// Timer is the actor of a delay job.
func Timer(job string) Actor { return Actor{Kind: ActorTimer, Name: job} }

// IsAdmin reports whether the actor may do everything. Timers may not: they act by transitions of
// their own.
func (a Actor) IsAdmin() bool {
	return a.both(func(a Actor) bool { return a.Kind == ActorSystem || a.Kind == ActorUser && a.Role == Admin })
}

// both reports whether the actor may do something, and so may their delegate who acts, if there is one.
func (a Actor) both(may func(Actor) bool) bool {
	if a.Delegate != nil && !may(*a.Delegate) {
		return false
	}
	return may(a.alone())
}

// alone returns the actor as if they acted themselves.
func (a Actor) alone() Actor {
	a.Delegate = nil
	return a
}

// MayManageRooms reports whether the actor may create, change and delete sites and rooms.
func (a Actor) MayManageRooms() bool { return a.IsAdmin() }

// MayEdit reports whether the actor may change or cancel the meeting: its organizer and admins.
func (a Actor) MayEdit(m *Meeting) bool { return a.IsAdmin() || a.organizes(m) }

// MaySee reports whether the actor sees title and people of the meeting. Everyone may, unless the
// meeting is private, or one of its rooms shows details to certain groups only. Then its participants, their
// delegates (in a private meeting those for private meetings), the approvers of its rooms and admins may. If it
// has several rooms, the actor must see the details of each. rooms may contain more than the meeting's.
func (a Actor) MaySee(m *Meeting, rooms []*Room) bool {
	hides := func(l Limit) bool { return slices.Contains(m.RoomIDs, l.RoomID) && !a.reads(l) }
	if m.Visibility != Private && !slices.ContainsFunc(m.Limits, hides) {
		return true
	}
	return !a.Blind && a.takesPart(m, rooms)
}

// takesPart reports whether the actor sees everything of the meeting: its participants, their delegates, the
// approvers of its rooms and admins.
func (a Actor) takesPart(m *Meeting, rooms []*Room) bool {
	return a.participates(m) || slices.ContainsFunc(rooms, func(r *Room) bool {
		return (slices.Contains(m.RoomIDs, r.ID) || slices.Contains(m.RequestedRooms(), r.ID)) && a.approves(r)
	})
}

// MaySeePhone reports whether the actor sees the phone number of an attendee of the meeting. A
// user's number comes from their account: only they and admins see it. A guest's number was
// entered for the meeting: the organizer and their delegates see it, too.
func (a Actor) MaySeePhone(m *Meeting, p Attendee) bool {
	who := a.Acting()
	return who.Is(p) || !who.Blind && (who.Role == Admin || p.UserID == 0 && who.Manages(m))
}

// MaySeeNotices reports whether the actor sees the notifications of the meeting: its organizer, their
// delegates, the approvers of its rooms and admins.
func (a Actor) MaySeeNotices(m *Meeting, rooms []*Room) bool {
	return a.Manages(m) || a.MayReject(rooms)
}

func (a Actor) organizes(m *Meeting) bool {
	return a.Kind == ActorUser && a.ID == m.Organizer.UserID && !m.Visibility.HidesFrom(a)
}

func (a Actor) Attends(m *Meeting) bool {
	return a.Kind == ActorUser && !m.Visibility.HidesFrom(a) && slices.ContainsFunc(m.Attendees, a.Is)
}

// DeclinedBy reports whether the actor is invited to the meeting, declined, and is not its organizer.
func (m *Meeting) DeclinedBy(a Actor) bool {
	i := slices.IndexFunc(m.Attendees, a.Is)
	return i >= 0 && m.Attendees[i].Response == Declined && !a.organizes(m)
}

func (a Actor) Is(p Attendee) bool {
	return a.ID != 0 && a.ID == p.UserID || a.Email != "" && strings.EqualFold(a.Email, p.Email) ||
		a.Phone != "" && p.Email == "" && a.Phone == p.Phone
}

// Busy is the title of a meeting for those who may not see what it is about.
const Busy = "Busy"

// View returns a copy of the meeting without what the actor may not see: all content of a meeting that
// they may not see, its people and its series, the rooms that they may not see, and other people's phone
// numbers and comments. rooms may contain more than the meeting's.
func (m *Meeting) View(by Actor, rooms []*Room) *Meeting {
	seen := *m
	seen.hide(m, by, rooms)
	return &seen
}

// ViewAt returns the [Meeting.View] of the meeting as it is at an instant, see [Meeting.At].
func (m *Meeting) ViewAt(at time.Time, by Actor, rooms []*Room) *Meeting {
	seen := *m
	seen.advance(m, at)
	whole := seen
	seen.hide(&whole, by, rooms)
	return &seen
}

// hide removes from m, a copy of whole, what the actor may not see.
func (m *Meeting) hide(whole *Meeting, by Actor, rooms []*Room) {
	if !by.MaySee(whole, rooms) {
		m.hideRooms(func(id int64) bool { return !by.maySeeRoomOf(whole, id, rooms) })
		m.Title, m.Description = Busy, ""
		m.Organizer, m.BookedBy, m.TypeID, m.Custom = Person{}, Person{}, 0, nil
		m.Attendees, m.Reminders = nil, nil
		m.Approval.Comment, m.Approval.DecidedBy = "", 0 // approvers of their own request are its organizers
		m.SeriesID, m.SeriesFirst, m.OriginalStart, m.OriginalWall = 0, 0, time.Time{}, time.Time{}
		m.Approval.Agreed, m.Approval.Decision, m.Request, m.Origin = nil, nil, nil, nil
		return
	}
	if whole.Request != nil && (by.Blind || !by.takesPart(whole, rooms)) &&
		slices.ContainsFunc(whole.RequestedRooms(), func(id int64) bool { return !by.maySeeRoomOf(whole, id, rooms) }) {
		m.Request = nil
	}
	organizes := !by.Blind && by.Manages(whole)
	if !organizes {
		m.Custom = open(whole.Custom)
	}
	m.Attendees = slices.Clone(whole.Attendees)
	for i := range m.Attendees {
		p := &m.Attendees[i]
		if !by.MaySeePhone(whole, *p) {
			p.Phone = ""
		}
		if !organizes && !by.Is(*p) {
			p.Comment = ""
		}
	}
}

// hideRooms removes rooms from a copy of a meeting.
func (m *Meeting) hideRooms(hidden func(roomID int64) bool) {
	if !slices.ContainsFunc(m.RoomIDs, hidden) {
		return
	}
	ids, names := m.RoomIDs, m.RoomNames
	m.RoomIDs, m.RoomNames = nil, nil
	for i, id := range ids {
		if hidden(id) {
			continue
		}
		m.RoomIDs = append(m.RoomIDs, id)
		if i < len(names) { // brief meetings have none
			m.RoomNames = append(m.RoomNames, names[i])
		}
	}
	m.Occupied = slices.DeleteFunc(slices.Clone(m.Occupied), func(o Occupancy) bool { return hidden(o.RoomID) })
}

// Represented is an absent user for whom another user decided.
type Represented struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// MayReject reports whether the actor may reject a meeting in these rooms: an admin, or an approver
// of any of them, at any level.
func (a Actor) MayReject(rooms []*Room) bool {
	return a.IsAdmin() || slices.ContainsFunc(rooms, a.approves)
}

// approves reports whether the room names the actor, or a user whom they represent, at any level.
func (a Actor) approves(r *Room) bool {
	return a.both(func(a Actor) bool {
		return a.isOneOf(r.Approval.ApproverIDs) || a.isOneOf(r.Approval.SecondIDs) || a.isOneOf(r.Approval.EscalateTo)
	})
}

// mayAgree reports whether the actor may approve for a room at a level: an admin, an approver of
// that level and, once the request is escalated, an escalation contact at every level.
func (a Actor) mayAgree(r *Room, level int, escalated bool) bool {
	return a.both(func(a Actor) bool {
		return a.IsAdmin() || a.isOneOf(r.deciders(level)) || escalated && a.isOneOf(r.Approval.EscalateTo)
	})
}

// MayBookFor reports whether the actor may book these rooms for somebody else: an admin, or an
// approver of each of them, at any level.
func (a Actor) MayBookFor(rooms []*Room) bool {
	return a.IsAdmin() || len(rooms) > 0 && !slices.ContainsFunc(rooms, func(r *Room) bool { return !a.approves(r) })
}

// Person is the actor as the organizer of what they book.
func (a Actor) Person() Person {
	return Person{UserID: a.ID, Email: a.Email, Name: a.Name, CalendarMails: a.CalendarMails}
}

// MayChangeLate reports whether the actor may move and cancel meetings until they start, whatever
// their rooms say.
func (a Actor) MayChangeLate() bool {
	return a.both(func(a Actor) bool { return a.Kind != ActorUser || a.Role == Manager || a.Role == Admin })
}
