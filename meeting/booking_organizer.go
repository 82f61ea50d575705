package meeting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
)

// OrganizerRef names the user for whom a meeting is booked, by ID or by email address.
type OrganizerRef struct {
	UserID int64
	Email  string
}

// location is the field that names the user.
func (o OrganizerRef) location() string {
	if o.Email != "" {
		return "organizer_email"
	}
	return "organizer_id"
}

// MayBookFor reports whether the actor may book these rooms for somebody else: an admin, or an
// approver of each of them, at any level.
func (a Actor) MayBookFor(rooms []*Room) bool {
	return a.rules() || len(rooms) > 0 && !slices.ContainsFunc(rooms, func(r *Room) bool { return !a.approves(r) })
}

// person is the actor as the organizer of what they book.
func (a Actor) person() Person {
	return Person{UserID: a.ID, Email: a.Email, Name: a.Name, CalendarMails: a.CalendarMails}
}

// lookUpOrganizer finds the user that the fields name; none if they name nobody, or nobody known.
func (s *Service) lookUpOrganizer(ctx context.Context, f *Fields) (Person, error) {
	switch o := f.Organizer; {
	case o == nil:
	case o.Email != "":
		email := fault.FoldEmail(o.Email)
		if !fault.IsEmail(email) {
			return Person{}, nil
		}
		found, err := s.directory.ByEmail(ctx, []string{email})
		if err != nil {
			return Person{}, fmt.Errorf("look up the organizer: %w", err)
		}
		return found[email], nil
	default:
		found, err := s.directory.People(ctx, []int64{o.UserID})
		if err != nil {
			return Person{}, fmt.Errorf("look up the organizer: %w", err)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return Person{}, nil
}

// organizer sets for whom the meeting is: the user that the fields name, or else the booker.
func (f *Fields) organizer(t *Terms, k known, found *fault.List) {
	switch {
	case f.Organizer == nil:
	case k.organizer.UserID == 0:
		found.Add(f.Organizer.location(), "unknown_user", "must be an active user")
	default:
		t.Organizer = k.organizer
	}
}

// authorizeOrganizer returns [ErrForbidden] if the fields name an organizer other than the present
// one, and the actor may not book these rooms for somebody else.
func (f *Fields) authorizeOrganizer(by Actor, present Person, k known, rooms []*Room) error {
	if f.Organizer == nil || k.organizer.UserID == present.UserID || by.MayBookFor(rooms) {
		return nil
	}
	return ErrForbidden
}

// namesOnlyOrganizer reports whether the fields ask for another organizer and for nothing else.
func (f *Fields) namesOnlyOrganizer() bool {
	return f.Organizer != nil && f.Title == nil && f.Description == nil && f.RoomIDs == nil && f.Start == nil && f.End == nil &&
		f.Timezone == nil && f.Attendees == nil && f.Reminders == nil && !f.DefaultReminders && f.Visibility == nil && f.TypeID == nil && f.Custom == nil && f.Override == nil
}

// namesOnlyOrganizer is [Fields.namesOnlyOrganizer] for a series.
func (f *SeriesFields) namesOnlyOrganizer() bool {
	return f.Fields.namesOnlyOrganizer() && f.Rule == nil && f.ExDates == nil && f.RDates == nil && len(f.Choices) == 0
}

// organizer of the meeting under these terms.
func (t *Terms) organizer(m *Meeting) Person {
	if t.Organizer.UserID == 0 {
		return m.Organizer
	}
	return t.Organizer
}

// heldBy is the meeting if the person organizes it, for [claims]: what somebody else holds does
// not count for their quotas.
func (m *Meeting) heldBy(p Person) *Meeting {
	if m == nil || m.Organizer.UserID != p.UserID {
		return nil
	}
	return m
}

// claimForOrganizer counts what the meeting holds for its new organizer.
func (m *Meeting) claimForOrganizer(rooms []*Room) {
	holds := func(r *Room) bool {
		return slices.ContainsFunc(m.Occupied, func(o Occupancy) bool { return o.RoomID == r.ID })
	}
	rooms = slices.DeleteFunc(slices.Clone(rooms), func(r *Room) bool { return !holds(r) })
	if len(rooms) > 0 {
		m.claims = append(m.claims, claims(m.Organizer.UserID, rooms, m.Slot, nil)...)
	}
}

// notifyHandover invites the new organizer, and notifies the former one of the change. If the
// meeting is pending, the decision is sent to the new organizer.
func (m *Meeting) notifyHandover(before *Meeting, by Actor, at time.Time) {
	if m.Status == Pending || by.Leaving {
		return
	}
	n := Notice{Kind: NoticeInvitation, Channel: Email, Due: at, Expires: m.Slot.End, Facts: m.facts(by)}
	n.Facts.Handover = true
	m.notify(n, []Person{m.Organizer}, by)
	n.Kind, n.Facts.Handover = NoticeChange, false
	m.notify(n, []Person{before.Organizer}, by)
}
