package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"punctual/meeting"
)

var selectHistory = write(`
	SELECT id, at, action, actor_kind, COALESCE(actor_id, 0), actor_name, changes, reason
	FROM history WHERE meeting_id = $1 AND id > $2 ORDER BY id LIMIT $3`)

type entry struct {
	id int64
	meeting.Entry
}

// History is in the order of what happened.
func (s *Store) History(ctx context.Context, id meeting.ID, p meeting.Page) (entries []meeting.Entry, next string, err error) {
	after, err := readCursor("history", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	var from int64
	if after != nil {
		from = after.ID
	}
	var found []entry
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		found = append(found, e)
		return err
	}, selectHistory, id, from, limit(p)+1)
	if err != nil {
		return nil, "", fmt.Errorf("history of meeting %d: %w", id, err)
	}
	found, next = paged(found, limit(p), func(e entry) position { return position{List: "history", ID: e.id} })
	for _, e := range found {
		entries = append(entries, e.Entry)
	}
	return entries, next, nil
}

func scanEntry(rows *sql.Rows) (entry, error) {
	var e entry
	var changes []byte
	if err := rows.Scan(&e.id, &e.At, &e.Action, &e.Actor.Kind, &e.Actor.ID, &e.Actor.Name, &changes, &e.Reason); err != nil {
		return e, err
	}
	if len(changes) > 0 {
		if err := json.Unmarshal(changes, &e.Changes); err != nil {
			return e, fmt.Errorf("changes: %w", err)
		}
	}
	return e, nil
}

// recordAll writes one entry of each meeting.
func (s *Store) recordAll(tx *gorm.DB, entries map[meeting.ID]meeting.Entry) error {
	var all []row
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		rows, err := s.dialect.historyRows(tx.Statement.Context, []meeting.Entry{entries[id]})
		if err != nil {
			return err
		}
		rows[0]["meeting_id"] = id
		all = append(all, rows...)
	}
	if len(all) == 0 {
		return nil
	}
	_, err := s.exec(tx, addAllHistory, table(all))
	return err
}
