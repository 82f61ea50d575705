package gormstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/topics"
	"punctual/tests/testenv/testdb"
)

func topicJob(id string, version int64, due time.Time) *topics.Job {
	return &topics.Job{
		Key: topics.Key{Topic: "t", ID: id}, Version: version, Revision: version, Due: due, Body: []byte("1"), TTR: time.Minute, MaxAttempts: 1,
		Status: topics.Pending, CreatedAt: due, UpdatedAt: due,
	}
}

// Whoever adds, takes, finishes, settles and trims the same jobs at the same time waits for
// others or passes them over, but none is ever chosen as the victim of a deadlock.
func TestTopics_concurrently(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.NewTopics(db.Gorm)
		ctx := t.Context()
		past := time.Now().UTC().Add(-time.Hour).Truncate(time.Microsecond)
		const jobs = 60
		some := func(n int) (ids []string) {
			for _, i := range rand.Perm(jobs)[:n] {
				ids = append(ids, fmt.Sprint(i))
			}
			return ids
		}
		var versions sync.Mutex
		version := int64(0)
		work := map[string]func() error{
			"add": func() error {
				versions.Lock()
				version++
				v := version
				versions.Unlock()
				ids := some(30)
				slices.Sort(ids)
				js := make([]*topics.Job, len(ids))
				for i, id := range ids {
					js[i] = topicJob(id, v, past)
					if rand.N(2) == 0 {
						js[i].Expires = past.Add(time.Minute)
					}
				}
				_, err := s.Insert(ctx, js)
				return err
			},
			"change": func() error {
				var keys []topics.Key
				for _, id := range some(30) {
					keys = append(keys, topics.Key{Topic: "t", ID: id})
				}
				return s.Update(ctx, keys, func(js []*topics.Job) ([]*topics.Job, error) {
					for _, j := range js {
						switch rand.N(3) {
						case 0:
							j.Status, j.Token, j.LeaseUntil = topics.Done, 0, time.Time{}
						case 1:
							j.Attempts, j.Token, j.LeaseUntil = 1, 1, past
						}
					}
					return js, nil
				})
			},
			"take": func() error {
				return s.UpdateDue(ctx, "t", time.Now().UTC(), 10, func(js []*topics.Job) ([]*topics.Job, error) {
					for _, j := range js {
						j.Token, j.LeaseUntil = 1, past
					}
					return js, nil
				})
			},
			"settle": func() error { return s.Settle(ctx, time.Now().UTC()) },
			"trim":   func() error { return s.Trim(ctx, time.Now().UTC()) },
		}
		var running sync.WaitGroup
		for name, do := range work {
			for range 3 {
				running.Go(func() {
					for range 50 {
						if err := do(); err != nil {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
				})
			}
		}
		running.Wait()
	})
}

// What is locked is left to the next time.
func TestTopics_tidyPasses(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		if db.Dialect != "postgres" {
			return // one writer at a time
		}
		s := gormstore.NewTopics(db.Gorm)
		past := time.Now().UTC().Add(-time.Hour).Truncate(time.Microsecond)
		js := []*topics.Job{topicJob("a", 1, past), topicJob("b", 1, past)}
		for _, j := range js {
			j.Expires = past.Add(time.Minute)
		}
		if _, err := s.Insert(t.Context(), js); err != nil {
			t.Fatal(err)
		}
		state := func(id string) string {
			found, err := s.Jobs(t.Context(), topics.Key{Topic: "t", ID: id})
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			return string(found[0].Status)
		}
		err := s.Update(t.Context(), []topics.Key{js[0].Key}, func(held []*topics.Job) ([]*topics.Job, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := s.Settle(ctx, time.Now().UTC()); err != nil {
				t.Errorf("settle beside a lock: %v", err)
			}
			return nil, nil
		})
		if err != nil || state("a") != "pending" || state("b") != "expired" {
			t.Errorf("a is %s, b is %s, %v", state("a"), state("b"), err)
		}
		if err := s.Settle(t.Context(), time.Now().UTC()); err != nil || state("a") != "expired" {
			t.Errorf("a is %s, %v", state("a"), err)
		}
	})
}

