package gormstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/notify"
)

// Bounces implements [notify.BounceStore] on the table email_bounces. It reads notifications.
type Bounces struct {
	db    *gorm.DB
	trail Trail // nil: no audit trail
}

var _ notify.BounceStore = (*Bounces)(nil)

// NewBounces returns a store on db, which records in t what administrators clear; nil: nowhere.
func NewBounces(db *gorm.DB, t Trail) *Bounces { return &Bounces{db, t} }

type bounceRow struct {
	ID        int64
	Address   string
	Source    string
	Reason    string
	MessageID string
	BouncedAt time.Time
	ClearedAt *time.Time // nil: the address is marked
}

func (bounceRow) TableName() string { return "email_bounces" }

func (r *bounceRow) bounce() notify.Bounce {
	return notify.Bounce{
		ID: r.ID, Address: r.Address, Source: notify.BounceSource(r.Source), Reason: r.Reason, MessageID: r.MessageID, At: r.BouncedAt.UTC(),
	}
}

// Mark implements [notify.BounceStore].
func (s *Bounces) Mark(ctx context.Context, b notify.Bounce) (bool, error) {
	sent := b.SentAt
	if sent.IsZero() {
		sent = b.At
	}
	r := bounceRow{Address: clean(b.Address), Source: string(b.Source), Reason: clean(b.Reason), MessageID: clean(b.MessageID), BouncedAt: micro(b.At)}
	done := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "address"}},
		Where:     clause.Where{Exprs: []clause.Expression{gorm.Expr("email_bounces.cleared_at IS NULL OR email_bounces.cleared_at < ?", micro(sent))}},
		DoUpdates: clause.AssignmentColumns([]string{"source", "reason", "message_id", "bounced_at", "cleared_at"}),
	}).Create(&r)
	if done.Error != nil {
		return false, fmt.Errorf("mark a bounced address: %w", done.Error)
	}
	return done.RowsAffected > 0, nil
}

// Marked implements [notify.BounceStore]. Its statement has a constant text.
func (s *Bounces) Marked(ctx context.Context, addresses []string) (map[string]notify.Bounce, error) {
	lower := make([]string, len(addresses))
	for i, a := range addresses {
		lower[i] = strings.ToLower(a)
	}
	var rows []bounceRow
	if err := statements.Raw(s.db.WithContext(ctx), "bounces", list(lower)).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("select bounces: %w", err)
	}
	marked := make(map[string]notify.Bounce, len(rows))
	for _, r := range rows {
		marked[r.Address] = r.bounce()
	}
	return marked, nil
}

// Notified implements [notify.BounceStore].
func (s *Bounces) Notified(ctx context.Context, address string) (bool, error) {
	var ids []int64
	err := s.db.WithContext(ctx).Model(&row{}).Where("lower(address) = lower(?) AND channel = ?", clean(address), notify.Email).Limit(1).Pluck("id", &ids).Error
	if err != nil {
		return false, fmt.Errorf("look for notifications of an address: %w", err)
	}
	return len(ids) > 0, nil
}

// Bounces implements [notify.BounceStore].
func (s *Bounces) Bounces(ctx context.Context, f notify.BounceFilter) (page notify.BouncePage, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	q := s.db.WithContext(ctx).Where("cleared_at IS NULL").Order("bounced_at DESC, id DESC").Limit(f.Limit + 1) // one more row shows whether there is a next page
	if f.Text != "" {
		q = q.Where(`address LIKE ? ESCAPE '\'`, pattern(strings.ToLower(f.Text)))
	}
	if f.Cursor.ID != 0 {
		q = q.Where("(bounced_at, id) < (?, ?)", micro(f.Cursor.CreatedAt), f.Cursor.ID)
	}
	var rows []bounceRow
	if err := q.Find(&rows).Error; err != nil {
		return page, fmt.Errorf("list bounces: %w", err)
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		last := rows[f.Limit-1]
		page.Next = notify.Cursor{CreatedAt: last.BouncedAt.UTC(), ID: last.ID}
	}
	page.Items = make([]notify.Bounce, len(rows))
	for i := range rows {
		page.Items[i] = rows[i].bounce()
	}
	return page, nil
}

// ClearBounce implements [notify.BounceStore].
func (s *Bounces) ClearBounce(ctx context.Context, id int64, at time.Time) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var cleared []bounceRow
		if err := tx.Model(&cleared).Clauses(clause.Returning{}).Where("id = ? AND cleared_at IS NULL", id).Update("cleared_at", micro(at)).Error; err != nil {
			return fmt.Errorf("clear bounce %d: %w", id, err)
		}
		if len(cleared) == 0 {
			return notify.ErrNotFound
		}
		if s.trail == nil {
			return nil
		}
		r := cleared[0]
		what := map[string]any{"source": r.Source, "bounced_at": r.BouncedAt.UTC()}
		return s.trail.Note(tx, "bounce.cleared", strconv.FormatInt(id, 10), r.Address, []any{what}, nil)
	})
}

// Trim deletes up to limit marks, also cleared ones, of bounces before the given time, and returns how many.
func (s *Bounces) Trim(ctx context.Context, before time.Time, limit int) (int64, error) {
	db := s.db.WithContext(ctx)
	old := db.Model(&bounceRow{}).Select("id").Where("bounced_at < ?", micro(before)).Order("bounced_at, id").Limit(limit)
	done := db.Where("id IN (?) AND bounced_at < ?", old, micro(before)).Delete(&bounceRow{}) // unless it bounced again meanwhile
	if done.Error != nil {
		return 0, fmt.Errorf("delete old bounces: %w", done.Error)
	}
	return done.RowsAffected, nil
}
