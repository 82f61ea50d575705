package gormstore

import (
	"context"
	"fmt"
	"time"

	"punctual/delayjob/admin"

	"gorm.io/gorm"
)

// Pauses implements [admin.Decisions]. Safe for concurrent use.
type Pauses struct {
	db    *gorm.DB
	trail Trail
}

// NewPauses returns the decisions in db, whose schema is migrated.
func NewPauses(db *gorm.DB) *Pauses { return &Pauses{db, silence{}} }

// Pause records that by has paused a job. If the job is already paused, the first record stays
// until Resume.
func (s *Pauses) Pause(ctx context.Context, job, by string, at time.Time) error {
	err := s.change(ctx, "job.paused", job, `INSERT INTO job_settings (job, paused_at, paused_by) VALUES (?, ?, ?)
		ON CONFLICT (job) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by
		WHERE job_settings.paused_at IS NULL`, job, at.UTC().Truncate(time.Microsecond), by)
	if err != nil {
		return fmt.Errorf("note that %s is paused: %w", job, err)
	}
	return nil
}

// Resume notes that a job is no longer paused.
func (s *Pauses) Resume(ctx context.Context, job string) error {
	err := s.change(ctx, "job.resumed", job, "UPDATE job_settings SET paused_at = NULL, paused_by = '' WHERE job = ? AND paused_at IS NOT NULL", job)
	if err != nil {
		return fmt.Errorf("note that %s goes on: %w", job, err)
	}
	return nil
}

// change notes what a statement does, if it does anything.
func (s *Pauses) change(ctx context.Context, action, job, q string, args ...any) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Exec(q, args...)
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return s.trail.Note(tx, action, job, job, nil, nil)
	})
}

// Paused are the jobs that are paused, by name.
func (s *Pauses) Paused(ctx context.Context) (map[string]admin.Pause, error) {
	var rows []admin.Pause
	err := s.db.WithContext(ctx).Raw("SELECT job, paused_at, paused_by FROM job_settings WHERE paused_at IS NOT NULL").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list the paused jobs: %w", err)
	}
	m := make(map[string]admin.Pause, len(rows))
	for _, r := range rows {
		r.At = r.At.UTC()
		m[r.Job] = r
	}
	return m, nil
}
