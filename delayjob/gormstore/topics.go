package gormstore

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database/sqlfile"
	"punctual/delayjob"
	"punctual/delayjob/pause"
	"punctual/delayjob/topics"
)

//go:embed sql
var files embed.FS

var statements = sqlfile.Load(files)

// Topics is a [topics.Store] on Postgres or SQLite. Safe for concurrent use.
type Topics struct {
	db    *gorm.DB
	trail Trail
}

var _ topics.Store = (*Topics)(nil)

// NewTopics returns the topics of db, whose schema is migrated.
func NewTopics(db *gorm.DB) *Topics { return &Topics{db, silence{}} }

type delayJob struct {
	Topic       string `gorm:"primaryKey"`
	ID          string `gorm:"primaryKey"`
	Version     int64
	Revision    int64
	DueAt       time.Time
	Body        string
	TTRMs       int64 `gorm:"column:ttr_ms"`
	TTLMs       int64 `gorm:"column:ttl_ms"`
	MaxAttempts int
	ExpiresAt   *time.Time
	State       string
	Attempts    int
	LastError   string
	LeaseToken  *int64
	LeaseUntil  *time.Time
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"`
}

func (delayJob) TableName() string { return "delay_jobs" }

func (r *delayJob) job() *topics.Job {
	j := &topics.Job{
		Key: topics.Key{Topic: r.Topic, ID: r.ID}, Version: r.Version, Revision: r.Revision, Due: r.DueAt.UTC(), Body: []byte(r.Body),
		TTR: time.Duration(r.TTRMs) * time.Millisecond, TTL: time.Duration(r.TTLMs) * time.Millisecond, MaxAttempts: r.MaxAttempts,
		Status: topics.Status(r.State), Attempts: r.Attempts, LastError: r.LastError, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if r.ExpiresAt != nil {
		j.Expires = r.ExpiresAt.UTC()
	}
	if r.LeaseToken != nil && r.LeaseUntil != nil {
		j.Token, j.LeaseUntil = *r.LeaseToken, r.LeaseUntil.UTC()
	}
	return j
}

func jobsOf(rows []delayJob) []*topics.Job {
	js := make([]*topics.Job, len(rows))
	for i := range rows {
		js[i] = rows[i].job()
	}
	return js
}

// encode returns the parameter of a statement about many jobs: an array of arrays in JSON. So the
// text of the statement does not depend on their number.
func encode(rows [][]any) (string, error) {
	b, err := json.Marshal(rows)
	return string(b), err
}

// instant returns how t is written there, in the precision of the database; nil if it is zero.
func instant(db *gorm.DB, t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case db.Name() == "postgres":
		return t.UTC().Format(time.RFC3339Nano)
	}
	return t.UnixMicro()
}

// insertTries is how often jobs are added again that were in the way of others of their keys, but
// were gone when it was looked which. The pauses in between are random, up to a millisecond longer each time.
const insertTries = 50

// Insert implements [topics.Store].
func (s *Topics) Insert(ctx context.Context, js []*topics.Job) ([]topics.Stored, error) {
	stored := make([]topics.Stored, len(js))
	at := make(map[topics.Key]int, len(js))
	for i, j := range js {
		at[j.Key] = i
	}
	left := js
	for try := 1; len(left) > 0; try++ {
		switch {
		case try > insertTries:
			return nil, fmt.Errorf("insert %d jobs: others change them all the time", len(left))
		case try > 1:
			time.Sleep(rand.N(time.Duration(try) * time.Millisecond))
		}
		err := unlessDeadlocked(func() error { return s.insert(ctx, left, stored, at) })
		if err == nil {
			left, err = s.classify(ctx, left, stored, at)
		}
		if err != nil {
			return nil, fmt.Errorf("insert %d jobs: %w", len(js), err)
		}
	}
	return stored, nil
}

