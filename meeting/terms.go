package meeting

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Terms are the checked content of a booking. Rooms are those of the slot.
type Terms struct {
	Title, Description string
	Slot               clock.Slot
	Timezone           string
	Rooms              []*Room
	Attendees          []Attendee
	Reminders          []Reminder
	DefaultReminders   bool
	Visibility         Visibility
	Type               *Type // nil: none
	Custom             []FieldValue
	Organizer          Person    // without UserID: the user who books, or in a change as it is
	Override           *Override // of the room policies; nil: none
	Import             *Import   // from another calendar; nil: it is booked here

	Turn *Turn // set if the booking comes from the waiting list

	Placed bool // time or rooms were requested; see [Meeting.Revise]

	Given clock.Slot // requested local start and end
}

// Turn says that a meeting serves a place on the waiting list: which one, and which actor granted
// or accepted it.
type Turn struct {
	WaitID   int64
	By       Actor
	JoinedBy Person // who joined the waiting list for the organizer; without UserID: the organizer did
}

// Violations returns the policy violations of the terms where they differ from base, nil for a new
// meeting. It does not check quotas: see [Meeting.Claims].
func (t *Terms) Violations(base *Meeting, by Actor, limits policy.Limits, at time.Time) []Fault {
	if t.history(at) {
		return nil
	}
	var v fault.List
	stays := base != nil && base.Slot.Start.Equal(t.Slot.Start)
	if stays && !base.Slot.End.Equal(t.Slot.End) && t.Slot.End.Before(at) {
		v = append(v, policy.InPast("end", t.Slot.End, t.Slot.End, at))
	}
	for _, r := range t.Rooms {
		w := policy.Proposal{Slot: t.Slot, Persons: len(t.Attendees), Now: at}
		if stays && slices.Contains(base.RoomIDs, r.ID) {
			w.Booked = &policy.Booked{End: base.Slot.End, Persons: len(base.Attendees)}
		}
		v = append(v, r.Check(w, limits)...)
	}
	v = append(v, t.accessViolations(base, by)...)
	return distinct(append(v, t.typeViolations(base, by)...))
}

// distinct returns each fault once, in order, because rooms share the installation's limits.
func distinct(all []Fault) []Fault {
	var out []Fault
	for _, f := range all {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// SameReminders compares in any order, because a store need not keep the order.
func SameReminders(a, b []Reminder) bool {
	order := func(x, y Reminder) int {
		return cmp.Or(strings.Compare(string(x.Before), string(y.Before)), cmp.Compare(x.Offset, y.Offset))
	}
	a, b = slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order)
	return slices.EqualFunc(a, b, func(x, y Reminder) bool {
		return x.Before == y.Before && x.Offset == y.Offset && slices.Equal(x.Channels, y.Channels)
	})
}

func emails(as []Attendee) []string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = a.Label()
	}
	return out
}

// note records the waiting list as the origin of a meeting in the first entry of its history.
func (t *Turn) note(e *Entry) {
	if t == nil {
		return
	}
	e.Actor, e.Reason = t.By, ReasonWaitingList
	e.Changes = map[string]Change{"waitlist_id": {To: t.WaitID}}
}

// OrganizerOf of the meeting under these terms.
func (t *Terms) OrganizerOf(m *Meeting) Person {
	if t.Organizer.UserID == 0 {
		return m.Organizer
	}
	return t.Organizer
}

// Accept accepts the terms if they violate no policy, or by an override, which they then carry.
func (t *Terms) Accept(violations []Fault, o *Override) error {
	firm := func(f Fault) bool { return f.Firm }
	switch {
	case o != nil && !slices.ContainsFunc(violations, firm):
		t.Override = &Override{Reason: o.Reason, Violations: violations}
		return nil
	case len(violations) > 0:
		return &PolicyError{Violations: violations}
	default:
		return nil
	}
}

// Moves reports whether the terms change the time or the rooms of a meeting that has not started.
func (t *Terms) Moves(m *Meeting, at time.Time) bool {
	return at.Before(m.Slot.Start) && (!t.Slot.Equal(m.Slot) || !slices.Equal(RoomIDs(t.Rooms), m.RoomIDs))
}

// Staying returns the terms with the meeting's own time and rooms.
func (t Terms) Staying(m *Meeting) Terms {
	t.Slot, t.Rooms = m.Slot, nil
	for i, id := range m.RoomIDs {
		t.Rooms = append(t.Rooms, &Room{Room: policy.Room{ID: id, Name: m.RoomNames[i]}})
	}
	return t
}
