package gormstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"punctual/account"
	"punctual/account/fault"
)

type groupRow struct {
	ID         int64
	Name       string
	Source     string
	ExternalID string
	Version    int64
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt  time.Time `gorm:"autoUpdateTime:false"`
	Members    int       `gorm:"->" json:"-"` // counted by countMembers
}

func (groupRow) TableName() string { return "groups" }

type memberRow struct {
	UserID  int64 `gorm:"primaryKey;autoIncrement:false"`
	GroupID int64 `gorm:"primaryKey;autoIncrement:false"`
}

func (memberRow) TableName() string { return "group_members" }

func rowOfGroup(g *account.Group) *groupRow {
	return &groupRow{
		ID: g.ID, Name: g.Name, Source: g.Source, ExternalID: g.ExternalID, Version: g.Version,
		CreatedAt: *instant(g.CreatedAt), UpdatedAt: *instant(g.UpdatedAt),
	}
}

func (r *groupRow) group() *account.Group {
	return &account.Group{
		ID: r.ID, Name: r.Name, Source: r.Source, ExternalID: r.ExternalID, Members: r.Members, Version: r.Version,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

// groupIDs reads users.group_ids.
func groupIDs(text string) (ids []int64) {
	if text == "" || text == "[]" {
		return nil
	}
	_ = json.Unmarshal([]byte(text), &ids) // written by a trigger; without the list the user has fewer rights
	return ids
}

const countMembers = "groups.id, groups.name, groups.source, groups.external_id, groups.version, groups.created_at, groups.updated_at, (SELECT COUNT(*) FROM group_members WHERE group_members.group_id = groups.id) AS members"

// folded is an expression for comparisons that ignore case. The index of names uses it.
func folded(db *gorm.DB, expression string) string {
	if db.Name() == "postgres" {
		return "lower(" + expression + ")"
	}
	return "fold(" + expression + ")"
}

// containing is a pattern for LIKE ... ESCAPE '\'.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// groupError maps a constraint violation of the database to an error of package account.
func groupError(err error) error {
	name, foreign := "", false
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		name, foreign = e.ConstraintName, e.Code == "23503" || e.Code == "23001"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		name, foreign = e.Error(), e.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY || e.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER
	}
	switch {
	case strings.Contains(name, "groups_name_unique"):
		return account.ErrGroupNameTaken
	case strings.Contains(name, "groups_external_unique"), strings.Contains(name, "groups.source"):
		return account.ErrGroupExternalTaken
	case foreign:
		return account.ErrGroupInUse
	}
	return err
}

// CreateGroup implements [account.GroupStore].
func (s *Store) CreateGroup(ctx context.Context, g *account.Group) error {
	r := rowOfGroup(g)
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		if err := tx.Create(r).Error; err != nil {
			return groupError(err)
		}
		return s.note(tx, "group.created", r.ID, r.Name, nil, []any{r})
	})
	g.ID = r.ID
	return wrap("insert group", err)
}

// Group implements [account.GroupStore].
func (s *Store) Group(ctx context.Context, id int64) (*account.Group, error) {
	r, err := take[groupRow](s.db.WithContext(ctx).Select(countMembers).Where("id = ?", id))
	if err != nil {
		return nil, wrap("select group", err)
	}
	return r.group(), nil
}

// ListGroups implements [account.GroupStore].
func (s *Store) ListGroups(ctx context.Context, q account.GroupQuery, p account.Page) ([]*account.Group, string, error) {
	db := s.db.WithContext(ctx)
	name := folded(db, "name")
	list := db.Model(&groupRow{}).Select(countMembers).Order(name).Limit(p.Limit + 1)
	if p.Cursor != "" {
		after, err := groupCursor(p.Cursor)
		if err != nil {
			return nil, "", err
		}
		list = list.Where(name+" > "+folded(db, "?"), after)
	}
	if q.Text != "" {
		list = list.Where(name+` LIKE `+folded(db, "?")+` ESCAPE '\'`, containing(q.Text))
	}
	if q.UserID != 0 {
		list = list.Where("id IN (?)", db.Model(&memberRow{}).Select("group_id").Where("user_id = ?", q.UserID))
	}
	var rows []groupRow
	if err := list.Find(&rows).Error; err != nil {
		return nil, "", wrap("list groups", err)
	}
	next := ""
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		next = base64.RawURLEncoding.EncodeToString([]byte("group:" + rows[p.Limit-1].Name))
	}
	return groups(rows), next, nil
}

