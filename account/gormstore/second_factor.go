package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

type secondFactorRow struct {
	UserID        int64 `gorm:"primaryKey;autoIncrement:false"`
	Secret        string
	ConfirmedAt   *time.Time
	LastStep      int64
	RecoveryCodes string    // JSON
	CreatedAt     time.Time `gorm:"autoCreateTime:false"`
}

func (secondFactorRow) TableName() string { return "second_factors" }

func (r *secondFactorRow) factor() (*account.SecondFactor, error) {
	f := &account.SecondFactor{
		UserID: r.UserID, Secret: r.Secret, ConfirmedAt: zeroOrUTC(r.ConfirmedAt), LastStep: r.LastStep, CreatedAt: r.CreatedAt.UTC(),
	}
	return f, json.Unmarshal([]byte(r.RecoveryCodes), &f.RecoveryCodes)
}

func rowOfSecondFactor(f *account.SecondFactor) (*secondFactorRow, error) {
	codes, err := json.Marshal(append([]string{}, f.RecoveryCodes...))
	return &secondFactorRow{
		UserID: f.UserID, Secret: f.Secret, ConfirmedAt: instant(f.ConfirmedAt), LastStep: f.LastStep, RecoveryCodes: string(codes), CreatedAt: *instant(f.CreatedAt),
	}, err
}

// SecondFactor implements [account.SecondFactorStore].
func (s *Store) SecondFactor(ctx context.Context, userID int64) (*account.SecondFactor, error) {
	r, err := take[secondFactorRow](s.db.WithContext(ctx).Where("user_id = ?", userID))
	if err != nil {
		return nil, wrap("select second factor", err)
	}
	return r.factor()
}

// ChangeSecondFactor implements [account.SecondFactorStore].
func (s *Store) ChangeSecondFactor(ctx context.Context, userID int64, fn func(*account.User, *account.SecondFactor) (account.SecondFactorChange, error)) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		u, err := lockWithCaller(tx, userID)
		if err != nil {
			return err
		}
		var f *account.SecondFactor
		switch r, err := take[secondFactorRow](tx.Where("user_id = ?", userID)); {
		case err == nil:
			if f, err = r.factor(); err != nil {
				return err
			}
		case !errors.Is(err, account.ErrNotFound):
			return err
		}
		change, err := fn(u.user(), f)
		if err != nil {
			return err
		}
		if err := saveSecondFactor(tx, userID, change.Factor); err != nil {
			return err
		}
		if change.Action != "" {
			if err := s.note(tx, change.Action, userID, u.Name, nil, nil); err != nil {
				return err
			}
		}
		if f := change.Factor; change.Action == account.ActionSecondFactorEnabled && f != nil {
			if err := s.tellAdded(tx, u, account.AddedSecondFactor, "", 0, f.ConfirmedAt); err != nil {
				return err
			}
		}
		return revoke(tx, userID, change.Revoked)
	})
	return wrap("change second factor", err)
}

// lockWithCaller locks a user and the caller, in the same order as [Store.UpdateUser], and checks the
// rights of the caller.
func lockWithCaller(tx *gorm.DB, userID int64) (*userRow, error) {
	ids := []int64{userID}
	if p, ok := account.FromContext(tx.Statement.Context); ok {
		ids = append(ids, p.UserID)
	}
	var rows []userRow
	err := tx.Clauses(forUpdate).Where("id IN ?", ids).Order(lockOrder).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	if err := recheckLocked(tx); err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].ID == userID {
			return &rows[i], nil
		}
	}
	return nil, account.ErrNotFound
}

// saveSecondFactor stores f, or removes the second factor if f is nil.
func saveSecondFactor(tx *gorm.DB, userID int64, f *account.SecondFactor) error {
	if f == nil {
		return tx.Where("user_id = ?", userID).Delete(&secondFactorRow{}).Error
	}
	r, err := rowOfSecondFactor(f)
	if err != nil {
		return err
	}
	if err := tx.Save(r).Error; err != nil {
		return err
	}
	if !f.Enabled() {
		return nil
	}
	return finishEnrolling(tx, userID)
}

// finishEnrolling lets the caller's session do everything.
func finishEnrolling(tx *gorm.DB, userID int64) error {
	p, ok := account.FromContext(tx.Statement.Context)
	if !ok || p.TokenID == 0 || p.UserID != userID {
		return nil
	}
	return tx.Model(&tokenRow{}).Where("id = ? AND kind = ?", p.TokenID, account.Session).Update("scopes", nil).Error
}
