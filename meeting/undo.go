package meeting

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/meeting/policy"
)

// A user can undo their latest change of a meeting or a series for [Settings.Undo]. What the change
// notifies people of waits as long, and is never sent if the change is undone. A change that anyone
// was notified of can no longer be undone, so an undo has nothing to notify of.

var (
	// ErrUndoExpired says that a change can no longer be undone: the time is over, or the first
	// notification about it was sent.
	ErrUndoExpired = errors.New("the change can no longer be undone")
	// ErrChangedSince says that something changed after the change that was to be undone.
	ErrChangedSince = errors.New("changed since")
)

// ReasonUndone is the reason in the history of what an undo did.
const ReasonUndone = "undone"

// undoAllowance is how much longer a change can be undone if nobody is notified of it: the request of
// a user who undoes it at the last moment takes some time.
const undoAllowance = 2 * time.Second

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

// UndoStore is what an undo needs from persistence, on the terms of [Store].
type UndoStore interface {
	// LastChange and LastSeriesChange return the latest change of a meeting, or of a series, that
	// could be undone when it was made; [ErrNotFound] if there is none.
	LastChange(ctx context.Context, id ID) (*PastChange, error)
	LastSeriesChange(ctx context.Context, id int64) (*PastChange, error)
}

// undoable returns until when the actor may undo a change; nil: they may not.
func undoable(by Actor, length time.Duration, at time.Time) *Undoable {
	if length <= 0 || by.Kind != ActorUser || by.ID == 0 || by.Quiet || by.Calendar {
		return nil
	}
	return &Undoable{UserID: by.ID, At: at, Until: at.Add(length)}
}

// Undoable says until when the change that was just made can be undone; nil: it cannot. A store that
// updates the meeting keeps what the change replaced.
func (m *Meeting) Undoable() *Undoable { return m.undoable }

// undoableBy lets the actor undo a change for some time.
func (m *Meeting) undoableBy(by Actor, length time.Duration, at time.Time) {
	m.undoable = undoable(by, length, at)
	m.undoable.postpone(m.notices)
}