func groups(rows []groupRow) []*account.Group {
	gs := make([]*account.Group, len(rows))
	for i := range rows {
		gs[i] = rows[i].group()
	}
	return gs
}

// GroupsOf implements [account.GroupStore].
func (s *Store) GroupsOf(ctx context.Context, userID int64) ([]*account.Group, error) {
	db := s.db.WithContext(ctx)
	var rows []groupRow
	err := db.Omit("Members").Where("id IN (?)", db.Model(&memberRow{}).Select("group_id").Where("user_id = ?", userID)).Order(folded(db, "name")).Find(&rows).Error
	return groups(rows), wrap("select groups of a user", err)
}

func groupCursor(s string) (after string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	after, ok := strings.CutPrefix(string(b), "group:")
	if err != nil || !ok || after == "" || strings.ToValidUTF8(after, "") != after || strings.ContainsRune(after, 0) {
		return "", fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
	}
	return after, nil
}

// UpdateGroup implements [account.GroupStore].
func (s *Store) UpdateGroup(ctx context.Context, id int64, fn func(*account.Group) error) (g *account.Group, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := Recheck(tx); err != nil {
			return err
		}
		r, err := lockGroup(tx, id)
		if err != nil {
			return err
		}
		g = r.group()
		if err := fn(g); err != nil {
			return err
		}
		g.ID, g.Version = r.ID, r.Version+1
		changed := rowOfGroup(g)
		if err := tx.Save(changed).Error; err != nil {
			return groupError(err)
		}
		if err := s.note(tx, "group.changed", r.ID, g.Name, []any{r}, []any{changed}); err != nil {
			return err
		}
		r, err = take[groupRow](tx.Select(countMembers).Where("id = ?", id))
		g = r.group()
		return err
	})
	if err != nil {
		return nil, wrap("update group", err)
	}
	return g, nil
}

func lockGroup(tx *gorm.DB, id int64) (*groupRow, error) {
	return take[groupRow](tx.Clauses(forUpdate).Omit("Members").Where("id = ?", id))
}

// DeleteGroup implements [account.GroupStore].
func (s *Store) DeleteGroup(ctx context.Context, id int64) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var members []int64
		if err := tx.Model(&memberRow{}).Where("group_id = ?", id).Pluck("user_id", &members).Error; err != nil {
			return err
		}
		if err := lockMembers(tx, members); err != nil { // before the group, as ChangeMembers does
			return err
		}
		r, err := lockGroup(tx, id)
		if err != nil {
			return err
		}
		if err := tx.Delete(&groupRow{ID: id}).Error; err != nil {
			return groupError(err)
		}
		return s.note(tx, "group.deleted", r.ID, r.Name, []any{r}, nil)
	})
	return wrap("delete group", err)
}

// GroupMembers implements [account.GroupStore].
func (s *Store) GroupMembers(ctx context.Context, id int64, text string, p account.Page) ([]*account.User, string, error) {
	db := s.db.WithContext(ctx)
	q := withText(db.Model(&userRow{}).Where("id IN (?)", db.Model(&memberRow{}).Select("user_id").Where("group_id = ?", id)), text)
	rows, next, err := page(q, p, func(r *userRow) int64 { return r.ID })
	if err != nil {
		return nil, "", wrap("list members", err)
	}
	return users(rows), next, nil
}

// lockMembers locks users, their delegates and the caller, and rechecks the caller's rights. Changes of members
// also change their users. Without the order, two changes could wait for each other.
func lockMembers(tx *gorm.DB, ids []int64) error {
	ids = slices.Clone(ids)
	if p, ok := account.FromContext(tx.Statement.Context); ok {
		ids = append(ids, p.UserID)
	}
	var delegates []int64 // who have the rights of the members
	for some := range slices.Chunk(ids, 1000) {
		var found []int64
		if err := tx.Model(&delegateRow{}).Where("user_id IN ?", some).Distinct().Pluck("delegate_id", &found).Error; err != nil {
			return err
		}
		delegates = append(delegates, found...)
	}
	ids = append(ids, delegates...)
	slices.Sort(ids)
	for _, only := range []string{"role = 'admin'", "true"} { // see lockOrder
		for some := range slices.Chunk(slices.Compact(ids), 1000) {
			var locked []int64
			err := tx.Model(&userRow{}).Clauses(forUpdate).Where("id IN ?", some).Where(only).Order("id").Pluck("id", &locked).Error
			if err != nil {
				return err
			}
		}
	}
	return recheckLocked(tx)
}

