package gormstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"punctual/notify"
)

// maxScanned limits how many rows one page examines, some 50 ms of work.
const maxScanned = 10_000

// filter collects conditions and their parameters.
type filter struct {
	conditions []string
	args       []any
}

func (f *filter) add(condition string, args ...any) {
	f.conditions = append(f.conditions, condition)
	f.args = append(f.args, args...)
}

func (f *filter) where() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.conditions, " AND ")
}

// List implements [notify.Ledger]. It orders rows by created_at and id.
func (l *Ledger) List(ctx context.Context, f notify.Filter) (page notify.Page, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	order, upTo := " ORDER BY created_at DESC, id DESC LIMIT ?", "(created_at, id) >= (?, ?)"
	if f.OldestFirst {
		order, upTo = " ORDER BY created_at, id LIMIT ?", "(created_at, id) <= (?, ?)"
	}
	c := l.rangeConditions(f)
	ranged := *c
	l.addFilters(f, c)
	var end notify.Cursor
	if len(c.conditions) > len(ranged.conditions) {
		if end, err = l.scanEnd(ctx, &ranged, order); err != nil {
			return page, fmt.Errorf("list notifications: %w", err)
		}
	}
	if end.ID != 0 {
		c.add(upTo, end.CreatedAt, end.ID)
	}
	page.Items, err = l.all(ctx, `SELECT `+columns+` FROM notifications`+c.where()+order, append(c.args, f.Limit+1)...) // one more row shows whether there is a next page
	if err != nil {
		return page, err
	}
	page.Next = end
	if len(page.Items) > f.Limit {
		page.Items = page.Items[:f.Limit]
		last := page.Items[f.Limit-1]
		page.Next = notify.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return page, nil
}

// scanEnd returns the last row that a page may examine; zero: no limit. The statement reads only
// an index.
func (l *Ledger) scanEnd(ctx context.Context, c *filter, order string) (notify.Cursor, error) {
	var rows []struct {
		ID        int64
		CreatedAt time.Time
	}
	err := l.db.WithContext(ctx).Raw(`SELECT id, created_at FROM notifications`+c.where()+order+` OFFSET ?`, append(c.args, 2, maxScanned-1)...).Scan(&rows).Error
	if err != nil || len(rows) < 2 {
		return notify.Cursor{}, err
	}
	return notify.Cursor{CreatedAt: rows[0].CreatedAt.UTC(), ID: rows[0].ID}, nil
}

// rangeConditions select a range of an index in the order of the list.
func (l *Ledger) rangeConditions(f notify.Filter) *filter {
	c := &filter{}
	switch {
	case f.MeetingID != 0:
		c.add(`meeting_id = ?`, f.MeetingID)
	case f.Address != "":
		c.add(`lower(address) = lower(?)`, f.Address)
	case rare(f.State):
		// The state is a literal so that the planner can use the partial index.
		c.add(`state = '` + string(f.State) + `'`)
	}
	if !f.From.IsZero() {
		c.add(`created_at >= ?`, micro(f.From))
	}
	if !f.To.IsZero() {
		c.add(`created_at < ?`, micro(f.To))
	}
	if f.Cursor.ID != 0 {
		after := `(created_at, id) < (?, ?)`
		if f.OldestFirst {
			after = `(created_at, id) > (?, ?)`
		}
		c.add(after, micro(f.Cursor.CreatedAt), f.Cursor.ID)
	}
	return c
}

// rare reports whether the partial index notifications_in_state covers a state.
func rare(s notify.State) bool {
	switch s {
	case notify.Failed, notify.Skipped, notify.SkippedLate, notify.Cancelled, notify.Superseded:
		return true
	}
	return false
}

// addFilters adds the conditions that are checked for each row of the range.
func (l *Ledger) addFilters(f notify.Filter, c *filter) {
	if f.MeetingID != 0 && f.Address != "" {
		c.add(`lower(address) = lower(?)`, f.Address)
	}
	if f.State != "" && (!rare(f.State) || f.MeetingID != 0 || f.Address != "") {
		c.add(`state = ?`, f.State)
	}
	if f.Kind != "" {
		c.add(`kind = ?`, f.Kind)
	}
	if f.Channel != "" {
		c.add(`channel = ?`, f.Channel)
	}
	if f.Text != "" {
		fold := "lower"
		if l.db.Name() == "sqlite" { // lower handles only ASCII in SQLite
			fold = "fold"
		}
		pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Text) + "%"
		like := func(column string) string { return fold + "(" + column + ") LIKE " + fold + `(?) ESCAPE '\'` }
		c.add("("+like("name")+" OR "+like("address")+" OR "+like("facts->>'title'")+")", pattern, pattern, pattern)
	}
}
