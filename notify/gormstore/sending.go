package gormstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"punctual/notify"
)

// clock is the SQL of the present: by the server's clock, since those of processes may differ,
// or by now, where the database has no other.
func (l *Ledger) clock(now time.Time) (sql string, args []any) {
	if l.db.Name() == "postgres" {
		return `clock_timestamp()`, nil
	}
	return `?`, []any{micro(now)}
}

// ending is the SQL of the end of a lease that is taken now.
func (l *Ledger) ending(now time.Time, lease time.Duration) (sql string, arg any) {
	if l.db.Name() == "postgres" {
		return `clock_timestamp() + ? * interval '1 microsecond'`, lease.Microseconds()
	}
	return `?`, micro(now.Add(lease))
}

// Begin implements [notify.Ledger].
func (l *Ledger) Begin(ctx context.Context, id, version int64, now time.Time, revive bool, lease time.Duration) (notify.Notification, time.Duration, error) {
	now = micro(now)
	end, until := l.ending(now, lease)
	clock, at := l.clock(now)
	args := append([]any{now, until, now, id, version}, at...)
	n, err := l.one(ctx, `UPDATE notifications
		SET state = 'sending', attempts = attempts + 1, sending_at = ?, sending_until = `+end+`, updated_at = ?
		WHERE id = ? AND version = ? AND (state = 'pending'
			OR state = 'sending' AND (sending_until IS NULL OR sending_until <= `+clock+`) OR state = 'failed' AND ?)
			AND (expires_at IS NULL OR expires_at >= ?)
		RETURNING `+columns, append(args, revive, now)...)
	if !errors.Is(err, notify.ErrNotFound) {
		return n, 0, err
	}
	if n, err = l.Get(ctx, id); err != nil {
		return n, 0, err
	}
	var busy time.Duration
	if n.Version == version && n.State == notify.Sending {
		if busy, err = l.busy(ctx, id, now); err != nil {
			return n, 0, err
		}
	}
	if onItsWay := n.State == notify.Sending || n.State == notify.Pending; n.Version == version && onItsWay && !n.Expired(now) {
		busy = max(busy, time.Millisecond) // it ended, or was to be tried again, between the statements
	}
	return n, busy, nil
}

// busy is what is left of the lease of a row; 0 if there is none.
func (l *Ledger) busy(ctx context.Context, id int64, now time.Time) (time.Duration, error) {
	q := `SELECT COALESCE((EXTRACT(EPOCH FROM sending_until - clock_timestamp()) * 1000000)::bigint, 0) FROM notifications WHERE id = ?`
	args := []any{id}
	if l.db.Name() != "postgres" {
		q = `SELECT COALESCE(sending_until - ?, 0) FROM notifications WHERE id = ?`
		args = []any{now.UnixMicro(), id}
	}
	var left int64
	if err := l.db.WithContext(ctx).Raw(q, args...).Scan(&left).Error; err != nil {
		return 0, fmt.Errorf("lease of notification %d: %w", id, err)
	}
	return max(0, time.Duration(left)*time.Microsecond), nil
}

// Keep implements [notify.Ledger]. A lease that somebody else took over in the meantime is
// extended along, which does no harm: its holder does the same.
func (l *Ledger) Keep(ctx context.Context, begun map[int64]time.Time, now time.Time, lease time.Duration) (map[int64]bool, error) {
	end, until := l.ending(now, lease)
	kept := make(map[int64]bool, len(begun))
	for part := range slices.Chunk(slices.Collect(maps.Keys(begun)), batch) {
		var rows []struct {
			ID        int64
			SendingAt time.Time
		}
		err := l.db.WithContext(ctx).Raw(`UPDATE notifications SET sending_until = `+end+`
			WHERE id IN ? AND state = 'sending' RETURNING id, sending_at`, until, part).Scan(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("keep notifications that are being sent: %w", err)
		}
		for _, r := range rows {
			kept[r.ID] = r.SendingAt.Equal(begun[r.ID])
		}
	}
	return kept, nil
}
