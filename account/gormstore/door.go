package gormstore

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

type doorCodeRow struct {
	RoomID    int64 `gorm:"primaryKey"`
	UserID    int64
	Code      string
	ExpiresAt time.Time
}

func (doorCodeRow) TableName() string { return "door_codes" }

// SaveDoorCode implements [account.DoorStore]. It also deletes expired codes.
func (s *Store) SaveDoorCode(ctx context.Context, c *account.DoorCode, now time.Time) (saved bool, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		if err := tx.Where("expires_at <= ?", instant(now)).Delete(&doorCodeRow{}).Error; err != nil {
			return err
		}
		res := statements.Exec(tx, "save_door_code", c.UserID, c.Code, instant(c.ExpiresAt), c.RoomID)
		saved = res.RowsAffected == 1
		return res.Error
	})
	return saved, wrap("save door code", err)
}

// TakeDoorCode implements [account.DoorStore].
func (s *Store) TakeDoorCode(ctx context.Context, code string, now time.Time) (*account.DoorCode, error) {
	r, err := remove[doorCodeRow](s.db.WithContext(ctx).Where("code = ? AND expires_at > ?", code, instant(now)))
	if errors.Is(err, account.ErrNotFound) {
		return nil, account.ErrNotFound
	}
	if err != nil {
		return nil, wrap("take door code", err)
	}
	return &account.DoorCode{RoomID: r.RoomID, UserID: r.UserID, Code: r.Code, ExpiresAt: r.ExpiresAt}, nil
}
