package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/policy"
)

type typeRow struct {
	ID          int64
	Name        string
	Names       map[string]string `gorm:"serializer:json"`
	Color       meeting.Color
	MinRole     meeting.Role
	SiteIDs     []int64 `gorm:"column:site_ids;serializer:json"`
	RoomIDs     []int64 `gorm:"column:room_ids;serializer:json"`
	QuotaExempt bool
	Active      bool
	Version     int64
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
}

func (typeRow) TableName() string { return "meeting_types" }

func newTypeRow(t *meeting.Type) *typeRow {
	return &typeRow{
		ID: t.ID, Name: t.Name, Names: t.Names, Color: t.Color, MinRole: t.MinRole, SiteIDs: list(t.SiteIDs), RoomIDs: list(t.RoomIDs),
		QuotaExempt: t.QuotaExempt, Active: t.Active, Version: t.Version, CreatedAt: micro(t.CreatedAt), UpdatedAt: micro(t.UpdatedAt),
	}
}

func (r *typeRow) kind() *meeting.Type {
	return &meeting.Type{
		ID: r.ID, MeetingType: policy.MeetingType{Name: r.Name, SiteIDs: list(r.SiteIDs), RoomIDs: list(r.RoomIDs)}, Names: r.Names, Color: r.Color, MinRole: r.MinRole,
		QuotaExempt: r.QuotaExempt, Active: r.Active, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func (s *Store) CreateType(ctx context.Context, t *meeting.Type) error {
	row := newTypeRow(t)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row.ID = 0
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		return s.note(tx, "type.created", row.ID, row.Name, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create type: %w", err)
	}
	t.ID, t.Version = row.ID, row.Version
	return nil
}

func (s *Store) Type(ctx context.Context, id int64) (*meeting.Type, error) {
	row, err := take[typeRow](s.db.WithContext(ctx).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("type %d: %w", id, err)
	}
	return row.kind(), nil
}

// Types is ordered by name.
func (s *Store) Types(ctx context.Context) (types []*meeting.Type, err error) {
	var rows []*typeRow
	if err := s.db.WithContext(ctx).Order("lower(name), id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list types: %w", err)
	}
	for _, r := range rows {
		types = append(types, r.kind())
	}
	return types, nil
}

func (s *Store) UpdateType(ctx context.Context, id int64, fn func(*meeting.Type) error) (*meeting.Type, error) {
	var t *meeting.Type
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[typeRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return fmt.Errorf("update type %d: %w", id, err)
		}
		t = row.kind()
		if err := fn(t); err != nil {
			return err
		}
		t.ID, t.Version = row.ID, row.Version+1
		changed := newTypeRow(t)
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return fmt.Errorf("update type %d: %w", id, err)
		}
		return s.note(tx, "type.changed", id, changed.Name, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (s *Store) DeleteType(ctx context.Context, id int64, fn func(*meeting.Type) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[typeRow](forRemoval(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := fn(row.kind()); err != nil {
			return err
		}
		for _, model := range []any{&meetingRow{}, &seriesRow{}} {
			var used []int64
			if err := tx.Model(model).Where("type_id = ?", id).Limit(1).Pluck("id", &used).Error; err != nil {
				return err
			}
			if len(used) > 0 {
				return &meeting.InUseError{What: "the meeting type"}
			}
		}
		if err := tx.Delete(&typeRow{}, id).Error; err != nil {
			return err
		}
		return s.note(tx, "type.deleted", id, row.Name, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete type %d: %w", id, err)
	}
	return nil
}

// quotaExempt returns those of the meetings that are exempt from quotas by their type.
func (s *Store) quotaExempt(tx *gorm.DB, ms []*meeting.Meeting) (exempt map[*meeting.Meeting]bool, err error) {
	var ids []int64
	for _, m := range ms {
		if m.TypeID != 0 && len(m.Claims()) > 0 {
			ids = append(ids, m.TypeID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var found []int64
	if err := tx.Model(&typeRow{}).Where("quota_exempt AND id IN ?", ids).Pluck("id", &found).Error; err != nil {
		return nil, err
	}
	exempt = map[*meeting.Meeting]bool{}
	for _, m := range ms {
		for _, id := range found {
			exempt[m] = exempt[m] || m.TypeID == id
		}
	}
	return exempt, nil
}
