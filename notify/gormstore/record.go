package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"punctual/notify"
)

// Record implements [notify.Ledger]. It runs one statement per batch, with constant text.
func (l *Ledger) Record(ctx context.Context, outcomes []notify.Outcome) (map[int64]notify.Point, error) {
	record := l.recordSQLite
	if l.db.Name() == "postgres" {
		record = l.recordPostgres
	}
	next := map[int64]notify.Point{}
	for part := range slices.Chunk(outcomes, batch) {
		if err := record(ctx, part, next); err != nil {
			return nil, fmt.Errorf("record %d notifications: %w", len(part), err)
		}
	}
	return next, nil
}

// record returns the statement for a table x of outcomes. count is the SQL for the number of
// failures of a row, more for its failures plus one, also an additional condition.
func record(x, count, more, also string) string {
	next := func(column string) string {
		return `CASE WHEN notifications.thread <> '' AND notifications.state NOT IN ('pending', 'sending') THEN (
			SELECT q.` + column + ` FROM notifications q WHERE q.thread = notifications.thread AND q.thread <> '' AND q.id <> notifications.id
				AND q.state = 'pending' AND q.due_at <= notifications.updated_at AND NOT ` + covered("q") + ` ORDER BY q.id LIMIT 1) END`
	}
	return `UPDATE notifications
		SET state = x.state, attempts = notifications.attempts - x.uncharged, last_error = x.error, sending_until = NULL, updated_at = x.at,
			message_id = CASE x.message_id WHEN '' THEN notifications.message_id ELSE x.message_id END,
			sent_at = CASE x.state WHEN 'sent' THEN x.at ELSE notifications.sent_at END,
			failures = CASE WHEN x.error <> '' AND x.uncharged = 0 AND x.state NOT IN ('skipped', 'superseded') AND ` + count + ` < 50 THEN ` + more + ` ELSE notifications.failures END
		FROM ` + x + `
		WHERE notifications.id = x.id AND notifications.version = x.version AND notifications.state <> 'sent'
			AND (x.state = 'sent' OR notifications.state IN ('pending', 'sending') AND (x.begun IS NULL OR notifications.sending_at = x.begun)
				OR notifications.state = 'failed' AND x.state IN ('skipped', 'superseded'))` + also + `
		RETURNING notifications.id, ` + next("id") + `, ` + next("version")
}

var (
	// The extra list of IDs makes the planner look up each row by ID.
	recordPostgres = record(`unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::text[], $6::text[], $7::timestamptz[], $8::text[], $9::timestamptz[])
			AS x(id, version, state, uncharged, message_id, error, at, at_text, begun)`,
		`jsonb_array_length(notifications.failures)`,
		`notifications.failures || jsonb_build_object('at', x.at_text, 'attempt', notifications.attempts, 'error', x.error)`,
		` AND notifications.id = ANY($1::bigint[])`)
	recordSQLite = record(`(SELECT value->>0 AS id, value->>1 AS version, value->>2 AS state, value->>3 AS uncharged, value->>4 AS message_id,
			value->>5 AS error, value->>6 AS at, value->>7 AS at_text, value->>8 AS begun FROM json_each($1)) AS x`,
		`json_array_length(notifications.failures)`,
		`json_insert(notifications.failures, '$[#]', json_object('at', x.at_text, 'attempt', notifications.attempts, 'error', x.error))`, "")
)

func (l *Ledger) recordPostgres(ctx context.Context, outcomes []notify.Outcome, next map[int64]notify.Point) error {
	var (
		ids, versions            = make([]int64, len(outcomes)), make([]int64, len(outcomes))
		states, messages, errors = make([]string, len(outcomes)), make([]string, len(outcomes)), make([]string, len(outcomes))
		uncharged                = make([]int32, len(outcomes))
		at, begun                = make([]time.Time, len(outcomes)), make([]*time.Time, len(outcomes))
		texts                    = make([]string, len(outcomes))
	)
	for i, o := range outcomes {
		ids[i], versions[i], states[i], messages[i], errors[i] = o.ID, o.Version, string(o.State), o.MessageID, clean(o.Error)
		at[i], texts[i] = micro(o.At), micro(o.At).Format(time.RFC3339Nano)
		if o.Uncharged {
			uncharged[i] = 1
		}
		if !o.Begun.IsZero() {
			begun[i] = new(micro(o.Begun))
		}
	}
	return l.record(ctx, next, recordPostgres, ids, versions, states, uncharged, messages, errors, at, texts, begun)
}

func (l *Ledger) recordSQLite(ctx context.Context, outcomes []notify.Outcome, next map[int64]notify.Point) error {
	rows := make([][9]any, len(outcomes))
	for i, o := range outcomes {
		at := micro(o.At)
		rows[i] = [...]any{o.ID, o.Version, o.State, 0, o.MessageID, clean(o.Error), at.UnixMicro(), at.Format(time.RFC3339Nano), nil}
		if o.Uncharged {
			rows[i][3] = 1
		}
		if !o.Begun.IsZero() {
			rows[i][8] = micro(o.Begun).UnixMicro()
		}
	}
	table, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return l.record(ctx, next, recordSQLite, string(table))
}

// record adds to next the rows that follow those that are now final. It uses the connection
// directly, because gorm would expand a slice into parameters.
func (l *Ledger) record(ctx context.Context, next map[int64]notify.Point, q string, args ...any) error {
	rows, err := l.db.WithContext(ctx).Statement.ConnPool.QueryContext(ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var follower, version *int64
		if err := rows.Scan(&id, &follower, &version); err != nil {
			return err
		}
		if follower != nil {
			next[id] = notify.Point{ID: *follower, Version: *version}
		}
	}
	return rows.Err()
}
