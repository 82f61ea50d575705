package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account"
)

type identityRow struct {
	Issuer    string `gorm:"primaryKey"`
	Subject   string `gorm:"primaryKey"`
	UserID    int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
}

func (identityRow) TableName() string { return "identities" }

// UserByIdentity implements [account.IdentityStore].
func (s *Store) UserByIdentity(ctx context.Context, issuer, subject string) (*account.User, error) {
	user := identity(s.db.WithContext(ctx), issuer, subject).Select("user_id")
	return s.user(s.db.WithContext(ctx).Where("id = (?)", user))
}

func identity(db *gorm.DB, issuer, subject string) *gorm.DB {
	return db.Model(&identityRow{}).Where("issuer = ? AND subject = ?", issuer, subject)
}

// CreateIdentifiedUser implements [account.IdentityStore].
func (s *Store) CreateIdentifiedUser(ctx context.Context, u *account.User, issuer, subject string) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.insertUser(tx, u); err != nil {
			return err
		}
		return addIdentity(tx, u, issuer, subject, u.CreatedAt)
	})
	return wrap("create user of an identity", err)
}

// AddIdentity implements [account.IdentityStore].
func (s *Store) AddIdentity(ctx context.Context, userID int64, issuer, subject string, fn func(*account.User) (account.Revocation, error)) (u *account.User, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		r, err := take[userRow](tx.Clauses(forUpdate).Where("id = ?", userID))
		if err != nil {
			return err
		}
		u = r.user()
		revoked, err := fn(u)
		if err != nil {
			return err
		}
		if err := s.saveUser(tx, "user.linked", r, u, revoked); err != nil {
			return err
		}
		return addIdentity(tx, u, issuer, subject, u.UpdatedAt)
	})
	if err != nil {
		return nil, wrap("add identity", err)
	}
	return u, nil
}

// addIdentity is called with the user locked.
func addIdentity(tx *gorm.DB, u *account.User, issuer, subject string, at time.Time) error {
	res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&identityRow{Issuer: issuer, Subject: subject, UserID: u.ID, CreatedAt: *instant(at)})
	if res.Error != nil || res.RowsAffected == 1 {
		return res.Error
	}
	same, err := take[identityRow](identity(tx, issuer, subject))
	if err == nil && same.UserID == u.ID {
		return nil // added by another sign-in of the same person
	}
	return account.ErrOtherIdentity
}

// RemoveIdentities implements [account.IdentityStore].
func (s *Store) RemoveIdentities(ctx context.Context, userID int64) (n int, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		r, err := take[userRow](tx.Clauses(forUpdate).Where("id = ?", userID))
		if err != nil {
			return err
		}
		res := tx.Where("user_id = ?", userID).Delete(&identityRow{})
		if n = int(res.RowsAffected); res.Error != nil || n == 0 {
			return res.Error
		}
		return s.saveUser(tx, "user.unlinked", r, r.user(), account.Revocation{Sessions: true})
	})
	return n, wrap("remove identities", err)
}

type logoutTokenRow struct {
	Hash      string `gorm:"primaryKey"`
	ExpiresAt time.Time
}

func (logoutTokenRow) TableName() string { return "logout_tokens" }

// EndSessions implements [account.IdentityStore].
func (s *Store) EndSessions(ctx context.Context, l account.Logout, session, hash string, until time.Time) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&logoutTokenRow{hash, *instant(until)})
		if res.Error == nil && res.RowsAffected == 0 {
			return account.ErrLogoutRepeated
		}
		fresh := func() *gorm.DB { return tx.Session(&gorm.Session{NewDB: true}) }
		person := fresh().Where("user_id = (?)", identity(fresh(), l.Issuer, l.Subject).Select("user_id"))
		which := fresh().Where("provider_session = ? AND provider_session <> ''", session)
		switch {
		case session == "":
			which = person
		case l.Subject != "": // a session whose provider named no ID could be the one that ended
			which = person.Where(which.Or("issuer = ? AND provider_session = ''", l.Issuer))
		}
		var ended []tokenRow
		err := res.Error
		if err == nil {
			err = tx.Clauses(clause.Returning{}).Where("kind = ?", account.Session).Where(which).Delete(&ended).Error
		}
		for i := range ended {
			if err == nil {
				err = s.noteToken(tx, &ended[i], []any{&ended[i]}, nil)
			}
		}
		return err
	})
	return wrap("end sessions of an identity", err)
}
