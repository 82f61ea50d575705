package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/policy"
)

// accessJSON is how access is stored with a room or a site.
type accessJSON struct {
	See             []int64 `json:"see,omitempty"`
	Details         []int64 `json:"details,omitempty"`
	Book            []int64 `json:"book,omitempty"`
	WithoutApproval []int64 `json:"book_without_approval,omitempty"`
	Override        []int64 `json:"override,omitempty"`
}

func accessRow(a meeting.Access) *accessJSON {
	return &accessJSON{See: a.See, Details: a.Details, Book: a.Book, WithoutApproval: a.WithoutApproval, Override: a.Override}
}

func (a *accessJSON) access() *meeting.Access {
	if a == nil {
		return nil
	}
	return &meeting.Access{See: a.See, Details: a.Details, Book: a.Book, WithoutApproval: a.WithoutApproval, Override: a.Override}
}

// accessGroupRow keeps a group that a room or a site names from being deleted.
type accessGroupRow struct {
	GroupID int64
	RoomID  *int64
	SiteID  *int64
}

func (accessGroupRow) TableName() string { return "access_groups" }

// saveAccess records which groups the room or site of a row names, for access and for the quota of a room. It
// returns a fault if one does not exist.
func saveAccess(tx *gorm.DB, of accessGroupRow, a *meeting.Access, q *policy.Quota) error {
	if err := tx.Where(&of).Delete(&accessGroupRow{}).Error; err != nil {
		return err
	}
	if a != nil {
		if err := nameGroups(tx, of, a.Groups(), "access"); err != nil {
			return err
		}
	}
	if q == nil {
		return nil
	}
	groups := make([]int64, len(q.Groups))
	for i, g := range q.Groups {
		groups[i] = g.GroupID
	}
	return nameGroups(tx, of, groups, "policy.quota.groups")
}

func nameGroups(tx *gorm.DB, of accessGroupRow, groups []int64, location string) error {
	var rows []accessGroupRow
	for _, id := range groups {
		row := of
		row.GroupID = id
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	err := tx.Create(&rows).Error
	pg, ok := errors.AsType[*pgconn.PgError](err)
	lite, okLite := errors.AsType[*driver.Error](err)
	if ok && pg.Code == "23503" || okLite && lite.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY {
		return fault.Invalid(location, "unknown_group", "must name groups that exist")
	}
	return err
}

func (s *Store) GroupsOf(ctx context.Context, userID int64) ([]int64, error) {
	return groupsOf(s.db.WithContext(ctx), userID)
}

func groupsOf(tx *gorm.DB, userID int64) (groups []int64, err error) {
	var lists []string
	err = tx.Table("users").Where("id = ?", userID).Pluck("group_ids", &lists).Error
	if err == nil && len(lists) > 0 {
		err = json.Unmarshal([]byte(lists[0]), &groups)
	}
	if err != nil {
		return nil, fmt.Errorf("groups of user %d: %w", userID, err)
	}
	return groups, nil
}
