package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"punctual/notify/webhook"
)

type hookRow struct {
	ID        int64
	URL       string
	Secret    string
	Events    []string `gorm:"serializer:json"`
	Active    bool
	Stopped   string
	Version   int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (hookRow) TableName() string { return "webhooks" }

func rowOf(w *webhook.Webhook) *hookRow {
	r := &hookRow{
		ID: w.ID, URL: w.URL, Secret: w.Secret, Events: w.Events, Active: w.Active, Stopped: w.Stopped,
		Version: w.Version, CreatedAt: micro(w.CreatedAt), UpdatedAt: micro(w.UpdatedAt),
	}
	if r.Events == nil {
		r.Events = []string{}
	}
	return r
}

func (r *hookRow) webhook() *webhook.Webhook {
	return &webhook.Webhook{
		ID: r.ID, URL: r.URL, Secret: r.Secret, Events: r.Events, Active: r.Active, Stopped: r.Stopped,
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

// CreateWebhook implements [webhook.Store]. Two concurrent calls may exceed the limit by one.
func (s *Store) CreateWebhook(ctx context.Context, w *webhook.Webhook, limit int) error {
	return wrap("create webhook", s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var n int64
		if err := tx.Model(&hookRow{}).Count(&n).Error; err != nil {
			return err
		}
		if n >= int64(limit) {
			return webhook.ErrTooMany
		}
		r := rowOf(w)
		if err := tx.Create(r).Error; err != nil {
			return err
		}
		w.ID = r.ID
		return s.note(tx, "webhook.created", r, nil, []any{r})
	}))
}

// UpdateWebhook implements [webhook.Store].
func (s *Store) UpdateWebhook(ctx context.Context, id int64, fn func(*webhook.Webhook) error) (w *webhook.Webhook, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var r hookRow
		if err := locked(tx, &r, id); err != nil {
			return err
		}
		w = r.webhook()
		if err := fn(w); err != nil {
			return err
		}
		changed := rowOf(w)
		if err := tx.Save(changed).Error; err != nil {
			return err
		}
		return s.note(tx, "webhook.changed", changed, []any{&r}, []any{changed})
	})
	if err != nil {
		return nil, wrap("update webhook", err)
	}
	return w, nil
}

// DeleteWebhook implements [webhook.Store].
func (s *Store) DeleteWebhook(ctx context.Context, id int64, fn func(*webhook.Webhook) error) error {
	return wrap("delete webhook", s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var r hookRow
		if err := locked(tx, &r, id); err != nil {
			return err
		}
		if err := fn(r.webhook()); err != nil {
			return err
		}
		if err := tx.Delete(&hookRow{}, id).Error; err != nil {
			return err
		}
		return s.note(tx, "webhook.deleted", &r, []any{&r}, nil)
	}))
}

// Webhook implements [webhook.Store].
func (s *Store) Webhook(ctx context.Context, id int64) (*webhook.Webhook, error) {
	var r hookRow
	if err := found(s.db.WithContext(ctx).Take(&r, id).Error); err != nil {
		return nil, wrap("read webhook", err)
	}
	return r.webhook(), nil
}

// Webhooks implements [webhook.Store].
func (s *Store) Webhooks(ctx context.Context) ([]*webhook.Webhook, error) {
	var rows []hookRow
	if err := s.db.WithContext(ctx).Order("id").Find(&rows).Error; err != nil {
		return nil, wrap("read webhooks", err)
	}
	ws := make([]*webhook.Webhook, len(rows))
	for i := range rows {
		ws[i] = rows[i].webhook()
	}
	return ws, nil
}
