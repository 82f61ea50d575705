package booking

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/photo"
	"punctual/meeting/policy"
)

// Store is the persistence that Service and the jobs need. It knows no rules. Methods return
// [ErrNotFound] for missing rows, and [*ConflictError] if the database refuses an occupancy. Each
// method is one transaction, all or nothing. Update methods lock the row, call the function with
// its current content, save, and raise Version. An error of the function undoes everything and is
// returned unchanged. They may call the function again after a serialization failure. Safe for
// concurrent use.
type Store interface {
	RulesStore
	ApprovalStore
	SeriesStore
	WaitStore
	ZoneStore
	UndoStore
	OriginStore
	TransferStore

	GroupsOf(ctx context.Context, userID int64) ([]int64, error) // of a user; none for an unknown one

	CreateSite(ctx context.Context, s *meeting.Site) error
	Site(ctx context.Context, id int64) (*meeting.Site, error)
	UpdateSite(ctx context.Context, id int64, fn func(*meeting.Site) error) (*meeting.Site, error)
	// DeleteSite and DeleteRoom call the function with the locked content; an error prevents the
	// deletion.
	DeleteSite(ctx context.Context, id int64, fn func(*meeting.Site) error) error // [*InUseError] while it has rooms
	ListSites(ctx context.Context, p meeting.Page) (sites []*meeting.Site, next string, err error)

	CreateType(ctx context.Context, t *meeting.Type) error
	Type(ctx context.Context, id int64) (*meeting.Type, error)
	Types(ctx context.Context) ([]*meeting.Type, error) // by name
	UpdateType(ctx context.Context, id int64, fn func(*meeting.Type) error) (*meeting.Type, error)
	DeleteType(ctx context.Context, id int64, fn func(*meeting.Type) error) error // [*InUseError] if a meeting has it

	CreateCustomField(ctx context.Context, c *meeting.CustomField) error // a fault of name if it is taken
	CustomField(ctx context.Context, id int64) (*meeting.CustomField, error)
	CustomFields(ctx context.Context) ([]*meeting.CustomField, error) // by position and label
	UpdateCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) (*meeting.CustomField, error)
	DeleteCustomField(ctx context.Context, id int64, fn func(*meeting.CustomField) error) error // [*InUseError] if a meeting has a value of it

	CreateRooms(ctx context.Context, rooms []*meeting.Room) error    // all or none; sets their IDs
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) // in the order of ids, without unknown ones
	// UpdateRoom also updates the check-in of the room's coming meetings.
	UpdateRoom(ctx context.Context, id int64, fn func(*meeting.Room) error) (*meeting.Room, error)
	DeleteRoom(ctx context.Context, id int64, at time.Time, fn func(*meeting.Room) error) error // [*InUseError] while meetings after at hold it; its history stays
	// SetRoomPhoto stores a photo, or removes it (nil). It calls the function with the locked room, without its
	// approvers, and the bytes of the other rooms' photos, and saves [Room.Photo]; an error prevents the change.
	SetRoomPhoto(ctx context.Context, id int64, p *photo.Photo, fn func(r *meeting.Room, others int64) error) error
	RoomPhoto(ctx context.Context, id int64, small bool) (picture []byte, version string, err error) // [ErrNotFound] without one
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)

	// A meeting is saved only under three conditions, which also hold among concurrent calls. Its
	// rooms' blackouts are those that it was checked against ([Meeting.CheckedClosures]), otherwise
	// [ErrRoomsChanged]. What it requests without holding it is free ([Meeting.Requested]),
	// otherwise [*ConflictError]. Quotas allow it ([Meeting.Claims]), otherwise [*PolicyError].

	// CreateMeeting sets ID and versions, and the notices' IDs in the slice that
	// [Meeting.TakeNotices] returns.
	CreateMeeting(ctx context.Context, m *meeting.Meeting) error
	Meeting(ctx context.Context, id meeting.ID) (*meeting.Meeting, error)
	MeetingsByID(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) // without unknown ones
	UpdateMeeting(ctx context.Context, id meeting.ID, fn func(*meeting.Meeting) error) (*meeting.Meeting, []meeting.Notice, error)
	// Outlines returns meetings without attendees and reminders; unknown IDs are left out.
	Outlines(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error)
	// UpdateMeetings locks the meetings in the order of their IDs and calls the function with each
	// existing one. It saves those that the function reports as changed, all or none. Its
	// [*ConflictError] names no rooms.
	UpdateMeetings(ctx context.Context, ids []meeting.ID, fn func(*meeting.Meeting) (changed bool, err error)) ([]meeting.Notice, error)
	ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
	History(ctx context.Context, id meeting.ID, p meeting.Page) (entries []meeting.Entry, next string, err error)
	// OpenedBy is the ID of the entry by which the meeting was last made public; 0: it never was private.
	OpenedBy(ctx context.Context, id meeting.ID) (entry int64, err error)

	// Due pages through the messages of one job that become due, ordered by due time, then key:
	// pending rows with from < due <= to (zero from: no lower bound) after the cursor, at most
	// limit. Rows whose present version is a dead letter (job_failures) are left out.
	Due(ctx context.Context, job string, from, to time.Time, after meeting.DueCursor, limit int) ([]meeting.Due, error)

	// Start sets confirmed meetings of the given versions that have not passed their end to
	// in_progress. End sets confirmed or in-progress ones to ended, or to released if a required
	// check-in is missing. Each writes a history entry for each changed meeting and returns one
	// outcome per ref, in one statement. For Start, a meeting that never started but has passed its
	// end is [Done].
	Start(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error)
	End(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error)

	// Remind marks due reminders as handled and records the notices that fn returns for each. It
	// does so for meetings of the given versions that are confirmed, in progress or ended; ended
	// ones so that missed reminders are recorded as skipped. It returns one outcome per ref and the
	// recorded notices, with ID 0 for those recorded before.
	Remind(ctx context.Context, refs []meeting.ReminderRef, at time.Time, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Outcome, []meeting.Notice, error)

	// FollowReminders sets these reminders, in one short transaction, in at most limit meetings
	// with higher IDs than after that follow the installation's defaults and have not ended. It
	// returns how many changed, and the last ID that it read; 0: none is left.
	FollowReminders(ctx context.Context, rs []meeting.Reminder, at time.Time, after meeting.ID, limit int) (changed int, last meeting.ID, err error)
}

