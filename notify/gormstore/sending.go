package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"punctual/notify"
)

// clock returns the SQL of the current time. Postgres uses its own clock, because those of
// processes may differ; SQLite has none and uses now.
func (l *Ledger) clock(now time.Time) (sql string, args []any) {
	if l.db.Name() == "postgres" {
		return `clock_timestamp()`, nil
	}
	return `?`, []any{micro(now)}
}

// leaseEnd returns the SQL of the end of a lease that starts now.
func (l *Ledger) leaseEnd(now time.Time, lease time.Duration) (sql string, arg any) {
	if l.db.Name() == "postgres" {
		return `clock_timestamp() + ? * interval '1 microsecond'`, lease.Microseconds()
	}
	return `?`, micro(now.Add(lease))
}

// isOneOf returns the SQL of a condition on a [list] of values. Its text is constant for any
// number of values.
func (l *Ledger) isOneOf(kind string) string {
	if l.db.Name() == "postgres" {
		return `= ANY (ARRAY(SELECT CAST(v AS ` + kind + `) FROM jsonb_array_elements_text(CAST(? AS jsonb)) AS v))`
	}
	return `IN (SELECT value FROM json_each(?))`
}

func list[T int64 | string](values []T) string {
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return string(b)
}

// attemptState is a row and the data that decides whether an attempt may begin.
type attemptState struct {
	Row      row   `gorm:"embedded"`
	Busy     int64 // remaining microseconds of its lease
	InThread bool  // other rows of its thread matter
}

// calendarKinds is [notify.CalendarKinds] as SQL.
const calendarKinds = `('invitation', 'change', 'cancellation')`

func (l *Ledger) attemptStates(ctx context.Context, ids []int64, now time.Time) (map[int64]attemptState, error) {
	busy, args := `COALESCE((EXTRACT(EPOCH FROM n.sending_until - clock_timestamp()) * 1000000)::bigint, 0)`, []any{list(ids)}
	if l.db.Name() != "postgres" {
		busy, args = `COALESCE(n.sending_until - ?, 0)`, []any{now.UnixMicro(), list(ids)}
	}
	var rows []attemptState
	err := l.db.WithContext(ctx).Raw(`SELECT `+columns+`, `+busy+` AS busy,
			n.thread <> '' AND EXISTS (SELECT 1 FROM notifications q WHERE q.thread = n.thread AND q.thread <> '' AND q.id <> n.id
				AND (q.state IN ('pending', 'sending') OR q.id > n.id AND q.kind IN `+calendarKinds+`)) AS in_thread
		FROM notifications n WHERE n.id `+l.isOneOf("bigint"), args...).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("select notifications: %w", err)
	}
	byID := make(map[int64]attemptState, len(rows))
	for _, r := range rows {
		byID[r.Row.ID] = r
	}
	return byID, nil
}

// mayBegin reports whether the row itself allows the requested attempt, regardless of its thread.
func (s attemptState) mayBegin(a notify.BeginRequest, now time.Time) bool {
	if s.Row.Version != a.Version || s.Row.ExpiresAt != nil && s.Row.ExpiresAt.Before(now) {
		return false
	}
	switch notify.State(s.Row.State) {
	case notify.Pending:
		return true
	case notify.Sending:
		return s.Busy <= 0
	case notify.Failed:
		return a.Revive
	}
	return false
}

// Begin implements [notify.Ledger]. If supersede and start race for rows of a thread, supersede
// locks the older row, so that start sees it as final or sending.
func (l *Ledger) Begin(ctx context.Context, requests []notify.BeginRequest, now time.Time, lease time.Duration, screen notify.Screen) ([]notify.BeginResult, error) {
	now = micro(now)
	begun := make([]notify.BeginResult, 0, len(requests))
	for part := range slices.Chunk(requests, batch) {
		some, err := l.beginPart(ctx, part, now, lease, screen)
		if err != nil {
			return nil, err
		}
		begun = append(begun, some...)
	}
	return begun, nil
}

func (l *Ledger) beginPart(ctx context.Context, requests []notify.BeginRequest, now time.Time, lease time.Duration, screen notify.Screen) ([]notify.BeginResult, error) {
	ids := make([]int64, len(requests))
	for i, a := range requests {
		ids[i] = a.ID
	}
	rows, err := l.attemptStates(ctx, ids, now)
	if err != nil {
		return nil, err
	}
	var ready, revive []int64
	var threads []string
	var candidates []notify.Notification
	for _, a := range requests {
		r, ok := rows[a.ID]
		if !ok || !r.mayBegin(a, now) {
			continue
		}
		n, err := r.Row.notification()
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, n)
		ready = append(ready, a.ID)
		if r.InThread {
			threads = append(threads, n.Thread())
		}
		if n.State == notify.Failed {
			revive = append(revive, a.ID)
		}
	}
	var objections map[int64]notify.Objection
	if screen != nil && len(candidates) > 0 {
		if objections, err = screen(ctx, candidates); err != nil {
			return nil, fmt.Errorf("screen notifications: %w", err)
		}
		ready = slices.DeleteFunc(ready, func(id int64) bool { return objections[id].State != "" })
	}
	if len(threads) > 0 {
		if err := l.supersede(ctx, threads, now); err != nil {
			return nil, err
		}
	}
	started, err := l.start(ctx, ready, revive, now, lease)
	if err != nil {
		return nil, err
	}
	if len(started) < len(ready) { // another process was faster, or other rows of the thread matter
		if rows, err = l.attemptStates(ctx, ids, now); err != nil {
			return nil, err
		}
	}
	return results(requests, rows, started, objections, now)
}

