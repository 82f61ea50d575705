// Package gormstore keeps what a flush of the queue must not lose: dead letters, which the loaders'
// queries leave out, the jobs that operators paused, how late jobs ran, and the jobs and webhooks of
// topics.
package gormstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/delayjob"
	"punctual/delayjob/admin"
)

// DeadLetters implements [admin.Records]. Safe for concurrent use.
type DeadLetters struct {
	db    *gorm.DB
	trail Trail
}

// NewDeadLetters returns the dead letters of db, whose schema is migrated.
func NewDeadLetters(db *gorm.DB) *DeadLetters { return &DeadLetters{db, silence{}} }

const errorKept = 4000 // bytes of an error text

// RecordFailures stores dead letters; a later death of the same message replaces an earlier one.
func (s *DeadLetters) RecordFailures(ctx context.Context, fs ...delayjob.Failure) error {
	if len(fs) == 0 {
		return nil
	}
	byID := make(map[string]int, len(fs))
	rows := make([]admin.DeadLetter, 0, len(fs))
	for _, f := range fs {
		row := admin.DeadLetter{
			Job: f.Job, Key: f.Key, Version: f.Version, Attempts: f.Attempt,
			Error: strings.ToValidUTF8(f.Error[:min(len(f.Error), errorKept)], ""), DeadAt: f.At.UTC().Truncate(time.Microsecond),
		}
		if i, twice := byID[f.ID()]; twice {
			rows[i] = row
			continue
		}
		byID[f.ID()] = len(rows)
		rows = append(rows, row)
	}
	err := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "job"}, {Name: "key"}},
		DoUpdates: clause.AssignmentColumns([]string{"version", "attempts", "error", "dead_at", "discarded_at"}),
	}).CreateInBatches(rows, 500).Error
	if err != nil {
		return fmt.Errorf("record dead letters: %w", err)
	}
	return nil
}

// matching restricts q to the open records that f chooses.
func matching(f admin.Filter, q *gorm.DB) *gorm.DB {
	q = q.Where("discarded_at IS NULL")
	if f.Job != "" {
		q = q.Where("job = ?", f.Job)
	}
	if f.ErrorContains != "" {
		literal := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.ErrorContains)
		fold := "lower"
		if q.Name() == "sqlite" { // whose lower knows ASCII alone
			fold = "fold"
		}
		q = q.Where(fold+"(error) LIKE "+fold+`(?) ESCAPE '\'`, "%"+literal+"%")
	}
	return q
}

// List implements [admin.Records].
func (s *DeadLetters) List(ctx context.Context, f admin.Filter, cursor string, limit int) (fs []admin.DeadLetter, next string, err error) {
	q := matching(f, s.db.WithContext(ctx)).Order("dead_at DESC, job, key").Limit(limit + 1)
	if cursor != "" {
		at, err := decodeCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		q = q.Where("(dead_at < ?) OR (dead_at = ? AND (job, key) > (?, ?))", at.DeadAt, at.DeadAt, at.Job, at.Key)
	}
	if err := q.Find(&fs).Error; err != nil {
		return nil, "", fmt.Errorf("list dead letters: %w", err)
	}
	if len(fs) > limit {
		fs = fs[:limit]
		next = encodeCursor(fs[limit-1])
	}
	return fs, next, nil
}

// Count implements [admin.Records].
func (s *DeadLetters) Count(ctx context.Context) (map[string]int, error) {
	var rows []struct {
		Job string
		N   int
	}
	err := s.db.WithContext(ctx).Model(&admin.DeadLetter{}).Select("job, count(*) AS n").Where("discarded_at IS NULL").Group("job").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	counts := make(map[string]int, len(rows))
	for _, r := range rows {
		counts[r.Job] = r.N
	}
	return counts, nil
}

// Discard implements [admin.Records]. The record stays: the loader leaves out the message at this
// version.
func (s *DeadLetters) Discard(ctx context.Context, id string, at time.Time) (bool, error) {
	job, key := delayjob.SplitID(id)
	var closed []admin.DeadLetter
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Model(&closed).Clauses(clause.Returning{}).Where("job = ? AND key = ? AND discarded_at IS NULL", job, key).
			Update("discarded_at", at.UTC().Truncate(time.Microsecond)).Error
		if err != nil || len(closed) == 0 {
			return err
		}
		return s.trail.Note(tx, discarded, id, id, died(closed[0]), nil)
	})
	if err != nil {
		return false, fmt.Errorf("discard the dead letter %s: %w", id, err)
	}
	return len(closed) > 0, nil
}

// Get implements [admin.Records].
func (s *DeadLetters) Get(ctx context.Context, id string) (f admin.DeadLetter, err error) {
	job, key := delayjob.SplitID(id)
	switch err := s.db.WithContext(ctx).Where("job = ? AND key = ?", job, key).Take(&f).Error; {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return f, delayjob.ErrNotFound
	case err != nil:
		return f, fmt.Errorf("read the dead letter %s: %w", id, err)
	}
	return f, nil
}

// Forget implements [admin.Records]. The loader then loads the messages again if their work is still
// pending. If a message died again after the record was read, its new record stays.
func (s *DeadLetters) Forget(ctx context.Context, fs ...admin.DeadLetter) (int, error) {
	n := 0
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for some := range slices.Chunk(fs, 200) {
			q := tx.Where("1 = 0")
			for _, f := range some {
				q = q.Or("job = ? AND key = ? AND dead_at = ?", f.Job, f.Key, f.DeadAt.UTC())
			}
			res := q.Delete(&admin.DeadLetter{})
			if res.Error != nil {
				return res.Error
			}
			n += int(res.RowsAffected)
			for _, f := range some {
				if err := s.trail.Note(tx, requeued, f.ID(), f.ID(), died(f), nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("forget dead letters: %w", err)
	}
	return n, nil
}

type position struct {
	DeadAt   time.Time
	Job, Key string
}

func encodeCursor(f admin.DeadLetter) string {
	b, _ := json.Marshal(position{f.DeadAt.UTC(), f.Job, f.Key}) // plain fields cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(c string) (p position, err error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Job == "" || p.DeadAt.IsZero() || strings.ContainsRune(p.Job+p.Key, 0) { // which a database may refuse
		return position{}, admin.ErrCursor
	}
	return p, nil
}