// unlessDeadlocked calls write again if Postgres undid it because it and others waited for one
// another. That takes somebody who locks in another order, and [Topics.UpdateDue] does: it passes
// over what is locked, but Postgres waits in spite of SKIP LOCKED for a row whose newest version
// somebody locks in the moment in which the one before was committed.
func unlessDeadlocked(write func() error) error {
	for try := 1; ; try++ {
		err := write()
		e, ok := errors.AsType[interface {
			error
			SQLState() string
		}](err)
		if try == 5 || !ok || e.SQLState() != "40P01" {
			return err
		}
	}
}

// insert adds jobs, unless one is there under a newer or the same version. One that was deleted is
// not there.
func (s *Topics) insert(ctx context.Context, js []*topics.Job, stored []topics.Stored, at map[topics.Key]int) error {
	db := s.db.WithContext(ctx)
	rows := make([][]any, len(js))
	for i, j := range js {
		rows[i] = []any{
			j.Topic, j.ID, j.Version, j.Revision, instant(db, j.Due), string(j.Body), j.TTR.Milliseconds(), j.TTL.Milliseconds(),
			j.MaxAttempts, instant(db, j.Expires), instant(db, j.UpdatedAt),
		}
	}
	data, err := encode(rows)
	if err != nil {
		return err
	}
	var saved []struct {
		Topic, ID string
		Revision  int64
		Fresh     bool
	}
	if err := statements.Raw(db, "insert", data).Find(&saved).Error; err != nil {
		return err
	}
	for _, j := range js {
		stored[at[j.Key]].Result = topics.Unchanged
	}
	byKey := make(map[topics.Key]*topics.Job, len(js))
	for _, j := range js {
		byKey[j.Key] = j
	}
	for _, r := range saved {
		k := topics.Key{Topic: r.Topic, ID: r.ID}
		byKey[k].Revision = r.Revision
		stored[at[k]].Result = topics.Replaced
		if r.Fresh {
			stored[at[k]].Result = topics.Added
		}
	}
	return nil
}

// classify says what is stored in place of the jobs that insert left out. It returns those of them
// for which nothing is: they were deleted since.
func (s *Topics) classify(ctx context.Context, js []*topics.Job, stored []topics.Stored, at map[topics.Key]int) (gone []*topics.Job, err error) {
	out := map[topics.Key]*topics.Job{}
	var keys []topics.Key
	for _, j := range js {
		if stored[at[j.Key]].Result == topics.Unchanged {
			keys = append(keys, j.Key)
			out[j.Key] = j
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	there, err := s.Jobs(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for _, t := range there {
		j := out[t.Key]
		if t.Status == topics.Deleted || t.Version < j.Version {
			continue
		}
		delete(out, t.Key)
		result := topics.Unchanged
		if t.Version > j.Version {
			result = topics.Outdated
		}
		stored[at[t.Key]] = topics.Stored{Result: result, There: t}
	}
	for _, j := range js { // in their order, which is that of the locks
		if out[j.Key] != nil {
			gone = append(gone, j)
		}
	}
	return gone, nil
}

// Jobs implements [topics.Store].
func (s *Topics) Jobs(ctx context.Context, keys ...topics.Key) ([]*topics.Job, error) {
	js, err := find(s.db.WithContext(ctx), "find", keys)
	if err != nil {
		return nil, fmt.Errorf("look %d jobs up: %w", len(keys), err)
	}
	return js, nil
}

// find runs the statement find or lock.
func find(db *gorm.DB, statement string, keys []topics.Key) ([]*topics.Job, error) {
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.Topic, k.ID}
	}
	data, err := encode(rows)
	if err != nil {
		return nil, err
	}
	var found []delayJob
	err = statements.Raw(db, statement, data).Find(&found).Error
	return jobsOf(found), err
}

// Update implements [topics.Store].
func (s *Topics) Update(ctx context.Context, keys []topics.Key, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return unlessDeadlocked(func() error { return s.update(ctx, keys, change) })
}

func (s *Topics) update(ctx context.Context, keys []topics.Key, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		statement := "find" // SQLite runs one writing transaction at a time
		if tx.Name() == "postgres" {
			statement = "lock"
		}
		js, err := find(tx, statement, keys)
		if err != nil {
			return fmt.Errorf("lock %d jobs: %w", len(keys), err)
		}
		changed, err := change(js)
		if err != nil {
			return err
		}
		if err := save(tx, changed); err != nil {
			return fmt.Errorf("save %d jobs: %w", len(changed), err)
		}
		return nil
	})
}