// Tidying up and counting are found by indexes, however many jobs wait.
func TestTopics_plans(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		if db.Dialect != "postgres" {
			return
		}
		const open = "state = 'pending' AND due_at <= now() AND "
		if err := db.Gorm.Exec(`INSERT INTO delay_jobs (topic, id, version, revision, due_at, body, ttr_ms, ttl_ms, max_attempts, state, attempts, last_error, created_at, updated_at)
			SELECT 't' || i % 7, i, 1, 1, now() - interval '1 hour', '1', 1, 0, 8, 'pending', 0, '', now(), now() FROM generate_series(1, 20000) AS i`).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Gorm.Exec("ANALYZE delay_jobs").Error; err != nil {
			t.Fatal(err)
		}
		for cond, index := range map[string]string{
			open + "(max_attempts > 0 AND attempts >= max_attempts) AND (lease_until IS NULL OR lease_until <= now())": "delay_jobs_exhausted",
			open + "(expires_at IS NOT NULL AND expires_at <= now())":                                                  "delay_jobs_expiring",
		} {
			var plan []string
			if err := db.Gorm.Raw("EXPLAIN SELECT topic, id FROM delay_jobs WHERE " + cond + " LIMIT 1000").Scan(&plan).Error; err != nil {
				t.Fatal(err)
			}
			if p := strings.Join(plan, "\n"); !strings.Contains(p, index) {
				t.Errorf("%s is not used:\n%s", index, p)
			}
		}
		names, err := gormstore.NewTopics(db.Gorm).Names(t.Context(), 5)
		if err != nil || fmt.Sprint(names) != "[t0 t1 t2 t3 t4]" {
			t.Errorf("%v, %v", names, err)
		}
	})
}

// Looking jobs up and changing them goes by the primary key, whatever the planner knows of the
// table: nothing (it was never analyzed), that it was empty, or the truth.
func TestTopics_readNothingElse(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		if db.Dialect != "postgres" {
			return
		}
		pool, err := db.Gorm.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1) // so that this session can have its counts shown at once
		exec := func(sql string, args ...any) {
			t.Helper()
			if err := db.Gorm.Exec(sql, args...).Error; err != nil {
				t.Fatal(err)
			}
		}
		type counts struct{ SeqScan, SeqTupRead, IdxTupFetch int64 }
		read := func() (c counts) {
			t.Helper()
			exec("SELECT pg_stat_force_next_flush()")
			if err := db.Gorm.Raw("SELECT seq_scan, seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'delay_jobs'").Scan(&c).Error; err != nil {
				t.Fatal(err)
			}
			return c
		}
		s := gormstore.NewTopics(db.Gorm)
		exec("ALTER TABLE delay_jobs SET (autovacuum_enabled = false)")
		for _, known := range []string{"nothing", "empty", "all"} {
			exec("TRUNCATE delay_jobs")
			if known == "empty" {
				exec("ANALYZE delay_jobs")
			}
			last := 0
			for _, n := range []int{1000, 5000, 8000, 12_000} {
				exec(`INSERT INTO delay_jobs (topic, id, version, revision, due_at, body, ttr_ms, ttl_ms, max_attempts, state, attempts, last_error, created_at, updated_at)
					SELECT 't', i, 1, 1, now(), '{"to": "zoe@example.org"}', 1, 0, 8, CASE WHEN i % 10 = 0 THEN 'pending' ELSE 'done' END, 0, '', now(), now() FROM generate_series(?::int, ?) AS i`, last+1, n)
				last = n
				if known == "all" {
					exec("ANALYZE delay_jobs")
				}
				begin := read()
				touched := 0
				for i := range 12 { // more often than it takes Postgres to settle for one plan
					keys := make([]topics.Key, []int{1, 10, 100}[i%3])
					for j := range keys {
						keys[j] = topics.Key{Topic: "t", ID: fmt.Sprint(1 + (i*997+j)%n)}
					}
					touched += 3 * len(keys) // looked up, locked and changed
					if js, err := s.Jobs(t.Context(), keys...); err != nil || len(js) != len(keys) {
						t.Fatal(len(js), err)
					}
					err := s.Update(t.Context(), keys, func(js []*topics.Job) ([]*topics.Job, error) {
						for _, j := range js {
							j.Attempts++
						}
						return js, nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				end := read()
				if end.SeqScan != begin.SeqScan || end.SeqTupRead != begin.SeqTupRead {
					t.Errorf("%d rows, the planner knows %s: %d scans of the table read %d rows", n, known, end.SeqScan-begin.SeqScan, end.SeqTupRead-begin.SeqTupRead)
				}
				if got := end.IdxTupFetch - begin.IdxTupFetch; got > int64(2*touched) { // and old versions of rows
					t.Errorf("%d rows, the planner knows %s: %d rows fetched to look up and change %d", n, known, got, touched)
				}
			}
		}
	})
}