func results(requests []notify.BeginRequest, rows map[int64]attemptState, started map[int64]startedRow, objections map[int64]notify.Objection, now time.Time) ([]notify.BeginResult, error) {
	begun := make([]notify.BeginResult, len(requests))
	for i, a := range requests {
		r, ok := rows[a.ID]
		if !ok {
			continue
		}
		n, err := r.Row.notification()
		if err != nil {
			return nil, err
		}
		b := notify.BeginResult{Notification: n, Objection: objections[a.ID]}
		s, ok := started[a.ID]
		unfinished := n.State == notify.Pending || n.State == notify.Sending
		switch {
		case ok:
			delete(started, a.ID) // a second request for the same row waits
			b.State, b.Version, b.Attempts, b.SendingAt = notify.Sending, s.Version, s.Attempts, s.SendingAt.UTC()
		case n.Version == a.Version && unfinished && !n.Expired(now):
			b.Wait = max(time.Duration(r.Busy)*time.Microsecond, threadPause(now.Sub(n.Due)))
		}
		begun[i] = b
	}
	return begun, nil
}

// threadPause returns when to check again whether older rows of a thread are final. It grows with
// the delay of the row.
func threadPause(late time.Duration) time.Duration {
	return min(max(late/8, 50*time.Millisecond), 5*time.Second)
}

// open returns the SQL that selects rows n that no process is sending, and its arguments.
func (l *Ledger) open(now time.Time) (sql string, args []any) {
	clock, at := l.clock(now)
	return `(n.state = 'pending' OR n.state = 'sending' AND (n.sending_until IS NULL OR n.sending_until <= ` + clock + `))`, at
}

// newer returns the SQL of the rows c that cover n in its thread.
func newer(n string) string {
	return strings.ReplaceAll(`FROM notifications c WHERE c.thread = n.thread AND c.thread <> '' AND c.id > n.id AND c.kind IN `+calendarKinds+`
		AND c.state <> 'cancelled' AND (c.scope = 0 OR c.scope = n.scope AND c.scope > 0)`, "n.", n+".")
}

// covered returns the SQL of whether a newer row covers n.
func covered(n string) string {
	return `(` + n + `.kind IN ` + calendarKinds + ` AND EXISTS (SELECT 1 ` + newer(n) + `))`
}

// supersede updates the rows that newer rows of their thread cover.
func (l *Ledger) supersede(ctx context.Context, threads []string, now time.Time) error {
	open, at := l.open(now)
	args := append([]any{now, list(threads)}, at...)
	err := l.db.WithContext(ctx).Exec(`UPDATE notifications AS n SET state = 'superseded', sending_until = NULL, updated_at = ?,
			last_error = 'superseded by notification ' || (SELECT max(c.id) `+newer("n")+`)
		WHERE n.thread `+l.isOneOf("text")+` AND n.thread <> '' AND `+open+` AND `+covered("n"), args...).Error
	if err != nil {
		return fmt.Errorf("supersede notifications: %w", err)
	}
	return nil
}

type startedRow struct {
	ID        int64
	Version   int64
	Attempts  int
	SendingAt time.Time
}

// start begins attempts at rows, except where an older row of the thread is not final. Expired
// rows and dead letters do not block newer rows.
func (l *Ledger) start(ctx context.Context, ids, revive []int64, now time.Time, lease time.Duration) (map[int64]startedRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	end, until := l.leaseEnd(now, lease)
	open, at := l.open(now)
	args := append([]any{now, until, now, list(ids)}, at...)
	if len(revive) > 0 {
		open += ` OR n.state = 'failed' AND n.id ` + l.isOneOf("bigint")
		args = append(args, list(revive))
	}
	var rows []startedRow
	err := l.db.WithContext(ctx).Raw(`UPDATE notifications AS n
		SET state = 'sending', attempts = attempts + 1, sending_at = ?, sending_until = `+end+`, updated_at = ?
		WHERE n.id `+l.isOneOf("bigint")+` AND (`+open+`) AND (n.expires_at IS NULL OR n.expires_at >= ?)
			AND (n.thread = '' OR NOT EXISTS (SELECT 1 FROM notifications p
				WHERE p.thread = n.thread AND p.thread <> '' AND p.id < n.id AND p.state IN ('pending', 'sending')
				AND (p.state = 'sending' OR p.expires_at IS NULL OR p.expires_at >= ?)
				AND NOT EXISTS (SELECT 1 FROM job_failures f
					WHERE f.job = 'notify.' || p.channel AND f.key = CAST(p.id AS text) AND f.version >= p.version)))
		RETURNING id, version, attempts, sending_at`, append(args, now, now)...).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("begin notifications: %w", err)
	}
	started := make(map[int64]startedRow, len(rows))
	for _, r := range rows {
		started[r.ID] = r
	}
	return started, nil
}

// Keep implements [notify.Ledger]. If another process took over a lease meanwhile, it is extended
// too, which is harmless: that process extends it as well.
func (l *Ledger) Keep(ctx context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (map[int64]bool, error) {
	end, until := l.leaseEnd(now, lease)
	kept := make(map[int64]bool, len(begun))
	for part := range slices.Chunk(slices.Collect(maps.Keys(begun)), batch) {
		var rows []struct {
			ID        int64
			SendingAt time.Time
		}
		err := l.db.WithContext(ctx).Raw(`UPDATE notifications SET sending_until = `+end+`
			WHERE id `+l.isOneOf("bigint")+` AND state = 'sending' RETURNING id, sending_at`, until, list(part)).Scan(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("extend notification leases: %w", err)
		}
		for _, r := range rows {
			kept[r.ID] = r.SendingAt.Equal(begun[r.ID])
		}
	}
	return kept, nil
}
