package booking

import (
	"context"
	"fmt"

	"punctual/meeting"
)

// ActorByID returns the actor for a user ID, or [meeting.ErrNotFound] if the account is disabled.
func (s *Service) ActorByID(ctx context.Context, id int64) (meeting.Person, meeting.Actor, error) {
	people, err := s.directory.People(ctx, []int64{id})
	if err != nil {
		return meeting.Person{}, meeting.Actor{}, fmt.Errorf("look up user %d: %w", id, err)
	}
	if len(people) == 0 {
		return meeting.Person{}, meeting.Actor{}, meeting.ErrNotFound
	}
	by, err := s.ActorOf(ctx, people[0])
	return people[0], by, err
}

// ActorOf returns the actor for a user, with the users whom they represent.
func (s *Service) ActorOf(ctx context.Context, p meeting.Person) (meeting.Actor, error) {
	return s.ForDecision(ctx, meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: p.Role, CalendarMails: p.CalendarMails})
}

// AtDoorOf returns the actor for anyone at the door of a room. The service lets it act on meetings
// of that room only.
func AtDoorOf(r *meeting.Room) meeting.Actor {
	return meeting.Actor{Kind: meeting.ActorSystem, Name: "door of " + r.Name}
}
