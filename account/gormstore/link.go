package gormstore

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

type linkRow struct {
	ID        int64
	UserID    int64
	Kind      string
	Hash      string
	ExpiresAt time.Time
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
}

func (linkRow) TableName() string { return "password_links" }

func (r *linkRow) link() *account.PasswordLink {
	return &account.PasswordLink{
		ID: r.ID, UserID: r.UserID, Kind: account.LinkKind(r.Kind), Hash: r.Hash, ExpiresAt: r.ExpiresAt.UTC(), CreatedAt: r.CreatedAt.UTC(),
	}
}

// CreateInvitedUser implements [account.LinkStore].
func (s *Store) CreateInvitedUser(ctx context.Context, m *account.LinkMail) error {
	return s.mail(ctx, m, func(tx *gorm.DB) (bool, error) {
		if err := Recheck(tx); err != nil {
			return false, err
		}
		if err := s.insertUser(tx, m.To); err != nil {
			return false, err
		}
		m.Link.UserID = m.To.ID
		return true, nil
	})
}

// AddInvitation implements [account.LinkStore].
func (s *Store) AddInvitation(ctx context.Context, m *account.LinkMail, check func(*account.User) error) (*account.User, error) {
	err := s.mail(ctx, m, func(tx *gorm.DB) (bool, error) {
		if err := Recheck(tx); err != nil {
			return false, err
		}
		r, err := take[userRow](tx.Clauses(forUpdate).Where("id = ?", m.Link.UserID))
		if err != nil {
			return false, err
		}
		m.To = r.user()
		if err := check(m.To); err != nil {
			return false, err
		}
		m.To.InvitedUntil, m.To.UpdatedAt = m.Link.ExpiresAt, m.Link.CreatedAt
		return true, s.saveUser(tx, "user.invited", r, m.To, account.Revocation{Links: true})
	})
	return m.To, err
}

// AddReset implements [account.LinkStore].
func (s *Store) AddReset(ctx context.Context, m *account.LinkMail, limit int) error {
	return s.mail(ctx, m, func(tx *gorm.DB) (bool, error) {
		if err := tx.Where("expires_at <= ?", instant(m.Link.CreatedAt)).Delete(&linkRow{}).Error; err != nil {
			return false, err
		}
		r, err := take[userRow](tx.Clauses(forUpdate).Where("id = ? AND disabled_at IS NULL", m.Link.UserID))
		if errors.Is(err, account.ErrNotFound) || err == nil && r.Email != m.To.Email { // changed meanwhile
			return false, nil
		}
		if err != nil {
			return false, err
		}
		m.To = r.user()
		var valid int64
		err = tx.Model(&linkRow{}).Where("user_id = ? AND kind = ?", r.ID, account.ResetLink).Count(&valid).Error
		if err != nil || valid >= int64(limit) {
			return false, err
		}
		return true, s.note(tx, "user.reset_requested", r.ID, r.Name, nil, nil)
	})
}

// mail stores the link of m and records the mail, if prepare returns true, in one transaction.
func (s *Store) mail(ctx context.Context, m *account.LinkMail, prepare func(tx *gorm.DB) (bool, error)) error {
	sent := func(context.Context) {}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		ok, err := prepare(tx)
		if err != nil || !ok {
			return err
		}
		r := &linkRow{UserID: m.Link.UserID, Kind: string(m.Link.Kind), Hash: m.Link.Hash, ExpiresAt: *instant(m.Link.ExpiresAt), CreatedAt: *instant(m.Link.CreatedAt)}
		if err := tx.Create(r).Error; err != nil {
			return err
		}
		m.Link.ID = r.ID
		if s.mails != nil {
			sent, err = s.mails.Insert(tx, m)
		}
		return err
	})
	if err != nil {
		return wrap("store password link", err)
	}
	sent(ctx)
	return nil
}

// LinkByHash implements [account.LinkStore].
func (s *Store) LinkByHash(ctx context.Context, hash string) (*account.PasswordLink, *account.User, error) {
	r, err := take[linkRow](s.db.WithContext(ctx).Where("hash = ?", hash))
	if err != nil {
		return nil, nil, wrap("select password link", err)
	}
	u, err := s.User(ctx, r.UserID)
	return r.link(), u, err
}

// UseLink implements [account.LinkStore].
func (s *Store) UseLink(ctx context.Context, hash string, fn func(*account.PasswordLink, *account.User) (account.Revocation, error)) (u *account.User, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		found, err := take[linkRow](tx.Where("hash = ?", hash))
		if err != nil {
			return err
		}
		// The user is locked before the link, as wherever links end.
		r, err := take[userRow](tx.Clauses(forUpdate).Where("id = ?", found.UserID))
		if err != nil {
			return err
		}
		link, err := take[linkRow](tx.Clauses(forUpdate).Where("id = ?", found.ID))
		if err != nil {
			return err
		}
		u = r.user()
		revoked, err := fn(link.link(), u)
		if err != nil {
			return err
		}
		action := "user.password_reset"
		if link.Kind == string(account.InvitationLink) {
			action = "user.joined"
		}
		return s.saveUser(tx, action, r, u, revoked)
	})
	if err != nil {
		return nil, wrap("use password link", err)
	}
	return u, nil
}
