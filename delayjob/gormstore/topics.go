package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"

	"punctual/delayjob"
	"punctual/delayjob/topics"
)

// Topics is a [topics.Store] on Postgres or SQLite. Safe for concurrent use.
type Topics struct {
	db    *gorm.DB
	trail Trail
}

var _ topics.Store = (*Topics)(nil)

// NewTopics returns the topics of db, whose schema is migrated.
func NewTopics(db *gorm.DB) *Topics { return &Topics{db, silence{}} }

type delayJob struct {
	Topic       string
	ID          string
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
	CreatedAt   time.Time
	UpdatedAt   time.Time
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

// A statement about many jobs has one parameter: an array of arrays in JSON, which both
// databases read with the same operators. So its text never changes with the number of jobs.
type table struct {
	from string              // a set of rows with the column "value", and a condition on it
	time func(i int) string  // reads the instant at place i
	arg  func(time.Time) any // writes it
}

func tableOf(db *gorm.DB) table {
	if db.Name() == "postgres" {
		return table{
			// json would be read anew for every column. The condition holds for every row. It is
			// for the planner, which takes the array for 100 rows and would read the whole table to
			// join it with them. With the condition it expects one row and uses the primary key.
			from: "jsonb_array_elements(CAST(? AS jsonb)) WHERE jsonb_typeof(value) = 'array'",
			time: func(i int) string { return fmt.Sprintf("CAST(value->>%d AS timestamptz)", i) },
			arg:  func(t time.Time) any { return t.UTC().Format(time.RFC3339Nano) },
		}
	}
	return table{
		from: "json_each(?) WHERE true", // which ends a SELECT where SQLite would take ON for that of a join
		time: func(i int) string { return number(i) },
		arg:  func(t time.Time) any { return t.UnixMicro() },
	}
}

func number(i int) string { return "CAST(value->>" + strconv.Itoa(i) + " AS bigint)" }

// or writes an instant that may be none.
func (t table) or(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return t.arg(at)
}

func encode(rows [][]any) (string, error) {
	b, err := json.Marshal(rows)
	return string(b), err
}

// insertTries is how often jobs are added again that were in the way of others of their keys, but
// were gone when it was looked which.
const insertTries = 5

// Insert implements [topics.Store].
func (s *Topics) Insert(ctx context.Context, js []*topics.Job) ([]topics.Stored, error) {
	stored := make([]topics.Stored, len(js))
	at := make(map[topics.Key]int, len(js))
	for i, j := range js {
		at[j.Key] = i
	}
	left := js
	for try := 1; len(left) > 0; try++ {
		if try > insertTries {
			return nil, fmt.Errorf("insert %d jobs: others change them all the time", len(left))
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

// inOrder is how several rows j are locked in Postgres: by the bytes of their keys, in which order
// Insert has them too.
const inOrder = ` ORDER BY j.topic COLLATE "C", j.id COLLATE "C" FOR UPDATE OF j`

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
	t := tableOf(db)
	rows := make([][]any, len(js))
	for i, j := range js {
		rows[i] = []any{
			j.Topic, j.ID, j.Version, j.Revision, t.arg(j.Due), string(j.Body), j.TTR.Milliseconds(), j.TTL.Milliseconds(),
			j.MaxAttempts, t.or(j.Expires), t.arg(j.UpdatedAt),
		}
	}
	data, err := encode(rows)
	if err != nil {
		return err
	}
	q := `INSERT INTO delay_jobs (topic, id, version, revision, due_at, body, ttr_ms, ttl_ms, max_attempts, expires_at, state, attempts,
			last_error, created_at, updated_at)
		SELECT value->>0, value->>1, ` + number(2) + `, ` + number(3) + `, ` + t.time(4) + `, value->>5, ` + number(6) + `, ` + number(7) + `,
			` + number(8) + `, ` + t.time(9) + `, 'pending', 0, '', ` + t.time(10) + `, ` + t.time(10) + `
		FROM ` + t.from + `
		ON CONFLICT (topic, id) DO UPDATE SET version = excluded.version,
			revision = CASE WHEN excluded.revision > delay_jobs.revision THEN excluded.revision ELSE delay_jobs.revision + 1 END,
			due_at = excluded.due_at, body = excluded.body, ttr_ms = excluded.ttr_ms, ttl_ms = excluded.ttl_ms,
			max_attempts = excluded.max_attempts, expires_at = excluded.expires_at, state = 'pending', attempts = 0, last_error = '',
			lease_token = NULL, lease_until = NULL, updated_at = excluded.updated_at,
			created_at = CASE WHEN delay_jobs.state = 'deleted' THEN excluded.created_at ELSE delay_jobs.created_at END
		WHERE delay_jobs.version < excluded.version OR delay_jobs.state = 'deleted'
		RETURNING topic, id, revision, created_at = updated_at AS fresh`
	var saved []struct {
		Topic, ID string
		Revision  int64
		Fresh     bool
	}
	if err := db.Raw(q, data).Scan(&saved).Error; err != nil {
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
	js, err := find(s.db.WithContext(ctx), keys, "")
	if err != nil {
		return nil, fmt.Errorf("look %d jobs up: %w", len(keys), err)
	}
	return js, nil
}

func find(db *gorm.DB, keys []topics.Key, lock string) ([]*topics.Job, error) {
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.Topic, k.ID}
	}
	data, err := encode(rows)
	if err != nil {
		return nil, err
	}
	q := `SELECT j.* FROM (SELECT DISTINCT value->>0 AS topic, value->>1 AS id FROM ` + tableOf(db).from + `) AS x
		JOIN delay_jobs AS j ON j.topic = x.topic AND j.id = x.id` + lock
	var found []delayJob
	err = db.Raw(q, data).Scan(&found).Error
	return jobsOf(found), err
}

// Update implements [topics.Store].
func (s *Topics) Update(ctx context.Context, keys []topics.Key, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return unlessDeadlocked(func() error { return s.update(ctx, keys, change) })
}

func (s *Topics) update(ctx context.Context, keys []topics.Key, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		lock := ""
		if tx.Name() == "postgres" {
			lock = inOrder
		}
		js, err := find(tx, keys, lock)
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
		lock := ""
		if tx.Name() == "postgres" {
			lock = " FOR UPDATE SKIP LOCKED"
		}
		var found []delayJob
		err := tx.Raw("SELECT * FROM delay_jobs WHERE topic = @topic AND due_at <= @now AND "+isOpen+" ORDER BY due_at LIMIT @limit"+lock,
			map[string]any{"topic": topic, "now": now.UTC(), "limit": limit}).Scan(&found).Error
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
	t := tableOf(tx)
	rows := make([][]any, len(js))
	for i, j := range js {
		var token any
		if j.Token != 0 {
			token = j.Token
		}
		rows[i] = []any{
			j.Topic, j.ID, j.Revision, t.arg(j.Due), t.or(j.Expires), j.Status, j.Attempts, j.LastError, token, t.or(j.LeaseUntil), t.arg(j.UpdatedAt),
		}
	}
	data, err := encode(rows)
	if err != nil {
		return err
	}
	q := `UPDATE delay_jobs AS j SET revision = x.revision, due_at = x.due_at, expires_at = x.expires_at, state = x.state,
			attempts = x.attempts, last_error = x.last_error, lease_token = x.token, lease_until = x.until, updated_at = x.updated_at
		FROM (SELECT value->>0 AS topic, value->>1 AS id, ` + number(2) + ` AS revision, ` + t.time(3) + ` AS due_at, ` + t.time(4) + ` AS expires_at,
			value->>5 AS state, ` + number(6) + ` AS attempts, value->>7 AS last_error, ` + number(8) + ` AS token, ` + t.time(9) + ` AS until,
			` + t.time(10) + ` AS updated_at FROM ` + t.from + `) AS x
		WHERE j.topic = x.topic AND j.id = x.id`
	return tx.Exec(q, data).Error
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
	err := s.db.WithContext(ctx).Raw("SELECT topic, COUNT(*) AS jobs FROM delay_jobs WHERE state = 'pending' AND due_at <= ? GROUP BY topic", t.UTC()).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("count overdue jobs: %w", err)
	}
	return byTopic(rows), nil
}

// Pending implements [topics.Store].
func (s *Topics) Pending(ctx context.Context, topic string, most int) (n int, err error) {
	err = s.db.WithContext(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM delay_jobs WHERE topic = ? AND state = 'pending' LIMIT ?) AS few", topic, most).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("count pending jobs of %s: %w", topic, err)
	}
	return n, nil
}

