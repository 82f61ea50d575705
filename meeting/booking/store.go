package booking

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Store is the persistence that Service and the jobs need. It knows no rules. Methods return
// [meeting.ErrNotFound] for missing rows, and [*meeting.ConflictError] if the database refuses an occupancy. Each
// method is one transaction, all or nothing. Update methods lock the row, call the function with
// its current content, save, and raise Version. An error of the function undoes everything and is
// returned unchanged. They may call the function again after a serialization failure. Safe for
// concurrent use.
type Store interface {
	RulesStore
	ApprovalStore
	SeriesStore
	WaitStore
	UndoStore
	OriginStore

	GroupsOf(ctx context.Context, userID int64) ([]int64, error) // of a user; none for an unknown one

	Type(ctx context.Context, id int64) (*meeting.Type, error)

	CustomFields(ctx context.Context) ([]*meeting.CustomField, error) // by position and label

	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) // in the order of ids, without unknown ones
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)

	// A meeting is saved only under three conditions, which also hold among concurrent calls. Its
	// rooms' blackouts are those that it was checked against ([meeting.Meeting.CheckedClosures]), otherwise
	// [meeting.ErrRoomsChanged]. What it requests without holding it is free ([meeting.Meeting.Requested]),
	// otherwise [*meeting.ConflictError]. Quotas allow it ([meeting.Meeting.Claims]), otherwise [*meeting.PolicyError].

	// CreateMeeting sets ID and versions, and completes the notices, to which it may add some.
	CreateMeeting(ctx context.Context, m *meeting.Meeting) error
	Meeting(ctx context.Context, id meeting.ID) (*meeting.Meeting, error)
	MeetingsByID(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) // without unknown ones
	UpdateMeeting(ctx context.Context, id meeting.ID, fn func(*meeting.Meeting) error) (*meeting.Meeting, []meeting.Notice, error)
	// Outlines returns meetings without attendees and reminders; unknown IDs are left out.
	Outlines(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error)
	// UpdateMeetings locks the meetings in the order of their IDs and calls the function with each
	// existing one. It saves those that the function reports as changed, all or none. Its
	// [*meeting.ConflictError] names no rooms.
	UpdateMeetings(ctx context.Context, ids []meeting.ID, fn func(*meeting.Meeting) (changed bool, err error)) ([]meeting.Notice, error)
	ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
	History(ctx context.Context, id meeting.ID, p meeting.Page) (entries []meeting.Entry, next string, err error)
	// OpenedBy is the ID of the entry by which the meeting was last made public, or left a room that hides details
	// from the actor; 0: there is none.
	OpenedBy(ctx context.Context, by meeting.Actor, id meeting.ID) (entry int64, err error)

	// Due pages through the messages of one job that become due, ordered by due time, then key:
	// pending rows with from < due <= to (zero from: no lower bound) after the cursor, at most
	// limit. Rows whose present version is a dead letter (job_failures) are left out.
	Due(ctx context.Context, job string, from, to time.Time, after meeting.DueCursor, limit int) ([]meeting.Due, error)

	// Start sets confirmed meetings of the given versions that have not passed their end to
	// in_progress. End sets confirmed or in-progress ones to ended, or to released if a required
	// check-in is missing. Each writes a history entry for each changed meeting and returns one
	// outcome per ref, in one statement. For Start, a meeting that never started but has passed its
	// end is [meeting.Done].
	Start(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error)
	End(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error)

	// Remind marks due reminders as handled and records the notices that fn returns for each. It
	// does so for meetings of the given versions that are confirmed, in progress or ended; ended
	// ones so that missed reminders are recorded as skipped. It returns one outcome per ref and the
	// recorded notices, with ID 0 for those recorded before.
	Remind(ctx context.Context, refs []meeting.ReminderRef, at time.Time, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Outcome, []meeting.Notice, error)
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
}

// RulesStore is the part of [Store] that policies need beyond rooms and meetings.
type RulesStore interface {
	ListBlackouts(ctx context.Context, q meeting.BlackoutQuery, p meeting.Page) (bs []*policy.Blackout, next string, err error) // by start
	// BlackoutsWithin returns, by start, all blackouts of these rooms and of their sites that overlap a span.
	// A zero end means no end.
	BlackoutsWithin(ctx context.Context, rooms []int64, span clock.Slot) ([]policy.Blackout, error)

	// Held returns the slots, without buffers, of the claimant's meetings that hold the room within
	// the claim's span at an instant. It leaves out the meeting except. For a meeting that ended
	// early, the slot is the time that it took.
	Held(ctx context.Context, c policy.Claim, except meeting.ID, at time.Time) ([]clock.Slot, error)

	// Occupants returns, by start, the meetings that hold the room within span, including lapsed
	// ones.
	Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*meeting.Meeting, error)
}

// SeriesStore is the persistence of series, on the terms of [Store].
type SeriesStore interface {
	Series(ctx context.Context, id int64) (*meeting.Series, error)
	// SeriesMeetings returns all meetings of a series, by start, including canceled ones.
	SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error)
	// Presence returns the dates of several series that begin before an instant, by start. It reads
	// only what shows whether anyone came.
	Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*meeting.Meeting, error)
	// Taken returns for each wanted occupancy what conflicts with it, and when that lapses. It
	// ignores the meetings of except.
	Taken(ctx context.Context, wanted []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error)
	// SaveSeries saves all of a change or nothing. It fails with [meeting.ErrOutdated] if the series or a
	// meeting has changed since it was read, and with a [*meeting.ConflictError] if a room is taken. It
	// returns the notices to send. A change that undoes another fails with [meeting.ErrUndoExpired] if anyone
	// was notified of that one. It returns the notices that the other had superseded.
	SaveSeries(ctx context.Context, c *meeting.SeriesChange) ([]meeting.Notice, error)
}

// WaitStore is the persistence of the waiting list, on the terms of [Store].
type WaitStore interface {
	Wait(ctx context.Context, id int64) (*meeting.Wait, error)
	// UpdateWait locks the wait and calls the function. A meeting that it returns is created as by
	// CreateMeeting, in the same transaction, in place of what an offer held; the meeting and the
	// wait get its ID. An [meeting.Offered] wait holds its rooms, or fails with a [*meeting.ConflictError].
	UpdateWait(ctx context.Context, id int64, fn func(*meeting.Wait) (*meeting.Meeting, error)) (*meeting.Wait, *meeting.Meeting, []meeting.Notice, error)
	// UpdateWaits is UpdateWait for many waits, in one transaction and in the order of their IDs.
	// It saves all that the function reports as changed, or nothing. Unknown waits are left out.
	UpdateWaits(ctx context.Context, ids []int64, fn func(*meeting.Wait) (m *meeting.Meeting, changed bool, err error)) ([]meeting.Notice, error)

	// Awaited returns the rooms in which anyone waits for any of free, with a number that increases
	// from call to call, across all callers.
	Awaited(ctx context.Context, free []meeting.Occupancy, at time.Time) (rooms []int64, number int64, err error)
	// FreeAndAwaited returns rooms with a wait that can be served now because all that it wants is free.
	FreeAndAwaited(ctx context.Context, at time.Time) (rooms []int64, number int64, err error)
}
