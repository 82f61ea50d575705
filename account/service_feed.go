package account

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"punctual/account/fault"
)

const maxFeeds = 50

// Feed is a secret address from which a calendar program reads meetings. Only the hash of the
// secret is stored. The secret allows reading this feed and nothing else.
type Feed struct {
	ID            int64
	UserID        int64
	RoomID        int64 // 0: the user's own meetings
	Name          string
	PrivateTitles bool // show titles of the user's private meetings instead of "busy"
	Hash          string
	LastUsedAt    time.Time // zero: never; rounded to the minute
	CreatedAt     time.Time
}

// NewFeed is the input of [Service.CreateFeed]. The caller has checked that the room exists.
type NewFeed struct {
	Name          string
	RoomID        int64 // 0: the user's own meetings
	PrivateTitles bool
}

// FeedStore is the part of [Store] for feeds.
type FeedStore interface {
	// CreateFeed sets ID. It returns false if the user already has limit feeds. It locks the user.
	CreateFeed(ctx context.Context, f *Feed, limit int) (created bool, err error)
	// FeedByHash returns a feed and its user.
	FeedByHash(ctx context.Context, hash string) (*Feed, *User, error)
	ListFeeds(ctx context.Context, userID int64, p Page) (feeds []*Feed, next string, err error)
	DeleteFeed(ctx context.Context, userID, id int64) error
	// TouchFeed records a use, unless one after unlessAfter is recorded.
	TouchFeed(ctx context.Context, id int64, at, unlessAfter time.Time) error
}

// CreateFeed creates a feed for p's user. The secret is returned only here.
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

// ListFeeds returns the feeds of p's user.
func (s *Service) ListFeeds(ctx context.Context, p *Principal, page Page) (feeds []*Feed, next string, err error) {
	feeds, next, err = s.store.ListFeeds(ctx, p.UserID, page.bounded())
	return feeds, next, wrap("list feeds", err)
}

// DeleteFeed deletes a feed of p's user. For a feed of another user it returns [ErrNotFound].
func (s *Service) DeleteFeed(ctx context.Context, p *Principal, id int64) error {
	return wrap("delete feed", s.store.DeleteFeed(ctx, p.UserID, id))
}

// OpenFeed returns the feed with this secret and its user. It returns [ErrNotFound] for an unknown
// secret or a disabled user.
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
		s.noteUse(ctx, "feed "+strconv.FormatInt(f.ID, 10), func(ctx context.Context) error { return s.store.TouchFeed(ctx, f.ID, now, since) })
	}
	return f, principal(u, &Token{}), nil
}
