package gormstore

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/notify"
)

// batch limits the rows of one statement: enough to make its fixed cost negligible, few enough to
// keep a parameter below some megabytes.
const batch = 2000

// Insert stores ns in the transaction tx and sets the ID of each. A notification whose DedupeKey
// exists, in the table or earlier in ns, is ignored and keeps ID 0. It runs one statement per
// batch, with constant text.
func (l *Ledger) Insert(tx *gorm.DB, ns []notify.Notification) error {
	// Sorted by key, so that two transactions that insert some of the same notifications cannot
	// deadlock.
	order := make([]*notify.Notification, len(ns))
	for i := range ns {
		ns[i].ID = 0
		order[i] = &ns[i]
	}
	slices.SortStableFunc(order, func(a, b *notify.Notification) int {
		return cmp.Compare(a.DedupeKey, b.DedupeKey)
	})
	insert := insertSQLite
	if tx.Name() == "postgres" {
		insert = insertPostgres
	}
	now := micro(tx.NowFunc())
	if err := l.applyQuota(tx, order, now); err != nil {
		return err
	}
	for part := range slices.Chunk(order, batch) {
		if err := insert(tx, part, now); err != nil {
			return fmt.Errorf("insert %d notifications: %w", len(ns), err)
		}
	}
	return nil
}

// Withdraw cancels the pending notifications of some kinds about these meetings, in the
// transaction tx. Without kinds it cancels reminders. It does not stop a notification that is
// being sent.
func (l *Ledger) Withdraw(tx *gorm.DB, meetingIDs []int64, kinds ...notify.Kind) error {
	if len(kinds) == 0 {
		kinds = []notify.Kind{notify.Reminder}
	}
	// The text is constant for any number of meetings. gorm would expand a slice into parameters.
	among := func(n int) string { return fmt.Sprintf("IN (SELECT value FROM json_each($%d))", n) }
	array := func(v any) (any, error) {
		b, err := json.Marshal(v)
		return string(b), err
	}
	if tx.Name() == "postgres" {
		among = func(n int) string { return fmt.Sprintf("= ANY ($%d)", n) }
		array = func(v any) (any, error) { return v, nil }
	}
	q := `UPDATE notifications SET state = 'cancelled', updated_at = $1 WHERE meeting_id ` + among(2) + ` AND kind ` + among(3) + ` AND state = 'pending'`
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	ids, err1 := array(meetingIDs)
	of, err2 := array(names)
	_, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, q, micro(tx.NowFunc()), ids, of)
	if err = cmp.Or(err1, err2, err); err != nil {
		return fmt.Errorf("withdraw notifications: %w", err)
	}
	return nil
}

const insertInto = `INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, user_id, name, address, locale,
	timezone, facts, due_at, expires_at, state, last_error, thread, scope, organizer, created_at, updated_at) `

const onConflict = ` ON CONFLICT (dedupe_key) DO NOTHING RETURNING id, dedupe_key`

func insertPostgres(tx *gorm.DB, ns []*notify.Notification, now time.Time) error {
	const q = insertInto + `
		SELECT k, kind, channel, NULLIF(meeting, 0), NULLIF(person, 0), name, address, locale, timezone, facts::jsonb,
			due, expires, state, error, thread, scope, organizer, $18, $18
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
			$9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[],
			$15::text[], $16::bigint[], $17::text[])
			AS x(k, kind, channel, meeting, person, name, address, locale, timezone, facts, due, expires, state, error, thread, scope, organizer)` +
		onConflict
	var (
		text     [12][]string
		meetings = make([]int64, len(ns))
		people   = make([]int64, len(ns))
		scopes   = make([]int64, len(ns))
		due      = make([]time.Time, len(ns))
		expires  = make([]*time.Time, len(ns))
	)
	for i := range text {
		text[i] = make([]string, len(ns))
	}
	for i, n := range ns {
		facts, err := json.Marshal(n.Facts)
		if err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		for j, s := range [...]string{
			n.DedupeKey, string(n.Kind), string(n.Channel), n.To.Name, n.To.Address, n.To.Locale,
			n.To.Timezone, string(facts), state(n), n.LastError, n.Thread(), n.Organizer(),
		} {
			text[j][i] = s
		}
		meetings[i], people[i], scopes[i], due[i] = n.MeetingID, n.To.UserID, n.Scope(), micro(n.Due)
		if !n.Expires.IsZero() {
			expires[i] = new(micro(n.Expires))
		}
	}
	return setIDs(tx, ns, q, text[0], text[1], text[2], meetings, people, text[3], text[4], text[5],
		text[6], text[7], due, expires, text[8], text[9], text[10], scopes, text[11], now)
}

func insertSQLite(tx *gorm.DB, ns []*notify.Notification, now time.Time) error {
	const q = insertInto + `
		SELECT value->>0, value->>1, value->>2, NULLIF(value->>3, 0), NULLIF(value->>4, 0), value->>5, value->>6, value->>7,
			value->>8, value->>9, value->>10, value->>11, value->>12, value->>13, value->>14, value->>15, value->>16, $2, $2
		FROM json_each($1) WHERE true` + onConflict // "WHERE true" separates the SELECT from ON, which could start a join
	rows := make([][17]any, len(ns))
	for i, n := range ns {
		facts, err := json.Marshal(n.Facts)
		if err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		var expires any
		if !n.Expires.IsZero() {
			expires = n.Expires.UnixMicro()
		}
		rows[i] = [...]any{
			n.DedupeKey, n.Kind, n.Channel, n.MeetingID, n.To.UserID, n.To.Name, n.To.Address, n.To.Locale,
			n.To.Timezone, string(facts), n.Due.UnixMicro(), expires, state(n), n.LastError,
			n.Thread(), n.Scope(), n.Organizer(),
		}
	}
	table, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return setIDs(tx, ns, q, string(table), now)
}

func state(n *notify.Notification) string {
	return string(cmp.Or(n.State, notify.Pending))
}

// setIDs runs an insert that returns the id and dedupe_key of new rows. It uses the connection
// directly, because gorm would expand a slice into parameters.
func setIDs(tx *gorm.DB, ns []*notify.Notification, q string, args ...any) (err error) {
	rows, err := tx.Statement.ConnPool.QueryContext(tx.Statement.Context, q, args...)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	ids, err := readIDs(rows, len(ns))
	if err != nil {
		return err
	}
	for _, n := range ns {
		n.ID = ids[n.DedupeKey]
		delete(ids, n.DedupeKey) // only the first of several with the same key was inserted
	}
	return nil
}

func readIDs(rows *sql.Rows, n int) (map[string]int64, error) {
	ids := make(map[string]int64, n)
	for rows.Next() {
		var id int64
		var key string
		if err := rows.Scan(&id, &key); err != nil {
			return nil, err
		}
		ids[key] = id
	}
	return ids, rows.Err()
}
