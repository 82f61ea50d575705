package gormstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/notify"
	"punctual/notify/chat"
)

// Chats implements [chat.Store] on the table chat_targets. It reads users.
type Chats struct {
	db    *gorm.DB
	trail Trail // nil: no audit trail
}

var _ chat.Store = (*Chats)(nil)

// NewChats returns a store on db, which records in t what users change.
func NewChats(db *gorm.DB, t Trail) *Chats { return &Chats{db, t} }

type chatRow struct {
	ID        int64
	UserID    int64
	Service   string
	SecretURL string
	SecretKey string
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (chatRow) TableName() string { return "chat_targets" }

// Target implements [chat.Targets].
func (s *Chats) Target(ctx context.Context, id int64) (chat.Target, error) {
	return target(s.db.WithContext(ctx).Where("chat_targets.id = ?", id))
}

// OfUser implements [chat.Store].
func (s *Chats) OfUser(ctx context.Context, userID int64) (chat.Target, error) {
	return target(s.db.WithContext(ctx).Where("chat_targets.user_id = ?", userID))
}

func target(q *gorm.DB) (chat.Target, error) {
	var r struct {
		Chat   chatRow `gorm:"embedded"`
		Email  string
		Locale string
	}
	err := q.Table("chat_targets").Select("chat_targets.id, user_id, service, secret_url, secret_key, chat_targets.created_at, chat_targets.updated_at, users.email, users.locale").Joins("JOIN users ON users.id = chat_targets.user_id").Take(&r).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return chat.Target{}, notify.ErrNotFound
	}
	if err != nil {
		return chat.Target{}, fmt.Errorf("select chat target: %w", err)
	}
	return chat.Target{
		ID: r.Chat.ID, UserID: r.Chat.UserID, Service: r.Chat.Service, URL: r.Chat.SecretURL, Secret: r.Chat.SecretKey, Email: r.Email, Locale: r.Locale,
	}, nil
}

// Save implements [chat.Store].
func (s *Chats) Save(ctx context.Context, t chat.Target) error {
	return s.change(ctx, t.UserID, t.Service, func(tx *gorm.DB) error {
		now := micro(tx.NowFunc())
		r := &chatRow{UserID: t.UserID, Service: t.Service, SecretURL: t.URL, SecretKey: t.Secret, CreatedAt: now, UpdatedAt: now}
		return tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "user_id"}}, DoUpdates: clause.AssignmentColumns([]string{"service", "secret_url", "secret_key", "updated_at"}),
		}).Create(r).Error
	})
}

// Delete implements [chat.Store].
func (s *Chats) Delete(ctx context.Context, userID int64) error {
	return s.change(ctx, userID, "", func(tx *gorm.DB) error { return tx.Where("user_id = ?", userID).Delete(&chatRow{}).Error })
}

// change notes which service a user had and has, without the address.
func (s *Chats) change(ctx context.Context, userID int64, service string, write func(tx *gorm.DB) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var user personRow
		if err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Take(&user, userID).Error; err != nil {
			return fmt.Errorf("select user %d: %w", userID, err)
		}
		before, err := target(tx.Where("chat_targets.user_id = ?", userID))
		if err != nil && !errors.Is(err, notify.ErrNotFound) {
			return err
		}
		if err := write(tx); err != nil {
			return fmt.Errorf("save chat target of user %d: %w", userID, err)
		}
		if s.trail == nil || before.Service == "" && service == "" {
			return nil
		}
		return s.trail.Note(tx, "user.notifications_updated", strconv.FormatInt(userID, 10), user.Name,
			[]any{map[string]any{"chat": before.Service}}, []any{map[string]any{"chat": service, "chat_replaced": before.Service != "" && service != ""}})
	})
}
