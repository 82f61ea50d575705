package gormstore

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

// SaveDoorCode implements [account.DoorStore]. It also deletes expired codes.
func (s *Store) SaveDoorCode(ctx context.Context, c *account.DoorCode, now time.Time) (saved bool, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		if err := tx.Exec("DELETE FROM door_codes WHERE expires_at <= ?", instant(now)).Error; err != nil {
			return err
		}
		res := tx.Exec(`INSERT INTO door_codes (room_id, user_id, code, expires_at)
			SELECT r.id, CAST(? AS bigint), CAST(? AS text), CAST(? AS timestamptz) FROM rooms r WHERE r.id = ? AND NOT EXISTS (SELECT 1 FROM door_codes WHERE code = ?)
			ON CONFLICT (room_id) DO UPDATE SET user_id = excluded.user_id, code = excluded.code, expires_at = excluded.expires_at`,
			c.UserID, c.Code, instant(c.ExpiresAt), c.RoomID, c.Code)
		saved = res.RowsAffected == 1
		return res.Error
	})
	return saved, wrap("save door code", err)
}

// TakeDoorCode implements [account.DoorStore].
func (s *Store) TakeDoorCode(ctx context.Context, code string, now time.Time) (*account.DoorCode, error) {
	c := &account.DoorCode{Code: code}
	err := one(ctx, s.db, c, "DELETE FROM door_codes WHERE code = ? AND expires_at > ? RETURNING room_id, user_id, code, expires_at", code, instant(now))
	if errors.Is(err, account.ErrNotFound) {
		return nil, account.ErrNotFound
	}
	return c, wrap("take door code", err)
}
