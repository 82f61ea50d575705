package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm"

	"punctual/delayjob"
	"punctual/notify/webhook"
)

type deliveryRow struct {
	ID          int64
	WebhookID   int64
	EventID     int64
	MeetingID   int64
	Event       string
	State       webhook.State
	DueAt       time.Time
	ExpiresAt   time.Time
	Attempts    int
	Status      int
	LastError   string
	DeliveredAt *time.Time
	Version     int64
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
}

func (deliveryRow) TableName() string { return "webhook_deliveries" }

func rowOfDelivery(d *webhook.Delivery) *deliveryRow {
	r := &deliveryRow{
		ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, MeetingID: d.MeetingID, Event: d.Event, State: d.State, DueAt: micro(d.Due), ExpiresAt: micro(d.Expires),
		Attempts: d.Attempts, Status: d.Status, LastError: d.LastError, Version: d.Version, CreatedAt: micro(d.CreatedAt), UpdatedAt: micro(d.UpdatedAt),
	}
	if !d.DeliveredAt.IsZero() {
		r.DeliveredAt = new(micro(d.DeliveredAt))
	}
	return r
}

func (r *deliveryRow) delivery() *webhook.Delivery {
	d := &webhook.Delivery{
		ID: r.ID, WebhookID: r.WebhookID, EventID: r.EventID, MeetingID: r.MeetingID, Event: r.Event, State: r.State, Due: r.DueAt.UTC(), Expires: r.ExpiresAt.UTC(),
		Attempts: r.Attempts, Status: r.Status, LastError: r.LastError, Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if r.DeliveredAt != nil {
		d.DeliveredAt = r.DeliveredAt.UTC()
	}
	return d
}

// Pick implements [webhook.Store]. A dead letter holds up nobody.
func (s *Store) Pick(ctx context.Context, ids []int64) (map[int64]webhook.Picked, error) {
	var rows []struct {
		Row   deliveryRow `gorm:"embedded"`
		Ahead int
	}
	err := s.db.WithContext(ctx).Raw(`SELECT d.*, (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries p
			WHERE p.webhook_id = d.webhook_id AND p.meeting_id = d.meeting_id AND p.meeting_id <> 0 AND p.id < d.id AND p.state = 'pending'
			AND NOT EXISTS (SELECT 1 FROM job_failures f
				WHERE f.job = ? AND f.key = CAST(p.id AS text) AND f.version >= p.version) LIMIT 1000) AS line) AS ahead
		FROM webhook_deliveries d WHERE d.id IN ?`, webhook.Job, ids).Scan(&rows).Error
	if err != nil {
		return nil, wrap("read deliveries", err)
	}
	var hooks []hookRow
	if err := s.db.WithContext(ctx).Where("id IN (SELECT webhook_id FROM webhook_deliveries WHERE id IN ?)", ids).Find(&hooks).Error; err != nil {
		return nil, wrap("read webhooks", err)
	}
	byID := make(map[int64]*webhook.Webhook, len(hooks))
	for i := range hooks {
		byID[hooks[i].ID] = hooks[i].webhook()
	}
	picked := make(map[int64]webhook.Picked, len(rows))
	for _, r := range rows {
		if w := byID[r.Row.WebhookID]; w != nil {
			picked[r.Row.ID] = webhook.Picked{Delivery: r.Row.delivery(), Webhook: w, Ahead: r.Ahead}
		}
	}
	return picked, nil
}

// Delivery is one with its webhook; [webhook.ErrNotFound].
func (s *Store) Delivery(ctx context.Context, id int64) (*webhook.Delivery, *webhook.Webhook, error) {
	picked, err := s.Pick(ctx, []int64{id})
	if p, ok := picked[id]; ok {
		return p.Delivery, p.Webhook, err
	}
	return nil, nil, cmp.Or(err, webhook.ErrNotFound)
}

// recordDeliveries takes a table x. The list of IDs beside it makes it a look-up of each, whatever
// the planner expects.
const (
	recordDeliveries = `UPDATE webhook_deliveries AS d SET state = x.state, attempts = x.attempts, expires_at = x.expires_at, status = x.status,
			last_error = x.last_error, updated_at = x.updated_at, delivered_at = CASE x.state WHEN 'delivered' THEN x.updated_at ELSE d.delivered_at END
		FROM `
	recordPostgres = recordDeliveries + `unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::timestamptz[], $6::int[], $7::text[], $8::timestamptz[])
			AS x(id, version, state, attempts, expires_at, status, last_error, updated_at)
		WHERE d.id = x.id AND d.version = x.version AND d.state <> 'delivered' AND d.id = ANY($1::bigint[])`
	recordSQLite = recordDeliveries + `(SELECT value->>0 AS id, value->>1 AS version, value->>2 AS state, value->>3 AS attempts, value->>4 AS expires_at,
			value->>5 AS status, value->>6 AS last_error, value->>7 AS updated_at FROM json_each($1)) AS x
		WHERE d.id = x.id AND d.version = x.version AND d.state <> 'delivered'`
)

// Record implements [webhook.Store].
func (s *Store) Record(ctx context.Context, ds []*webhook.Delivery) error {
	pool := s.db.WithContext(ctx).Statement.ConnPool // gorm would take a slice for a list of parameters
	if s.db.Name() != "postgres" {
		rows := make([][8]any, len(ds))
		for i, d := range ds {
			rows[i] = [...]any{d.ID, d.Version, d.State, d.Attempts, d.Expires.UnixMicro(), d.Status, d.LastError, d.UpdatedAt.UnixMicro()}
		}
		table, err := json.Marshal(rows)
		if err == nil {
			_, err = pool.ExecContext(ctx, recordSQLite, string(table))
		}
		return wrap("record deliveries", err)
	}
	n := len(ds)
	ids, versions, states, texts := make([]int64, n), make([]int64, n), make([]string, n), make([]string, n)
	attempts, statuses := make([]int32, n), make([]int32, n)
	expires, updated := make([]time.Time, n), make([]time.Time, n)
	for i, d := range ds {
		ids[i], versions[i], states[i], texts[i] = d.ID, d.Version, string(d.State), d.LastError
		attempts[i], statuses[i], expires[i], updated[i] = int32(d.Attempts), int32(d.Status), micro(d.Expires), micro(d.UpdatedAt)
	}
	_, err := pool.ExecContext(ctx, recordPostgres, ids, versions, states, attempts, expires, statuses, texts, updated)
	return wrap("record deliveries", err)
}

// UpdateDelivery implements [webhook.Store].
func (s *Store) UpdateDelivery(ctx context.Context, id int64, fn func(*webhook.Delivery) error) (d *webhook.Delivery, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var r deliveryRow
		if err := locked(tx, &r, id); err != nil {
			return err
		}
		d = r.delivery()
		if err := fn(d); err != nil {
			return err
		}
		return tx.Save(rowOfDelivery(d)).Error
	})
	if err != nil {
		return nil, wrap("update delivery", err)
	}
	return d, nil
}

