package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Settings are what operators decided about jobs, kept where a flush of the queue cannot lose
// it. Safe for concurrent use.
type Settings struct {
	db    *gorm.DB
	trail Trail
}

// NewSettings returns the settings in db, whose schema is migrated.
func NewSettings(db *gorm.DB) *Settings { return &Settings{db, silence{}} }

// Pause says that nothing of a job is to be handed out.
type Pause struct {
	Job string
	At  time.Time `gorm:"column:paused_at"`
	By  string    `gorm:"column:paused_by"`
}

// Equal tells whether both are the same decision.
func (p Pause) Equal(o Pause) bool { return p.Job == o.Job && p.At.Equal(o.At) && p.By == o.By }

// Pause notes that by has paused a job. Who paused it first counts, until Resume.
func (s *Settings) Pause(ctx context.Context, job, by string, at time.Time) error {
	err := s.change(ctx, "job.paused", job, `INSERT INTO job_settings (job, paused_at, paused_by) VALUES (?, ?, ?)
		ON CONFLICT (job) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by
		WHERE job_settings.paused_at IS NULL`, job, at.UTC().Truncate(time.Microsecond), by)
	if err != nil {
		return fmt.Errorf("note that %s is paused: %w", job, err)
	}
	return nil
}

// Resume notes that a job is no longer paused.
func (s *Settings) Resume(ctx context.Context, job string) error {
	err := s.change(ctx, "job.resumed", job, "UPDATE job_settings SET paused_at = NULL, paused_by = '' WHERE job = ? AND paused_at IS NOT NULL", job)
	if err != nil {
		return fmt.Errorf("note that %s goes on: %w", job, err)
	}
	return nil
}

// change notes what a statement does, if it does anything.
func (s *Settings) change(ctx context.Context, action, job, q string, args ...any) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Exec(q, args...)
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return s.trail.Note(tx, action, job, job, nil, nil)
	})
}

// Paused are the jobs that are paused, by name.
func (s *Settings) Paused(ctx context.Context) (map[string]Pause, error) {
	var rows []Pause
	err := s.db.WithContext(ctx).Raw("SELECT job, paused_at, paused_by FROM job_settings WHERE paused_at IS NOT NULL").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list the paused jobs: %w", err)
	}
	m := make(map[string]Pause, len(rows))
	for _, r := range rows {
		r.At = r.At.UTC()
		m[r.Job] = r
	}
	return m, nil
}
