package gormstore

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"punctual/notify"
)

// maxScanned limits how many rows one page examines, some 50 ms of work.
const maxScanned = 10_000

// List implements [notify.Ledger]. It orders rows by created_at and id.
func (l *Ledger) List(ctx context.Context, f notify.Filter) (page notify.Page, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	order, upTo := "created_at DESC, id DESC", "(created_at, id) >= (?, ?)"
	if f.OldestFirst {
		order, upTo = "created_at, id", "(created_at, id) <= (?, ?)"
	}
	all := inRange(l.db.WithContext(ctx), f).Order(order).Session(&gorm.Session{})
	q, filtered := l.filtered(all, f)
	if filtered {
		if page.Next, err = scanEnd(all); err != nil {
			return page, fmt.Errorf("list notifications: %w", err)
		}
	}
	if end := page.Next; end.ID != 0 {
		q = q.Where(upTo, end.CreatedAt, end.ID)
	}
	var rows []row
	if err := q.Limit(f.Limit + 1).Find(&rows).Error; err != nil { // one more row shows whether there is a next page
		return page, fmt.Errorf("list notifications: %w", err)
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		last := rows[f.Limit-1]
		page.Next = notify.Cursor{CreatedAt: last.CreatedAt.UTC(), ID: last.ID}
	}
	page.Items = make([]notify.Notification, len(rows))
	for i, r := range rows {
		if page.Items[i], err = r.notification(); err != nil {
			return page, err
		}
	}
	return page, nil
}

// scanEnd returns the last row that a page may examine; zero: no limit. The statement reads only
// an index.
func scanEnd(q *gorm.DB) (notify.Cursor, error) {
	var rows []row
	err := q.Select("id", "created_at").Limit(2).Offset(maxScanned - 1).Find(&rows).Error
	if err != nil || len(rows) < 2 {
		return notify.Cursor{}, err
	}
	return notify.Cursor{CreatedAt: rows[0].CreatedAt.UTC(), ID: rows[0].ID}, nil
}

// inRange selects a range of an index in the order of the list.
func inRange(q *gorm.DB, f notify.Filter) *gorm.DB {
	switch {
	case f.MeetingID != 0:
		q = q.Where(`meeting_id = ?`, f.MeetingID)
	case f.Address != "":
		q = q.Where(`lower(address) = lower(?)`, f.Address)
	case rare(f.State):
		// The state is a literal so that the planner can use the partial index.
		q = q.Where(`state = '` + string(f.State) + `'`)
	}
	if !f.From.IsZero() {
		q = q.Where(`created_at >= ?`, micro(f.From))
	}
	if !f.To.IsZero() {
		q = q.Where(`created_at < ?`, micro(f.To))
	}
	if f.Cursor.ID != 0 {
		after := `(created_at, id) < (?, ?)`
		if f.OldestFirst {
			after = `(created_at, id) > (?, ?)`
		}
		q = q.Where(after, micro(f.Cursor.CreatedAt), f.Cursor.ID)
	}
	return q
}

// rare reports whether the partial index notifications_in_state covers a state.
func rare(s notify.State) bool {
	switch s {
	case notify.Failed, notify.Skipped, notify.SkippedLate, notify.Cancelled, notify.Superseded:
		return true
	}
	return false
}

// filtered adds the conditions that are checked for each row of the range, and reports whether there
// are any.
func (l *Ledger) filtered(q *gorm.DB, f notify.Filter) (_ *gorm.DB, some bool) {
	where := func(condition string, args ...any) { q, some = q.Where(condition, args...), true }
	if f.MeetingID != 0 && f.Address != "" {
		where(`lower(address) = lower(?)`, f.Address)
	}
	if f.State != "" && (!rare(f.State) || f.MeetingID != 0 || f.Address != "") {
		where(`state = ?`, f.State)
	}
	if f.Kind != "" {
		where(`kind = ?`, f.Kind)
	}
	if f.Channel != "" {
		where(`channel = ?`, f.Channel)
	}
	if f.Text != "" {
		fold := "lower"
		if l.db.Name() == "sqlite" { // lower handles only ASCII in SQLite
			fold = "fold"
		}
		p := pattern(f.Text)
		like := func(column string) string { return fold + "(" + column + ") LIKE " + fold + `(?) ESCAPE '\'` }
		where("("+like("name")+" OR "+like("address")+" OR "+like("facts->>'title'")+" OR "+like("last_error")+")", p, p, p, p)
	}
	return q, some
}

// pattern returns a pattern for LIKE with the escape character \.
func pattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
