package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account"
)

type networkRow struct {
	Network string `gorm:"primaryKey"`
	UserID  int64  `gorm:"primaryKey"`
	LastAt  time.Time
}

func (networkRow) TableName() string { return "sign_in_networks" }

// Familiar implements [account.NetworkStore].
func (s *Store) Familiar(ctx context.Context, userID int64, network string, since time.Time) (account.Familiar, error) {
	var known account.Familiar
	err := statements.Raw(s.db.WithContext(ctx), "familiar", network, instant(since), userID).Find(&known).Error
	return known, wrap("look up sign-in network", err)
}

// NoteNetwork implements [account.NetworkStore].
func (s *Store) NoteNetwork(ctx context.Context, userID int64, network string, now, forget time.Time) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "network"}, {Name: "user_id"}},
			DoUpdates: clause.AssignmentColumns([]string{"last_at"}),
			Where:     clause.Where{Exprs: []clause.Expression{gorm.Expr("sign_in_networks.last_at < ?", instant(now.AddDate(0, 0, -1)))}},
		}).Create(&networkRow{Network: network, UserID: userID, LastAt: *instant(now)})
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Where("last_at <= ?", instant(forget)).Delete(&networkRow{}).Error
	})
	return wrap("record sign-in network", err)
}
