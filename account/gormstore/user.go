package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/account"
)

type userRow struct {
	ID            int64
	Email         string
	Name          string
	Role          string
	Phone         string
	Locale        string
	Timezone      string
	CalendarMails bool
	PasswordHash  string
	DisabledAt    *time.Time
	InvitedUntil  *time.Time
	AwayFrom      *time.Time
	AwayUntil     *time.Time
	DeputyID      *int64
	GroupIDs      string `gorm:"->" json:"-"` // JSON; a trigger keeps it
	ActsFor       string `gorm:"->" json:"-"` // likewise
	Version       int64
	CreatedAt     time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt     time.Time `gorm:"autoUpdateTime:false"`
}

func (userRow) TableName() string { return "users" }

func rowOfUser(u *account.User) *userRow {
	return &userRow{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: string(u.Role), Phone: u.Phone, Locale: u.Locale, Timezone: u.Timezone,
		CalendarMails: u.CalendarMails, PasswordHash: u.PasswordHash, DisabledAt: instant(u.DisabledAt), InvitedUntil: instant(u.InvitedUntil), Version: u.Version,
		AwayFrom: instant(u.Away.From), AwayUntil: instant(u.Away.Until), DeputyID: reference(u.Away.DeputyID),
		CreatedAt: *instant(u.CreatedAt), UpdatedAt: *instant(u.UpdatedAt),
	}
}

// reference maps the ID 0 to NULL.
func reference(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

func (r *userRow) user() *account.User {
	away := account.Away{From: zeroOrUTC(r.AwayFrom), Until: zeroOrUTC(r.AwayUntil)}
	if r.DeputyID != nil {
		away.DeputyID = *r.DeputyID
	}
	return &account.User{
		Away: away,
		ID:   r.ID, Email: r.Email, Name: r.Name, Role: account.Role(r.Role), Phone: r.Phone, Locale: r.Locale, Timezone: r.Timezone,
		CalendarMails: r.CalendarMails, PasswordHash: r.PasswordHash, DisabledAt: zeroOrUTC(r.DisabledAt), InvitedUntil: zeroOrUTC(r.InvitedUntil), Version: r.Version,
		Groups: groupIDs(r.GroupIDs), ActsFor: actsFor(r.ActsFor), CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

func users(rows []userRow) []*account.User {
	us := make([]*account.User, len(rows))
	for i := range rows {
		us[i] = rows[i].user()
	}
	return us
}

// CreateUser implements [account.Store].
func (s *Store) CreateUser(ctx context.Context, u *account.User) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		return s.insertUser(tx, u)
	})
}

func (s *Store) insertUser(tx *gorm.DB, u *account.User) error {
	r := rowOfUser(u)
	if err := tx.Create(r).Error; err != nil {
		return wrap("insert user", domainError(err))
	}
	u.ID = r.ID
	return s.note(tx, "user.created", r.ID, r.Name, nil, []any{r})
}

// CreateFirstUser implements [account.Store].
func (s *Store) CreateFirstUser(ctx context.Context, u *account.User) (created bool, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if tx.Name() == "postgres" { // SQLite runs one writing transaction at a time
			if err := tx.Exec("LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE").Error; err != nil {
				return err
			}
		}
		some, err := hasUsers(tx)
		if err != nil || some {
			return err
		}
		created = true
		if err := s.insertUser(tx, u); err != nil {
			return err
		}
		return tx.Where("kind = ?", account.Setup).Delete(&tokenRow{}).Error
	})
	return created && err == nil, wrap("create the first user", err)
}

// HasUsers implements [account.Store].
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	some, err := hasUsers(s.db.WithContext(ctx))
	return some, wrap("check for users", err)
}

func hasUsers(tx *gorm.DB) (bool, error) {
	res := tx.Select("id").Limit(1).Find(&[]userRow{})
	return res.RowsAffected > 0, res.Error
}

// User implements [account.Store].
func (s *Store) User(ctx context.Context, id int64) (*account.User, error) {
	return s.user(s.db.WithContext(ctx).Where("id = ?", id))
}

// UserByEmail implements [account.Store].
func (s *Store) UserByEmail(ctx context.Context, email string) (*account.User, error) {
	return s.user(s.db.WithContext(ctx).Where("lower(email) = ?", email))
}

func (s *Store) user(q *gorm.DB) (*account.User, error) {
	r, err := take[userRow](q)
	if err != nil {
		return nil, wrap("select user", err)
	}
	return r.user(), nil
}

// doorEmails matches the addresses of [account.DoorEmail].
const doorEmails = "door-%@door.invalid"

// ListUsers implements [account.Store].
func (s *Store) ListUsers(ctx context.Context, p account.Page) ([]*account.User, string, error) {
	return s.FindUsers(ctx, "", p)
}

// FindUsers implements [account.Store].
func (s *Store) FindUsers(ctx context.Context, text string, p account.Page) ([]*account.User, string, error) {
	q := withText(s.db.WithContext(ctx).Model(&userRow{}).Where("lower(email) NOT LIKE ?", doorEmails), text)
	rows, next, err := page(q, p, func(r *userRow) int64 { return r.ID })
	if err != nil {
		return nil, "", wrap("list users", err)
	}
	return users(rows), next, nil
}