// UpdateDue implements [topics.Store].
func (s *Topics) UpdateDue(ctx context.Context, topic string, now time.Time, limit int, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return unlessDeadlocked(func() error { return s.updateDue(ctx, topic, now, limit, change) })
}

func (s *Topics) updateDue(ctx context.Context, topic string, now time.Time, limit int, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var found []delayJob
		err := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}).
			Where("topic = @topic AND due_at <= @now AND "+isOpen, map[string]any{"topic": topic, "now": now.UTC()}).
			Order("due_at").Limit(limit).Find(&found).Error
		if err != nil {
			return fmt.Errorf("lock due jobs of %s: %w", topic, err)
		}
		changed, err := change(jobsOf(found))
		if err != nil {
			return err
		}
		if err := save(tx, changed); err != nil {
			return fmt.Errorf("save %d jobs: %w", len(changed), err)
		}
		return nil
	})
}

func save(tx *gorm.DB, js []*topics.Job) error {
	if len(js) == 0 {
		return nil
	}
	rows := make([][]any, len(js))
	for i, j := range js {
		var token any
		if j.Token != 0 {
			token = j.Token
		}
		rows[i] = []any{
			j.Topic, j.ID, j.Revision, instant(tx, j.Due), instant(tx, j.Expires), j.Status, j.Attempts, j.LastError, token,
			instant(tx, j.LeaseUntil), instant(tx, j.UpdatedAt),
		}
	}
	data, err := encode(rows)
	if err != nil {
		return err
	}
	return statements.Exec(tx, "save", data).Error
}

// Due implements [topics.Store].
func (s *Topics) Due(ctx context.Context, w delayjob.Window, topic string, after *topics.Job, limit int) ([]*topics.Job, error) {
	q := s.db.WithContext(ctx).Where("state = 'pending' AND due_at <= ?", w.To.UTC()).
		Select("topic", "id", "revision", "due_at", "lease_token", "lease_until").Order("due_at, topic, id").Limit(limit)
	if topic != "" {
		q = q.Where("topic = ?", topic)
	}
	if !w.From.IsZero() {
		q = q.Where("due_at > ?", w.From.UTC())
	}
	if after != nil {
		q = q.Where("(due_at, topic, id) > (?, ?, ?)", after.Due, after.Topic, after.ID)
	}
	var rows []delayJob
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("look for due jobs: %w", err)
	}
	return jobsOf(rows), nil
}

// counted is the number of a topic's jobs.
type counted struct {
	Topic string
	Jobs  int
}

func byTopic(rows []counted) map[string]int {
	m := make(map[string]int, len(rows))
	for _, r := range rows {
		m[r.Topic] = r.Jobs
	}
	return m
}

// Overdue implements [topics.Store].
func (s *Topics) Overdue(ctx context.Context, t time.Time) (map[string]int, error) {
	var rows []counted
	err := s.db.WithContext(ctx).Model(&delayJob{}).Select("topic, COUNT(*) AS jobs").
		Where("state = 'pending' AND due_at <= ?", t.UTC()).Group("topic").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("count overdue jobs: %w", err)
	}
	return byTopic(rows), nil
}

// Pending implements [topics.Store].
func (s *Topics) Pending(ctx context.Context, topic string, most int) (int, error) {
	db := s.db.WithContext(ctx)
	few := db.Model(&delayJob{}).Select("1").Where("topic = ? AND state = 'pending'", topic).Limit(most)
	var n int64
	if err := db.Table("(?) AS few", few).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count pending jobs of %s: %w", topic, err)
	}
	return int(n), nil
}

