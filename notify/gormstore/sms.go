package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/notify"
)

// Receive implements [notify.Ledger].
func (l *Ledger) Receive(ctx context.Context, rs []notify.Receipt) error {
	for _, r := range rs {
		err := l.db.WithContext(ctx).Model(&row{}).
			Where("id = ? AND version = ? AND channel = ? AND reception NOT IN ?", r.ID, r.Version, notify.SMS, []notify.Reception{notify.Delivered, r.Reception}).
			Updates(map[string]any{"reception": r.Reception, "reception_at": micro(r.At), "reception_reason": clean(cut(r.Reason, maxReason))}).Error
		if err != nil {
			return fmt.Errorf("record receipt of notification %d: %w", r.ID, err)
		}
	}
	return nil
}

const maxReason = 500

func cut(s string, most int) string { return s[:min(len(s), most)] }

// smsDay is a row of the table sms_days.
type smsDay struct {
	Day        string `gorm:"primaryKey"` // 2027-02-10
	Segments   int64
	NotifiedAt *time.Time
}

func (smsDay) TableName() string { return "sms_days" }

// ReserveSegments adds segments of text messages to those of a day. ok is false, and nothing is added, if the
// sum would exceed limit; 0: no limit. All processes share the sum.
func (l *Ledger) ReserveSegments(ctx context.Context, day string, segments, limit int) (ok bool, err error) {
	if limit > 0 && segments > limit {
		segments, ok = 0, false // the row is needed to note that admins were notified
	}
	conflict := clause.OnConflict{
		Columns:   []clause.Column{{Name: "day"}},
		DoUpdates: clause.Assignments(map[string]any{"segments": gorm.Expr("sms_days.segments + ?", segments)}),
	}
	if limit > 0 {
		conflict.Where = clause.Where{Exprs: []clause.Expression{gorm.Expr("sms_days.segments + ? <= ?", segments, limit)}}
	}
	res := l.db.WithContext(ctx).Clauses(conflict).Create(&smsDay{Day: day, Segments: int64(segments)})
	if res.Error != nil {
		return false, fmt.Errorf("reserve segments: %w", res.Error)
	}
	return res.RowsAffected == 1 && segments > 0, nil
}

// ReleaseSegments subtracts segments that were reserved and not sent.
func (l *Ledger) ReleaseSegments(ctx context.Context, day string, segments int) error {
	err := l.db.WithContext(ctx).Model(&smsDay{}).Where("day = ?", day).Update("segments", gorm.Expr("segments - ?", segments)).Error
	if err != nil {
		return fmt.Errorf("release segments: %w", err)
	}
	return nil
}

// NotifySMSLimit records ns, unless it did so for this day before. IDs are 0 then.
func (l *Ledger) NotifySMSLimit(ctx context.Context, day string, ns []notify.Notification) error {
	return l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Model(&smsDay{}).Where("day = ? AND notified_at IS NULL", day).Update("notified_at", micro(tx.NowFunc()))
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return l.Insert(tx, ns)
	})
}
