package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account"
)

type tokenRow struct {
	ID         int64
	UserID     *int64
	Kind       string
	Name       string
	Hash       string
	Scopes     *string // JSON
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	Address    string
	Device     string
	Issuer     string
	// ProviderSession is of [account.Token].
	ProviderSession string
	User            *userRow `gorm:"foreignKey:UserID"` // read by TokenByHash, never saved
}

func (tokenRow) TableName() string { return "tokens" }

func rowOfToken(t *account.Token) (*tokenRow, error) {
	r := &tokenRow{
		ID: t.ID, Kind: string(t.Kind), Name: t.Name, Hash: t.Hash,
		ExpiresAt: instant(t.ExpiresAt), LastUsedAt: instant(t.LastUsedAt), CreatedAt: *instant(t.CreatedAt),
		Address: t.Address, Device: t.Device, Issuer: t.Issuer, ProviderSession: t.ProviderSession,
	}
	if t.UserID != 0 {
		r.UserID = &t.UserID
	}
	if t.Scopes != nil {
		b, err := json.Marshal(t.Scopes)
		if err != nil {
			return nil, err
		}
		r.Scopes = new(string(b))
	}
	return r, nil
}

func (r *tokenRow) token() (*account.Token, error) {
	t := &account.Token{
		ID: r.ID, Kind: account.TokenKind(r.Kind), Name: r.Name, Hash: r.Hash,
		ExpiresAt: zeroOrUTC(r.ExpiresAt), LastUsedAt: zeroOrUTC(r.LastUsedAt), CreatedAt: r.CreatedAt.UTC(),
		Address: r.Address, Device: r.Device, Issuer: r.Issuer, ProviderSession: r.ProviderSession,
	}
	if r.UserID != nil {
		t.UserID = *r.UserID
	}
	if r.Scopes == nil {
		return t, nil
	}
	if err := json.Unmarshal([]byte(*r.Scopes), &t.Scopes); err != nil {
		return nil, fmt.Errorf("scopes of token %d: %w", r.ID, err)
	}
	if t.Scopes == nil { // JSON null must not grant all rights
		t.Scopes = []account.Scope{}
	}
	return t, nil
}

// CreateToken implements [account.Store].
func (s *Store) CreateToken(ctx context.Context, t *account.Token) error {
	r, err := rowOfToken(t)
	if err == nil {
		err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if err := lockActive(tx, t.UserID); err != nil {
				return err
			}
			if err := Recheck(tx); err != nil {
				return err
			}
			if t.Kind == account.API {
				var count int64
				if err := tx.Model(&tokenRow{}).Where("user_id = ? AND kind = ?", t.UserID, t.Kind).Count(&count).Error; err != nil {
					return err
				}
				if count >= account.MaxTokens {
					return account.ErrTooManyTokens
				}
			}
			if err := tx.Omit(clause.Associations).Create(r).Error; err != nil {
				return err
			}
			if t.Kind == account.API && slices.Contains(t.Scopes, account.CalDAV) {
				u, err := take[userRow](tx.Where("id = ?", t.UserID))
				if err == nil {
					err = s.tellAdded(tx, u, account.AddedAppPassword, t.Name, r.ID, r.CreatedAt)
				}
				if err != nil {
					return err
				}
			}
			return s.noteToken(tx, r, nil, []any{r})
		})
	}
	if err != nil {
		return wrap("insert token", err)
	}
	t.ID = r.ID
	return nil
}

// lockActive prevents the user from being disabled until the transaction ends. It returns
// [account.ErrUnauthorized] if the user is disabled. It also locks the caller, in the same order
// as [Store.UpdateUser]. User 0 owns setup tokens.
func lockActive(tx *gorm.DB, userID int64) error {
	if userID == 0 {
		return nil
	}
	ids := []int64{userID}
	if p, ok := account.FromContext(tx.Statement.Context); ok {
		ids = append(ids, p.UserID)
	}
	var active []int64
	err := tx.Model(&userRow{}).Clauses(clause.Locking{Strength: clause.LockingStrengthShare}).
		Where("id IN ? AND disabled_at IS NULL", ids).Order("id").Pluck("id", &active).Error
	if err != nil {
		return err
	}
	if !slices.Contains(active, userID) {
		return account.ErrUnauthorized
	}
	return nil
}

// TokenByHash implements [account.Store].
func (s *Store) TokenByHash(ctx context.Context, hash string) (*account.Token, *account.User, error) {
	r, err := take[tokenRow](s.db.WithContext(ctx).Joins("User").Where("tokens.hash = ?", hash))
	if err != nil {
		return nil, nil, wrap("select token", err)
	}
	t, err := r.token()
	if err != nil || r.User == nil {
		return t, nil, err
	}
	return t, r.User.user(), nil
}