// Names implements [topics.Store]. It goes from name to name, whatever number of jobs is in
// between.
func (s *Topics) Names(ctx context.Context, most int) (names []string, err error) {
	err = s.db.WithContext(ctx).Raw(`WITH RECURSIVE names AS (
			SELECT (SELECT topic FROM delay_jobs ORDER BY topic LIMIT 1) AS topic
			UNION ALL
			SELECT (SELECT topic FROM delay_jobs WHERE topic > names.topic ORDER BY topic LIMIT 1) FROM names WHERE names.topic IS NOT NULL
		) SELECT topic FROM names WHERE topic IS NOT NULL LIMIT ?`, most).Scan(&names).Error
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	return names, nil
}

// CountDead implements [topics.Store].
func (s *Topics) CountDead(ctx context.Context, names []string) (map[string]int, error) {
	var rows []counted
	err := s.db.WithContext(ctx).Raw("SELECT topic, COUNT(*) AS jobs FROM delay_jobs WHERE state = 'dead' AND topic IN ? GROUP BY topic", names).Scan(&rows).Error
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
	args := map[string]any{"now": now.UTC(), "error": topics.ErrorTimeOver}
	for _, cond := range []string{ // each with an index of its own
		isExhausted + " AND (lease_until IS NULL OR lease_until <= @now)",
		isExpired + " AND NOT " + isLeased,
	} {
		err := s.tidy(ctx, `UPDATE delay_jobs SET
				state = CASE WHEN `+isExhausted+` THEN 'dead' ELSE 'expired' END,
				last_error = CASE WHEN `+isExhausted+` AND last_error = '' THEN @error ELSE last_error END,
				lease_token = NULL, lease_until = NULL, updated_at = @now`,
			"state = 'pending' AND due_at <= @now AND "+cond, args)
		if err != nil {
			return fmt.Errorf("settle the jobs that are over: %w", err)
		}
	}
	return nil
}

