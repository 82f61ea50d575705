package gormstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/notify"
)

// Record implements [notify.Ledger]. It runs one statement per batch, with constant text.
func (l *Ledger) Record(ctx context.Context, outcomes []notify.Outcome) (map[int64]notify.Point, error) {
	next := map[int64]notify.Point{}
	for part := range slices.Chunk(outcomes, batch) {
		if err := l.record(ctx, part, next); err != nil {
			return nil, fmt.Errorf("record %d notifications: %w", len(part), err)
		}
	}
	return next, nil
}

// record adds to next the rows that it changed, with the rows that follow those that are now final.
func (l *Ledger) record(ctx context.Context, outcomes []notify.Outcome, next map[int64]notify.Point) error {
	instant := func(t time.Time) any { return micro(t) }
	if l.db.Name() == "sqlite" {
		instant = func(t time.Time) any { return t.UnixMicro() }
	}
	table := make([]map[string]any, len(outcomes))
	for i, o := range outcomes {
		table[i] = map[string]any{
			"id": o.ID, "version": o.Version, "state": o.State, "uncharged": 0, "message_id": o.MessageID, "error": clean(o.Error),
			"at": instant(o.At), "at_text": micro(o.At),
		}
		if o.Uncharged {
			table[i]["uncharged"] = 1
		}
		if !o.Due.IsZero() {
			table[i]["due"] = instant(o.Due)
		}
		if !o.Begun.IsZero() {
			table[i]["begun"] = instant(o.Begun)
		}
	}
	var rows []struct{ ID, NextID, NextVersion int64 }
	if err := statements.Raw(l.db.WithContext(ctx), "record", list(table)).Find(&rows).Error; err != nil {
		return err
	}
	for _, r := range rows {
		next[r.ID] = notify.Point{ID: r.NextID, Version: r.NextVersion}
	}
	return nil
}
