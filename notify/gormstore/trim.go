package gormstore

import (
	"context"
	"fmt"
	"time"
)

// Trim deletes up to limit final rows created before the given time, and returns how many.
func (l *Ledger) Trim(ctx context.Context, before time.Time, limit int) (int64, error) {
	db := l.db.WithContext(ctx)
	const isOld = "created_at < ? AND state NOT IN ('pending', 'sending')"
	old := db.Model(&row{}).Select("id").Where(isOld, micro(before)).Order("created_at, id").Limit(limit)
	done := db.Where("id IN (?)", old).Where(isOld, micro(before)).Delete(&row{}) // again: an undo may have revived one meanwhile
	if done.Error != nil {
		return 0, fmt.Errorf("delete old notifications: %w", done.Error)
	}
	return done.RowsAffected, nil
}
