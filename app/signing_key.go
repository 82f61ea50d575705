package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// signingKey returns the key with a name. The first caller creates it, and all instances get the
// same key.
func signingKey(ctx context.Context, db *gorm.DB, name string) ([]byte, error) {
	made := make([]byte, 32)
	rand.Read(made) // never fails
	db = db.WithContext(ctx)
	err := db.Exec("INSERT INTO signing_keys (name, key, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING", name, made, time.Now().UTC()).Error
	var keys [][]byte
	if err == nil {
		err = db.Raw("SELECT key FROM signing_keys WHERE name = ?", name).Scan(&keys).Error
	}
	if err != nil {
		return nil, fmt.Errorf("signing key %q: %w", name, err)
	}
	if len(keys) != 1 || len(keys[0]) < 32 {
		return nil, fmt.Errorf("signing key %q is missing or too short", name)
	}
	return keys[0], nil
}
