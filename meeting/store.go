package meeting

import (
	"context"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
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

	// A meeting is saved only if its rooms' blackouts are those it was checked against
	// ([Meeting.CheckedClosures]; else [ErrRoomsChanged]), what it asks for without holding it is free
	// ([Meeting.Requested]; else [*ConflictError]) and quotas allow it ([Meeting.Claims]; else
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

// ApprovalStore is what requests for a decision need from persistence besides their meetings.
type ApprovalStore interface {
	// HeldForChanges returns which slots of a room are held for changes that wait, and
	// for offers of the waiting list, in a span, in order.
	HeldForChanges(ctx context.Context, roomID int64, span clock.Slot, at time.Time) ([]HeldSlot, error)
	// RequestsAskedWith are the meetings whose requests wait and were made in the moment in which
	// one of the given was made for another date of the same series; the given are among them
	// if they wait themselves. They come by start.
	RequestsAskedWith(ctx context.Context, ids []ID) ([]*Meeting, error)
	// Lapsed are the meetings, and the offers to those who wait, that hold any of these places but
	// have lapsed at an instant, by ID.
	Lapsed(ctx context.Context, places []Occupancy, at time.Time) (meetings []ID, waits []int64, err error)
	// Waiting are meetings that wait for a decision, or whose deadline has just passed, by ID
	// after one, at most limit.
	Waiting(ctx context.Context, after ID, limit int) ([]*Meeting, error)
}

// HeldSlot is a part of a room's time that a meeting's pending change holds, or an offer.
type HeldSlot struct {
	MeetingID ID // 0: an offer
	Slot      clock.Slot
}

// RulesStore is the part of [Store] that rules need beyond rooms and meetings.
type RulesStore interface {
	// CreateBlackout, UpdateBlackout and DeleteBlackout exclude bookings in the rooms that the
	// blackout closes while they run: each of those either was saved before, or fails with
	// [ErrRoomsChanged]. [ErrNotFound], if the room or site is not there.
	CreateBlackout(ctx context.Context, b *policy.Blackout) error
	UpdateBlackout(ctx context.Context, id int64, fn func(*policy.Blackout) error) (*policy.Blackout, error)
	DeleteBlackout(ctx context.Context, id int64, at time.Time, fn func(*policy.Blackout) error) error // as it is, locked; an error keeps it
	Blackout(ctx context.Context, id int64) (*policy.Blackout, error)
	ListBlackouts(ctx context.Context, q BlackoutQuery, p Page) (bs []*policy.Blackout, next string, err error) // by start
	// BlackoutsAfter are all blackouts of these rooms, and of their sites, that end after an
	// instant, by start.
	BlackoutsAfter(ctx context.Context, rooms []int64, at time.Time) ([]policy.Blackout, error)

	// WaitingMoves returns the meetings with a move that waits for a decision.
	WaitingMoves(ctx context.Context) ([]*Meeting, error)

	// Held returns the slots, without buffers, of the claimant's meetings that hold the room within
	// the claim's span at an instant. It leaves out the meeting except. For a meeting that ended
	// early, the slot is the time that it took.
	Held(ctx context.Context, c policy.Claim, except ID, at time.Time) ([]clock.Slot, error)

	// Busy returns what overlaps span in each of the rooms, buffers included, by start.
	Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Occupants are the meetings that hold the room within span, by start. Those that have lapsed
	// are among them.
	Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*Meeting, error)
}

// BlackoutQuery filters blackouts; a zero field does not filter.
type BlackoutQuery struct {
	From, To time.Time // overlapping [From, To)
	RoomID   int64     // that close the room: its own and its site's
	SiteID   int64     // of the site and of its rooms
}

// SeriesStore is what series need from persistence, on the terms of [Store].
type SeriesStore interface {
	Series(ctx context.Context, id int64) (*Series, error)
	// ListSeries lists series that are not cancelled as a whole, the latest first.
	ListSeries(ctx context.Context, q SeriesQuery, p Page) (series []*Series, next string, err error)
	// SeriesMeetings are all meetings of a series, by start, those cancelled included.
	SeriesMeetings(ctx context.Context, id int64) ([]*Meeting, error)
	// Presence returns the dates of several series that begin before an instant, by start. It reads
	// only what shows whether anyone came.
	Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*Meeting, error)
	// Taken returns for each wanted occupancy what is in its way, and when that lapses. It leaves out
	// the meetings of except.
	Taken(ctx context.Context, wanted []Occupancy, except []ID) ([][]Occupancy, error)
	// SaveSeries saves all of a change or nothing. It fails with [ErrOutdated] if the series or
	// a meeting is not as it was when it was read, and with a [*ConflictError] if a room is
	// taken. It returns what there is to send.
	SaveSeries(ctx context.Context, c *SeriesChange) ([]Notice, error)
}

