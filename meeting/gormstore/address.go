package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
// Both are 0 if there is none. The address of a site may ask for features, as in berlin+video.
func (s *Store) ByAddress(ctx context.Context, address string) (roomID, siteID int64, err error) {
	row, err := gorm.G[mailAddressRow](s.db).Where("address = ?", address).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		site, _, asks := strings.Cut(address, "+")
		if !asks {
			return 0, 0, nil
		}
		if _, siteID, err = s.ByAddress(ctx, site); err != nil {
			return 0, 0, err
		}
		return 0, siteID, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("look up address: %w", err)
	}
	return orZero(row.RoomID), orZero(row.SiteID), nil
}

// FeaturesAsked returns the features that an address of a site asks for: those of its rooms whose tags follow the plus
// signs. A tag that no room has is returned as it is.
func (s *Store) FeaturesAsked(ctx context.Context, siteID int64, address string) ([]string, error) {
	tags := strings.Split(address, "+")[1:]
	row, err := gorm.G[mailAddressRow](s.db).Where("site_id = ?", siteID).Take(ctx)
	if err == nil { // a plus sign of its own says nothing
		rest, _ := strings.CutPrefix(address, row.Address)
		tags = strings.Split(rest, "+")[1:]
	} else if !errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fmt.Errorf("look up the address of site %d: %w", siteID, err)
	}
	if len(tags) == 0 {
		return nil, nil
	}
	rooms, err := gorm.G[roomRow](s.db).Select("features").Where("site_id = ? AND active AND deleted_at IS NULL", siteID).Order("id").Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("features of site %d: %w", siteID, err)
	}
	features := make([]string, len(tags))
	for i, tag := range tags {
		features[i] = tag
		for _, r := range rooms {
			if at := slices.IndexFunc(r.Features, func(f string) bool { return meeting.FeatureTag(f) == tag }); at >= 0 {
				features[i] = r.Features[at]
				break
			}
		}
	}
	return features, nil
}