// undoableBy lets the actor undo a change for some time.
func (c *SeriesChange) undoableBy(by Actor, length time.Duration, at time.Time) {
	c.Undoable = undoable(by, length, at)
	for _, m := range slices.Concat(c.Update, c.Create) {
		c.Undoable.postpone(m.notices)
	}
	for _, s := range []*Series{c.Series, c.Split} {
		if s != nil {
			c.Undoable.postpone(s.notices)
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

// Undo takes back the actor's latest change of a meeting: it is as before, or cancelled if the change
// created it. Nobody is notified, neither of the change nor of its undo. It fails with [ErrUndoExpired]
// if the time is over, with [ErrChangedSince] if the meeting has changed since, and with a
// [*ConflictError] if its rooms were taken meanwhile.
func (s *Service) Undo(ctx context.Context, by Actor, id ID, ifMatch *int64) (*Meeting, error) {
	c, err := s.undo(ctx, by, func() (*PastChange, error) {
		m, err := s.store.Meeting(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return nil, err
		}
		return s.lastChange(ctx, by, m)
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Update, func(m *Meeting) bool { return m.ID == id })
	return s.show(ctx, by, c.Update[i])
}

// UndoSeries takes back the actor's latest change of a series, with all its meetings; see [Service.Undo].
func (s *Service) UndoSeries(ctx context.Context, by Actor, id int64, ifMatch *int64) (*SeriesResult, error) {
	c, err := s.undo(ctx, by, func() (*PastChange, error) {
		series, err := s.store.Series(ctx, id)
		if err != nil {
			return nil, err
		}
		p, err := s.store.LastSeriesChange(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, ErrUndoExpired
		case err != nil:
			return nil, err
		case p.UserID != by.ID:
			return nil, s.refuse(ctx, by, series)
		}
		return p, checkVersion(ifMatch, series.Version)
	})
	if err != nil {
		return nil, err
	}
	return s.showSeriesResult(ctx, by, &SeriesResult{Series: c.Series, Meetings: c.Update, Saved: true})
}

// lastChange returns the latest change of a meeting: its booking, a change of it alone, or a change of
// its series that concerned no other meeting.
func (s *Service) lastChange(ctx context.Context, by Actor, m *Meeting) (*PastChange, error) {
	if m.SeriesID == 0 && m.justBooked() {
		booked, _, err := s.store.History(ctx, m.ID, Page{Limit: 1})
		switch {
		case err != nil:
			return nil, err
		case len(booked) == 0:
			return nil, ErrUndoExpired
		}
		return &PastChange{
			Undoable: Undoable{UserID: booked[0].Actor.ID, At: m.CreatedAt, Until: m.CreatedAt.Add(s.conf().Undo)},
			Meetings: []PastMeeting{{ID: m.ID, Version: m.Version}},
		}, nil
	}
	p, err := s.store.LastChange(ctx, m.ID)
	if errors.Is(err, ErrNotFound) && m.SeriesID != 0 {
		if p, err = s.store.LastSeriesChange(ctx, m.SeriesID); err == nil && (len(p.Meetings) != 1 || p.Meetings[0].ID != m.ID) {
			err = ErrNotFound
		}
	}
	if errors.Is(err, ErrNotFound) {
		err = ErrUndoExpired
	}
	return p, err
}

// justBooked reports whether nothing has changed since the meeting was booked but that it has started.
func (m *Meeting) justBooked() bool {
	return m.Version == 1 || m.Version == 2 && !m.StartedAt.IsZero() && m.UpdatedAt.Equal(m.StartedAt)
}

// undo takes back a change that find returns.
func (s *Service) undo(ctx context.Context, by Actor, find func() (*PastChange, error)) (*SeriesChange, error) {
	c, _, err := s.saveWithin(ctx, func() (*SeriesChange, []*plannedDate, error) {
		p, err := find()
		if err != nil {
			return nil, nil, err
		}
		at := s.clock()
		switch length := s.conf().Undo; {
		case p.UserID != by.ID:
			return nil, nil, ErrForbidden
		case length <= 0 || at.After(p.Until.Add(undoAllowance)):
			return nil, nil, ErrUndoExpired
		}
		return s.planUndo(ctx, by, p, at)
	}, func(*PolicyError) {})
	return c, err
}

// planUndo restores what a change replaced.
func (s *Service) planUndo(ctx context.Context, by Actor, p *PastChange, at time.Time) (*SeriesChange, []*plannedDate, error) {
	c := &SeriesChange{Undoes: p}
	if err := s.restoreSeries(ctx, c, p.Series, at); err != nil {
		return nil, nil, err
	}
	ids := make([]ID, len(p.Meetings))
	for i, past := range p.Meetings {
		ids[i] = past.ID
	}
	current, err := s.store.MeetingsByID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	byID := map[ID]*Meeting{}
	var want []int64
	for _, m := range current {
		byID[m.ID] = m
	}
	for _, past := range p.Meetings {
		if past.Before != nil {
			want = append(want, past.Before.RoomIDs...)
		}
	}
	slices.Sort(want)
	rooms, err := s.rooms(ctx, slices.Compact(want))
	if err != nil {
		return nil, nil, err
	}
	var bases []*plannedDate
	for _, past := range p.Meetings {
		m := byID[past.ID]
		if m == nil || m.Version != past.Version {
			return nil, nil, ErrChangedSince
		}
		bases = append(bases, &plannedDate{base: m})
		if past.Before == nil {
			m = m.clone()
			m.callOff(ReasonUndone, by, at)
		} else if m = m.restored(past.Before, by, at); !by.rules() { // an admin may have passed over quotas
			m.claims = claims(m.Organizer.UserID, pick(rooms, m.RoomIDs), m.Slot, byID[m.ID])
		}
		c.Update = append(c.Update, m)
	}
	return c, bases, nil
}

// restoreSeries adds to a change the series as it was. One that the past change created is cancelled.
func (s *Service) restoreSeries(ctx context.Context, c *SeriesChange, past *PastSeries, at time.Time) error {
	if past == nil {
		return nil
	}
	series, err := s.store.Series(ctx, past.ID)
	if err != nil {
		return err
	}
	if series.Version != past.Version {
		return ErrChangedSince
	}
	c.Series = series
	if past.Before == nil {
		series.CancelledAt = at
	} else {
		before := past.Before.clone()
		before.Version, before.Sequence, before.RoomNames = series.Version, series.Sequence, series.RoomNames
		c.Series = before
	}
	c.Series.UpdatedAt = at
	if past.SplitID != 0 {
		if c.Split, err = s.store.Series(ctx, past.SplitID); err != nil {
			return err
		}
		c.Split.CancelledAt, c.Split.UpdatedAt = at, at
	}
	return nil
}

// restored returns the meeting as it was before a change.
func (m *Meeting) restored(before *Meeting, by Actor, at time.Time) *Meeting {
	r := *before
	r.Version, r.ScheduleVersion, r.UpdatedAt = m.Version, m.ScheduleVersion, at
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
	r.record(Entry{At: at, Action: action, Actor: by, Changes: changes, Reason: ReasonUndone})
	return &r
}
