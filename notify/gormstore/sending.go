package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"punctual/notify"
)

// list returns the parameter for a set of values: the text of the statement is constant for any number.
func list[T any](values []T) string {
	if len(values) == 0 {
		return "[]"
	}
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return string(b)
}

// ownClock adds now to the parameters of a statement on SQLite. Postgres uses its own clock, because
// those of processes may differ.
func (l *Ledger) ownClock(now any, args ...any) []any {
	if l.db.Name() == "postgres" {
		return args
	}
	return append(args, now)
}

// attemptState is a row and the data that decides whether an attempt may begin.
type attemptState struct {
	Row      row   `gorm:"embedded"`
	Busy     int64 // remaining microseconds of its lease
	InThread bool  // other rows of its thread matter

	Overtakes bool // calendars of its thread are due later, although they are older
	Uninvited bool // see [notify.Notification]
}

func (l *Ledger) attemptStates(ctx context.Context, ids []int64, now time.Time) (map[int64]attemptState, error) {
	var rows []attemptState
	err := statements.Raw(l.db.WithContext(ctx), "attempt_states", l.ownClock(now.UnixMicro(), list(ids))...).Find(&rows).Error
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
	var threads, overtaken []string
	var overtaking []int64
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
		n.Uninvited = r.Uninvited
		candidates = append(candidates, n)
		ready = append(ready, a.ID)
		if r.InThread {
			threads = append(threads, n.Thread())
		}
		if r.Overtakes {
			overtaken, overtaking = append(overtaken, n.Thread()), append(overtaking, a.ID)
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
		rejected := func(id int64) bool { return objections[id].State != "" }
		ready, overtaking = slices.DeleteFunc(ready, rejected), slices.DeleteFunc(overtaking, rejected)
	}
	if len(threads) > 0 {
		if err := l.supersede(ctx, threads, now); err != nil {
			return nil, err
		}
	}
	released, err := l.release(ctx, overtaking, overtaken, now)
	if err != nil {
		return nil, err
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
	return results(requests, rows, started, objections, released, now)
}

func results(requests []notify.BeginRequest, rows map[int64]attemptState, started map[int64]row, objections map[int64]notify.Objection, released map[string]notify.Point, now time.Time) ([]notify.BeginResult, error) {
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
			if first, ok := released[r.Row.Thread]; ok && first.ID < n.ID {
				b.First = first
				delete(released, r.Row.Thread) // another request for the thread waits
			}
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

// supersede updates the rows that newer rows of their thread cover.
func (l *Ledger) supersede(ctx context.Context, threads []string, now time.Time) error {
	if err := statements.Exec(l.db.WithContext(ctx), "supersede", now, list(threads)).Error; err != nil {
		return fmt.Errorf("supersede notifications: %w", err)
	}
	return nil
}

// release makes due the rows that wait for the end of quiet hours, although newer calendars of their thread are
// about to be sent. It returns the oldest by thread.
func (l *Ledger) release(ctx context.Context, ids []int64, threads []string, now time.Time) (map[string]notify.Point, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []row
	err := statements.Raw(l.db.WithContext(ctx), "release", now, list(ids), list(threads), notify.QuietReason).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("release notifications: %w", err)
	}
	oldest := make(map[string]notify.Point, len(rows))
	for _, r := range rows {
		if o, ok := oldest[r.Thread]; !ok || r.ID < o.ID {
			oldest[r.Thread] = notify.Point{ID: r.ID, Version: r.Version}
		}
	}
	return oldest, nil
}

// start begins attempts at rows, except where an older row of the thread is not final.
func (l *Ledger) start(ctx context.Context, ids, revive []int64, now time.Time, lease time.Duration) (map[int64]row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []row
	err := statements.Raw(l.db.WithContext(ctx), "start", now, lease.Microseconds(), list(ids), list(revive)).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("begin notifications: %w", err)
	}
	started := make(map[int64]row, len(rows))
	for _, r := range rows {
		started[r.ID] = r
	}
	return started, nil
}

// Keep implements [notify.Ledger]. If another process took over a lease meanwhile, it is extended
// too, which is harmless: that process extends it as well.
func (l *Ledger) Keep(ctx context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (map[int64]bool, error) {
	kept := make(map[int64]bool, len(begun))
	for part := range slices.Chunk(slices.Collect(maps.Keys(begun)), batch) {
		var rows []row
		err := statements.Raw(l.db.WithContext(ctx), "keep", l.ownClock(micro(now), list(part), lease.Microseconds())...).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("extend notification leases: %w", err)
		}
		for _, r := range rows {
			kept[r.ID] = r.SendingAt.Equal(begun[r.ID])
		}
	}
	return kept, nil
}
