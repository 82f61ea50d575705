package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

// Familiar implements [account.NetworkStore].
func (s *Store) Familiar(ctx context.Context, userID int64, network string, since time.Time) (account.Familiar, error) {
	var known account.Familiar
	err := one(ctx, s.db, &known, `SELECT
		EXISTS (SELECT 1 FROM sign_in_networks WHERE network = ? AND last_at > ? AND user_id = ?) AS "user",
		EXISTS (SELECT 1 FROM sign_in_networks WHERE network = ? AND last_at > ?) AS anyone`,
		network, instant(since), userID, network, instant(since))
	return known, wrap("look up sign-in network", err)
}

// NoteNetwork implements [account.NetworkStore].
func (s *Store) NoteNetwork(ctx context.Context, userID int64, network string, now, forget time.Time) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Exec(`INSERT INTO sign_in_networks (user_id, network, last_at) VALUES (?, ?, ?)
			ON CONFLICT (network, user_id) DO UPDATE SET last_at = excluded.last_at WHERE sign_in_networks.last_at < ?`,
			userID, network, instant(now), instant(now.AddDate(0, 0, -1)))
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Exec("DELETE FROM sign_in_networks WHERE last_at <= ?", instant(forget)).Error
	})
	return wrap("record sign-in network", err)
}
