package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/finding"
)

type favoriteRoomRow struct {
	UserID int64 `gorm:"primaryKey;autoIncrement:false"`
	RoomID int64 `gorm:"primaryKey;autoIncrement:false"`
}

func (favoriteRoomRow) TableName() string { return "favorite_rooms" }

func (s *Store) FavoriteRooms(ctx context.Context, userID int64) ([]int64, error) {
	ids := []int64{}
	err := s.db.WithContext(ctx).Model(&favoriteRoomRow{}).
		Joins("JOIN rooms ON rooms.id = favorite_rooms.room_id AND rooms.deleted_at IS NULL").
		Where("favorite_rooms.user_id = ?", userID).Order("favorite_rooms.room_id").
		Pluck("favorite_rooms.room_id", &ids).Error
	return ids, err
}

func (s *Store) AddFavoriteRoom(ctx context.Context, userID, roomID int64) error {
	return s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&favoriteRoomRow{UserID: userID, RoomID: roomID}).Error
}

func (s *Store) RemoveFavoriteRoom(ctx context.Context, userID, roomID int64) error {
	return s.db.WithContext(ctx).Delete(&favoriteRoomRow{UserID: userID, RoomID: roomID}).Error
}

// UsedRooms reads the organizer's index of meetings from its end.
func (s *Store) UsedRooms(ctx context.Context, userID int64, before time.Time, limit int) ([]finding.RecentRoom, error) {
	var rows []struct {
		RoomID   int64
		StartsAt time.Time
	}
	err := s.db.WithContext(ctx).Table("meetings AS m").Select("mr.room_id, m.starts_at").
		Joins("JOIN meeting_rooms AS mr ON mr.meeting_id = m.id").
		Joins("JOIN rooms ON rooms.id = mr.room_id AND rooms.deleted_at IS NULL").
		Where("m.organizer_id = ? AND m.starts_at < ?", userID, micro(before)).
		Where("m.status IN ?", []meeting.Status{meeting.Confirmed, meeting.InProgress, meeting.Ended}).
		Order("m.starts_at DESC, m.id DESC, mr.position").Limit(limit).Find(&rows).Error
	used := make([]finding.RecentRoom, len(rows))
	for i, r := range rows {
		used[i] = finding.RecentRoom{RoomID: r.RoomID, UsedAt: r.StartsAt}
	}
	return used, err
}
