package gormstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"punctual/account"
)

type provisionedRow struct {
	UserID     int64 `gorm:"primaryKey;autoIncrement:false"`
	UserName   string
	ExternalID string
	GivenName  string
	FamilyName string
	RemovedAt  *time.Time
}

func (provisionedRow) TableName() string { return "provisioned_users" }

func rowOfProvisioned(p *account.Provisioned) *provisionedRow {
	return &provisionedRow{
		UserID: p.ID, UserName: p.UserName, ExternalID: p.ExternalID, GivenName: p.GivenName, FamilyName: p.FamilyName, RemovedAt: instant(p.RemovedAt),
	}
}

// provisioned returns a user, whose row of a directory may be nil.
func provisioned(u *account.User, r *provisionedRow) *account.Provisioned {
	p := &account.Provisioned{User: *u, UserName: u.Email}
	if r != nil {
		p.UserName, p.ExternalID, p.GivenName, p.FamilyName = r.UserName, r.ExternalID, r.GivenName, r.FamilyName
		p.Written, p.RemovedAt = true, zeroOrUTC(r.RemovedAt)
	}
	return p
}

// Provisioned implements [account.ProvisioningStore].
func (s *Store) Provisioned(ctx context.Context, userID int64) (*account.Provisioned, error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return nil, err
	}
	r, err := take[provisionedRow](s.db.WithContext(ctx).Where("user_id = ?", userID))
	if errors.Is(err, account.ErrNotFound) {
		return provisioned(u, nil), nil
	}
	if err != nil {
		return nil, wrap("select provisioned user", err)
	}
	return provisioned(u, r), nil
}

// ListProvisioned implements [account.ProvisioningStore].
func (s *Store) ListProvisioned(ctx context.Context, q account.ProvisionedQuery, offset, limit int) ([]*account.Provisioned, int64, error) {
	db := s.db.WithContext(ctx)
	of := func() *gorm.DB { return db.Model(&provisionedRow{}).Select("user_id") }
	list := db.Model(&userRow{}).Where("lower(email) NOT LIKE ?", doorEmails).Where("id NOT IN (?)", of().Where("removed_at IS NOT NULL"))
	if q.ID != 0 {
		list = list.Where("id = ?", q.ID)
	}
	if q.Email != "" {
		list = list.Where("lower(email) = ?", strings.ToLower(q.Email))
	}
	if q.UserName != "" {
		name := strings.ToLower(q.UserName)
		list = list.Where(db.Where("id IN (?)", of().Where("lower(user_name) = ?", name)).
			Or(db.Where("lower(email) = ?", name).Where("id NOT IN (?)", of())))
	}
	if q.Name != "" {
		list = list.Where(folded(db, "name")+" = "+folded(db, "?"), q.Name)
	}
	if q.ExternalID != "" {
		list = list.Where("id IN (?)", of().Where("external_id = ? AND external_id <> ''", q.ExternalID))
	}
	if q.Active != nil && *q.Active {
		list = list.Where("disabled_at IS NULL")
	} else if q.Active != nil {
		list = list.Where("disabled_at IS NOT NULL")
	}
	list = list.Session(&gorm.Session{})
	var total int64
	if err := list.Count(&total).Error; err != nil {
		return nil, 0, wrap("count provisioned users", err)
	}
	var rows []userRow
	if limit > 0 {
		if err := list.Order("id").Offset(offset).Limit(limit).Find(&rows).Error; err != nil {
			return nil, 0, wrap("list provisioned users", err)
		}
	}
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var written []provisionedRow
	if err := db.Where("user_id IN ?", ids).Find(&written).Error; err != nil {
		return nil, 0, wrap("list provisioned users", err)
	}
	byID := map[int64]*provisionedRow{}
	for i := range written {
		byID[written[i].UserID] = &written[i]
	}
	found := make([]*account.Provisioned, len(rows))
	for i := range rows {
		found[i] = provisioned(rows[i].user(), byID[rows[i].ID])
	}
	return found, total, nil
}

// CreateProvisioned implements [account.ProvisioningStore].
func (s *Store) CreateProvisioned(ctx context.Context, p *account.Provisioned) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		if err := s.insertUser(tx, &p.User); err != nil {
			return err
		}
		return userNameError(tx.Create(rowOfProvisioned(p)).Error)
	})
	return wrap("insert provisioned user", err)
}

// SaveProvisioned implements [account.ProvisioningStore].
func (s *Store) SaveProvisioned(ctx context.Context, p *account.Provisioned) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		u, err := lockWithCaller(tx, p.ID)
		if err != nil {
			return err
		}
		before, err := take[provisionedRow](tx.Where("user_id = ?", p.ID))
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
		var was []any
		if err == nil {
			was = []any{before}
		}
		r := rowOfProvisioned(p)
		if err := userNameError(tx.Save(r).Error); err != nil {
			return err
		}
		return s.note(tx, "user.provisioned", p.ID, u.Name, was, []any{r})
	})
	return wrap("save provisioned user", err)
}

func userNameError(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" && e.ConstraintName == "provisioned_users_name_unique" {
		return account.ErrUserNameTaken
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE && strings.Contains(e.Error(), "provisioned_users_name_unique") {
		return account.ErrUserNameTaken
	}
	return err
}
