package meeting

import (
	"strings"
	"time"

	"punctual/meeting/clock"
)

// ReasonNoShow is the reason in the history of a meeting whose rooms were released because nobody
// checked in.
const ReasonNoShow = "no_show"

// CheckInWindowOf returns the check-in window of a meeting in rooms with these settings. The longest
// window applies, because people check in once for all rooms. If the grace period reaches the end of
// the meeting, there is nothing to release, so no check-in is needed.
func CheckInWindowOf(slot clock.Slot, rooms []CheckIn) CheckInWindow {
	var opens, grace time.Duration
	required := false
	for _, r := range rooms {
		opens = max(opens, r.Opens)
		if r.Required {
			required, grace = true, max(grace, r.Grace)
		}
	}
	w := CheckInWindow{Opens: slot.Start.Add(-opens)}
	if until := slot.Start.Add(grace); required && until.Before(slot.End) {
		w.Until = until
	}
	return w
}

func checkInWindow(slot clock.Slot, rooms []*Room) CheckInWindow {
	settings := make([]CheckIn, len(rooms))
	for i, r := range rooms {
		settings[i] = r.CheckIn
	}
	return CheckInWindowOf(slot, settings)
}

// Follow returns the window of a meeting after its rooms' settings changed at an instant. For a
// meeting that has begun it can only relax.
func (w CheckInWindow) Follow(asked CheckInWindow, slot clock.Slot, at time.Time) CheckInWindow {
	more := !asked.Until.IsZero() && (w.Until.IsZero() || asked.Until.Before(w.Until))
	if more && !slot.Start.After(at) {
		return w
	}
	return asked
}

// Equal reports whether both windows have the same instants.
func (w CheckInWindow) Equal(o CheckInWindow) bool {
	return w.Opens.Equal(o.Opens) && w.Until.Equal(o.Until)
}

// missed reports whether check-in has closed without a check-in. A meeting whose end was moved
// before that deadline ends like others.
func (m *Meeting) missed(at time.Time) bool {
	return m.AwaitsCheckIn() && !at.Before(m.CheckIn.Until) && m.CheckIn.Until.Before(m.Slot.End)
}

// MayCheckIn reports whether the actor may check in to the meeting: its participants, approvers of
// its rooms, admins.
func (a Actor) MayCheckIn(m *Meeting, rooms []*Room) bool {
	return a.MayEdit(m) || a.Attends(m) || a.MayReject(rooms)
}

// MayRelease reports whether the actor may release rooms that others booked: their approvers and
// admins. An organizer cancels or ends the meeting instead.
func (a Actor) MayRelease(rooms []*Room) bool { return a.MayReject(rooms) }

// Arrive checks in to the meeting and reports whether it was the first check-in.
func (m *Meeting) Arrive(by Actor, at time.Time) (first bool, err error) {
	if err := m.Underway("check in", at); err != nil {
		return false, err
	}
	if !m.CheckedInAt.IsZero() {
		return false, nil
	}
	m.CheckedInAt, m.UpdatedAt = at, at
	m.Record(Entry{At: at, Action: ActionCheckedIn, Actor: by, Changes: map[string]Change{"checked_in_at": {To: at}}})
	return true, nil
}

// Finish ends the meeting early. From then on its rooms are free, except for the buffers after the
// meeting.
func (m *Meeting) Finish(rooms []*Room, by Actor, at time.Time) error {
	if s := m.EffectiveStatus(at); s != InProgress {
		return &StateError{State: s, Action: "end"}
	}
	m.begun(at)
	m.Status, m.EndedAt, m.UpdatedAt = Ended, at, at
	m.vacate(rooms, at)
	m.Record(Entry{At: at, Action: ActionEnded, Actor: by, Changes: turned(InProgress, Ended, nil)})
	return nil
}

// Release releases the rooms because nobody is there, and notifies the organizer. It returns a
// [*StateError] unless the meeting is confirmed or in progress, and before check-in opens.
func (m *Meeting) Release(reason string, by Actor, at time.Time) error {
	if err := m.Underway("release", at); err != nil {
		return err
	}
	m.release(reason, 0, nil, by, at)
	return nil
}

// Forfeit releases the meeting because nobody checked in. If no process ran in time and the meeting
// has passed its end, nobody is notified. Otherwise the organizer and others are. inRow is how many
// dates of its series in a row this has now happened to. Forfeit checks only the state: by the
// engine's clock, the caller knows that the time has come.
func (m *Meeting) Forfeit(inRow int, others []Person, by Actor, at time.Time) error {
	if m.Status != Confirmed && m.Status != InProgress {
		return &StateError{State: m.Status, Action: "release"}
	}
	m.release(ReasonNoShow, inRow, others, by, at)
	return nil
}

func (m *Meeting) release(reason string, inRow int, also []Person, by Actor, at time.Time) {
	changes := turned(m.Status, Released, m.Request.givenUp())
	m.withdraw("released", by, at)
	m.Status, m.EndedAt, m.UpdatedAt = Released, at, at
	m.Record(Entry{At: at, Action: ActionReleased, Actor: by, Changes: changes, Reason: reason})
	m.Occupied = nil
	if !at.Before(m.Slot.End) {
		return // only buffers are left to release
	}
	f := m.Facts(by)
	f.Reason, f.NoShows = reason, inRow
	m.notify(Notice{Kind: NoticeReleased, Channel: Email, Due: at, Facts: f}, append([]Person{m.Organizer}, also...), by)
}

// Underway returns nil while a meeting takes place or its check-in is open.
func (m *Meeting) Underway(action string, at time.Time) error {
	s := m.EffectiveStatus(at)
	switch {
	case s == InProgress:
		return nil
	case s != Confirmed:
		return &StateError{State: s, Action: action}
	}
	if opens := m.CheckInOpens(); at.Before(opens) {
		return &StateError{State: s, Action: action, From: opens}
	}
	return nil
}

// CheckInOpens returns when check-in opens.
func (m *Meeting) CheckInOpens() time.Time {
	if m.CheckIn.Opens.IsZero() {
		return m.Slot.Start
	}
	return m.CheckIn.Opens
}

// begun records the start if its job is late.
func (m *Meeting) begun(at time.Time) {
	if m.Status == Confirmed {
		m.Status, m.StartedAt = InProgress, at
		m.Record(Entry{At: at, Action: ActionStarted, Actor: Timer(JobStart), Changes: turned(Confirmed, InProgress, nil)})
	}
}

// vacate releases the rooms of the meeting from an instant on, except for their buffers.
func (m *Meeting) vacate(rooms []*Room, at time.Time) {
	buffers := map[int64]time.Duration{}
	for _, r := range rooms {
		buffers[r.ID] = r.Policy.BufferAfter
	}
	var held []Occupancy
	for _, o := range m.Occupied {
		if end := at.Add(buffers[o.RoomID]); end.Before(o.Slot.End) {
			o.Slot.End = end
		}
		if o.Slot.Start.Before(o.Slot.End) {
			held = append(held, o)
		}
	}
	m.Occupied = held
}

// Participant returns the participant with this address.
func (m *Meeting) Participant(email string) (Person, bool) {
	if email == "" {
		return Person{}, false
	}
	if strings.EqualFold(m.Organizer.Email, email) {
		return m.Organizer, true
	}
	for _, a := range m.Attendees {
		if strings.EqualFold(a.Email, email) {
			return a.Person, true
		}
	}
	return Person{}, false
}
