package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"

	"punctual/notify/render"
)

// calendarIdentity returns what the UIDs of this installation's events end in. The first start
// makes it up, and all instances get the same. domain is what UIDs ended in before an upgrade.
func calendarIdentity(ctx context.Context, db *gorm.DB, domain string) (id render.Identity, err error) {
	made := make([]byte, 16)
	rand.Read(made) // never fails
	db = db.WithContext(ctx)
	err = db.Exec("UPDATE calendar_identity SET domain = ?, former_domain = ? WHERE domain IS NULL", hex.EncodeToString(made)+".punctual", domain).Error
	if err == nil {
		err = db.Raw("SELECT domain, former_domain, former_meeting, former_series FROM calendar_identity").Row().
			Scan(&id.Domain, &id.FormerDomain, &id.FormerMeeting, &id.FormerSeries)
	}
	if err != nil {
		return id, fmt.Errorf("calendar identity: %w", err)
	}
	return id, nil
}
