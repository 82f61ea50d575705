package account

import (
	"context"
	"time"
)

// Store is what Service needs from persistence; it knows no rule. Methods return [ErrNotFound]
// for what is not there and [ErrEmailTaken] when another user has the address. Each is one
// transaction, all or nothing. Safe for concurrent use.
type Store interface {
	DoorStore
	FeedStore
	NetworkStore

	CreateUser(ctx context.Context, u *User) error // sets ID
	// CreateFirstUser creates u if there is no user at all, removes all set-up tokens, and
	// tells whether it did. Of several callers at once, at other instances too, one succeeds.
	CreateFirstUser(ctx context.Context, u *User) (created bool, err error)
	HasUsers(ctx context.Context) (bool, error)
	User(ctx context.Context, id int64) (*User, error)
	UserByEmail(ctx context.Context, email string) (*User, error) // email as stored: lower case
	ActiveDeciders(ctx context.Context) ([]*User, error)          // managers and admins, by name
	ListUsers(ctx context.Context, p Page) (users []*User, next string, err error)
	// UpdateUser locks the user and calls fn with the present content; saves it, raising
	// Version; and deletes the tokens that fn revokes. otherAdmins is how many active admins
	// there are besides this user; it stays true until the change is saved. An error of fn
	// undoes everything and is returned as it is.
	UpdateUser(ctx context.Context, id int64, fn func(u *User, otherAdmins int) (Revocation, error)) (*User, error)

	CreateToken(ctx context.Context, t *Token) error // sets ID
	// TokenByHash returns a token, expired or not, with its user; a [Setup] token has none.
	TokenByHash(ctx context.Context, hash string) (*Token, *User, error)
	ListTokens(ctx context.Context, userID int64, kind TokenKind, p Page) (tokens []*Token, next string, err error)
	DeleteToken(ctx context.Context, userID, id int64, kind TokenKind) error
	// TouchToken notes a use, unless one was noted after the given time.
	TouchToken(ctx context.Context, id int64, at, unlessAfter time.Time) error
	DeleteExpiredTokens(ctx context.Context, now time.Time) error
}

// Revocation tells which tokens of a user end with a change.
type Revocation struct {
	Sessions bool
	API      bool
	Feeds    bool  // calendar feeds
	Topics   bool  // API tokens with a scope of topics
	Except   int64 // the id of a token that stays; 0: none
}

// Page asks for part of a list: at most Limit after Cursor. An empty cursor starts; an empty
// next cursor ends. A cursor that is not one of ours is an [*InvalidError] at "query.cursor".
type Page struct {
	Limit  int // at most 500; 0: 100
	Cursor string
}

// bounded is p with a limit that a store may take as it is.
func (p Page) bounded() Page {
	if p.Limit <= 0 {
		p.Limit = 100
	}
	p.Limit = min(p.Limit, 500)
	return p
}

// NetworkStore is the part of [Store] about the networks that users sign in from.
type NetworkStore interface {
	// Familiar says whether the user, or anyone, signed in from the network after since.
	Familiar(ctx context.Context, userID int64, network string, since time.Time) (Familiar, error)
	// NoteNetwork notes a sign-in, to the day, and forgets networks not used since forget.
	NoteNetwork(ctx context.Context, userID int64, network string, now, forget time.Time) error
}