// ListTokens implements [account.Store].
func (s *Store) ListTokens(ctx context.Context, userID int64, kind account.TokenKind, p account.Page) ([]*account.Token, string, error) {
	q := s.db.WithContext(ctx).Model(&tokenRow{}).Where("user_id = ? AND kind = ?", userID, kind)
	rows, next, err := page(q, p, func(r *tokenRow) int64 { return r.ID })
	if err != nil {
		return nil, "", wrap("list tokens", err)
	}
	tokens := make([]*account.Token, len(rows))
	for i := range rows {
		if tokens[i], err = rows[i].token(); err != nil {
			return nil, "", wrap("list tokens", err)
		}
	}
	return tokens, next, nil
}

// DeleteToken implements [account.Store].
func (s *Store) DeleteToken(ctx context.Context, userID, id int64, kind account.TokenKind) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if p, ok := account.FromContext(ctx); ok && p.TokenID != id { // callers may always end their own token
			if err := Recheck(tx); err != nil {
				return err
			}
		}
		r, err := remove[tokenRow](tx.Where("id = ? AND user_id = ? AND kind = ?", id, userID, kind))
		if err != nil {
			return err
		}
		return s.noteToken(tx, r, []any{r}, nil)
	})
	if errors.Is(err, account.ErrNotFound) {
		return account.ErrNotFound
	}
	return wrap("delete token", err)
}

// noteToken records a change of a token. For sessions it records that the user signed in or out.
func (s *Store) noteToken(tx *gorm.DB, r *tokenRow, before, after []any) error {
	verb := "created"
	if after == nil {
		verb = "deleted"
	}
	switch kind := account.TokenKind(r.Kind); {
	case kind == account.API:
		return s.note(tx, "token."+verb, r.ID, r.Name, before, after)
	case kind == account.Session && after != nil:
		return s.note(tx, "session.begun", *r.UserID, "", nil, nil)
	case kind == account.Session:
		return s.note(tx, "session.ended", *r.UserID, "", nil, nil)
	}
	return nil // a setup token has no user
}

// TouchToken implements [account.Store].
func (s *Store) TouchToken(ctx context.Context, id int64, at, unlessAfter time.Time) error {
	err := s.db.WithContext(ctx).Model(&tokenRow{}).Where("id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", id, instant(unlessAfter)).
		Update("last_used_at", instant(at)).Error
	return wrap("record token use", err)
}

// DeleteExpiredTokens implements [account.Store].
func (s *Store) DeleteExpiredTokens(ctx context.Context, now time.Time, limit int) (deleted int64, err error) {
	db := s.db.WithContext(ctx)
	for _, of := range []struct {
		key string
		row any
	}{{"id", &tokenRow{}}, {"hash", &logoutTokenRow{}}} {
		expired := db.Model(of.row).Select(of.key).Where("expires_at <= ?", instant(now)).Limit(limit)
		if db.Name() == "postgres" { // two that delete the same rows in different orders would deadlock
			expired = expired.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
		}
		done := db.Where(of.key+" IN (?) AND expires_at <= ?", expired, instant(now)).Delete(of.row) // again: one of them may have been renewed meanwhile
		if done.Error != nil {
			return deleted, wrap("delete expired tokens", done.Error)
		}
		deleted += done.RowsAffected
	}
	return deleted, nil
}

func revoke(tx *gorm.DB, userID int64, r account.Revocation) error {
	var kinds []account.TokenKind
	if r.Sessions {
		kinds = append(kinds, account.Session)
	}
	if r.API {
		kinds = append(kinds, account.API)
	}
	if r.Feeds {
		if err := tx.Where("user_id = ?", userID).Delete(&feedRow{}).Error; err != nil {
			return err
		}
	}
	if r.Passkeys {
		if err := tx.Where("user_id = ?", userID).Delete(&passkeyRow{}).Error; err != nil {
			return err
		}
	}
	tokens := tx.Where("user_id = ?", userID).Session(&gorm.Session{})
	if r.Links {
		if err := tx.Where("user_id = ?", userID).Delete(&linkRow{}).Error; err != nil {
			return err
		}
	}
	if r.Topics {
		err := tokens.Where(`kind = ? AND (CAST(scopes AS text) LIKE '%"topics:%' OR CAST(scopes AS text) LIKE '%"scim"%')`, account.API).Delete(&tokenRow{}).Error
		if err != nil {
			return err
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	return tokens.Where("id <> ? AND kind IN ?", r.Except, kinds).Delete(&tokenRow{}).Error
}
