package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"punctual/meeting"
)

var getStates = load("standings")

// NoticeStates returns the states that decide whether notices about meetings are still current.
func (s *Store) NoticeStates(ctx context.Context, ids []meeting.ID) (map[meeting.ID]meeting.NoticeState, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	found := make(map[meeting.ID]meeting.NoticeState, len(ids))
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var id meeting.ID
		var m meeting.NoticeState
		err := rows.Scan(&id, &m.Status, &m.Slot.Start, &m.Slot.End, &m.Request)
		found[id] = m
		return err
	}, getStates, s.ids(ids...))
	if err != nil {
		return nil, fmt.Errorf("standings of meetings: %w", err)
	}
	return found, nil
}