// ApprovalStore is the persistence of approval requests, besides their meetings.
type ApprovalStore interface {
	// HeldForChanges returns the slots of a room within a span, in order, that are held for pending
	// moves and for offers of the waiting list.
	HeldForChanges(ctx context.Context, roomID int64, span clock.Slot, at time.Time) ([]meeting.HeldSlot, error)
	// RequestsAskedWith returns, by start, the meetings with pending requests that were made
	// together with one of the given meetings for another date of the same series. It includes the
	// given meetings if they are pending.
	RequestsAskedWith(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error)
	// Lapsed returns, by ID, the meetings and the waiting-list offers that hold any of these places
	// but have lapsed at an instant.
	Lapsed(ctx context.Context, places []meeting.Occupancy, at time.Time) (meetings []meeting.ID, waits []int64, err error)
	// Waiting returns, by ID, at most limit meetings after one with a pending request, or one whose
	// deadline has just passed.
	Waiting(ctx context.Context, after meeting.ID, limit int) ([]*meeting.Meeting, error)
}

// RulesStore is the part of [Store] that policies need beyond rooms and meetings.
type RulesStore interface {
	// CreateBlackout, UpdateBlackout and DeleteBlackout exclude concurrent bookings in the rooms of
	// the blackout: each booking either was saved before, or fails with [ErrRoomsChanged]. They
	// return [ErrNotFound] if the room or site does not exist.
	CreateBlackout(ctx context.Context, b *policy.Blackout) error
	UpdateBlackout(ctx context.Context, id int64, fn func(*policy.Blackout) error) (*policy.Blackout, error)
	DeleteBlackout(ctx context.Context, id int64, at time.Time, fn func(*policy.Blackout) error) error // fn gets it locked; an error prevents the deletion
	Blackout(ctx context.Context, id int64) (*policy.Blackout, error)
	ListBlackouts(ctx context.Context, q meeting.BlackoutQuery, p meeting.Page) (bs []*policy.Blackout, next string, err error) // by start
	// BlackoutsAfter returns, by start, all blackouts of these rooms and of their sites that end
	// after an instant.
	BlackoutsAfter(ctx context.Context, rooms []int64, at time.Time) ([]policy.Blackout, error)

	// WaitingMoves returns the meetings with a pending move.
	WaitingMoves(ctx context.Context) ([]*meeting.Meeting, error)

	// Held returns the slots, without buffers, of the claimant's meetings that hold the room within
	// the claim's span at an instant. It leaves out the meeting except. For a meeting that ended
	// early, the slot is the time that it took.
	Held(ctx context.Context, c policy.Claim, except meeting.ID, at time.Time) ([]clock.Slot, error)

	// Busy returns what overlaps span in each of the rooms, buffers included, by start.
	Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Occupants returns, by start, the meetings that hold the room within span, including lapsed
	// ones.
	Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*meeting.Meeting, error)
}

