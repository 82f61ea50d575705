package gormstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
)

type mailAddressRow struct {
	Address string `gorm:"primaryKey"`
	RoomID  *int64
	SiteID  *int64
}

func (mailAddressRow) TableName() string { return "mail_addresses" }

// saveAddress gives a room or a site another mail address. It returns [meeting.ErrAddressTaken] if
// another one has it.
func saveAddress(tx *gorm.DB, before string, now mailAddressRow) error {
	if before == now.Address {
		return nil
	}
	if err := tx.Where("address = ?", before).Delete(&mailAddressRow{}).Error; err != nil || now.Address == "" {
		return err
	}
	inserted := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&now)
	if inserted.Error == nil && inserted.RowsAffected == 0 {
		return meeting.ErrAddressTaken
	}
	return inserted.Error
}

// ByAddress returns the room or the site with a mail address, given as its local part in lower case.
// Both are 0 if there is none.
func (s *Store) ByAddress(ctx context.Context, address string) (roomID, siteID int64, err error) {
	row, err := gorm.G[mailAddressRow](s.db).Where("address = ?", address).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("look up address: %w", err)
	}
	return orZero(row.RoomID), orZero(row.SiteID), nil
}
