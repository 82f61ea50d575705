package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type signingKeyRow struct {
	Name      string `gorm:"primaryKey"`
	Key       []byte
	CreatedAt time.Time
}

func (signingKeyRow) TableName() string { return "signing_keys" }

// signingKey returns the key with a name. The first caller creates it, and all instances get the
// same key.
func signingKey(ctx context.Context, db *gorm.DB, name string) ([]byte, error) {
	made := make([]byte, 32)
	rand.Read(made) // never fails
	db = db.WithContext(ctx)
	err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&signingKeyRow{Name: name, Key: made, CreatedAt: time.Now().UTC()}).Error
	var r signingKeyRow
	if err == nil {
		err = db.Take(&r, "name = ?", name).Error
	}
	if err != nil {
		return nil, fmt.Errorf("signing key %q: %w", name, err)
	}
	if len(r.Key) < 32 {
		return nil, fmt.Errorf("signing key %q is too short", name)
	}
	return r.Key, nil
}
