package meeting

import (
	"context"
	"time"
)

// Store is what Service and the jobs need from persistence; it knows no rule. Methods return
// [ErrNotFound] for what is not there and [*ConflictError] when the database refuses an
// occupancy. Everything one method writes is one transaction, all or nothing. Update methods
// lock the row, call the function with its current content, save, raise Version; an error of
// the function undoes everything and is returned as it is. They may call the function again
// after a serialisation failure. Safe for concurrent use.
type Store interface {
	RulesStore
	ApprovalStore
	SeriesStore
	WaitStore
	ZoneStore

	CreateSite(ctx context.Context, s *Site) error
	Site(ctx context.Context, id int64) (*Site, error)
	UpdateSite(ctx context.Context, id int64, fn func(*Site) error) (*Site, error)
	// DeleteSite and DeleteRoom call the function with the locked content; its error keeps it.
	DeleteSite(ctx context.Context, id int64, fn func(*Site) error) error // [*InUseError] while rooms belong to it
	ListSites(ctx context.Context, p Page) (sites []*Site, next string, err error)

	CreateRoom(ctx context.Context, r *Room) error
	Rooms(ctx context.Context, ids []int64) ([]*Room, error) // in the order of ids; those not there are left out
	// UpdateRoom also gives the coming meetings of the room the check-in that it asks for now.
	UpdateRoom(ctx context.Context, id int64, fn func(*Room) error) (*Room, error)
	DeleteRoom(ctx context.Context, id int64, at time.Time, fn func(*Room) error) error // [*InUseError] while meetings after at hold it; its history stays
	ListRooms(ctx context.Context, q RoomQuery, p Page) (rooms []*Room, next string, err error)

	// A meeting is saved only if its rooms' blackouts are those it was judged by
	// ([Meeting.CheckedClosures]; else [ErrRoomsChanged]), what it asks for without holding it is free
	// ([Meeting.Asked]; else [*ConflictError]) and quotas allow it ([Meeting.Claims]; else
	// [*PolicyError]), whoever saves another at the same time.

	// CreateMeeting sets ID, versions and the notices' IDs: in place, in the slice that
	// [Meeting.TakeNotices] hands over.
	CreateMeeting(ctx context.Context, m *Meeting) error
	Meeting(ctx context.Context, id ID) (*Meeting, error)
	MeetingsByID(ctx context.Context, ids []ID) ([]*Meeting, error) // those that exist
	UpdateMeeting(ctx context.Context, id ID, fn func(*Meeting) error) (*Meeting, []Notice, error)
	// Outlines finds meetings without their attendees and reminders; those not there are left out.
	Outlines(ctx context.Context, ids []ID) ([]*Meeting, error)
	// UpdateMeetings locks the meetings in the order of their IDs and calls the function with
	// each that is there. It saves those that it says to have changed, all or none. Its
	// [*ConflictError] does not say what is in the way.
	UpdateMeetings(ctx context.Context, ids []ID, fn func(*Meeting) (changed bool, err error)) ([]Notice, error)
	ListMeetings(ctx context.Context, q MeetingQuery, p Page) (ms []*Meeting, next string, err error)
	History(ctx context.Context, id ID, p Page) (entries []Entry, next string, err error)
	// OpenedBy is the ID of the entry by which the meeting was last made public; 0: it never was private.
	OpenedBy(ctx context.Context, id ID) (entry int64, err error)

	// Due pages through what falls due for one job, ordered by due time then key: pending
	// rows with from < due <= to (zero from: no lower bound) after the cursor, at most limit.
	// Rows whose job died (job_failures) at their present version are left out.
	Due(ctx context.Context, job string, from, to time.Time, after DueCursor, limit int) ([]Due, error)

	// Start makes confirmed meetings of the given versions that have not passed their end
	// in_progress; End makes confirmed or in-progress ones ended, but for those to which
	// somebody had to check in and nobody did: they are released. Each writes a history entry
	// for every meeting it changed and returns one outcome per ref. One statement for all.
	// A meeting that was never started but has passed its end is [Done] to Start.
	Start(ctx context.Context, refs []Ref, at time.Time) ([]Outcome, error)
	End(ctx context.Context, refs []Ref, at time.Time) ([]Outcome, error)

	// Remind marks due reminders as handled and records the notices that fn makes of each,
	// for meetings of the given versions that are confirmed, in progress or, so that what was
	// missed is recorded as skipped, ended. It returns one outcome per ref and the recorded
	// notices, with ID 0 where one had been recorded before.
	Remind(ctx context.Context, refs []ReminderRef, at time.Time, fn func(*Meeting, ReminderRef) []Notice) ([]Outcome, []Notice, error)

	// FollowReminders gives these reminders to some of the meetings that follow the installation's
	// defaults and have not ended: in one short transaction, to at most limit of those with higher
	// IDs than after. It returns how many changed, and the last ID that it looked at; 0: there
	// was none left.
	FollowReminders(ctx context.Context, rs []Reminder, at time.Time, after ID, limit int) (changed int, last ID, err error)
}

// Page asks for part of a list: at most Limit after Cursor. An empty cursor starts; an empty
// next cursor ends. A cursor that is not one of ours is an [*InvalidError] at "cursor".
type Page struct {
	Limit  int
	Cursor string
}

// RoomQuery filters rooms; a zero field does not filter.
type RoomQuery struct {
	IDs             []int64
	SiteID          int64
	Features        []string // all of them
	MinCapacity     int      // that is known
	Persons         int      // who have a place, or nobody knows how many there are
	Text            string   // in name or floor, case-insensitive
	IncludeInactive bool
}

// MeetingQuery filters meetings; a zero field does not filter.
type MeetingQuery struct {
	From, To      time.Time // overlapping [From, To)
	RoomID        int64
	RoomIDs       []int64 // in any of them
	SiteID        int64
	OrganizerID   int64
	AttendeeEmail string
	Statuses      []Status // effective at Now
	SeriesID      int64
	Text          string    // in the title, case-insensitive
	Awaiting      bool      // waiting for a decision to which Viewer may agree now
	Viewer        *Actor    // to whom a filter must not reveal what a private meeting hides: see Reveals
	Now           time.Time // for effective statuses
	Brief         bool      // leaves out reminders, and attendees but the Viewer of private meetings
}

// Reveals reports whether being listed reveals something that a private meeting hides: its title,
// its people, or its series. If so, the meeting is listed only to users who may see it.
func (q MeetingQuery) Reveals() bool {
	return q.Text != "" || q.OrganizerID != 0 || q.AttendeeEmail != "" || q.SeriesID != 0
}

// DueCursor is where a page of Due ended.
type DueCursor struct {
	Due time.Time
	ID  ID
	Sub string
}

// Due is one pending timed event.
type Due struct {
	Key     string // of its message
	Version int64
	Due     time.Time
	Cursor  DueCursor
}

// Ref names one state of a meeting's schedule.
type Ref struct {
	ID      ID
	Version int64 // ScheduleVersion
}

// ReminderRef names one reminder of one state of a meeting's schedule.
type ReminderRef struct {
	Ref
	Before Anchor
	Offset time.Duration
	Due    time.Time
}

// Outcome of a timed change.
type Outcome int

const (
	Applied Outcome = iota // it took effect now
	Done                   // it had taken effect before
	Stale                  // the meeting has another schedule or state now; nothing was done
)

func (o Outcome) String() string { return [...]string{"applied", "done", "stale"}[o] }
