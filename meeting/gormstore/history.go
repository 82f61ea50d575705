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

// An entry that changed the visibility or the rooms holds the previous value.
const (
	selectOpened = `SELECT COALESCE(max(h.id), 0) FROM history AS h
	WHERE h.meeting_id = $1 AND ({postgres: h.changes->'visibility'->>'from'}{sqlite: json_extract(h.changes, '$.visibility.from')} = 'private'
		OR EXISTS (SELECT 1 FROM room_limits AS l WHERE {postgres: h.changes->'room_ids'->'from' @> to_jsonb(l.room_id)}` +
		`{sqlite: l.room_id IN (SELECT value FROM json_each(h.changes, '$.room_ids.from'))} AND `
)

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
	entries, err = collect(s, s.db.WithContext(ctx), scanEntry, selectHistory, id, from, limit(p)+1)
	if err != nil {
		return nil, "", fmt.Errorf("history of meeting %d: %w", id, err)
	}
	entries, next = paged(entries, limit(p), func(e meeting.Entry) position { return position{List: "history", ID: e.ID} })
	return entries, next, nil
}

// OpenedBy reads one row of few: the histories of meetings are short.
func (s *Store) OpenedBy(ctx context.Context, by meeting.Actor, id meeting.ID) (entry int64, err error) {
	c := conditions{args: []any{id}}
	text := selectOpened + s.unread(by, &c) + "))"
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error { return rows.Scan(&entry) }, write(text), c.args...)
	if err != nil {
		return 0, fmt.Errorf("when meeting %d was made public: %w", id, err)
	}
	return entry, nil
}

func scanEntry(rows *sql.Rows) (meeting.Entry, error) {
	var e meeting.Entry
	var changes []byte
	if err := rows.Scan(&e.ID, &e.At, &e.Action, &e.Actor.Kind, &e.Actor.ID, &e.Actor.Name, &changes, &e.Reason); err != nil {
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
	var all []historyRow
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		rows, err := historyRows(tx.Statement.Context, id, []meeting.Entry{entries[id]})
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	return insert(tx, all)
}
