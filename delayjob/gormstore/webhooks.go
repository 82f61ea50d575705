package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/delayjob/topics"
)

type topicWebhook struct {
	Topic       string `gorm:"primaryKey"`
	URL         string
	Secret      string
	Concurrency int
	TimeoutMs   int64
	Version     int64
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
}

func (topicWebhook) TableName() string { return "topic_webhooks" }

func (r *topicWebhook) webhook() *topics.Webhook {
	return &topics.Webhook{
		Topic: r.Topic, URL: r.URL, Secret: r.Secret, Concurrency: r.Concurrency, Timeout: time.Duration(r.TimeoutMs) * time.Millisecond,
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

func rowOfWebhook(w *topics.Webhook) *topicWebhook {
	return &topicWebhook{
		Topic: w.Topic, URL: w.URL, Secret: w.Secret, Concurrency: w.Concurrency, TimeoutMs: w.Timeout.Milliseconds(),
		Version: w.Version, CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
	}
}

// Controls implements [topics.Store].
func (s *Topics) Controls(ctx context.Context, names ...string) (map[string]topics.Control, error) {
	var rows []struct {
		Name   string
		Paused bool
		Pushed bool
		Hook   topicWebhook `gorm:"embedded"`
	}
	db := s.db.WithContext(ctx)
	paused := db.Model(&topicSetting{}).Select("topic").Where("topic IN ? AND paused_at IS NOT NULL", names)
	pushed := db.Model(&topicWebhook{}).Select("topic").Where("topic IN ?", names)
	err := db.Table("(? UNION ?) AS n", paused, pushed).
		Select("n.topic AS name, o.paused_at IS NOT NULL AS paused, w.topic IS NOT NULL AS pushed, w.topic, w.url, w.secret, w.concurrency, w.timeout_ms, w.version, w.created_at, w.updated_at").
		Joins("LEFT JOIN topic_settings AS o ON o.topic = n.topic").Joins("LEFT JOIN topic_webhooks AS w ON w.topic = n.topic").
		Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read how topics are handed out: %w", err)
	}
	controls := make(map[string]topics.Control, len(rows))
	for i := range rows {
		c := topics.Control{Paused: rows[i].Paused}
		if rows[i].Pushed {
			c.Webhook = rows[i].Hook.webhook()
		}
		controls[rows[i].Name] = c
	}
	return controls, nil
}

// Webhooks implements [topics.Store].
func (s *Topics) Webhooks(ctx context.Context, names ...string) ([]*topics.Webhook, error) {
	q := s.db.WithContext(ctx).Order("topic")
	if len(names) > 0 {
		q = q.Where("topic IN ?", names)
	}
	var rows []topicWebhook
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the webhooks of topics: %w", err)
	}
	hooks := make([]*topics.Webhook, len(rows))
	for i := range rows {
		hooks[i] = rows[i].webhook()
	}
	return hooks, nil
}

// UpdateWebhook implements [topics.Store].
func (s *Topics) UpdateWebhook(ctx context.Context, topic string, change func(*topics.Webhook) (*topics.Webhook, error)) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var rows []topicWebhook
		if err := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Where("topic = ?", topic).Find(&rows).Error; err != nil {
			return fmt.Errorf("lock the webhook of %s: %w", topic, err)
		}
		var old *topics.Webhook
		if len(rows) > 0 {
			old = rows[0].webhook()
		}
		w, err := change(old)
		switch {
		case err != nil:
			return err
		case w == nil:
			err = tx.Delete(&topicWebhook{Topic: topic}).Error
		default:
			err = tx.Clauses(clause.OnConflict{UpdateAll: true, Columns: []clause.Column{{Name: "topic"}}}).Create(rowOfWebhook(w)).Error
		}
		if err != nil {
			return fmt.Errorf("save the webhook of %s: %w", topic, err)
		}
		var before, after []any
		action := "topic_webhook.deleted"
		if old != nil {
			before = []any{&rows[0]}
		}
		if w != nil {
			action, after = "topic_webhook.set", []any{rowOfWebhook(w)}
		}
		return s.trail.Note(tx, action, topic, topic, before, after)
	})
}
