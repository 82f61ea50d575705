package meeting

import (
	"errors"
	"slices"
	"time"

	"punctual/meeting/policy"
)

var (
	// ErrUndoExpired says that a change can no longer be undone: the time is over, or the first
	// notification about it was sent.
	ErrUndoExpired = errors.New("the change can no longer be undone")
	// ErrChangedSince says that something changed after the change that was to be undone.
	ErrChangedSince = errors.New("changed since")
)

// ReasonUndone is the reason in the history of what an undo did.
const ReasonUndone = "undone"

// Undoable says until when a user may undo the change that is being saved.
type Undoable struct {
	UserID    int64
	At, Until time.Time
}

// A PastChange is what the latest change of a meeting or a series replaced.
type PastChange struct {
	ID int64 // 0: the booking of a single meeting, which leaves no record
	Undoable
	Meetings []PastMeeting
	Series   *PastSeries // nil: a change of a single meeting
	Notices  []int64     // what it notified people of, besides the notices of the meetings that it created
}

// PastMeeting is a meeting as it was before a change.
type PastMeeting struct {
	ID      ID
	Version int64    // that the change gave it
	Before  *Meeting // nil: the change created it
}

// PastSeries is a series as it was before a change.
type PastSeries struct {
	ID      int64
	Version int64   // that the change gave it
	Before  *Series // nil: the change created it
	SplitID int64   // of the series that the change split off; 0: none
}

// undoable returns until when the actor may undo a change; nil: they may not.
func undoable(by Actor, length time.Duration, at time.Time) *Undoable {
	if length <= 0 || by.Kind != ActorUser || by.ID == 0 || by.Quiet || by.Calendar {
		return nil
	}
	return &Undoable{UserID: by.Acting().ID, At: at, Until: at.Add(length)}
}

// MakeUndoable lets the actor undo a change for some time.
func (m *Meeting) MakeUndoable(by Actor, length time.Duration, at time.Time) {
	m.Undoable = undoable(by, length, at)
	m.Undoable.postpone(m.Notices)
}

// MakeUndoable lets the actor undo a change for some time.
func (c *SeriesChange) MakeUndoable(by Actor, length time.Duration, at time.Time) {
	c.Undoable = undoable(by, length, at)
	for _, m := range slices.Concat(c.Update, c.Create) {
		c.Undoable.postpone(m.Notices)
	}
	for _, s := range []*Series{c.Series, c.Split} {
		if s != nil {
			c.Undoable.postpone(s.Notices)
		}
	}
}

// postpone lets notices wait until the change can no longer be undone, unless they would expire.
func (u *Undoable) postpone(ns []Notice) {
	if u == nil {
		return
	}
	for i := range ns {
		if n := &ns[i]; n.Expires.IsZero() || u.Until.Before(n.Expires) {
			n.Due = u.Until
		}
	}
}

// JustBooked reports whether nothing has changed since the meeting was booked but that it has started.
func (m *Meeting) JustBooked() bool {
	return m.Version == 1 || m.Version == 2 && !m.StartedAt.IsZero() && m.UpdatedAt.Equal(m.StartedAt)
}

// Restored returns the meeting as it was before a change. known are its rooms that still exist.
func (m *Meeting) Restored(before *Meeting, known []*Room, by Actor, at time.Time) *Meeting {
	r := *before
	r.Version, r.ScheduleVersion, r.UpdatedAt = m.Version, m.ScheduleVersion, at
	if !by.IsAdmin() { // an admin may have passed over quotas
		r.claims = QuotaClaims(r.Organizer.UserID, PickRooms(known, r.RoomIDs), r.Slot, m)
	}
	rooms := make([]*Room, len(r.RoomIDs))
	for i, id := range r.RoomIDs {
		rooms[i] = &Room{Room: policy.Room{ID: id}}
	}
	var kind *Type
	if r.TypeID != 0 {
		kind = &Type{ID: r.TypeID}
	}
	changes := m.compare(Terms{
		Title: r.Title, Description: r.Description, Slot: r.Slot, Timezone: r.Timezone, Rooms: rooms, Attendees: r.Attendees,
		Reminders: r.Reminders, DefaultReminders: r.DefaultReminders, Visibility: r.Visibility, Type: kind, Custom: r.Custom, Organizer: r.Organizer,
	})
	action := ActionChanged
	if m.Status != r.Status {
		changes = turned(m.Status, r.Status, changes)
		if r.Status == Confirmed {
			action = ActionConfirmed
		}
	}
	r.Record(Entry{At: at, Action: action, Actor: by, Changes: changes, Reason: ReasonUndone})
	return &r
}
