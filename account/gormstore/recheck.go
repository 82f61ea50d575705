package gormstore

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"punctual/account"
)

// Recheck makes sure, in the transaction that acts, that the caller of the request still has the
// rights that it was let in with: [account.ErrUnauthorized] if the token has ended or the user is
// disabled, [account.ErrForbidden] if the role covers less. Until the transaction ends nobody
// takes those rights away: on Postgres by locks of the rows, on SQLite a transaction that writes
// is alone. What acts without a request, such as a job, passes.
func Recheck(tx *gorm.DB) error {
	lock := ""
	if tx.Name() == "postgres" {
		lock = " FOR SHARE OF u FOR KEY SHARE OF t"
	}
	return recheck(tx, lock)
}

// recheckLocked is [Recheck] for a transaction that has locked the users that it concerns: a
// second, weaker lock would only invite deadlocks.
func recheckLocked(tx *gorm.DB) error { return recheck(tx, "") }

func recheck(tx *gorm.DB, lock string) error {
	ctx := tx.Statement.Context
	p, ok := account.FromContext(ctx)
	if !ok || p.TokenID == 0 {
		return nil
	}
	var role string // gorm does not count rows of other types
	err := one(ctx, tx, &role, `SELECT u.role FROM users u JOIN tokens t ON t.user_id = u.id
		WHERE u.id = ? AND t.id = ? AND u.disabled_at IS NULL`+lock, p.UserID, p.TokenID)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return account.ErrUnauthorized
	case err != nil:
		return wrap("check the caller's rights", err)
	case !account.Role(role).Covers(p.Role):
		return account.ErrForbidden
	}
	return nil
}

// Guard lets stores of other packages recheck the caller's rights.
type Guard struct{}

// Check is [Recheck].
func (Guard) Check(tx *gorm.DB) error { return Recheck(tx) }

// Credential returns the token of the request and the roles that its user may have; 0: the
// request has none. It is for statements that recheck by themselves.
func (Guard) Credential(ctx context.Context) (tokenID int64, roles []string) {
	p, ok := account.FromContext(ctx)
	if !ok || p.TokenID == 0 {
		return 0, nil
	}
	for _, r := range account.Roles {
		if r.Covers(p.Role) {
			roles = append(roles, string(r))
		}
	}
	return p.TokenID, roles
}

// GuardedTrail is a [Trail] that rechecks the caller's rights with each change that it notes, for
// stores whose changes are all noted.
type GuardedTrail struct{ Trail }

// Note implements [Trail].
func (t GuardedTrail) Note(tx *gorm.DB, action, id, name string, before, after []any) error {
	if err := Recheck(tx); err != nil {
		return err
	}
	return t.Trail.Note(tx, action, id, name, before, after)
}
