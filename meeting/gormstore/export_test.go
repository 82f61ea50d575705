package gormstore

import (
	"time"

	"punctual/meeting"
)

// DueStatement is what Due runs, to look at its plan.
func (s *Store) DueStatement(job string, from, to time.Time, after meeting.DueCursor, limit int) (string, []any, error) {
	q, args, err := dueStatement(job, from, to, after, limit)
	return q[s.dialect], args, err
}
