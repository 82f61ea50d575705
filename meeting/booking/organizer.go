package booking

import (
	"context"
	"fmt"

	"punctual/account/fault"
	"punctual/meeting"
)

// OrganizerRef names the user for whom a meeting is booked, by ID or by email address.
type OrganizerRef struct {
	UserID int64
	Email  string
}

// Location is the field that names the user.
func (o OrganizerRef) Location() string {
	if o.Email != "" {
		return "organizer_email"
	}
	return "organizer_id"
}

// lookUpOrganizer finds the user that the fields name; none if they name nobody, or nobody known.
func (s *Service) lookUpOrganizer(ctx context.Context, f *Fields) (meeting.Person, error) {
	switch o := f.Organizer; {
	case o == nil:
	case o.Email != "":
		email := fault.FoldEmail(o.Email)
		if !fault.IsEmail(email) {
			return meeting.Person{}, nil
		}
		found, err := s.directory.ByEmail(ctx, []string{email})
		if err != nil {
			return meeting.Person{}, fmt.Errorf("look up the organizer: %w", err)
		}
		return found[email], nil
	default:
		found, err := s.directory.People(ctx, []int64{o.UserID})
		if err != nil {
			return meeting.Person{}, fmt.Errorf("look up the organizer: %w", err)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return meeting.Person{}, nil
}

// organizer sets for whom the meeting is: the user that the fields name, or else the booker.
func (f *Fields) organizer(t *meeting.Terms, k Known, found *fault.List) {
	switch {
	case f.Organizer == nil:
	case k.organizer.UserID == 0:
		found.Add(f.Organizer.Location(), "unknown_user", "must be an active user")
	default:
		t.Organizer = k.organizer
	}
}

// AuthorizeOrganizer returns [meeting.ErrForbidden] if the fields name an organizer other than the present
// one, and the actor may not book these rooms for somebody else.
func (f *Fields) AuthorizeOrganizer(by meeting.Actor, present meeting.Person, k Known, rooms []*meeting.Room) error {
	if f.Organizer == nil || k.organizer.UserID == present.UserID || by.MayBookFor(rooms) ||
		by.Delegate != nil && by.Delegate.MayBookFor(rooms) { // in their own right
		return nil
	}
	return meeting.ErrForbidden
}

// NamesOnlyOrganizer reports whether the fields ask for another organizer and for nothing else.
func (f *Fields) NamesOnlyOrganizer() bool {
	return f.Organizer != nil && f.Title == nil && f.Description == nil && f.RoomIDs == nil && f.Start == nil && f.End == nil &&
		f.Timezone == nil && f.Attendees == nil && f.Reminders == nil && !f.DefaultReminders && f.Visibility == nil && f.TypeID == nil && f.Custom == nil && f.Override == nil
}