// Names implements [topics.Store].
func (s *Topics) Names(ctx context.Context, most int) (names []string, err error) {
	if err := statements.Raw(s.db.WithContext(ctx), "names", most).Find(&names).Error; err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	return names, nil
}

// CountDead implements [topics.Store].
func (s *Topics) CountDead(ctx context.Context, names []string) (map[string]int, error) {
	var rows []counted
	err := s.db.WithContext(ctx).Model(&delayJob{}).Select("topic, COUNT(*) AS jobs").
		Where("state = 'dead' AND topic IN ?", names).Group("topic").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("count dead jobs: %w", err)
	}
	return byTopic(rows), nil
}

// The states of a pending job, as [topics.Job.State] knows them; all of them with the one
// parameter @now.
const (
	isLeased    = "(lease_token IS NOT NULL AND lease_until > @now)"
	isExhausted = "(max_attempts > 0 AND attempts >= max_attempts)"
	isExpired   = "(expires_at IS NOT NULL AND expires_at <= @now)"
	isOpen      = "state = 'pending' AND NOT " + isLeased + " AND NOT " + isExhausted + " AND NOT " + isExpired
)

// tidied is how many rows a statement that tidies up changes at most.
const tidied = 1000

// Settle implements [topics.Store].
func (s *Topics) Settle(ctx context.Context, now time.Time) error {
	args := map[string]any{"now": now.UTC()}
	over := map[string]any{
		"state":       gorm.Expr("CASE WHEN " + isExhausted + " THEN 'dead' ELSE 'expired' END"),
		"last_error":  gorm.Expr("CASE WHEN "+isExhausted+" AND last_error = '' THEN ? ELSE last_error END", topics.ErrorTimeOver),
		"lease_token": nil, "lease_until": nil, "updated_at": now.UTC(),
	}
	for _, cond := range []string{ // each with an index of its own
		isExhausted + " AND (lease_until IS NULL OR lease_until <= @now)",
		isExpired + " AND NOT " + isLeased,
	} {
		err := s.tidy(ctx, func(q *gorm.DB) *gorm.DB { return q.Updates(over) }, "state = 'pending' AND due_at <= @now AND "+cond, args)
		if err != nil {
			return fmt.Errorf("settle the jobs that are over: %w", err)
		}
	}
	return nil
}

// Trim implements [topics.Store].
func (s *Topics) Trim(ctx context.Context, t time.Time) error {
	err := s.tidy(ctx, func(q *gorm.DB) *gorm.DB { return q.Delete(&delayJob{}) },
		"state IN ('done', 'deleted', 'expired') AND updated_at < @t", map[string]any{"t": t.UTC()})
	if err != nil {
		return fmt.Errorf("trim the jobs that are over: %w", err)
	}
	return nil
}

// tidy applies a change to the rows that match cond, in small batches. It skips locked rows until
// the next time. If many rows are locked, it stops, because another process is tidying up.
func (s *Topics) tidy(ctx context.Context, do func(*gorm.DB) *gorm.DB, cond string, args map[string]any) error {
	db := s.db.WithContext(ctx)
	some := db.Model(&delayJob{}).Select("topic, id").Where(cond, args).Limit(tidied)
	if db.Name() == "postgres" { // the condition again, since somebody may have changed the row since
		some = db.Model(&delayJob{}).Select("topic, id").Where("(topic, id) IN (?)", some).Where(cond, args).
			Order(`topic COLLATE "C", id COLLATE "C"`). // as the statement lock does
			Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
	}
	return pause.Parts(ctx, func() (bool, error) {
		n := int64(0)
		err := unlessDeadlocked(func() error {
			res := do(db.Model(&delayJob{}).Where("(topic, id) IN (?)", some))
			n = res.RowsAffected
			return res.Error
		})
		return n >= tidied/2, err
	})
}

