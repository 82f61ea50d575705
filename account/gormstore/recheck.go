package gormstore

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"punctual/account"
)

// Recheck checks, in the transaction that acts, that the caller still has the rights of the
// request. It returns [account.ErrUnauthorized] if the token has ended or the user is disabled,
// and [account.ErrForbidden] if the role has fewer rights, the user has left a group or no longer acts for
// somebody, or somebody for whom they act has lost such rights. Until the transaction ends the rights
// cannot change: Postgres locks the rows, and SQLite runs one writing transaction at a time.
// Callers without a request, such as jobs, pass.
func Recheck(tx *gorm.DB) error { return recheck(tx, tx.Name() == "postgres") }

// recheckLocked is [Recheck] for a transaction that has locked the users. A second, weaker lock
// could cause deadlocks.
func recheckLocked(tx *gorm.DB) error { return recheck(tx, false) }

func recheck(tx *gorm.DB, lock bool) error {
	p, ok := account.FromContext(tx.Statement.Context)
	if !ok || p.TokenID == 0 {
		return nil
	}
	name := "recheck"
	if lock {
		name = "recheck_locking"
	}
	var now []struct {
		Role     account.Role
		GroupIDs string
		ActsFor  string
	}
	err := statements.Raw(tx, name, p.UserID, p.TokenID).Find(&now).Error
	switch {
	case err != nil:
		return wrap("check the caller's rights", err)
	case len(now) == 0:
		return account.ErrUnauthorized
	case !now[0].Role.Covers(p.Role), !includes(groupIDs(now[0].GroupIDs), p.Groups), !acts(actsFor(now[0].ActsFor), p.ActsFor):
		return account.ErrForbidden
	}
	return nil
}

// includes reports whether all of some are among have.
func includes(have, some []int64) bool {
	for _, id := range some {
		if _, ok := slices.BinarySearch(have, id); !ok {
			return false
		}
	}
	return true
}

// Guard lets stores of other packages recheck the caller's rights.
type Guard struct{}

// Check calls [Recheck].
func (Guard) Check(tx *gorm.DB) error { return Recheck(tx) }

// Credential returns the token of the request, the roles that its user may have, the groups that the user must
// be in, and a JSON array of the users for whom they must act, for statements that recheck rights themselves.
// The token is 0 if the request has none.
func (Guard) Credential(ctx context.Context) (tokenID int64, roles []string, groups []int64, actsFor string) {
	p, ok := account.FromContext(ctx)
	if !ok || p.TokenID == 0 {
		return 0, nil, nil, "[]"
	}
	for _, r := range account.Roles {
		if r.Covers(p.Role) {
			roles = append(roles, string(r))
		}
	}
	return p.TokenID, roles, p.Groups, needed(p.ActsFor)
}

// GuardedTrail is a [Trail] that rechecks the caller's rights with each entry, for stores that
// note every change.
type GuardedTrail struct{ Trail }

// Note implements [Trail].
func (t GuardedTrail) Note(tx *gorm.DB, action, id, name string, before, after []any) error {
	if err := Recheck(tx); err != nil {
		return err
	}
	return t.Trail.Note(tx, action, id, name, before, after)
}