// withText selects users with text in the name or address, ignoring case. "" selects all.
func withText(q *gorm.DB, text string) *gorm.DB {
	if text == "" {
		return q
	}
	pattern := containing(text)
	return q.Where(fmt.Sprintf(`(%s LIKE %[3]s ESCAPE '\' OR %[2]s LIKE %[3]s ESCAPE '\')`, folded(q, "name"), folded(q, "email"), folded(q, "?")), pattern, pattern)
}

// UpdateUser implements [account.Store]. It locks the active admins, the user and the user's delegates. Two
// admins who disable each other run one after the other, so one of them remains.
func (s *Store) UpdateUser(ctx context.Context, id int64, fn func(*account.User, int) (account.Revocation, error)) (u *account.User, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var locked []userRow
		err := tx.Clauses(forUpdate).Select("id", "role", "disabled_at").
			Where("role = @admin AND disabled_at IS NULL OR "+ofDelegates, map[string]any{"admin": account.Admin, "user": id}).Order(lockOrder).Find(&locked).Error
		if err != nil {
			return err
		}
		r, err := take[userRow](tx.Clauses(forUpdate).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := recheckLocked(tx); err != nil { // admins and the user are locked above
			return err
		}
		others := 0
		for _, l := range locked {
			if l.ID != id && l.Role == string(account.Admin) && l.DisabledAt == nil {
				others++
			}
		}
		u = r.user()
		revoked, err := fn(u, others)
		if err != nil {
			return err
		}
		return s.saveUser(tx, "user.changed", r, u, revoked)
	})
	if err != nil {
		return nil, wrap("update user", err)
	}
	return u, nil
}

// saveUser saves u, whose row was r, with the next version. It deletes what the change revokes.
func (s *Store) saveUser(tx *gorm.DB, action string, r *userRow, u *account.User, revoked account.Revocation) error {
	u.ID, u.Version = r.ID, r.Version+1
	changed := rowOfUser(u)
	if err := tx.Save(changed).Error; err != nil {
		return domainError(err)
	}
	if err := s.note(tx, action, r.ID, u.Name, []any{r}, []any{changed}); err != nil {
		return err
	}
	return revoke(tx, r.ID, revoked)
}

// ActiveUsers returns the active users among ids, by ID.
func (s *Store) ActiveUsers(ctx context.Context, ids []int64) ([]*account.User, error) {
	return s.active(ctx, len(ids), "id IN ?", ids)
}

// ActiveUsersByEmail returns the active users with these addresses, ignoring case.
func (s *Store) ActiveUsersByEmail(ctx context.Context, emails []string) ([]*account.User, error) {
	lower := make([]string, len(emails))
	for i, e := range emails {
		lower[i] = strings.ToLower(e)
	}
	return s.active(ctx, len(lower), "lower(email) IN ?", lower)
}

// Disabled returns which users with these IDs, and with these addresses, are disabled. It ignores
// the case of addresses and returns them in lower case.
func (s *Store) Disabled(ctx context.Context, ids []int64, emails []string) (byID map[int64]bool, byEmail map[string]bool, err error) {
	idList, err1 := json.Marshal(append([]int64{}, ids...))
	emailList, err2 := json.Marshal(append([]string{}, emails...))
	if err := cmp.Or(err1, err2); err != nil {
		return nil, nil, err
	}
	var rows []userRow
	err = statements.Raw(s.db.WithContext(ctx), "disabled_users", string(idList), string(emailList)).Find(&rows).Error
	if err != nil {
		return nil, nil, wrap("select disabled users", err)
	}
	byID, byEmail = make(map[int64]bool, len(rows)), make(map[string]bool, len(rows))
	for _, r := range rows {
		byID[r.ID], byEmail[strings.ToLower(r.Email)] = true, true
	}
	return byID, byEmail, nil
}

// ActiveAdmins returns all active admins, by ID.
func (s *Store) ActiveAdmins(ctx context.Context) ([]*account.User, error) {
	return s.active(ctx, 1, "role = ?", account.Admin)
}

// ActiveDeciders implements [account.Store].
func (s *Store) ActiveDeciders(ctx context.Context) ([]*account.User, error) {
	users, err := s.active(ctx, 1, "role IN ?", []account.Role{account.Manager, account.Admin})
	slices.SortFunc(users, func(a, b *account.User) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return users, err
}

// Away returns the active users who are away at an instant and have a deputy.
func (s *Store) Away(ctx context.Context, at time.Time) ([]*account.User, error) {
	at = at.UTC().Truncate(time.Microsecond)
	return s.active(ctx, 1, "deputy_id IS NOT NULL AND away_from <= ? AND away_until > ?", at, at)
}

func (s *Store) active(ctx context.Context, n int, where string, args ...any) ([]*account.User, error) {
	if n == 0 {
		return nil, nil
	}
	var rows []userRow
	err := s.db.WithContext(ctx).Where(where, args...).Where("disabled_at IS NULL").Order("id").Find(&rows).Error
	if err != nil {
		return nil, wrap("select active users", err)
	}
	return users(rows), nil
}