// Dead implements [topics.Store].
func (s *Topics) Dead(ctx context.Context, topic string, after *topics.Job, limit int) ([]*topics.Job, error) {
	q := s.db.WithContext(ctx).Where("state = 'dead' AND topic = ?", topic).Order("updated_at DESC, id DESC").Limit(limit)
	if after != nil {
		q = q.Where("(updated_at, id) < (?, ?)", after.UpdatedAt.UTC(), after.ID)
	}
	var rows []delayJob
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list dead jobs of %s: %w", topic, err)
	}
	return jobsOf(rows), nil
}

// listScan is how many rows a page of a list reads at most.
const listScan = 5000

// List implements [topics.Store].
func (s *Topics) List(ctx context.Context, topic string, state topics.State, now time.Time, after *topics.Job, limit int) ([]*topics.Job, *topics.Job, error) {
	of := map[topics.State]string{
		"":              "state <> @deleted",
		topics.Delayed:  isOpen + " AND due_at > @now",
		topics.Ready:    isOpen + " AND due_at <= @now",
		topics.Reserved: "state = 'pending' AND " + isLeased,
	}[state]
	if of == "" {
		of = "state = @state"
	}
	args := map[string]any{"topic": topic, "state": string(state), "deleted": topics.Deleted, "now": now.UTC()}
	rows, order, from := "topic = @topic", "id", "id > @id"
	if state == topics.Delayed || state == topics.Ready || state == topics.Reserved {
		rows, order, from = "topic = @topic AND state = 'pending'", "due_at, id", "(due_at, id) > (@due, @id)"
	}
	if after != nil {
		rows += " AND " + from
		args["id"], args["due"] = after.ID, after.Due.UTC()
	}
	db := s.db.WithContext(ctx)
	scanned := db.Model(&delayJob{}).Omit("body").Where(rows, args).Order(order).Limit(listScan)
	var found []delayJob
	if err := db.Table("(?) AS j", scanned).Omit("body").Where(of, args).Order(order).Limit(limit).Find(&found).Error; err != nil {
		return nil, nil, fmt.Errorf("list jobs of %s: %w", topic, err)
	}
	js := jobsOf(found)
	if len(js) == limit {
		return js, js[limit-1], nil
	}
	var last []delayJob // if the rows that were read are not all
	if err := db.Table("(?) AS j", scanned).Select("id, due_at").Order(order).Limit(1).Offset(listScan - 1).Find(&last).Error; err != nil {
		return nil, nil, fmt.Errorf("list jobs of %s: %w", topic, err)
	}
	if len(last) == 0 {
		return js, nil, nil
	}
	return js, last[0].job(), nil
}

