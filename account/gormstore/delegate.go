package gormstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account"
)

type delegateRow struct {
	UserID     int64 `gorm:"primaryKey;autoIncrement:false"`
	DelegateID int64 `gorm:"primaryKey;autoIncrement:false"`
	Private    bool
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
}

func (delegateRow) TableName() string { return "delegates" }

// Delegates implements [account.DelegateStore].
func (s *Store) Delegates(ctx context.Context, userID int64) ([]account.Delegate, error) {
	ds, err := s.delegates(ctx, "u.id = d.delegate_id", "d.user_id = ?", userID)
	return ds, wrap("list delegates", err)
}

// DelegatedTo implements [account.DelegateStore].
func (s *Store) DelegatedTo(ctx context.Context, delegateID int64) ([]account.Delegate, error) {
	ds, err := s.delegates(ctx, "u.id = d.user_id", "d.delegate_id = ?", delegateID)
	return ds, wrap("list users for whom a user acts", err)
}

func (s *Store) delegates(ctx context.Context, other, where string, id int64) (ds []account.Delegate, err error) {
	db := s.db.WithContext(ctx)
	err = db.Table("delegates AS d").Select("u.id AS user_id, u.name, u.email, d.private, d.created_at").Joins("JOIN users u ON "+other).
		Where(where, id).Order(folded(db, "u.name") + ", u.id").Find(&ds).Error
	for i := range ds {
		ds[i].CreatedAt = ds[i].CreatedAt.UTC()
	}
	return ds, err
}

// SetDelegate implements [account.DelegateStore].
func (s *Store) SetDelegate(ctx context.Context, userID int64, d account.Delegate) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := lockMembers(tx, []int64{userID, d.UserID}); err != nil {
			return err
		}
		var active []userRow
		if err := tx.Where("id IN ? AND disabled_at IS NULL", []int64{userID, d.UserID}).Find(&active).Error; err != nil {
			return err
		}
		if len(active) < 2 {
			return account.ErrNotFound
		}
		var known []delegateRow
		if err := tx.Where("user_id = ?", userID).Find(&known).Error; err != nil {
			return err
		}
		r := &delegateRow{UserID: userID, DelegateID: d.UserID, Private: d.Private, CreatedAt: *instant(d.CreatedAt)}
		var before []any
		if i := slices.IndexFunc(known, func(k delegateRow) bool { return k.DelegateID == d.UserID }); i >= 0 {
			if known[i].Private == d.Private {
				return nil
			}
			r.CreatedAt, before = known[i].CreatedAt, []any{noted(d.UserID, known[i].Private)}
		} else if len(known) >= account.MaxDelegates {
			return account.ErrTooManyDelegates
		}
		err := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}, {Name: "delegate_id"}}, DoUpdates: clause.AssignmentColumns([]string{"private"})}).
			Create(r).Error
		if err != nil {
			return err
		}
		name := active[slices.IndexFunc(active, func(u userRow) bool { return u.ID == userID })].Name
		return s.note(tx, "user.delegate_set", userID, name, before, []any{noted(d.UserID, d.Private)})
	})
	return wrap("set delegate", err)
}

// RemoveDelegate implements [account.DelegateStore].
func (s *Store) RemoveDelegate(ctx context.Context, userID, delegateID int64) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := lockMembers(tx, []int64{userID, delegateID}); err != nil {
			return err
		}
		r, err := remove[delegateRow](tx.Where("user_id = ? AND delegate_id = ?", userID, delegateID))
		if err != nil {
			return err
		}
		u, err := take[userRow](tx.Where("id = ?", userID))
		if err != nil {
			return err
		}
		return s.note(tx, "user.delegate_removed", userID, u.Name, []any{noted(delegateID, r.Private)}, nil)
	})
	return wrap("remove delegate", err)
}

// noted is what the audit log says about a delegate.
func noted(id int64, private bool) map[string]any {
	return map[string]any{"delegate_id": id, "delegate_private": private}
}

// actsForJSON is a user in users.acts_for.
type actsForJSON struct {
	ID      int64   `json:"id"`
	Private bool    `json:"private,omitempty"`
	Manager bool    `json:"manager,omitempty"` // or admin
	Admin   bool    `json:"admin,omitempty"`
	Groups  []int64 `json:"groups,omitempty"`
}

// actsFor reads a list that a trigger writes; without it, the user acts for nobody.
func actsFor(text string) (all []account.ActsFor) {
	var list []actsForJSON
	if text != "" && text != "[]" {
		_ = json.Unmarshal([]byte(text), &list)
	}
	for _, a := range list {
		role := account.Member
		switch {
		case a.Admin:
			role = account.Admin
		case a.Manager:
			role = account.Manager
		}
		all = append(all, account.ActsFor{UserID: a.ID, Private: a.Private, Role: role, Groups: append([]int64{}, a.Groups...)})
	}
	return all
}

// needed returns a list as JSON that users.acts_for contains as long as no right in it has ended.
func needed(all []account.ActsFor) string {
	list := make([]actsForJSON, len(all))
	for i, a := range all {
		list[i] = actsForJSON{a.UserID, a.Private, a.Role.Covers(account.Manager), a.Role == account.Admin, a.Groups}
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // numbers
	}
	return string(b)
}

// acts reports whether a user who acts for all of have may act for all of some, with at least the same rights.
func acts(have, some []account.ActsFor) bool {
	for _, a := range some {
		if !slices.ContainsFunc(have, func(h account.ActsFor) bool {
			return h.UserID == a.UserID && (h.Private || !a.Private) && h.Role.Covers(a.Role) && includes(h.Groups, a.Groups)
		}) {
			return false
		}
	}
	return true
}
