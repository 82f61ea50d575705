package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"

	"punctual/notify/render"
)

type calendarIdentityRow struct {
	OnlyRow       int `gorm:"primaryKey"`
	Domain        string
	FormerDomain  string
	FormerMeeting int64
	FormerSeries  int64
}

func (calendarIdentityRow) TableName() string { return "calendar_identity" }

// calendarIdentity returns the domain of the UIDs of this installation's events. The first start
// creates it, and all instances share it. domain is the domain used before an upgrade.
func calendarIdentity(ctx context.Context, db *gorm.DB, domain string) (render.Identity, error) {
	db = db.WithContext(ctx)
	var r calendarIdentityRow
	err := db.Take(&r).Error
	if err == nil && r.Domain == "" {
		made := make([]byte, 16)
		rand.Read(made) // never fails
		err = db.Model(&r).Where("domain IS NULL").
			Updates(map[string]any{"domain": hex.EncodeToString(made) + ".punctual", "former_domain": domain}).Error
		if err == nil {
			err = db.Take(&r).Error // another instance may have been faster
		}
	}
	if err != nil {
		return render.Identity{}, fmt.Errorf("calendar identity: %w", err)
	}
	return render.Identity{Domain: r.Domain, FormerDomain: r.FormerDomain, FormerMeeting: r.FormerMeeting, FormerSeries: r.FormerSeries}, nil
}
