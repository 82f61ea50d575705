package gormstore

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/photo"
)

type roomPhotoRow struct {
	RoomID int64 `gorm:"primaryKey;autoIncrement:false"`
	Large  []byte
	Small  []byte
	Bytes  int64
}

func (roomPhotoRow) TableName() string { return "room_photos" }

func (s *Store) SetRoomPhoto(ctx context.Context, id int64, p *photo.Photo, fn func(r *meeting.Room, others int64) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[roomRow](forUpdate(tx).Where("id = ? AND deleted_at IS NULL", id))
		if err != nil {
			return err
		}
		var others int64
		if err := tx.Model(&roomPhotoRow{}).Where("room_id <> ?", id).Select("COALESCE(SUM(bytes), 0)").Row().Scan(&others); err != nil {
			return err
		}
		room, before := (&fullRoom{Row: *row}).room(), *row
		if err := fn(room, others); err != nil {
			return err
		}
		if p == nil {
			err = tx.Delete(&roomPhotoRow{RoomID: id}).Error
		} else {
			photo := &roomPhotoRow{RoomID: id, Large: p.Large, Small: p.Small, Bytes: int64(len(p.Large) + len(p.Small))}
			err = tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(photo).Error
		}
		if err != nil {
			return err
		}
		row.Photo, row.Version, row.UpdatedAt = room.Photo, row.Version+1, micro(room.UpdatedAt)
		if err := tx.Model(row).Select("photo", "version", "updated_at").Updates(row).Error; err != nil {
			return err
		}
		return s.note(tx, "room.changed", id, row.Name, []any{&before}, []any{row})
	})
	if err != nil {
		return fmt.Errorf("set the photo of room %d: %w", id, err)
	}
	return nil
}

func (s *Store) RoomPhoto(ctx context.Context, id int64, small bool) ([]byte, string, error) {
	size := "large"
	if small {
		size = "small"
	}
	var found []struct {
		Picture []byte
		Photo   string
	}
	err := s.db.WithContext(ctx).Model(&roomPhotoRow{}).Select("room_photos."+size+" AS picture, rooms.photo").
		Joins("JOIN rooms ON rooms.id = room_photos.room_id AND rooms.deleted_at IS NULL").
		Where("room_photos.room_id = ?", id).Find(&found).Error
	if err != nil {
		return nil, "", fmt.Errorf("photo of room %d: %w", id, err)
	}
	if len(found) == 0 {
		return nil, "", meeting.ErrNotFound
	}
	return found[0].Picture, found[0].Photo, nil
}
