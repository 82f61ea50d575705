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

// Chats implements [chat.Store] on the table chat_targets. It reads users, rooms and sites.
type Chats struct {
	db    *gorm.DB
	trail Trail // nil: no audit trail
}

var _ chat.Store = (*Chats)(nil)

// NewChats returns a store on db, which records in t what is changed.
func NewChats(db *gorm.DB, t Trail) *Chats { return &Chats{db, t} }

type chatRow struct {
	ID        int64
	UserID    *int64
	RoomID    *int64
	SiteID    *int64
	Service   string
	SecretURL string
	SecretKey string
	Kinds     []notify.Kind `gorm:"serializer:json"`
	Locale    string
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (chatRow) TableName() string { return "chat_targets" }

// ownerOf returns the table of an owner, its condition, the column of chat_targets that names it, and its ID.
func ownerOf(o chat.Owner) (table, condition, column string, id int64) {
	switch {
	case o.RoomID != 0:
		return "rooms", "id = ? AND deleted_at IS NULL", "room_id", o.RoomID
	case o.SiteID != 0:
		return "sites", "id = ?", "site_id", o.SiteID
	}
	return "users", "id = ?", "user_id", o.UserID
}

// Target implements [chat.Targets].
func (s *Chats) Target(ctx context.Context, id int64) (chat.Target, error) {
	return target(s.db.WithContext(ctx).Where("id = ?", id))
}

// Of implements [chat.Store].
func (s *Chats) Of(ctx context.Context, o chat.Owner) (chat.Target, error) {
	tx := s.db.WithContext(ctx)
	_, _, column, id := ownerOf(o)
	t, err := target(tx.Where(column+" = ?", id))
	if errors.Is(err, chat.ErrNone) {
		if _, missing := owner(tx, o); missing != nil {
			err = missing
		}
	}
	return t, err
}

func target(q *gorm.DB) (chat.Target, error) {
	var r chatRow
	err := q.Take(&r).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return chat.Target{}, chat.ErrNone
	}
	if err != nil {
		return chat.Target{}, fmt.Errorf("select chat target: %w", err)
	}
	t := chat.Target{
		ID: r.ID, Owner: chat.Owner{UserID: orZero(r.UserID), RoomID: orZero(r.RoomID), SiteID: orZero(r.SiteID)},
		Service: r.Service, URL: r.SecretURL, Secret: r.SecretKey, Kinds: r.Kinds, Locale: r.Locale,
	}
	of, err := owner(q.Session(&gorm.Session{NewDB: true}), t.Owner)
	if t.Name, t.Email = of.Name, of.Email; t.UserID != 0 {
		t.Locale = of.Locale
	}
	return t, err
}

// owner reads who has a target, or may have one. Only users have an address and a language.
func owner(tx *gorm.DB, o chat.Owner, locks ...clause.Expression) (of personRow, err error) {
	table, condition, _, id := ownerOf(o)
	columns := "id, name"
	if o.UserID != 0 {
		columns += ", email, locale"
	}
	err = tx.Table(table).Clauses(locks...).Select(columns).Where(condition, id).Take(&of).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return of, notify.ErrNotFound
	}
	if err != nil {
		return of, fmt.Errorf("select owner of a chat target: %w", err)
	}
	return of, nil
}

// Save implements [chat.Store].
func (s *Chats) Save(ctx context.Context, t chat.Target) error {
	_, _, column, id := ownerOf(t.Owner)
	return s.change(ctx, t.Owner, &t, func(tx *gorm.DB) error {
		now := micro(tx.NowFunc())
		r := &chatRow{
			UserID: orNil(t.UserID), RoomID: orNil(t.RoomID), SiteID: orNil(t.SiteID), Service: t.Service, SecretURL: t.URL, SecretKey: t.Secret,
			Kinds: append([]notify.Kind{}, t.Kinds...), CreatedAt: now, UpdatedAt: now,
		}
		if t.UserID == 0 {
			r.Locale = t.Locale
		}
		if t.URL == "" {
			columns := []string{"kinds", "locale", "updated_at"}
			if t.Secret != "" {
				columns = append(columns, "secret_key")
			}
			res := tx.Model(&chatRow{}).Where(column+" = ? AND service = ?", id, t.Service).Select(columns).Updates(r)
			if res.Error == nil && res.RowsAffected == 0 { // disconnected or replaced meanwhile
				return chat.ErrNone
			}
			return res.Error
		}
		return tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: column}}, DoUpdates: clause.AssignmentColumns([]string{"service", "secret_url", "secret_key", "kinds", "locale", "updated_at"}),
		}).Create(r).Error
	})
}

// Delete implements [chat.Store].
func (s *Chats) Delete(ctx context.Context, o chat.Owner) error {
	_, _, column, id := ownerOf(o)
	return s.change(ctx, o, nil, func(tx *gorm.DB) error { return tx.Where(column+" = ?", id).Delete(&chatRow{}).Error })
}

// change notes which service an owner had and has, without the address.
func (s *Chats) change(ctx context.Context, o chat.Owner, t *chat.Target, write func(tx *gorm.DB) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		of, err := owner(tx, o, clause.Locking{Strength: "NO KEY UPDATE"})
		if err != nil {
			return err
		}
		_, _, column, id := ownerOf(o)
		before, err := target(tx.Where(column+" = ?", id))
		if err != nil && !errors.Is(err, chat.ErrNone) {
			return err
		}
		if err := write(tx); err != nil {
			return fmt.Errorf("save chat target of %s %d: %w", column, id, err)
		}
		if s.trail == nil || before.ID == 0 && t == nil {
			return nil
		}
		action := map[string]string{"user_id": "user.notifications_updated", "room_id": "room.changed", "site_id": "site.changed"}[column]
		was, is := map[string]any{"chat": before.Service}, map[string]any{"chat": ""}
		if t != nil {
			is["chat"] = t.Service
		}
		if t != nil && before.ID != 0 && (t.URL != "" && before.URL != t.URL || (t.URL != "" || t.Secret != "") && before.Secret != t.Secret) {
			is["chat_replaced"] = true
		}
		if o.UserID == 0 {
			was["chat_kinds"], was["chat_locale"] = before.Kinds, before.Locale
			if t != nil {
				is["chat_kinds"], is["chat_locale"] = t.Kinds, t.Locale
			}
		}
		return s.trail.Note(tx, action, strconv.FormatInt(id, 10), of.Name, []any{was}, []any{is})
	})
}

// channelRow is a result of the statement channels.
type channelRow struct {
	RoomID int64 // 0: of a site
	SiteID int64
	Name   string
	Locale string
	Kinds  []notify.Kind `gorm:"serializer:json"`
	About  int64         // a room
}

// Channels returns the channels of rooms and of their sites.
func (s *Chats) Channels(tx *gorm.DB, roomIDs []int64) ([]chat.Channel, error) {
	if len(roomIDs) == 0 {
		return nil, nil
	}
	var rows []channelRow
	if err := statements.Raw(tx, "channels", list(roomIDs)).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("select chat channels: %w", err)
	}
	var channels []chat.Channel
	for _, r := range rows {
		of := chat.Owner{RoomID: r.RoomID, SiteID: r.SiteID}
		if n := len(channels); n > 0 && channels[n-1].Owner == of {
			channels[n-1].About = append(channels[n-1].About, r.About)
			continue
		}
		channels = append(channels, chat.Channel{Owner: of, Name: r.Name, About: []int64{r.About}, Kinds: r.Kinds, Locale: r.Locale})
	}
	return channels, nil
}

func orNil(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}
