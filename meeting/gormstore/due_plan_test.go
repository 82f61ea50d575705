package gormstore_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/meeting"
	"punctual/meeting/gormstore"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// What is due is found by an index, however little Postgres knows of the tables: right after they
// were filled as well as once they are analyzed.
func TestDue_readsNoWholeTable(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), testdb.URL(t, migrations.Postgres), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := newFixture(t, db)
	const n = 20_000
	f.bulk(n)
	f.sql(`INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at)
		SELECT id, 'start', 900, '["email"]', starts_at - interval '15 minutes' FROM meetings`)
	f.sql(`INSERT INTO approvals (meeting_id, number, waiting, first_number, level, asked_at, deadline, remind_at, escalate_at)
		SELECT id, 1, true, 1, 1, created_at, starts_at, starts_at, starts_at FROM meetings`)
	f.sql(`INSERT INTO waitlist (user_id, state, wish, expires_at, due_at, created_at, updated_at)
		SELECT organizer_id, 'waiting', '{}', starts_at, starts_at, created_at, created_at FROM meetings`)
	jobs := []string{meeting.JobStart, meeting.JobEnd, meeting.JobNoShow, meeting.JobRemind, meeting.JobExpire, meeting.JobApprovalRemind,
		meeting.JobEscalate, meeting.JobWaitlistExpire}
	for _, state := range []string{"fresh", "analyzed"} {
		for _, job := range jobs {
			for name, due := range map[string]func(*gormstore.Store) error{
				"full pass": func(s *gormstore.Store) error {
					_, err := s.Due(t.Context(), job, time.Time{}, now, meeting.DueCursor{}, 1000)
					return err
				},
				"incremental pass": func(s *gormstore.Store) error {
					_, err := s.Due(t.Context(), job, now.Add(-time.Minute), now, meeting.DueCursor{}, 1000)
					return err
				},
			} {
				err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
					before := rowsRead(t, tx)
					if err := due(gormstore.New(tx, outbox{})); err != nil {
						return err
					}
					if read := rowsRead(t, tx) - before; read > 1000 {
						t.Errorf("%s, %s, %s: %d rows read, and none is due", state, job, name, read)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			before := rowsRead(t, tx)
			ms, err := gormstore.New(tx, outbox{}).Unnoted(t.Context(), now, n/2, 100)
			if read := rowsRead(t, tx) - before; err != nil || len(ms) != 100 || read > 1000 {
				t.Errorf("%s: %d rows read for %d meetings whose clocks are not noted, %v", state, read, len(ms), err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.sql("ANALYZE")
	}
}

// rowsRead counts rows that the session has read.
func rowsRead(t testing.TB, tx *gorm.DB) (n int64) {
	t.Helper()
	err := tx.Raw(`SELECT COALESCE(sum(seq_tup_read + COALESCE(idx_tup_fetch, 0)), 0) FROM pg_stat_xact_user_tables`).Scan(&n).Error
	if err != nil {
		t.Fatal(err)
	}
	return n
}
