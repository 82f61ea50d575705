package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"punctual/account/fault"
)

// ActsFor is a user for whom another user acts as delegate.
type ActsFor struct {
	UserID  int64
	Private bool    // includes private meetings
	Role    Role    // of the user
	Groups  []int64 // of the user, ascending; never nil
}

// Delegate is a user who acts for another, or for whom another acts.
type Delegate struct {
	UserID    int64
	Name      string
	Email     string
	Private   bool // includes private meetings
	CreatedAt time.Time
}

// MaxDelegates limits the delegates of a user.
const MaxDelegates = 50

// ErrTooManyDelegates means that a user has [MaxDelegates] delegates.
var ErrTooManyDelegates error = fault.Invalid("path.user_id", "too_many", "must not exceed %d delegates; remove one first", MaxDelegates)

// DelegateStore is the part of [Store] for delegates. [User].ActsFor follows from them in the same
// transaction. Disabling a user ends what they delegated and what was delegated to them.
type DelegateStore interface {
	Delegates(ctx context.Context, userID int64) ([]Delegate, error)       // of a user, by name
	DelegatedTo(ctx context.Context, delegateID int64) ([]Delegate, error) // users for whom a user acts, by name
	// SetDelegate adds a delegate or changes Private. It locks both users, and returns [ErrNotFound] if either
	// does not exist or is disabled, and [ErrTooManyDelegates].
	SetDelegate(ctx context.Context, userID int64, d Delegate) error
	// RemoveDelegate returns [ErrNotFound] if the user has no such delegate.
	RemoveDelegate(ctx context.Context, userID, delegateID int64) error
}

// Delegates returns the delegates of a user by name, or [ErrNotFound] if there is no such user.
func (s *Service) Delegates(ctx context.Context, userID int64) ([]Delegate, error) {
	if _, err := s.store.User(ctx, userID); err != nil {
		return nil, wrap(fmt.Sprintf("delegates of user %d", userID), err)
	}
	ds, err := s.store.Delegates(ctx, userID)
	return ds, wrap(fmt.Sprintf("delegates of user %d", userID), err)
}

// DelegatedTo returns the users for whom a user acts, by name.
func (s *Service) DelegatedTo(ctx context.Context, userID int64) ([]Delegate, error) {
	ds, err := s.store.DelegatedTo(ctx, userID)
	return ds, wrap(fmt.Sprintf("users for whom user %d acts", userID), err)
}

// SetDelegate lets a user act for another. private includes their private meetings. It returns an
// [*InvalidError] for a delegate who is unknown, disabled or the user themselves, and [ErrNotFound] if the
// user does not exist or is disabled.
func (s *Service) SetDelegate(ctx context.Context, userID, delegateID int64, private bool) error {
	if userID == delegateID {
		return fault.Invalid("path.user_id", "own_account", "must be another user: nobody is their own delegate")
	}
	d, err := s.store.User(ctx, delegateID)
	if errors.Is(err, ErrNotFound) || err == nil && (!d.Active() || isDoor(d)) {
		return fault.Invalid("path.user_id", "unknown_user", "must be an active user")
	}
	if err == nil {
		err = s.store.SetDelegate(ctx, userID, Delegate{UserID: delegateID, Name: d.Name, Private: private, CreatedAt: s.instant()})
	}
	return wrap(fmt.Sprintf("set delegate of user %d", userID), err)
}

// RemoveDelegate ends at once that a user acts for another. It returns [ErrNotFound] if they did not.
func (s *Service) RemoveDelegate(ctx context.Context, userID, delegateID int64) error {
	return wrap(fmt.Sprintf("remove delegate of user %d", userID), s.store.RemoveDelegate(ctx, userID, delegateID))
}
