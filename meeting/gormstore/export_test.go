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

// Scanning returns the store with pages that compare only n meetings where no index finds what matches,
// and an index that may take its time.
func (s *Store) Scanning(n int) *Store {
	scanning := *s
	scanning.scan, scanning.searchFor = n, time.Minute
	return &scanning
}
