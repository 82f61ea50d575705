package gormstore

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"punctual/meeting"
)

type publicAccessRow struct {
	SiteID *int64
	RoomID *int64
	Show   meeting.PublicShow
}

func (publicAccessRow) TableName() string { return "public_access" }

// PublicAccess is ordered by site, then by room.
func (s *Store) PublicAccess(ctx context.Context) (all []meeting.PublicAccess, err error) {
	var rows []publicAccessRow
	if err := s.db.WithContext(ctx).Order("site_id IS NULL, site_id, room_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("public access: %w", err)
	}
	for _, r := range rows {
		all = append(all, meeting.PublicAccess{SiteID: orZero(r.SiteID), RoomID: orZero(r.RoomID), Show: r.Show})
	}
	return all, nil
}

func (s *Store) SetPublicAccess(ctx context.Context, a meeting.PublicAccess) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, where, action := publicAccessRow{RoomID: &a.RoomID, Show: a.Show}, "room_id = ?", "room.changed"
		id, name := a.RoomID, ""
		if a.SiteID != 0 {
			row, where, action, id = publicAccessRow{SiteID: &a.SiteID, Show: a.Show}, "site_id = ?", "site.changed", a.SiteID
			site, err := take[siteRow](forUpdate(tx).Where("id = ?", id))
			if err != nil {
				return err
			}
			name = site.Name
		} else {
			room, err := take[roomRow](forUpdate(tx).Where("id = ? AND deleted_at IS NULL", id))
			if err != nil {
				return err
			}
			name = room.Name
		}
		var before []publicAccessRow
		if err := tx.Where(where, id).Find(&before).Error; err != nil {
			return err
		}
		if err := tx.Where(where, id).Delete(&publicAccessRow{}).Error; err != nil {
			return err
		}
		if a.Show != "" {
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
		}
		was := meeting.PublicShow("")
		if len(before) > 0 {
			was = before[0].Show
		}
		if was == a.Show {
			return nil
		}
		return s.note(tx, action, id, name, []any{map[string]any{"public": was}}, []any{map[string]any{"public": a.Show}})
	})
	if err != nil {
		return fmt.Errorf("set public access: %w", err)
	}
	return nil
}