// Stats implements [topics.Store].
func (s *Topics) Stats(ctx context.Context, now time.Time, names ...string) ([]topics.Stats, error) {
	db := s.db.WithContext(ctx)
	only := func(q *gorm.DB) *gorm.DB {
		if len(names) > 0 {
			q = q.Where("topic IN ?", names)
		}
		return q.Session(&gorm.Session{})
	}
	jobs := only(db.Model(&delayJob{}).Where("state <> 'deleted'"))
	var counts []string
	for _, c := range [][2]string{
		{"delayed", isOpen + " AND due_at > @now"},
		{"ready", isOpen + " AND due_at <= @now"},
		{"reserved", "state = 'pending' AND " + isLeased},
		{"dead", "state = 'dead' OR state = 'pending' AND NOT " + isLeased + " AND " + isExhausted},
		{"done", "state = 'done'"},
		{"expired", "state = 'expired' OR state = 'pending' AND NOT " + isLeased + " AND NOT " + isExhausted + " AND " + isExpired},
	} {
		counts = append(counts, "COUNT(CASE WHEN "+c[1]+" THEN 1 END) AS "+c[0])
	}
	var stats []topics.Stats
	err := db.Table("(? UNION ? UNION ?) AS t", jobs.Select("topic"), only(db.Model(&topicSetting{}).Select("topic")), only(db.Model(&topicWebhook{}).Select("topic"))).
		Joins("LEFT JOIN (?) AS c ON c.topic = t.topic", jobs.Select("topic, "+strings.Join(counts, ", "), sql.Named("now", now.UTC())).Group("topic")).
		Joins("LEFT JOIN topic_settings AS o ON o.topic = t.topic").Joins("LEFT JOIN topic_webhooks AS w ON w.topic = t.topic").
		Select(`t.topic AS topic, COALESCE(delayed, 0) AS delayed, COALESCE(ready, 0) AS ready, COALESCE(reserved, 0) AS reserved,
			COALESCE(dead, 0) AS dead, COALESCE(done, 0) AS done, COALESCE(expired, 0) AS expired, paused_at IS NOT NULL AS paused, w.topic IS NOT NULL AS pushed`).
		Order("t.topic").Find(&stats).Error
	if err != nil {
		return nil, fmt.Errorf("count the jobs of topics: %w", err)
	}
	for i := range stats {
		if stats[i].Ready == 0 {
			continue
		}
		var first []delayJob
		err := db.Where("topic = @topic AND due_at <= @now AND "+isOpen, map[string]any{"topic": stats[i].Topic, "now": now.UTC()}).
			Select("due_at").Order("due_at").Limit(1).Find(&first).Error
		if err != nil {
			return nil, fmt.Errorf("look for the oldest due job: %w", err)
		}
		if len(first) > 0 {
			stats[i].OldestDue = first[0].DueAt.UTC()
		}
	}
	return stats, nil
}

// Minutes implements [topics.Store].
func (s *Topics) Minutes(ctx context.Context, topic string, now time.Time) (counts [60]int, err error) {
	db := s.db.WithContext(ctx)
	minute, from := "(due_at - ?) / 60000000", any(now.UnixMicro())
	if db.Name() == "postgres" {
		minute, from = "CAST(FLOOR(EXTRACT(EPOCH FROM due_at - CAST(? AS timestamptz)) / 60) AS bigint)", now.UTC()
	}
	var rows []struct{ Minute, Jobs int }
	err = db.Model(&delayJob{}).Select(minute+" AS minute, COUNT(*) AS jobs", from).
		Where("topic = @topic AND due_at > @now AND due_at < @until AND "+isOpen,
			map[string]any{"topic": topic, "now": now.UTC(), "until": now.Add(time.Hour).UTC()}).Group("minute").Find(&rows).Error
	if err != nil {
		return counts, fmt.Errorf("count the coming hour of %s: %w", topic, err)
	}
	for _, r := range rows {
		if r.Minute >= 0 && r.Minute < len(counts) {
			counts[r.Minute] = r.Jobs
		}
	}
	return counts, nil
}

type topicSetting struct {
	Topic     string `gorm:"primaryKey"`
	PausedAt  *time.Time
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (topicSetting) TableName() string { return "topic_settings" }

// SetPaused implements [topics.Store].
func (s *Topics) SetPaused(ctx context.Context, topic string, paused bool, now time.Time) error {
	setting, action := topicSetting{Topic: topic, UpdatedAt: now.UTC()}, "topic.resumed"
	if paused {
		setting.PausedAt, action = &setting.UpdatedAt, "topic.paused"
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&setting).Error
		if err != nil {
			return err
		}
		return s.trail.Note(tx, action, topic, topic, nil, nil)
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", action, topic, err)
	}
	return nil
}

// Settings implements [topics.Store].
func (s *Topics) Settings(ctx context.Context, since time.Time) (paused, resumed []string, err error) {
	var rows []topicSetting
	err = s.db.WithContext(ctx).Where("paused_at IS NOT NULL OR updated_at >= ?", since.UTC()).Find(&rows).Error
	if err != nil {
		return nil, nil, fmt.Errorf("read the settings of topics: %w", err)
	}
	for _, r := range rows {
		if r.PausedAt != nil {
			paused = append(paused, r.Topic)
		} else {
			resumed = append(resumed, r.Topic)
		}
	}
	return paused, resumed, nil
}
