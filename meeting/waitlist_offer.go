package meeting

import (
	"context"
	"errors"
)

// Offer names what a mail offers to somebody who waits, so that they can accept it without
// signing in. An offer ends its wait, whatever becomes of it: the link is good for that one.
type Offer struct {
	WaitID int64
	UserID int64 // of the reader
}

// Offering is what an [Offer] leads to.
type Offering struct {
	Wait   *Wait // its State is that of this instant
	Person Person
}

// FollowOffer returns what a link in an offer leads to and changes nothing. If the wait or the
// reader does not (or no longer) exist, it returns [ErrNotFound].
func (s *Service) FollowOffer(ctx context.Context, o Offer) (*Offering, error) {
	p, by, err := s.user(ctx, o.UserID)
	if err != nil {
		return nil, err
	}
	w, err := s.WaitOf(ctx, by, o.WaitID)
	if err != nil {
		return nil, err
	}
	if w.Person.UserID != o.UserID {
		return nil, ErrNotFound
	}
	return &Offering{Wait: w, Person: p}, nil
}

// AnswerOffer accepts or declines what is offered, as the reader of the link, and returns what the
// link then leads to. answered is false if nothing is offered, and then nothing has changed. See
// [Service.Accept] for the errors of accepting.
func (s *Service) AnswerOffer(ctx context.Context, o Offer, accept bool) (offering *Offering, answered bool, err error) {
	seen, err := s.FollowOffer(ctx, o)
	if err != nil {
		return nil, false, err
	}
	_, by, err := s.user(ctx, o.UserID)
	if err != nil {
		return nil, false, err
	}
	if accept {
		_, err = s.Accept(ctx, by, o.WaitID, nil)
	} else {
		_, err = s.Decline(ctx, by, o.WaitID, nil)
	}
	if _, over := errors.AsType[*StateError](err); err != nil && !over {
		return seen, false, err
	}
	offering, followed := s.FollowOffer(ctx, o)
	return offering, err == nil, followed
}
