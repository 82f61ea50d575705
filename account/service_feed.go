package account

import (
	"context"
	"fmt"
	"time"

	"punctual/account/fault"
)

// maxFeeds of one user: more than calendars that anybody has.
const maxFeeds = 50

// Feed is an address at which a calendar of another program reads, of which only the hash of its
// secret is kept. Whoever has the secret reads, and can do nothing else.
type Feed struct {
	ID            int64
	UserID        int64
	RoomID        int64 // 0: the user's own meetings
	Name          string
	PrivateTitles bool // of the user's own private meetings; else they are busy
	Hash          string
	LastUsedAt    time.Time // zero: never; to the minute
	CreatedAt     time.Time
}

// NewFeed is what CreateFeed needs. A room must have been found by its ID.
type NewFeed struct {
	Name          string
	RoomID        int64 // 0: the user's own meetings
	PrivateTitles bool
}

// FeedStore is the part of [Store] about feeds.
type FeedStore interface {
	// CreateFeed sets ID, and tells false if the user has so many feeds already. It locks the user.
	CreateFeed(ctx context.Context, f *Feed, most int) (created bool, err error)
	// FeedByHash returns a feed with its user.
	FeedByHash(ctx context.Context, hash string) (*Feed, *User, error)
	ListFeeds(ctx context.Context, userID int64, p Page) (feeds []*Feed, next string, err error)
	DeleteFeed(ctx context.Context, userID, id int64) error
	// TouchFeed notes a use, unless one was noted after the given time.
	TouchFeed(ctx context.Context, id int64, at, unlessAfter time.Time) error
}

// CreateFeed makes a feed of p's user and returns its secret, which is told only now.
func (s *Service) CreateFeed(ctx context.Context, p *Principal, n NewFeed) (f *Feed, secret string, err error) {
	var fs faults
	n.Name = fs.text("name", n.Name)
	if n.PrivateTitles && n.RoomID != 0 {
		fs.add("private_titles", "not_allowed", "is for your own meetings, not for a room's")
	}
	if err := fs.Err(); err != nil {
		return nil, "", fmt.Errorf("create feed: %w", err)
	}
	secret = newSecret()
	f = &Feed{UserID: p.UserID, RoomID: n.RoomID, Name: n.Name, PrivateTitles: n.PrivateTitles, Hash: hashSecret(secret), CreatedAt: s.instant()}
	created, err := s.store.CreateFeed(ctx, f, maxFeeds)
	if err == nil && !created {
		err = fault.Invalid("body", "too_many", "you have %d feeds, which is the most: end one first", maxFeeds)
	}
	if err != nil {
		return nil, "", fmt.Errorf("create feed: %w", err)
	}
	return f, secret, nil
}

// ListFeeds returns those of p's user.
func (s *Service) ListFeeds(ctx context.Context, p *Principal, page Page) (feeds []*Feed, next string, err error) {
	feeds, next, err = s.store.ListFeeds(ctx, p.UserID, page.bounded())
	return feeds, next, wrap("list feeds", err)
}

// DeleteFeed ends a feed of p's user; that of another is [ErrNotFound].
func (s *Service) DeleteFeed(ctx context.Context, p *Principal, id int64) error {
	return wrap("delete feed", s.store.DeleteFeed(ctx, p.UserID, id))
}

// OpenFeed finds out whose feed a secret is of. One that is unknown, or of a user who is
// disabled, is [ErrNotFound].
func (s *Service) OpenFeed(ctx context.Context, secret string) (*Feed, *Principal, error) {
	if !IsSecret(secret) {
		return nil, nil, ErrNotFound
	}
	f, u, err := s.store.FeedByHash(ctx, hashSecret(secret))
	if err == nil && !u.Active() {
		err = ErrNotFound
	}
	if err != nil {
		return nil, nil, wrap("open feed", err)
	}
	now := s.instant()
	if since := now.Add(-lastUsePrecision); f.LastUsedAt.Before(since) {
		// What fails here is a note, not the request; the next one tries again.
		_ = s.store.TouchFeed(ctx, f.ID, now, since)
	}
	return f, principal(u, &Token{}), nil
}
