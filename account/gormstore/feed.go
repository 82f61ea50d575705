package gormstore

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

type feedRow struct {
	ID            int64
	UserID        int64
	RoomID        *int64
	Name          string
	PrivateTitles bool
	Hash          string
	LastUsedAt    *time.Time
	CreatedAt     time.Time `gorm:"autoCreateTime:false"`
}

func (feedRow) TableName() string { return "feeds" }

func rowOfFeed(f *account.Feed) *feedRow {
	r := &feedRow{
		ID: f.ID, UserID: f.UserID, Name: f.Name, PrivateTitles: f.PrivateTitles, Hash: f.Hash,
		LastUsedAt: instant(f.LastUsedAt), CreatedAt: *instant(f.CreatedAt),
	}
	if f.RoomID != 0 {
		r.RoomID = &f.RoomID
	}
	return r
}

func (r *feedRow) feed() *account.Feed {
	f := &account.Feed{
		ID: r.ID, UserID: r.UserID, Name: r.Name, PrivateTitles: r.PrivateTitles, Hash: r.Hash,
		LastUsedAt: zeroOrUTC(r.LastUsedAt), CreatedAt: r.CreatedAt.UTC(),
	}
	if r.RoomID != nil {
		f.RoomID = *r.RoomID
	}
	return f
}

// CreateFeed implements [account.FeedStore].
func (s *Store) CreateFeed(ctx context.Context, f *account.Feed, limit int) (created bool, err error) {
	r := rowOfFeed(f)
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if _, err := take[userRow](tx.Clauses(forUpdate).Select("id").Where("id = ?", f.UserID)); err != nil {
			return err
		}
		if err := recheckLocked(tx); err != nil {
			return err
		}
		var count int64
		if err := tx.Model(&feedRow{}).Where("user_id = ?", f.UserID).Count(&count).Error; err != nil || count >= int64(limit) {
			return err
		}
		if err := tx.Create(r).Error; err != nil {
			return err
		}
		created = true
		return s.note(tx, "feed.created", r.ID, r.Name, nil, []any{r})
	})
	f.ID = r.ID
	return created, wrap("insert feed", err)
}

// FeedByHash implements [account.FeedStore].
func (s *Store) FeedByHash(ctx context.Context, hash string) (*account.Feed, *account.User, error) {
	r, err := take[feedRow](s.db.WithContext(ctx).Where("hash = ?", hash))
	if err != nil {
		return nil, nil, wrap("select feed", err)
	}
	u, err := s.User(ctx, r.UserID)
	return r.feed(), u, wrap("user of feed", err)
}

// ListFeeds implements [account.FeedStore].
func (s *Store) ListFeeds(ctx context.Context, userID int64, p account.Page) ([]*account.Feed, string, error) {
	rows, next, err := page(s.db.WithContext(ctx).Model(&feedRow{}).Where("user_id = ?", userID), p, func(r *feedRow) int64 { return r.ID })
	if err != nil {
		return nil, "", wrap("list feeds", err)
	}
	feeds := make([]*account.Feed, len(rows))
	for i := range rows {
		feeds[i] = rows[i].feed()
	}
	return feeds, next, nil
}

// DeleteFeed implements [account.FeedStore].
func (s *Store) DeleteFeed(ctx context.Context, userID, id int64) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		r, err := remove[feedRow](tx.Where("id = ? AND user_id = ?", id, userID))
		if err != nil {
			return err
		}
		return s.note(tx, "feed.deleted", r.ID, r.Name, []any{r}, nil)
	})
	if errors.Is(err, account.ErrNotFound) {
		return account.ErrNotFound
	}
	return wrap("delete feed", err)
}

// TouchFeed implements [account.FeedStore].
func (s *Store) TouchFeed(ctx context.Context, id int64, at, unlessAfter time.Time) error {
	err := s.db.WithContext(ctx).Model(&feedRow{}).Where("id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", id, instant(unlessAfter)).
		Update("last_used_at", instant(at)).Error
	return wrap("record feed use", err)
}
