package gormstore

import (
	"context"
	"fmt"
	"time"

	"punctual/delayjob/lateness"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Lateness keeps how late jobs ran, added up by hour over all processes. Safe for concurrent use.
type Lateness struct{ db *gorm.DB }

// NewLateness returns the counts in db, whose schema is migrated.
func NewLateness(db *gorm.DB) *Lateness { return &Lateness{db} }

type lateRow struct {
	Job     string
	Hour    time.Time
	BoundUS int64 `gorm:"column:bound_us"`
	Count   int64
	MaxUS   int64 `gorm:"column:max_us"`
}

func (lateRow) TableName() string { return "job_lateness" }

func (r *lateRow) count() lateness.Count {
	return lateness.Count{
		Job: r.Job, Hour: r.Hour.UTC(), Count: r.Count,
		Bound: time.Duration(r.BoundUS) * time.Microsecond, Max: time.Duration(r.MaxUS) * time.Microsecond,
	}
}

// Add adds to the counts, a thousand in a statement; those of one call differ in job, hour or bound.
// Calls at the same time must order them alike, lest they wait for each other.
func (l *Lateness) Add(ctx context.Context, counts []lateness.Count) error {
	if len(counts) == 0 {
		return nil
	}
	rows := make([]lateRow, len(counts))
	for i, c := range counts {
		rows[i] = lateRow{Job: c.Job, Hour: c.Hour.UTC(), BoundUS: c.Bound.Microseconds(), Count: c.Count, MaxUS: c.Max.Microseconds()}
	}
	err := l.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "hour"}, {Name: "job"}, {Name: "bound_us"}},
		DoUpdates: clause.Assignments(map[string]any{
			"count":  gorm.Expr("job_lateness.count + excluded.count"),
			"max_us": gorm.Expr("CASE WHEN excluded.max_us > job_lateness.max_us THEN excluded.max_us ELSE job_lateness.max_us END"),
		}),
	}).CreateInBatches(rows, 1000).Error
	if err != nil {
		return fmt.Errorf("note how late jobs ran: %w", err)
	}
	return nil
}

// Hours adds up the hours that begin within [from, to) of a job, or of all jobs if it is empty, by
// hour and bound; their Job is empty.
func (l *Lateness) Hours(ctx context.Context, job string, from, to time.Time) ([]lateness.Count, error) {
	var rows []lateRow
	q := l.sums(ctx, "hour, bound_us", from, to)
	if job != "" {
		q = q.Where("job = ?", job)
	}
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("how late jobs ran by the hour: %w", err)
	}
	counts := make([]lateness.Count, len(rows))
	for i := range rows {
		counts[i] = rows[i].count()
	}
	return counts, nil
}

// sums adds up the hours that begin within [from, to).
func (l *Lateness) sums(ctx context.Context, by string, from, to time.Time) *gorm.DB {
	return l.db.WithContext(ctx).Model(&lateRow{}).Select(by+", CAST(sum(count) AS bigint) AS count, max(max_us) AS max_us").
		Where("hour >= ? AND hour < ?", from.UTC(), to.UTC()).Group(by).Order(by)
}

// Between adds up the hours that begin within [from, to), by job and bound; their Hour is zero.
func (l *Lateness) Between(ctx context.Context, from, to time.Time) ([]lateness.Count, error) {
	var rows []lateRow
	if err := l.sums(ctx, "job, bound_us", from, to).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("how late jobs ran: %w", err)
	}
	counts := make([]lateness.Count, len(rows))
	for i := range rows {
		counts[i] = rows[i].count()
		counts[i].Hour = time.Time{}
	}
	return counts, nil
}

// Trim forgets the hours that began before an instant.
func (l *Lateness) Trim(ctx context.Context, before time.Time) error {
	err := l.db.WithContext(ctx).Where("hour < ?", before.UTC()).Delete(&lateRow{}).Error
	if err != nil {
		return fmt.Errorf("trim how late jobs ran: %w", err)
	}
	return nil
}
