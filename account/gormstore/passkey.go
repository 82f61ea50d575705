package gormstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"punctual/account"
)

type passkeyRow struct {
	ID         int64
	UserID     int64
	Domain     string
	Credential string // base64url
	PublicKey  []byte
	SignCount  int64
	Flags      int64
	Transports string // JSON
	Model      string
	Name       string
	LastUsedAt *time.Time
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
}

func (passkeyRow) TableName() string { return "passkeys" }

type passkeyHandleRow struct {
	UserID int64  `gorm:"primaryKey;autoIncrement:false"`
	Handle string // base64url
}

func (passkeyHandleRow) TableName() string { return "passkey_handles" }

type passkeyChallengeRow struct {
	Hash      string `gorm:"primaryKey"`
	UserID    *int64
	Purpose   string
	Content   string
	ExpiresAt time.Time
}

func (passkeyChallengeRow) TableName() string { return "passkey_challenges" }

var base64url = base64.RawURLEncoding

func (r *passkeyRow) passkey() (*account.Passkey, error) {
	credential, err := base64url.DecodeString(r.Credential)
	p := &account.Passkey{
		ID: r.ID, UserID: r.UserID, Domain: r.Domain, Credential: credential, PublicKey: r.PublicKey,
		SignCount: uint32(r.SignCount), Flags: byte(r.Flags), Model: r.Model, Name: r.Name,
		LastUsedAt: zeroOrUTC(r.LastUsedAt), CreatedAt: r.CreatedAt.UTC(),
	}
	if err == nil {
		err = json.Unmarshal([]byte(r.Transports), &p.Transports)
	}
	return p, err
}

func rowOfPasskey(p *account.Passkey) (*passkeyRow, error) {
	transports, err := json.Marshal(append([]string{}, p.Transports...))
	return &passkeyRow{
		ID: p.ID, UserID: p.UserID, Domain: p.Domain, Credential: base64url.EncodeToString(p.Credential), PublicKey: p.PublicKey,
		SignCount: int64(p.SignCount), Flags: int64(p.Flags), Transports: string(transports), Model: p.Model, Name: p.Name,
		LastUsedAt: instant(p.LastUsedAt), CreatedAt: *instant(p.CreatedAt),
	}, err
}

// Passkeys implements [account.PasskeyStore].
func (s *Store) Passkeys(ctx context.Context, userID int64) ([]*account.Passkey, error) {
	list, err := passkeys(s.db.WithContext(ctx), userID)
	return list, wrap("list passkeys", err)
}

func passkeys(tx *gorm.DB, userID int64) ([]*account.Passkey, error) {
	var rows []passkeyRow
	if err := tx.Where("user_id = ?", userID).Order("id").Find(&rows).Error; err != nil {
		return nil, err
	}
	list := make([]*account.Passkey, len(rows))
	for i := range rows {
		var err error
		if list[i], err = rows[i].passkey(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// PasskeyHandle implements [account.PasskeyStore].
func (s *Store) PasskeyHandle(ctx context.Context, userID int64, fresh []byte) ([]byte, error) {
	db := s.db.WithContext(ctx)
	err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&passkeyHandleRow{userID, base64url.EncodeToString(fresh)}).Error
	if err != nil {
		return nil, wrap("insert passkey handle", err)
	}
	handle, err := passkeyHandle(db, userID)
	return handle, wrap("select passkey handle", err)
}

func passkeyHandle(tx *gorm.DB, userID int64) ([]byte, error) {
	r, err := take[passkeyHandleRow](tx.Where("user_id = ?", userID))
	if err != nil {
		return nil, err
	}
	return base64url.DecodeString(r.Handle)
}

// AddPasskey implements [account.PasskeyStore].
func (s *Store) AddPasskey(ctx context.Context, p *account.Passkey, check func([]*account.Passkey) error) error {
	r, err := rowOfPasskey(p)
	if err != nil {
		return wrap("insert passkey", err)
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		u, err := lockWithCaller(tx, p.UserID)
		if err != nil {
			return err
		}
		have, err := passkeys(tx, p.UserID)
		if err != nil {
			return err
		}
		if err := check(have); err != nil {
			return err
		}
		if err := tx.Create(r).Error; err != nil {
			return passkeyError(err)
		}
		if err := s.note(tx, "user.passkey_added", p.UserID, u.Name, nil, []any{r}); err != nil {
			return err
		}
		if err := s.tellAdded(tx, u, account.AddedPasskey, r.Name, r.ID, r.CreatedAt); err != nil {
			return err
		}
		return finishEnrolling(tx, p.UserID)
	})
	p.ID = r.ID
	return wrap("insert passkey", err)
}

func passkeyError(err error) error {
	const constraint = "passkeys_credential_unique"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" && e.ConstraintName == constraint {
		return account.ErrPasskeyTaken
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE && strings.Contains(e.Error(), "passkeys.credential") {
		return account.ErrPasskeyTaken
	}
	return err
}

// RenamePasskey implements [account.PasskeyStore].
func (s *Store) RenamePasskey(ctx context.Context, userID, id int64, name string) (p *account.Passkey, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		u, err := lockWithCaller(tx, userID)
		if err != nil {
			return err
		}
		before, err := take[passkeyRow](tx.Where("id = ? AND user_id = ?", id, userID))
		if err != nil {
			return err
		}
		after := *before
		after.Name = name
		if err := tx.Model(&after).Update("name", name).Error; err != nil {
			return err
		}
		if err := s.note(tx, "user.passkey_renamed", userID, u.Name, []any{before}, []any{&after}); err != nil {
			return err
		}
		p, err = after.passkey()
		return err
	})
	return p, wrap("rename passkey", err)
}

