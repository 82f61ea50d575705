package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
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

// Pick implements [webhook.Store]. Deliveries whose message is a dead letter block no others.
func (s *Store) Pick(ctx context.Context, ids []int64) (map[int64]webhook.Picked, error) {
	var rows []struct {
		Row    deliveryRow `gorm:"embedded"`
		Ahead  int
		Behind bool
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	err = statements.Raw(s.db.WithContext(ctx), "pick", webhook.Job, string(list)).Find(&rows).Error
	if err != nil {
		return nil, wrap("read deliveries", err)
	}
	hooks := make([]int64, len(rows))
	for i := range rows {
		hooks[i] = rows[i].Row.WebhookID
	}
	byID, err := s.webhooks(ctx, hooks)
	if err != nil {
		return nil, err
	}
	picked := make(map[int64]webhook.Picked, len(rows))
	for _, r := range rows {
		if w := byID[r.Row.WebhookID]; w != nil {
			picked[r.Row.ID] = webhook.Picked{Delivery: r.Row.delivery(), Webhook: w, Ahead: r.Ahead, Behind: r.Behind}
		}
	}
	return picked, nil
}

// Delivery returns a delivery and its webhook, or [webhook.ErrNotFound].
func (s *Store) Delivery(ctx context.Context, id int64) (*webhook.Delivery, *webhook.Webhook, error) {
	picked, err := s.Pick(ctx, []int64{id})
	if p, ok := picked[id]; ok {
		return p.Delivery, p.Webhook, err
	}
	return nil, nil, cmp.Or(err, webhook.ErrNotFound)
}

// Record implements [webhook.Store].
func (s *Store) Record(ctx context.Context, ds []*webhook.Delivery) error {
	var rows []map[string]any
	for _, d := range inOrder(ds) {
		row := map[string]any{
			"id": d.ID, "version": d.Version, "state": d.State, "attempts": d.Attempts, "due_at": s.instant(d.Due), "expires_at": s.instant(d.Expires),
			"status": d.Status, "last_error": d.LastError, "updated_at": s.instant(d.UpdatedAt),
		}
		if !d.DeliveredAt.IsZero() {
			row["delivered_at"] = s.instant(d.DeliveredAt)
		}
		rows = append(rows, row)
	}
	return wrap("record deliveries", s.exec(ctx, "record", rows))
}

// inOrder sorts deliveries by ID, so that processes lock rows in the same order.
func inOrder(ds []*webhook.Delivery) []*webhook.Delivery {
	return slices.SortedFunc(slices.Values(ds), func(a, b *webhook.Delivery) int { return cmp.Compare(a.ID, b.ID) })
}

// exec runs a statement whose first parameter is a table.
func (s *Store) exec(ctx context.Context, name string, rows []map[string]any, args ...any) error {
	table, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return statements.Exec(s.db.WithContext(ctx), name, append([]any{string(table)}, args...)...).Error
}

// instant is a time in the JSON of a statement's parameters.
func (s *Store) instant(t time.Time) any {
	if s.db.Name() == "sqlite" {
		return t.UnixMicro()
	}
	return micro(t)
}

// Next implements [webhook.Store]. The time at which a first one was recorded serves as a lock:
// another handler that takes over records it with a new time.
func (s *Store) Next(ctx context.Context, firsts []*webhook.Delivery, now time.Time, n int) ([]webhook.Waiting, error) {
	list := make([]map[string]any, len(firsts))
	hooks := make([]int64, len(firsts))
	for i, f := range firsts {
		list[i] = map[string]any{"nth": i, "id": f.ID, "version": f.Version, "updated_at": s.instant(f.UpdatedAt)}
		hooks[i] = f.WebhookID
	}
	table, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Row deliveryRow `gorm:"embedded"`
		Nth int
	}
	if err := statements.Raw(s.db.WithContext(ctx), "next", webhook.Job, string(table), n).Find(&rows).Error; err != nil {
		return nil, wrap("read waiting deliveries", err)
	}
	byID, err := s.webhooks(ctx, hooks)
	if err != nil {
		return nil, err
	}
	waiting := make([]webhook.Waiting, len(firsts))
	stopped := make([]bool, len(firsts)) // the next one may not be posted now
	for i := range rows {
		d, nth := rows[i].Row.delivery(), rows[i].Nth
		w := byID[d.WebhookID]
		if w == nil || stopped[nth] || d.Attempts > 0 && d.Due.After(now) || !d.Expires.After(now) {
			stopped[nth] = true
			continue
		}
		waiting[nth] = webhook.Waiting{Deliveries: append(waiting[nth].Deliveries, d), Webhook: w}
	}
	return waiting, nil
}

func (s *Store) webhooks(ctx context.Context, ids []int64) (map[int64]*webhook.Webhook, error) {
	slices.Sort(ids)
	var rows []hookRow
	if err := s.db.WithContext(ctx).Where("id IN ?", slices.Compact(ids)).Find(&rows).Error; err != nil {
		return nil, wrap("read webhooks", err)
	}
	byID := make(map[int64]*webhook.Webhook, len(rows))
	for i := range rows {
		byID[rows[i].ID] = rows[i].webhook()
	}
	return byID, nil
}

// Finish implements [webhook.Store].
func (s *Store) Finish(ctx context.Context, firsts []*webhook.Delivery, now time.Time) error {
	var rows []map[string]any
	for _, f := range inOrder(firsts) {
		rows = append(rows, map[string]any{"id": f.ID, "version": f.Version, "updated_at": s.instant(f.UpdatedAt)})
	}
	return wrap("record deliveries", s.exec(ctx, "finish", rows, micro(now)))
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
	err = s.db.WithContext(ctx).Model(&deliveryRow{}).Select("COALESCE(max(id), 0)").Scan(&id).Error
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

// Trim deletes up to limit final deliveries last updated before the given time, and returns how many.
func (s *Store) Trim(ctx context.Context, before time.Time, limit int) (int64, error) {
	db := s.db.WithContext(ctx)
	const isOld = "state <> 'pending' AND updated_at < ?"
	old := db.Model(&deliveryRow{}).Select("id").Where(isOld, micro(before)).Order("updated_at").Limit(limit)
	done := db.Where("id IN (?)", old).Where(isOld, micro(before)).Delete(&deliveryRow{}) // again: one may be sent again meanwhile
	return done.RowsAffected, wrap("trim deliveries", done.Error)
}
