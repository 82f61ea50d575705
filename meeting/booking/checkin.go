package booking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// CheckIn records that someone came to a meeting, so that its rooms are not released. If the
// meeting is already checked in, nothing changes.
func (s *Service) CheckIn(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64) (*meeting.Meeting, error) {
	by, err := s.actingOn(ctx, by, id)
	if err == nil {
		by, err = s.WithDeputies(ctx, by)
	}
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, by, id, nil, func(m *meeting.Meeting, c Preparation) error {
		if !by.MayCheckIn(m, c.Rooms) {
			return meeting.ErrForbidden
		}
		if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return Arrive(by)(m, c)
	})
}

// End ends a meeting in progress; the rest of its time becomes free at once.
func (s *Service) End(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64) (*meeting.Meeting, error) {
	by, err := s.actingOn(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, by, id, nil, func(m *meeting.Meeting, c Preparation) error {
		if !by.MayEdit(m) {
			return meeting.ErrForbidden
		}
		if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return m.Finish(c.Rooms, by, c.At)
	})
}

// Extend moves the end of a meeting to a later time. It returns a [*meeting.ConflictError] if a room is
// taken. If the rooms require approval of a longer meeting, the extension is requested and the end
// stays unchanged until the decision. A meeting in progress cannot wait: an approver may extend it,
// others are refused. Extending a meeting also checks in to it.
func (s *Service) Extend(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, f Fields) (*meeting.Meeting, error) {
	conf := s.Settings()
	by, err := s.actingOn(ctx, by, id)
	if err == nil {
		by, err = s.WithDeputies(ctx, by)
	}
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, by, id, &f, func(m *meeting.Meeting, c Preparation) error {
		if !by.MayEdit(m) {
			return meeting.ErrForbidden
		}
		status := m.EffectiveStatus(c.At)
		if status != meeting.Confirmed && status != meeting.InProgress {
			return &meeting.StateError{State: status, Action: "extend"}
		}
		if f.End == nil && len(f.Faults) == 0 {
			return &meeting.InvalidError{Faults: []meeting.Fault{{Location: "end", Code: "required", Message: "is required"}}}
		}
		before := m.Slot.End
		if err := s.Revise(m, by, ifMatch, f, conf, c); err != nil && !errors.Is(err, ErrUnchanged) {
			return err
		}
		if waits := m.Request != nil && m.Request.Change != nil && m.Request.Change.Slot.End.After(before); !waits && !m.Slot.End.After(before) {
			return &meeting.InvalidError{Faults: []meeting.Fault{{Location: "end", Code: "not_later", Message: "must be after the current end"}}}
		}
		if status != meeting.InProgress {
			return nil
		}
		_, err := m.Arrive(by, c.At)
		return err
	})
}

// Release releases the rooms of a meeting because nobody came.
func (s *Service) Release(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, reason string) (*meeting.Meeting, error) {
	if err := CheckComment("reason", &reason); err != nil {
		return nil, err
	}
	by, err := s.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, by, id, nil, func(m *meeting.Meeting, c Preparation) error {
		if !by.MayRelease(c.Rooms) {
			return meeting.ErrForbidden
		}
		if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
			return err
		}
		return m.Release(reason, by, c.At)
	})
}

// Arrivable is the content of the page behind a check-in link.
type Arrivable struct {
	Meeting *meeting.Meeting // nil: no meeting is expected in the room
	Person  meeting.Person   // recipient of the link; zero: anyone at the door
	Room    string           // of a code at a door
}

// Arrival identifies a check-in link: one person's participation in a meeting, or the current
// meeting of a room, known only at its door.
type Arrival struct {
	MeetingID meeting.ID // 0: of the room
	Email     string     // of the participant
	RoomID    int64
	Seen      meeting.ID // shown at the door when the link was made; 0: the current one
}

// Arrivable returns the content of the page behind a check-in link and changes nothing. A
// participant gets the meeting as they may see it. At a room's door, it is the current meeting or
// one that begins soon, as anyone at the door may see it. The link of a person who does not (or no
// longer) take part returns [meeting.ErrForbidden].
func (s *Service) Arrivable(ctx context.Context, to Arrival) (*Arrivable, error) {
	a, _, err := s.arrivable(ctx, to)
	return a, err
}

// ArriveBy checks in to the meeting of a link. With a [*meeting.StateError] it also returns the content of
// the page.
func (s *Service) ArriveBy(ctx context.Context, to Arrival) (*Arrivable, error) {
	a, by, err := s.arrivable(ctx, to)
	if err != nil {
		return nil, err
	}
	if a.Meeting == nil || to.Seen != 0 && to.Seen != a.Meeting.ID {
		return a, &meeting.StateError{State: meeting.Ended, Action: "check in"}
	}
	_, err = s.Change(ctx, by, a.Meeting.ID, nil, Arrive(by))
	if _, over := errors.AsType[*meeting.StateError](err); over { // it ended after the lookup
		now, _, again := s.arrivable(ctx, to)
		return now, cmp.Or(again, err)
	}
	return a, err
}

// Arrive records a check-in, unless there is one already.
func Arrive(by meeting.Actor) func(*meeting.Meeting, Preparation) error {
	return func(m *meeting.Meeting, c Preparation) error {
		first, err := m.Arrive(by, c.At)
		if err == nil && !first {
			return ErrUnchanged
		}
		return err
	}
}

func (s *Service) arrivable(ctx context.Context, to Arrival) (*Arrivable, meeting.Actor, error) {
	at := s.Now()
	if to.MeetingID == 0 {
		return s.atDoor(ctx, to, at)
	}
	m, err := s.store.Meeting(ctx, to.MeetingID)
	if err != nil {
		return nil, meeting.Actor{}, err
	}
	p, ok := m.Participant(to.Email)
	if !ok {
		return nil, meeting.Actor{}, meeting.ErrForbidden
	}
	by := meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: cmp.Or(p.Name, p.Email), Email: p.Email}
	return &Arrivable{Meeting: m.At(at), Person: p}, by, nil
}

// atDoor finds the meeting for a check-in at a room's door: the one that was shown, if it is still
// expected; else the first with open check-in that nobody checked in to; else the current one.
func (s *Service) atDoor(ctx context.Context, to Arrival, at time.Time) (*Arrivable, meeting.Actor, error) {
	room, err := s.Room(ctx, to.RoomID)
	if err != nil {
		return nil, meeting.Actor{}, err
	}
	ms, err := s.store.Occupants(ctx, room.ID, clock.Slot{Start: at, End: at.Add(24 * time.Hour)})
	if err != nil {
		return nil, meeting.Actor{}, err
	}
	found := &Arrivable{Room: room.Name}
	ms = slices.DeleteFunc(ms, func(m *meeting.Meeting) bool { return !slices.Contains(m.RoomIDs, room.ID) }) // a pending move into this room
	if m := expected(ms, to.Seen, at); m != nil {
		found.Meeting = m.ViewAt(at, meeting.Actor{AtRoom: room.ID}, nil)
	}
	return found, AtDoorOf(room), nil
}

func expected(ms []*meeting.Meeting, seen meeting.ID, at time.Time) *meeting.Meeting {
	var found *meeting.Meeting
	for _, m := range ms {
		switch {
		case m.Underway("", at) != nil:
		case m.ID == seen:
			return m
		case found == nil || !found.CheckedInAt.IsZero() && m.CheckedInAt.IsZero():
			found = m
		}
	}
	return found
}
