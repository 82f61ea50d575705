package account

import (
	"context"
	"time"
)

// Store persists accounts. Methods return [ErrNotFound] for what does not exist and
// [ErrEmailTaken] if another user has the address. Each method is one transaction. Safe for
// concurrent use.
type Store interface {
	DoorStore
	FeedStore
	NetworkStore
	LinkStore
	IdentityStore
	SecondFactorStore
	GroupStore
	DelegateStore
	PasskeyStore
	ProvisioningStore
	ProvisionedGroupStore

	CreateUser(ctx context.Context, u *User) error // sets ID
	// CreateFirstUser creates u if there is no user, deletes all setup tokens, and returns true.
	// If several processes call it at once, one succeeds.
	CreateFirstUser(ctx context.Context, u *User) (created bool, err error)
	HasUsers(ctx context.Context) (bool, error)
	User(ctx context.Context, id int64) (*User, error)
	UserByEmail(ctx context.Context, email string) (*User, error) // email in lower case
	ActiveDeciders(ctx context.Context) ([]*User, error)          // managers and admins, by name
	ListUsers(ctx context.Context, p Page) (users []*User, next string, err error)
	// FindUsers is ListUsers for users with text in the name or address, ignoring case.
	FindUsers(ctx context.Context, text string, p Page) (users []*User, next string, err error)
	// UpdateUser locks the user, calls fn, saves the user with the next Version, and deletes the
	// credentials that fn revokes. otherAdmins counts the other active admins. It stays correct
	// until the change is saved. An error of fn rolls back and is returned unchanged.
	UpdateUser(ctx context.Context, id int64, fn func(u *User, otherAdmins int) (Revocation, error)) (*User, error)

	CreateToken(ctx context.Context, t *Token) error // sets ID
	// TokenByHash returns a token, even if expired, and its user. A [Setup] token has no user.
	TokenByHash(ctx context.Context, hash string) (*Token, *User, error)
	ListTokens(ctx context.Context, userID int64, kind TokenKind, p Page) (tokens []*Token, next string, err error)
	DeleteToken(ctx context.Context, userID, id int64, kind TokenKind) error
	// TouchToken records a use, unless one after unlessAfter is recorded.
	TouchToken(ctx context.Context, id int64, at, unlessAfter time.Time) error
	// DeleteExpiredTokens deletes up to limit tokens of each kind, and returns how many.
	DeleteExpiredTokens(ctx context.Context, now time.Time, limit int) (int64, error)
}

// Revocation lists which credentials of a user end with a change.
type Revocation struct {
	Sessions bool
	API      bool
	Feeds    bool
	Passkeys bool
	Topics   bool  // API tokens with a topic scope
	Links    bool  // password links
	Except   int64 // ID of a token to keep; 0: none
}

// Page selects up to Limit items after Cursor. An empty cursor starts a list, an empty next cursor
// ends it. An unknown cursor is an [*InvalidError] at "query.cursor".
type Page struct {
	Limit  int // at most 500; 0: 100
	Cursor string
}

func (p Page) bounded() Page {
	if p.Limit <= 0 {
		p.Limit = 100
	}
	p.Limit = min(p.Limit, 500)
	return p
}

// LinkStore is the part of [Store] for password links. A mail is recorded in the transaction that
// stores its link.
type LinkStore interface {
	CreateInvitedUser(ctx context.Context, m *LinkMail) error // creates m.To and sets its ID
	// AddInvitation replaces the links of the user unless check of the current user fails.
	AddInvitation(ctx context.Context, m *LinkMail, check func(*User) error) (*User, error)
	// AddReset adds a link unless the user has limit valid ones or is disabled. It deletes expired
	// links of everybody.
	AddReset(ctx context.Context, m *LinkMail, limit int) error
	LinkByHash(ctx context.Context, hash string) (*PasswordLink, *User, error) // even if expired
	// UseLink locks the link and its user, and continues like UpdateUser.
	UseLink(ctx context.Context, hash string, fn func(*PasswordLink, *User) (Revocation, error)) (*User, error)
}

// NetworkStore is the part of [Store] for the networks that users sign in from.
type NetworkStore interface {
	// Familiar reports whether the user, or anyone, signed in from the network after since.
	Familiar(ctx context.Context, userID int64, network string, since time.Time) (Familiar, error)
	// NoteNetwork records a sign-in, once a day, and forgets networks not used since forget.
	NoteNetwork(ctx context.Context, userID int64, network string, now, forget time.Time) error
}
