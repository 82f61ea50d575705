// Package gormstore keeps the engine's dead letters in the database, where a flush of the
// queue cannot lose them and the loaders' queries can leave them out.
package gormstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/delayjob"
)

// Failures is a [delayjob.FailureSink] on Postgres or SQLite. Safe for concurrent use.
type Failures struct{ db *gorm.DB }

// NewFailures returns the dead letters of db, whose schema is migrated.
func NewFailures(db *gorm.DB) *Failures { return &Failures{db: db} }

// Failure is one recorded dead letter.
type Failure struct {
	Job      string
	Key      string
	Version  int64
	Attempts int
	Error    string
	DeadAt   time.Time
}

// ID of the message that died.
func (f Failure) ID() string { return delayjob.MessageID(f.Job, f.Key) }

func (Failure) TableName() string { return "job_failures" }

const errorKept = 4000 // bytes of an error text

// RecordFailures stores dead letters; a later death of the same message replaces an earlier one.
func (s *Failures) RecordFailures(ctx context.Context, fs ...delayjob.Failure) error {
	if len(fs) == 0 {
		return nil
	}
	byID := make(map[string]int, len(fs))
	rows := make([]Failure, 0, len(fs))
	for _, f := range fs {
		row := Failure{
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
		DoUpdates: clause.AssignmentColumns([]string{"version", "attempts", "error", "dead_at"}),
	}).CreateInBatches(rows, 500).Error
	if err != nil {
		return fmt.Errorf("record dead letters: %w", err)
	}
	return nil
}

// List pages through dead letters, the latest first; an empty job means all. An empty cursor
// starts, an empty next cursor ends.
func (s *Failures) List(ctx context.Context, job, cursor string, limit int) (fs []Failure, next string, err error) {
	q := s.db.WithContext(ctx).Order("dead_at DESC, job, key").Limit(limit + 1)
	if job != "" {
		q = q.Where("job = ?", job)
	}
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

// Forget deletes the records of messages, so that the loader takes them up again if they are
// still pending; it tells how many there were.
func (s *Failures) Forget(ctx context.Context, ids ...string) (int, error) {
	n := 0
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for _, id := range ids {
			job, key := delayjob.SplitID(id)
			res := tx.Where("job = ? AND key = ?", job, key).Delete(&Failure{})
			if res.Error != nil {
				return res.Error
			}
			n += int(res.RowsAffected)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("forget dead letters: %w", err)
	}
	return n, nil
}

// ErrCursor says that a cursor is none of ours.
var ErrCursor = fmt.Errorf("malformed cursor")

type position struct {
	DeadAt   time.Time
	Job, Key string
}

func encodeCursor(f Failure) string {
	b, _ := json.Marshal(position{f.DeadAt.UTC(), f.Job, f.Key}) // plain fields cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(c string) (p position, err error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return position{}, ErrCursor
	}
	return p, nil
}
