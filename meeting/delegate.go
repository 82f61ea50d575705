package meeting

import (
	"cmp"
	"slices"
)

// ActsFor is a user for whom another user acts as delegate.
type ActsFor struct {
	UserID  int64
	Private bool    // includes private meetings
	Role    Role    // of the user; "": not looked up
	Groups  []int64 // of the user; nil: not looked up
}

// Delegations returns the users whose delegate the actor is.
func (a Actor) Delegations() []ActsFor {
	if a.ActsFor == nil {
		return nil
	}
	return *a.ActsFor
}

// mayActFor reports whether the actor is a delegate of the user; private: also in private meetings.
func (a Actor) mayActFor(userID int64, private bool) bool {
	_, ok := a.delegation(userID, private)
	return ok
}

func (a Actor) delegation(userID int64, private bool) (ActsFor, bool) {
	if a.Kind != ActorUser || userID == 0 {
		return ActsFor{}, false
	}
	all := a.Delegations()
	i := slices.IndexFunc(all, func(p ActsFor) bool { return p.UserID == userID && (p.Private || !private) })
	if i < 0 {
		return ActsFor{}, false
	}
	return all[i], true
}

// For returns the actor for what a delegate does for a person: the person's meetings, access and limits count.
// The person's role and groups are those of the delegation, which stores recheck with the rights of the delegate. It
// returns false if the actor is not their delegate; private: not in private meetings.
func (a Actor) For(p Person, private bool) (Actor, bool) {
	d, ok := a.delegation(p.UserID, private)
	if a.Delegate != nil || !ok {
		return a, false
	}
	acting := Actor{
		Kind: ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: cmp.Or(d.Role, p.Role), CalendarMails: p.CalendarMails,
		Blind: a.Blind, Calendar: a.Calendar, Delegate: &a,
	}
	if d.Groups != nil {
		acting.Groups = &d.Groups
	}
	return acting, true
}

// Principal returns the participant of the meeting for whom the actor acts there: nobody if the actor
// organizes or attends it, or is no delegate of a participant. The organizer comes first.
func (a Actor) Principal(m *Meeting) (userID int64, ok bool) {
	if len(a.Delegations()) == 0 || a.IsAdmin() || a.organizes(m) {
		return 0, false
	}
	private := m.Visibility == Private
	if a.mayActFor(m.Organizer.UserID, private) {
		return m.Organizer.UserID, true
	}
	if a.Attends(m) {
		return 0, false
	}
	for _, p := range m.Attendees {
		if a.mayActFor(p.UserID, private) {
			return p.UserID, true
		}
	}
	return 0, false
}

// Manages reports whether the actor sees everything of the meeting: those who may change it, for themselves or
// as delegates.
func (a Actor) Manages(m *Meeting) bool {
	return a.MayEdit(m) || a.mayActFor(m.Organizer.UserID, m.Visibility == Private)
}

// participates reports whether the actor takes part in the meeting, or is a delegate of someone who does.
func (a Actor) participates(m *Meeting) bool {
	private := m.Visibility == Private
	return a.Manages(m) || a.Attends(m) || len(a.Delegations()) > 0 && slices.ContainsFunc(m.Attendees, func(p Attendee) bool { return a.mayActFor(p.UserID, private) })
}

// Acting returns the user who acts: the actor, or their delegate.
func (a Actor) Acting() Actor {
	if a.Delegate != nil {
		return *a.Delegate
	}
	return a
}

// HidesFrom reports whether the visibility would hide the actor's meeting from the delegate who acts.
func (v Visibility) HidesFrom(by Actor) bool {
	return v == Private && by.Delegate != nil && !by.Delegate.mayActFor(by.ID, true)
}
