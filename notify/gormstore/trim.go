package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// trimStep limits one statement of [Ledger.Trim].
const trimStep = 500

// trimLock is the Postgres advisory lock of the process that trims.
const trimLock = 0x70756e6374726d // "punctrm"

// Trim deletes final rows created before the given time, in steps with a pause between, and
// returns their number. While another process trims it deletes nothing.
func (l *Ledger) Trim(ctx context.Context, before time.Time, pause time.Duration) (total int64, err error) {
	for {
		var some int64
		err := l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if tx.Name() == "postgres" {
				mine := false
				if err := tx.Raw(`SELECT pg_try_advisory_xact_lock(?)`, trimLock).Scan(&mine).Error; err != nil || !mine {
					return err
				}
			}
			var ids []int64
			err := tx.Model(&row{}).Where("created_at < ? AND state NOT IN ('pending', 'sending')", micro(before)).
				Order("created_at, id").Limit(trimStep).Pluck("id", &ids).Error
			if err != nil || len(ids) == 0 {
				return err
			}
			some = int64(len(ids))
			return tx.Delete(&row{}, ids).Error
		})
		if err != nil {
			return total, fmt.Errorf("delete old notifications: %w", err)
		}
		if total += some; some < trimStep {
			return total, nil
		}
		select {
		case <-ctx.Done():
			return total, ctx.Err()
		case <-time.After(pause):
		}
	}
}