// RemovePasskey implements [account.PasskeyStore].
func (s *Store) RemovePasskey(ctx context.Context, userID, id int64, revoked account.Revocation, check func([]*account.Passkey) error) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		u, err := lockWithCaller(tx, userID)
		if err != nil {
			return err
		}
		r, err := remove[passkeyRow](tx.Where("id = ? AND user_id = ?", id, userID))
		if err != nil {
			return err
		}
		left, err := passkeys(tx, userID)
		if err != nil {
			return err
		}
		if err := check(left); err != nil {
			return err
		}
		if err := s.note(tx, "user.passkey_removed", userID, u.Name, []any{r}, nil); err != nil {
			return err
		}
		return revoke(tx, userID, revoked)
	})
	return wrap("delete passkey", err)
}

// UsePasskey implements [account.PasskeyStore]. It locks the user before the passkey, like changes do.
func (s *Store) UsePasskey(ctx context.Context, domain string, credential []byte, fn func(*account.User, []byte, *account.Passkey) error) (u *account.User, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		which := func() *gorm.DB {
			return tx.Where("domain = ? AND credential = ?", domain, base64url.EncodeToString(credential))
		}
		r, err := take[passkeyRow](which())
		if err != nil {
			return err
		}
		owner, err := take[userRow](tx.Clauses(forUpdate).Where("id = ?", r.UserID))
		if err != nil {
			return err
		}
		if r, err = take[passkeyRow](which()); err != nil { // as of now
			return err
		}
		p, err := r.passkey()
		if err != nil {
			return err
		}
		handle, err := passkeyHandle(tx, r.UserID)
		if err != nil {
			return err
		}
		u = owner.user()
		if err := fn(u, handle, p); err != nil {
			return err
		}
		return tx.Model(r).Updates(map[string]any{"sign_count": int64(p.SignCount), "flags": int64(p.Flags), "last_used_at": instant(p.LastUsedAt)}).Error
	})
	if err != nil {
		return nil, wrap("use passkey", err)
	}
	return u, nil
}

// StoreCeremony implements [account.PasskeyStore].
func (s *Store) StoreCeremony(ctx context.Context, c *account.StoredCeremony, hash string, now time.Time) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Where("expires_at <= ?", instant(now)).Delete(&passkeyChallengeRow{}).Error; err != nil {
			return err
		}
		return tx.Create(&passkeyChallengeRow{hash, reference(c.UserID), string(c.Purpose), string(c.Content), *instant(c.ExpiresAt)}).Error
	})
	return wrap("insert passkey challenge", err)
}

// TakeCeremony implements [account.PasskeyStore].
func (s *Store) TakeCeremony(ctx context.Context, hash string) (*account.StoredCeremony, error) {
	r, err := remove[passkeyChallengeRow](s.db.WithContext(ctx).Where("hash = ?", hash))
	if err != nil {
		return nil, wrap("take passkey challenge", err)
	}
	c := &account.StoredCeremony{Ceremony: account.Ceremony{Content: []byte(r.Content)}, Purpose: account.Purpose(r.Purpose), ExpiresAt: r.ExpiresAt.UTC()}
	if r.UserID != nil {
		c.UserID = *r.UserID
	}
	return c, nil
}