// SeriesQuery filters series; a zero field does not filter.
type SeriesQuery struct {
	OrganizerID int64
	Flagged     bool // nobody came to the latest dates, as many as [FlaggedAfter] or more
}

// WaitStore is what the waiting list needs from persistence, on the terms of [Store].
type WaitStore interface {
	// CreateWait sets ID, Version and Position. It locks the person, so that they get one place
	// after the other, and calls the function with how many open waits they have; its error
	// undoes everything and is returned as it is.
	CreateWait(ctx context.Context, w *Wait, fn func(open int) error) error
	Wait(ctx context.Context, id int64) (*Wait, error)
	// UpdateWait locks the wait and calls the function. The meeting that it may return is
	// created as by CreateMeeting, in the same transaction and in place of what an offer held;
	// it gets its ID, and so does the wait. An [Offered] wait holds what it wants, or fails
	// with a [*ConflictError].
	UpdateWait(ctx context.Context, id int64, fn func(*Wait) (*Meeting, error)) (*Wait, *Meeting, []Notice, error)
	// UpdateWaits is UpdateWait for many, in one transaction and in the order of their IDs: all
	// that the function says it changed is saved, or nothing. It leaves out waits that are not there.
	UpdateWaits(ctx context.Context, ids []int64, fn func(*Wait) (m *Meeting, changed bool, err error)) ([]Notice, error)
	ListWaits(ctx context.Context, q WaitQuery, p Page) (ws []*Wait, next string, err error) // by ID

	// Awaited returns the rooms in which anyone waits for any of free, with a number that increases
	// from call to call, across all callers.
	Awaited(ctx context.Context, free []Occupancy, at time.Time) (rooms []int64, number int64, err error)
	// FirstInLine are the waits for some of the rooms that could be served now, since all that they
	// want is free. The earliest come first: at most limit, of those after the one of an ID.
	// Their Position is not read.
	FirstInLine(ctx context.Context, rooms []int64, at time.Time, after int64, limit int) ([]*Wait, error)
	// FreeAndAwaited are rooms for which [WaitStore.FirstInLine] would find something.
	FreeAndAwaited(ctx context.Context, at time.Time) (rooms []int64, number int64, err error)
}

// WaitQuery filters waits; a zero field does not filter.
type WaitQuery struct {
	UserID int64
	RoomID int64
	States []WaitState // as they are at Now; see [Wait.At]
	Now    time.Time
}

// ZoneStore is what the care for zones needs from persistence, on the terms of [Store].
type ZoneStore interface {
	// BookedZones are the zones of meetings and series that are not over.
	BookedZones(ctx context.Context, at time.Time) ([]string, error)
	// ShownStarts calls the function for each coming meeting with its zone, its start and what clocks
	// showed then.
	ShownStarts(ctx context.Context, at time.Time, fn func(zone string, start, shown time.Time)) error
	ZoneRules(ctx context.Context) ([]ZoneRules, error)
	SaveZoneRules(ctx context.Context, rs []ZoneRules) error
	// Unnoted are meetings with IDs after the given one that are not over and whose local times are
	// not stored yet; only their IDs, times and series are read. NoteClocks stores them, which raises
	// no version.
	Unnoted(ctx context.Context, at time.Time, after ID, limit int) ([]*Meeting, error)
	NoteClocks(ctx context.Context, ms []*Meeting) error
	// SaveTogether saves all of the changes or nothing, on the terms of SaveSeries. What one leaves
	// another may take. A change without a series updates single meetings.
	SaveTogether(ctx context.Context, cs []*SeriesChange) ([]Notice, error)
}

// ZoneRules is what the rules of a zone were when the installation last looked.
type ZoneRules struct {
	Zone      string
	Hash      string
	ChangedAt time.Time // when other rules than before were seen; zero: never, or all meetings were moved since
}
