package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"punctual/delayjob"
	"punctual/notify/webhook"
)

type deliveryRow struct {
	ID          int64
	WebhookID   int64
	EventID     int64
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
		ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, Event: d.Event, State: d.State, DueAt: micro(d.Due), ExpiresAt: micro(d.Expires),
		Attempts: d.Attempts, Status: d.Status, LastError: d.LastError, Version: d.Version, CreatedAt: micro(d.CreatedAt), UpdatedAt: micro(d.UpdatedAt),
	}
	if !d.DeliveredAt.IsZero() {
		r.DeliveredAt = new(micro(d.DeliveredAt))
	}
	return r
}

func (r *deliveryRow) delivery() *webhook.Delivery {
	d := &webhook.Delivery{
		ID: r.ID, WebhookID: r.WebhookID, EventID: r.EventID, Event: r.Event, State: r.State, Due: r.DueAt.UTC(), Expires: r.ExpiresAt.UTC(),
		Attempts: r.Attempts, Status: r.Status, LastError: r.LastError, Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if r.DeliveredAt != nil {
		d.DeliveredAt = r.DeliveredAt.UTC()
	}
	return d
}

// Delivery implements [webhook.Store].
func (s *Store) Delivery(ctx context.Context, id int64) (*webhook.Delivery, *webhook.Webhook, error) {
	var d deliveryRow
	if err := found(s.db.WithContext(ctx).Take(&d, id).Error); err != nil {
		return nil, nil, wrap("read delivery", err)
	}
	w, err := s.Webhook(ctx, d.WebhookID)
	if err != nil {
		return nil, nil, err
	}
	return d.delivery(), w, nil
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