// Trim implements [topics.Store].
func (s *Topics) Trim(ctx context.Context, t time.Time) error {
	err := s.tidy(ctx, "DELETE FROM delay_jobs", "state IN ('done', 'deleted', 'expired') AND updated_at < @t", map[string]any{"t": t.UTC()})
	if err != nil {
		return fmt.Errorf("trim the jobs that are over: %w", err)
	}
	return nil
}

// tidy applies a change to the rows that match cond, in small batches. It skips locked rows until
// the next time. If many rows are locked, it stops, because another process is tidying up.
func (s *Topics) tidy(ctx context.Context, do, cond string, args map[string]any) error {
	db := s.db.WithContext(ctx)
	some := "SELECT topic, id FROM delay_jobs WHERE " + cond + " LIMIT " + strconv.Itoa(tidied)
	if db.Name() == "postgres" { // the condition again, since somebody may have changed the row since
		some = "SELECT topic, id FROM delay_jobs AS j WHERE (topic, id) IN (" + some + ") AND " + cond + inOrder + " SKIP LOCKED"
	}
	for {
		n := int64(0)
		err := unlessDeadlocked(func() error {
			res := db.Exec(do+" WHERE (topic, id) IN ("+some+")", args)
			n = res.RowsAffected
			return res.Error
		})
		if err != nil || n < tidied/2 {
			return err
		}
	}
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
	const columns = "topic, id, version, revision, due_at, ttr_ms, ttl_ms, max_attempts, expires_at, state, attempts, last_error, lease_token, lease_until, created_at, updated_at"
	of := map[topics.State]string{
		"":              "state <> 'deleted'",
		topics.Delayed:  isOpen + " AND due_at > @now",
		topics.Ready:    isOpen + " AND due_at <= @now",
		topics.Reserved: "state = 'pending' AND " + isLeased,
	}[state]
	if of == "" {
		of = "state = @state"
	}
	args := map[string]any{"topic": topic, "state": string(state), "now": now.UTC(), "scan": listScan, "limit": limit}
	rows, order, from := "topic = @topic", "id", "id > @id"
	if state == topics.Delayed || state == topics.Ready || state == topics.Reserved {
		rows, order, from = "topic = @topic AND state = 'pending'", "due_at, id", "(due_at, id) > (@due, @id)"
	}
	if after != nil {
		rows += " AND " + from
		args["id"], args["due"] = after.ID, after.Due.UTC()
	}
	scanned := "SELECT " + columns + " FROM delay_jobs WHERE " + rows + " ORDER BY " + order + " LIMIT @scan"
	db := s.db.WithContext(ctx)
	var found []delayJob
	if err := db.Raw("SELECT * FROM ("+scanned+") AS j WHERE "+of+" ORDER BY "+order+" LIMIT @limit", args).Scan(&found).Error; err != nil {
		return nil, nil, fmt.Errorf("list jobs of %s: %w", topic, err)
	}
	js := jobsOf(found)
	if len(js) == limit {
		return js, js[limit-1], nil
	}
	var last []delayJob // if the rows that were read are not all
	if err := db.Raw("SELECT id, due_at FROM ("+scanned+") AS j ORDER BY "+order+" LIMIT 1 OFFSET @scan - 1", args).Scan(&last).Error; err != nil {
		return nil, nil, fmt.Errorf("list jobs of %s: %w", topic, err)
	}
	if len(last) == 0 {
		return js, nil, nil
	}
	return js, last[0].job(), nil
}