// SeriesStore is the persistence of series, on the terms of [Store].
type SeriesStore interface {
	Series(ctx context.Context, id int64) (*meeting.Series, error)
	// ListSeries lists series that were not canceled as a whole, latest first.
	ListSeries(ctx context.Context, q meeting.SeriesQuery, p meeting.Page) (series []*meeting.Series, next string, err error)
	// SeriesMeetings returns all meetings of a series, by start, including canceled ones.
	SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error)
	// Presence returns the dates of several series that begin before an instant, by start. It reads
	// only what shows whether anyone came.
	Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*meeting.Meeting, error)
	// Taken returns for each wanted occupancy what conflicts with it, and when that lapses. It
	// ignores the meetings of except.
	Taken(ctx context.Context, wanted []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error)
	// SaveSeries saves all of a change or nothing. It fails with [ErrOutdated] if the series or a
	// meeting has changed since it was read, and with a [*ConflictError] if a room is taken. It
	// returns the notices to send. A change that undoes another fails with [ErrUndoExpired] if anyone
	// was notified of that one. It returns the notices that the other had superseded.
	SaveSeries(ctx context.Context, c *meeting.SeriesChange) ([]meeting.Notice, error)
}

// WaitStore is the persistence of the waiting list, on the terms of [Store].
type WaitStore interface {
	// CreateWait sets ID, Version and Position. It locks the user, so that concurrent calls run one
	// after another, and calls the function with the user's number of open waits. An error of the
	// function undoes everything and is returned unchanged.
	CreateWait(ctx context.Context, w *meeting.Wait, fn func(open int) error) error
	Wait(ctx context.Context, id int64) (*meeting.Wait, error)
	// UpdateWait locks the wait and calls the function. A meeting that it returns is created as by
	// CreateMeeting, in the same transaction, in place of what an offer held; the meeting and the
	// wait get its ID. An [Offered] wait holds its rooms, or fails with a [*ConflictError].
	UpdateWait(ctx context.Context, id int64, fn func(*meeting.Wait) (*meeting.Meeting, error)) (*meeting.Wait, *meeting.Meeting, []meeting.Notice, error)
	// UpdateWaits is UpdateWait for many waits, in one transaction and in the order of their IDs.
	// It saves all that the function reports as changed, or nothing. Unknown waits are left out.
	UpdateWaits(ctx context.Context, ids []int64, fn func(*meeting.Wait) (m *meeting.Meeting, changed bool, err error)) ([]meeting.Notice, error)
	ListWaits(ctx context.Context, q meeting.WaitQuery, p meeting.Page) (ws []*meeting.Wait, next string, err error) // by ID

	// Awaited returns the rooms in which anyone waits for any of free, with a number that increases
	// from call to call, across all callers.
	Awaited(ctx context.Context, free []meeting.Occupancy, at time.Time) (rooms []int64, number int64, err error)
	// FirstInLine returns at most limit waits for some of the rooms, after the given ID, that can
	// be served now because all that they want is free. The earliest come first. Their Position is
	// not read.
	FirstInLine(ctx context.Context, rooms []int64, at time.Time, after int64, limit int) ([]*meeting.Wait, error)
	// FreeAndAwaited returns rooms for which [WaitStore.FirstInLine] would find a wait.
	FreeAndAwaited(ctx context.Context, at time.Time) (rooms []int64, number int64, err error)
}

// ZoneStore is the persistence for changed zone rules, on the terms of [Store].
type ZoneStore interface {
	// BookedZones returns the zones of current and future meetings and series.
	BookedZones(ctx context.Context, at time.Time) ([]string, error)
	// ShownStarts calls the function for each coming meeting with its zone, its start and its local
	// start when it was booked.
	ShownStarts(ctx context.Context, at time.Time, fn func(zone string, start, shown time.Time)) error
	ZoneRules(ctx context.Context) ([]meeting.ZoneRules, error)
	SaveZoneRules(ctx context.Context, rs []meeting.ZoneRules) error
	// Unnoted returns current and future meetings with IDs after the given one whose local times
	// are not stored yet. It reads only IDs, times and series. NoteClocks stores the local times
	// without raising a version.
	Unnoted(ctx context.Context, at time.Time, after meeting.ID, limit int) ([]*meeting.Meeting, error)
	NoteClocks(ctx context.Context, ms []*meeting.Meeting) error
	// SaveTogether saves all of the changes or nothing, on the terms of SaveSeries. One change may
	// take what another leaves. A change without a series updates single meetings.
	SaveTogether(ctx context.Context, cs []*meeting.SeriesChange) ([]meeting.Notice, error)
}
