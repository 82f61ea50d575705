package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account/signing"
	"punctual/app/audit"
)

// Names of the signing keys, which all instances share.
const (
	linkKeys     = "links"          // of all links in mails but the next
	passwordKeys = "password-links" // of invitations of users, and of forgotten passwords
	deviceKeys   = "devices"        // of cookies, and of the challenge between two steps of a sign-in
)

// SigningKeyNames are the names that [Application.RotateSigningKeys] takes.
var SigningKeyNames = []string{linkKeys, passwordKeys, deviceKeys}

type signingKeyRow struct {
	Name       string `gorm:"primaryKey"`
	Generation int64  `gorm:"primaryKey;autoIncrement:false"`
	Key        []byte
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil: the current key
}

func (signingKeyRow) TableName() string { return "signing_keys" }

func newSigningKeyRow(name string, generation int64) signingKeyRow {
	k := signing.NewKey(generation)
	return signingKeyRow{Name: name, Generation: generation, Key: k.Secret, CreatedAt: time.Now().UTC()}
}

// signingKeys are the rings of an instance, as the database has them.
type signingKeys struct {
	db    *gorm.DB
	rings map[string]*signing.Ring
}

// openSigningKeys creates the keys that are missing. Of several instances that start for the first
// time, one creates them.
func openSigningKeys(ctx context.Context, db *gorm.DB) (*signingKeys, error) {
	s := &signingKeys{db, map[string]*signing.Ring{}}
	known, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var missing []signingKeyRow
	for _, name := range SigningKeyNames {
		if len(known[name]) == 0 {
			missing = append(missing, newSigningKeyRow(name, 1))
		}
	}
	if len(missing) > 0 {
		if err := db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&missing).Error; err != nil {
			return nil, fmt.Errorf("create signing keys: %w", err)
		}
		if known, err = s.read(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range SigningKeyNames {
		if len(known[name]) == 0 || len(known[name][0].Secret) < 32 {
			return nil, fmt.Errorf("signing key %q is missing or too short", name)
		}
		s.rings[name] = signing.NewRing(known[name]...)
	}
	return s, nil
}

func (s *signingKeys) read(ctx context.Context) (newestFirst map[string][]signing.Key, err error) {
	var rows []signingKeyRow
	if err := s.db.WithContext(ctx).Order("name, generation DESC").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	newestFirst = map[string][]signing.Key{}
	for _, r := range rows {
		k := signing.Key{Generation: r.Generation, Secret: r.Key}
		if r.ExpiresAt != nil {
			k.ExpiresAt = *r.ExpiresAt
		}
		newestFirst[r.Name] = append(newestFirst[r.Name], k)
	}
	return newestFirst, nil
}

// SigningKeysEvery is how often each instance reads the keys.
const SigningKeysEvery = 10 * time.Second

// follow keeps the rings as the database has them, until ctx ends. While it does not answer, they stay.
func (s *signingKeys) follow(ctx context.Context) error {
	return every(ctx, SigningKeysEvery, func() { _ = s.refresh(ctx) })
}

func (s *signingKeys) refresh(ctx context.Context) error {
	known, err := s.read(ctx)
	if err != nil {
		return err
	}
	for name, ring := range s.rings {
		if len(known[name]) > 0 {
			ring.Set(known[name])
		}
	}
	return nil
}

// SigningKey describes one generation of a key.
type SigningKey struct {
	Name       string
	Generation int64
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil: the current key
}

// SigningKeys returns the keys by name, the newest first, without their secrets.
func (a *Application) SigningKeys(ctx context.Context) (keys []SigningKey, err error) {
	err = a.db.Gorm.WithContext(ctx).Model(&signingKeyRow{}).Order("name, generation DESC").Find(&keys).Error
	if err != nil {
		return nil, fmt.Errorf("list signing keys: %w", err)
	}
	return keys, nil
}

// RotateSigningKeys replaces keys, or all without names. What the old ones signed stays valid for grace;
// what they signed before is not extended. All instances follow within [SigningKeysEvery].
func (a *Application) RotateSigningKeys(ctx context.Context, grace time.Duration, names ...string) error {
	for _, name := range names {
		if !slices.Contains(SigningKeyNames, name) {
			return fmt.Errorf("there is no signing key %q; there are %s", name, strings.Join(SigningKeyNames, ", "))
		}
	}
	if len(names) == 0 {
		names = SigningKeyNames
	}
	err := a.db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			if err := rotate(tx, name, time.Now().UTC(), grace); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("rotate signing keys: %w", err)
	}
	return a.keys.refresh(ctx)
}

func rotate(tx *gorm.DB, name string, now time.Time, grace time.Duration) error {
	var current signingKeyRow
	if err := tx.Where("name = ? AND expires_at IS NULL", name).Take(&current).Error; err != nil {
		return err
	}
	expires := now.Add(grace)
	ended := tx.Model(&signingKeyRow{}).Where("name = ? AND (expires_at IS NULL OR expires_at > ?)", name, expires).Update("expires_at", expires)
	if ended.Error != nil {
		return ended.Error
	}
	if err := tx.Where("name = ? AND expires_at <= ?", name, now).Delete(&signingKeyRow{}).Error; err != nil {
		return err
	}
	next := newSigningKeyRow(name, current.Generation+1)
	if err := tx.Create(&next).Error; err != nil {
		return err
	}
	return audit.Add(tx, audit.Entry{
		Action: "signing_key.rotated", ID: name, Name: name,
		Changes: map[string]audit.Change{"generation": {From: current.Generation, To: next.Generation}, "expires_at": {To: expires}},
	})
}
