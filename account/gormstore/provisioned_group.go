package gormstore

import (
	"context"

	"gorm.io/gorm"

	"punctual/account"
)

// ListProvisionedGroups implements [account.ProvisionedGroupStore].
func (s *Store) ListProvisionedGroups(ctx context.Context, source string, q account.ProvisionedGroupQuery, offset, limit int) ([]*account.Group, int64, error) {
	db := s.db.WithContext(ctx)
	list := db.Model(&groupRow{}).Where("source = ?", source)
	if q.ID != 0 {
		list = list.Where("id = ?", q.ID)
	}
	if q.Name != "" {
		list = list.Where(folded(db, "name")+" = "+folded(db, "?"), q.Name)
	}
	if q.ExternalID != "" {
		list = list.Where("external_id = ?", q.ExternalID)
	}
	list = list.Session(&gorm.Session{})
	var total int64
	if err := list.Count(&total).Error; err != nil {
		return nil, 0, wrap("count groups", err)
	}
	var rows []groupRow
	if limit > 0 {
		if err := list.Select(countMembers).Order("id").Offset(offset).Limit(limit).Find(&rows).Error; err != nil {
			return nil, 0, wrap("list groups", err)
		}
	}
	return groups(rows), total, nil
}

// MemberIDs implements [account.ProvisionedGroupStore].
func (s *Store) MemberIDs(ctx context.Context, id int64) (ids []int64, err error) {
	err = s.db.WithContext(ctx).Model(&memberRow{}).Where("group_id = ?", id).Order("user_id").Pluck("user_id", &ids).Error
	return ids, wrap("list members", err)
}
