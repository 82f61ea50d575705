package gormstore

import (
	"context"
	"fmt"
	"time"

	"punctual/delayjob/admin"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Pauses implements [admin.Decisions]. Safe for concurrent use.
type Pauses struct {
	db    *gorm.DB
	trail Trail
}

// NewPauses returns the decisions in db, whose schema is migrated.
func NewPauses(db *gorm.DB) *Pauses { return &Pauses{db, silence{}} }

type jobSetting struct {
	Job      string `gorm:"primaryKey"`
	PausedAt *time.Time
	PausedBy string
}

func (jobSetting) TableName() string { return "job_settings" }

// Pause records that by has paused a job. If the job is already paused, the first record stays
// until Resume.
func (s *Pauses) Pause(ctx context.Context, job, by string, at time.Time) error {
	err := s.change(ctx, "job.paused", job, func(tx *gorm.DB) *gorm.DB {
		return tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "job"}},
			DoUpdates: clause.AssignmentColumns([]string{"paused_at", "paused_by"}),
			Where:     clause.Where{Exprs: []clause.Expression{gorm.Expr("job_settings.paused_at IS NULL")}},
		}).Create(&jobSetting{Job: job, PausedAt: new(at.UTC().Truncate(time.Microsecond)), PausedBy: by})
	})
	if err != nil {
		return fmt.Errorf("note that %s is paused: %w", job, err)
	}
	return nil
}

// Resume notes that a job is no longer paused.
func (s *Pauses) Resume(ctx context.Context, job string) error {
	err := s.change(ctx, "job.resumed", job, func(tx *gorm.DB) *gorm.DB {
		return tx.Model(&jobSetting{}).Where("job = ? AND paused_at IS NOT NULL", job).
			Updates(map[string]any{"paused_at": nil, "paused_by": ""})
	})
	if err != nil {
		return fmt.Errorf("note that %s goes on: %w", job, err)
	}
	return nil
}

// change notes a change that affects a row.
func (s *Pauses) change(ctx context.Context, action, job string, do func(*gorm.DB) *gorm.DB) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := do(tx)
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return s.trail.Note(tx, action, job, job, nil, nil)
	})
}

// Paused are the jobs that are paused, by name.
func (s *Pauses) Paused(ctx context.Context) (map[string]admin.Pause, error) {
	var rows []jobSetting
	if err := s.db.WithContext(ctx).Where("paused_at IS NOT NULL").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list the paused jobs: %w", err)
	}
	m := make(map[string]admin.Pause, len(rows))
	for _, r := range rows {
		m[r.Job] = admin.Pause{Job: r.Job, At: r.PausedAt.UTC(), By: r.PausedBy}
	}
	return m, nil
}