// Stats implements [topics.Store].
func (s *Topics) Stats(ctx context.Context, now time.Time, names ...string) ([]topics.Stats, error) {
	only, kept, args := "", " WHERE state <> 'deleted'", map[string]any{"now": now.UTC(), "names": names}
	if len(names) > 0 {
		only, kept = " WHERE topic IN @names", " WHERE topic IN @names AND state <> 'deleted'"
	}
	count := func(cond string) string { return "COUNT(CASE WHEN " + cond + " THEN 1 END)" }
	q := `SELECT t.topic AS topic, COALESCE(delayed, 0) AS delayed, COALESCE(ready, 0) AS ready, COALESCE(reserved, 0) AS reserved,
			COALESCE(dead, 0) AS dead, COALESCE(done, 0) AS done, COALESCE(expired, 0) AS expired, paused_at IS NOT NULL AS paused, w.topic IS NOT NULL AS pushed
		FROM (SELECT topic FROM delay_jobs` + kept + ` UNION SELECT topic FROM topic_settings` + only + ` UNION SELECT topic FROM topic_webhooks` + only + `) AS t
		LEFT JOIN (SELECT topic,
			` + count(isOpen+" AND due_at > @now") + ` AS delayed,
			` + count(isOpen+" AND due_at <= @now") + ` AS ready,
			` + count("state = 'pending' AND "+isLeased) + ` AS reserved,
			` + count("state = 'dead' OR state = 'pending' AND NOT "+isLeased+" AND "+isExhausted) + ` AS dead,
			` + count("state = 'done'") + ` AS done,
			` + count("state = 'expired' OR state = 'pending' AND NOT "+isLeased+" AND NOT "+isExhausted+" AND "+isExpired) + ` AS expired
			FROM delay_jobs` + kept + ` GROUP BY topic) AS c ON c.topic = t.topic
		LEFT JOIN topic_settings AS o ON o.topic = t.topic LEFT JOIN topic_webhooks AS w ON w.topic = t.topic ORDER BY t.topic`
	var stats []topics.Stats
	if err := s.db.WithContext(ctx).Raw(q, args).Scan(&stats).Error; err != nil {
		return nil, fmt.Errorf("count the jobs of topics: %w", err)
	}
	for i := range stats {
		if stats[i].Ready == 0 {
			continue
		}
		var first []delayJob
		err := s.db.WithContext(ctx).Where("topic = @topic AND due_at <= @now AND "+isOpen, map[string]any{"topic": stats[i].Topic, "now": now.UTC()}).
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
	minute := "(due_at - @micro) / 60000000"
	if db.Name() == "postgres" {
		minute = "CAST(FLOOR(EXTRACT(EPOCH FROM due_at - CAST(@now AS timestamptz)) / 60) AS bigint)"
	}
	var rows []struct{ Minute, Jobs int }
	err = db.Raw("SELECT "+minute+" AS minute, COUNT(*) AS jobs FROM delay_jobs WHERE topic = @topic AND due_at > @now AND due_at < @until AND "+isOpen+" GROUP BY 1",
		map[string]any{"now": now.UTC(), "micro": now.UnixMicro(), "until": now.Add(time.Hour).UTC(), "topic": topic}).Scan(&rows).Error
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

// SetPaused implements [topics.Store].
func (s *Topics) SetPaused(ctx context.Context, topic string, paused bool, now time.Time) error {
	var at any
	action := "topic.resumed"
	if paused {
		at, action = now.UTC(), "topic.paused"
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Exec(`INSERT INTO topic_settings (topic, paused_at, updated_at) VALUES (?, ?, ?)
			ON CONFLICT (topic) DO UPDATE SET paused_at = excluded.paused_at, updated_at = excluded.updated_at`, topic, at, now.UTC()).Error
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
	var rows []struct {
		Topic    string
		PausedAt *time.Time
	}
	err = s.db.WithContext(ctx).Table("topic_settings").Where("paused_at IS NOT NULL OR updated_at >= ?", since.UTC()).Find(&rows).Error
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
