package waitlist

import (
	"context"
	"errors"

	"punctual/meeting"
)

// Offer identifies an offer link, by which a person on the waiting list can accept without signing
// in. It is valid for the single offer of the wait.
type Offer struct {
	WaitID int64
	UserID int64 // of the reader
}

// Offering is the content of the page behind an [Offer].
type Offering struct {
	Wait   *meeting.Wait // with its current State
	Person meeting.Person
}

// FollowOffer returns the content of the page behind an offer link and changes nothing. If the wait
// or the reader does not (or no longer) exist, it returns [meeting.ErrNotFound].
func (s *Service) FollowOffer(ctx context.Context, o Offer) (*Offering, error) {
	p, by, err := s.booking.ActorByID(ctx, o.UserID)
	if err != nil {
		return nil, err
	}
	w, err := s.WaitOf(ctx, by, o.WaitID)
	if err != nil {
		return nil, err
	}
	if w.Person.UserID != o.UserID {
		return nil, meeting.ErrNotFound
	}
	return &Offering{Wait: w, Person: p}, nil
}

// AnswerOffer accepts or declines the offer as the reader of the link, and returns the content of
// the page after it. answered is false if there is no open offer; nothing has changed then. See
// [Service.Accept] for the errors of accepting.
func (s *Service) AnswerOffer(ctx context.Context, o Offer, accept bool) (offering *Offering, answered bool, err error) {
	seen, err := s.FollowOffer(ctx, o)
	if err != nil {
		return nil, false, err
	}
	_, by, err := s.booking.ActorByID(ctx, o.UserID)
	if err != nil {
		return nil, false, err
	}
	if accept {
		_, err = s.Accept(ctx, by, o.WaitID, nil)
	} else {
		_, err = s.Decline(ctx, by, o.WaitID, nil)
	}
	if _, over := errors.AsType[*meeting.StateError](err); err != nil && !over {
		return seen, false, err
	}
	offering, followed := s.FollowOffer(ctx, o)
	return offering, err == nil, followed
}