// ChangeMembers implements [account.GroupStore].
func (s *Store) ChangeMembers(ctx context.Context, id int64, add, remove []int64, check func(*account.Group) error) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := lockMembers(tx, slices.Concat(add, remove)); err != nil {
			return err
		}
		g, err := lockGroup(tx, id)
		if err != nil {
			return err
		}
		if err := check(g.group()); err != nil {
			return err
		}
		return s.changeMembers(tx, g, add, remove)
	})
	return wrap("change members", err)
}

func (s *Store) changeMembers(tx *gorm.DB, g *groupRow, add, remove []int64) error {
	var added, removed []int64
	add = slices.Compact(slices.Sorted(slices.Values(add)))
	for some := range slices.Chunk(add, 1000) {
		var known []int64
		if err := tx.Model(&userRow{}).Where("id IN ?", some).Pluck("id", &known).Error; err != nil {
			return err
		}
		if len(known) < len(some) {
			return account.ErrNotFound
		}
		rows := make([]memberRow, len(some))
		for i, u := range some {
			rows[i] = memberRow{UserID: u, GroupID: g.ID}
		}
		var before []int64
		if err := tx.Model(&memberRow{}).Where("group_id = ? AND user_id IN ?", g.ID, some).Pluck("user_id", &before).Error; err != nil {
			return err
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error; err != nil {
			return err
		}
		for _, u := range some {
			if !slices.Contains(before, u) {
				added = append(added, u)
			}
		}
	}
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(remove))), 1000) {
		var rows []memberRow
		err := tx.Clauses(clause.Returning{}).Where("group_id = ? AND user_id IN ?", g.ID, some).Delete(&rows).Error
		if err != nil {
			return err
		}
		for _, r := range rows {
			removed = append(removed, r.UserID)
		}
	}
	if len(added)+len(removed) == 0 {
		return nil
	}
	was, err := named(tx, removed)
	if err != nil {
		return err
	}
	is, err := named(tx, added)
	if err != nil {
		return err
	}
	return s.note(tx, "group.members_changed", g.ID, g.Name, []any{map[string]any{"removed": was, "added": []string{}}}, []any{map[string]any{"removed": []string{}, "added": is}})
}

// maxNamed is how many members one entry of the audit log names.
const maxNamed = 100

// named returns users for the audit log, the first of many by name.
func named(tx *gorm.DB, ids []int64) ([]string, error) {
	var rows []userRow
	first := ids[:min(len(ids), maxNamed)]
	if len(first) > 0 {
		if err := tx.Where("id IN ?", first).Order("id").Find(&rows).Error; err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(rows)+1)
	for _, r := range rows {
		names = append(names, r.Name)
	}
	if more := len(ids) - len(first); more > 0 {
		names = append(names, fmt.Sprintf("+%d", more))
	}
	return names, nil
}

// HasGroupsOf implements [account.GroupStore].
func (s *Store) HasGroupsOf(ctx context.Context, source string) (bool, error) {
	var ids []int64
	err := s.db.WithContext(ctx).Model(&groupRow{}).Where("source = ? AND source <> ''", source).Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, wrap("look for groups of a source", err)
}

// SetMemberships implements [account.GroupStore].
func (s *Store) SetMemberships(ctx context.Context, userID int64, source string, in func(string) bool) error {
	some, err := s.HasGroupsOf(ctx, source)
	if err != nil || !some {
		return err
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var locked []int64
		if err := tx.Model(&userRow{}).Clauses(forUpdate).Where(ofDelegates, map[string]any{"user": userID}).Order(lockOrder).Pluck("id", &locked).Error; err != nil {
			return err
		}
		if !slices.Contains(locked, userID) {
			return account.ErrNotFound
		}
		var all []groupRow
		if err := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthShare}).Omit("Members").Where("source = ? AND source <> ''", source).Order("id").Find(&all).Error; err != nil {
			return err
		}
		var of []int64
		if err := tx.Model(&memberRow{}).Where("user_id = ?", userID).Pluck("group_id", &of).Error; err != nil {
			return err
		}
		for i := range all {
			g := &all[i]
			var err error
			switch wanted, is := in(g.ExternalID), slices.Contains(of, g.ID); {
			case wanted && !is:
				err = s.changeMembers(tx, g, []int64{userID}, nil)
			case is && !wanted:
				err = s.changeMembers(tx, g, nil, []int64{userID})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return wrap("set memberships", err)
}