// Deliveries implements [webhook.Store].
func (s *Store) Deliveries(ctx context.Context, hook int64, f webhook.Filter) ([]*webhook.Delivery, error) {
	q := s.db.WithContext(ctx).Where("webhook_id = ?", hook).Order("id DESC").Limit(f.Limit)
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if f.Before > 0 {
		q = q.Where("id < ?", f.Before)
	}
	return read(q, "list deliveries")
}

// New implements [webhook.Store].
func (s *Store) New(ctx context.Context, after int64, n int) ([]*webhook.Delivery, error) {
	return read(s.db.WithContext(ctx).Where("state = 'pending' AND id > ?", after).Order("id").Limit(n), "new deliveries")
}

// LastDelivery implements [webhook.Store].
func (s *Store) LastDelivery(ctx context.Context) (id int64, err error) {
	err = s.db.WithContext(ctx).Raw("SELECT COALESCE(max(id), 0) FROM webhook_deliveries").Scan(&id).Error
	return id, wrap("last delivery", err)
}

// Due implements [webhook.Store].
func (s *Store) Due(ctx context.Context, w delayjob.Window, after *webhook.Delivery, n int) ([]*webhook.Delivery, error) {
	q := s.db.WithContext(ctx).Where(`state = 'pending' AND due_at <= ? AND NOT EXISTS (SELECT 1 FROM job_failures f
		WHERE f.job = ? AND f.key = CAST(webhook_deliveries.id AS text) AND f.version >= webhook_deliveries.version)`, micro(w.To), webhook.Job)
	q = q.Order("due_at, id").Limit(n)
	if !w.From.IsZero() {
		q = q.Where("due_at > ?", micro(w.From))
	}
	if after != nil {
		q = q.Where("(due_at, id) > (?, ?)", micro(after.Due), after.ID)
	}
	return read(q, "due deliveries")
}

func read(q *gorm.DB, what string) ([]*webhook.Delivery, error) {
	var rows []deliveryRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, wrap(what, err)
	}
	ds := make([]*webhook.Delivery, len(rows))
	for i := range rows {
		ds[i] = rows[i].delivery()
	}
	return ds, nil
}

// Trim implements [webhook.Store].
func (s *Store) Trim(ctx context.Context, before time.Time) error {
	return wrap("trim deliveries", s.db.WithContext(ctx).Where("state <> 'pending' AND updated_at < ?", micro(before)).Delete(&deliveryRow{}).Error)
}
