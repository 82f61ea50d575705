// Package gormstore stores notifications in Postgres or SQLite.
package gormstore

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database/sqlfile"
	"punctual/delayjob"
	"punctual/notify"
)

//go:embed sql
var files embed.FS

var statements = sqlfile.Load(files)

// Ledger implements [notify.Ledger] on the table notifications. It also reads job_failures, the
// dead letters of the engine.
type Ledger struct {
	db    *gorm.DB
	trail Trail                    // nil: no audit trail
	quota func(notify.Channel) int // nil: no quotas
}

// Trail records what users do to notifications in the audit trail, in the same transaction.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

var _ notify.Ledger = (*Ledger)(nil)

// New returns a Ledger on db, whose dialect is "postgres" or "sqlite".
func New(db *gorm.DB) *Ledger { return &Ledger{db: db} }

// Noting returns a copy of the ledger that records resends in t.
func (l *Ledger) Noting(t Trail) *Ledger {
	noting := *l
	noting.trail = t
	return &noting
}

// Due implements [notify.Ledger].
func (l *Ledger) Due(ctx context.Context, c notify.Channel, w delayjob.Window, after notify.Point, n int) ([]notify.Point, error) {
	// The states are literals so that the planner can use the partial index.
	q := l.db.WithContext(ctx).Where("channel = ? AND state IN ('pending', 'sending') AND due_at <= ?", c, micro(w.To))
	if !w.From.IsZero() {
		q = q.Where("due_at > ?", micro(w.From))
	}
	if after.ID != 0 {
		q = q.Where("(due_at, id) > (?, ?)", micro(after.Due), after.ID)
	}
	dead := l.db.Table("job_failures AS f").Select("1").
		Where("f.job = ? AND f.key = CAST(notifications.id AS text) AND f.version >= notifications.version", c.Job())
	var rows []row
	err := q.Where("NOT EXISTS (?)", dead).Select("id", "due_at", "version", "kind", "organizer").Order("due_at, id").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list due notifications: %w", err)
	}
	points := make([]notify.Point, len(rows))
	for i, r := range rows {
		points[i] = notify.Point{Due: r.DueAt.UTC(), ID: r.ID, Version: r.Version, Kind: notify.Kind(r.Kind), Organizer: r.Organizer}
	}
	return points, nil
}

// Resend implements [notify.Ledger].
func (l *Ledger) Resend(ctx context.Context, id int64, now time.Time) (notify.Notification, error) {
	now = micro(now)
	var n notify.Notification
	err := l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		var r row
		res := tx.Model(&r).Clauses(clause.Returning{}).Where("id = ? AND state IN ('sent', 'failed', 'skipped', 'skipped_late')", id).
			Updates(map[string]any{"state": notify.Pending, "version": gorm.Expr("version + 1"), "due_at": now, "expires_at": nil, "updated_at": now,
				"reception": notify.Unreported, "reception_at": nil, "reception_reason": ""})
		if res.Error != nil {
			return fmt.Errorf("resend notification %d: %w", id, res.Error)
		}
		if res.RowsAffected == 0 {
			return notify.ErrNotFound
		}
		if n, err = r.notification(); err != nil || l.trail == nil {
			return err
		}
		what := map[string]any{"kind": n.Kind, "channel": n.Channel, "meeting_id": n.MeetingID}
		return l.trail.Note(tx, "notification.resent", strconv.FormatInt(id, 10), n.To.Address, nil, []any{what})
	})
	if !errors.Is(err, notify.ErrNotFound) {
		return n, err
	}
	if n, err = l.Get(ctx, id); err != nil {
		return notify.Notification{}, err
	}
	return notify.Notification{}, &notify.StateError{State: n.State}
}

// Get implements [notify.Ledger].
func (l *Ledger) Get(ctx context.Context, id int64) (notify.Notification, error) {
	var r row
	err := l.db.WithContext(ctx).Take(&r, id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return notify.Notification{}, notify.ErrNotFound
	}
	if err != nil {
		return notify.Notification{}, fmt.Errorf("select notification %d: %w", id, err)
	}
	return r.notification()
}

// row of the table notifications.
type row struct {
	ID        int64
	DedupeKey string
	Kind      string
	Channel   string
	MeetingID *int64
	UserID    *int64
	Name      string
	Address   string
	Locale    string
	Timezone  string
	Facts     string
	DueAt     time.Time
	ExpiresAt *time.Time
	State     string
	Version   int64
	Attempts  int
	MessageID string
	LastError string
	Failures  string
	Thread    string
	Scope     int64
	Organizer string
	SendingAt *time.Time
	SentAt    *time.Time
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`

	SendingUntil *time.Time

	Reception       string
	ReceptionAt     *time.Time
	ReceptionReason string
}

func (row) TableName() string { return "notifications" }

func (r row) notification() (notify.Notification, error) {
	n := notify.Notification{
		ID: r.ID, DedupeKey: r.DedupeKey, Kind: notify.Kind(r.Kind), Channel: notify.Channel(r.Channel),
		MeetingID: orZero(r.MeetingID),
		To: notify.Recipient{
			UserID: orZero(r.UserID), Name: r.Name, Address: r.Address, Locale: r.Locale, Timezone: r.Timezone,
		},
		Due: r.DueAt.UTC(), Expires: orZero(r.ExpiresAt).UTC(),
		State: notify.State(r.State), Version: r.Version, Attempts: r.Attempts,
		MessageID: r.MessageID, LastError: r.LastError,
		SendingAt: orZero(r.SendingAt).UTC(), SentAt: orZero(r.SentAt).UTC(),
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
		Reception: notify.Reception(r.Reception), ReceptionAt: orZero(r.ReceptionAt).UTC(), ReceptionReason: r.ReceptionReason,
	}
	if err := json.Unmarshal([]byte(r.Facts), &n.Facts); err != nil {
		return notify.Notification{}, fmt.Errorf("facts of notification %d: %w", r.ID, err)
	}
	if r.Failures == "[]" {
		return n, nil
	}
	if err := json.Unmarshal([]byte(r.Failures), &n.Failures); err != nil {
		return notify.Notification{}, fmt.Errorf("failures of notification %d: %w", r.ID, err)
	}
	return n, nil
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// micro returns t in the precision of both databases.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// clean removes what Postgres rejects in text. Errors of providers may contain anything.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
