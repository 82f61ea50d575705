package booking

import (
	"context"
	"fmt"

	"punctual/account/fault"
	"punctual/meeting"
)

// Acting returns the actor for what a user does to a meeting: the user, or as a delegate the participant for whom
// they act, see [meeting.Actor.Principal].
func (s *Service) Acting(ctx context.Context, by meeting.Actor, m *meeting.Meeting) (meeting.Actor, error) {
	id, ok := by.Principal(m)
	if !ok {
		return by, nil
	}
	return s.through(ctx, by, id, m.Visibility == meeting.Private)
}

// actingOn is [Service.Acting] for the ID of a meeting. Only delegates cost a read.
func (s *Service) actingOn(ctx context.Context, by meeting.Actor, id meeting.ID) (meeting.Actor, error) {
	if len(by.Delegations()) == 0 {
		return by, nil
	}
	m, err := s.store.Meeting(ctx, id)
	if err != nil {
		return by, err
	}
	return s.Acting(ctx, by, m)
}

// actingOnSeries is [Service.Acting] for a series.
func (s *Service) actingOnSeries(ctx context.Context, by meeting.Actor, id int64) (meeting.Actor, error) {
	if len(by.Delegations()) == 0 {
		return by, nil
	}
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return by, err
	}
	return s.Acting(ctx, by, series.Sample())
}

// through returns the actor by whom a delegate acts for a user, or the delegate if they may not.
func (s *Service) through(ctx context.Context, by meeting.Actor, userID int64, private bool) (meeting.Actor, error) {
	found, err := s.directory.People(ctx, []int64{userID})
	if err != nil {
		return by, fmt.Errorf("look up for whom a delegate acts: %w", err)
	}
	if len(found) == 0 {
		return by, nil
	}
	acting, _ := by.For(found[0], private)
	return acting, nil
}

// respondingFor returns the actor who responds to a meeting for a user; 0: for themselves. It returns
// [meeting.ErrForbidden] if they are not the user's delegate.
func (s *Service) respondingFor(ctx context.Context, by meeting.Actor, userID int64, m func() (*meeting.Meeting, error)) (meeting.Actor, error) {
	if userID == 0 || userID == by.ID {
		return by, nil
	}
	of, err := m()
	if err != nil {
		return by, err
	}
	acting, err := s.through(ctx, by, userID, of.Visibility == meeting.Private)
	if err == nil && acting.ID != userID {
		err = meeting.ErrForbidden
	}
	return acting, err
}

// Searcher returns the actor by whose rights and limits rooms are searched for a user; 0: for the actor. Managers and
// admins who are no delegates of the user search by their own. For others it returns [meeting.ErrForbidden].
func (s *Service) Searcher(ctx context.Context, by meeting.Actor, userID int64) (meeting.Actor, error) {
	if userID == 0 || userID == by.ID {
		return by, nil
	}
	acting, err := s.through(ctx, by, userID, false)
	if err == nil && acting.ID != userID && by.Role == meeting.Member {
		err = meeting.ErrForbidden
	}
	return acting, err
}

// Booker returns the actor who books a meeting in these rooms: the user, or as a delegate the organizer whom the
// fields name. It returns [meeting.ErrForbidden] if the user may not book for the organizer.
func (f *Fields) Booker(by meeting.Actor, k Known, rooms []*meeting.Room) (meeting.Actor, error) {
	err := f.AuthorizeOrganizer(by, by.Person(), k, rooms)
	if err == nil {
		return by, nil
	}
	acting, ok := by.For(k.organizer, false)
	if !ok {
		return by, err
	}
	return acting, f.CheckDelegate(acting)
}

// Waiter returns the actor who joins the waiting list: the user, or as a delegate the organizer whom the fields
// name. It returns a fault if they name another user.
func (f *Fields) Waiter(by meeting.Actor, k Known) (meeting.Actor, error) {
	if f.Organizer == nil || k.organizer.UserID == by.ID {
		return by, nil
	}
	acting, ok := by.For(k.organizer, false)
	if !ok {
		return by, fault.Invalid(f.Organizer.Location(), "not_allowed", "must be you, or a user whose delegate you are, to join a waiting list")
	}
	return acting, f.CheckDelegate(acting)
}

// CheckDelegate returns a fault if a delegate would make a meeting private that they could not see then.
func (f *Fields) CheckDelegate(by meeting.Actor) error {
	if f.Visibility != nil && f.Visibility.HidesFrom(by) {
		return fault.Invalid("visibility", "not_allowed", "must be public: %s has not shared private meetings with you", by.Name)
	}
	return nil
}
