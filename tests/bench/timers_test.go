package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// BenchmarkTimerBursts lets the timers of 10,000 meetings go off at one instant: requests that
// nobody decided, approvers that are reminded, meetings to which nobody came, and places on waiting
// lists. It measures until all is committed, with history and notifications, by the database's
// commit time-stamps. Floor: the same rows changed, and the same history and notifications written,
// by one statement each in this run's database.
func BenchmarkTimerBursts(b *testing.B) {
	const n = 10_000
	const insertNotices = `INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts, due_at, state, last_error, created_at, updated_at)
		SELECT 'floor:' || id, 'decision', 'email', id, organizer_id, 'Ada', 'ada@example.org', 'en', 'UTC', '{}', now(), 'pending', '', now(), now() FROM meetings`
	const insertHistory = `INSERT INTO history (meeting_id, at, action, actor_kind, actor_name) SELECT id, now(), 'changed', 'timer', 'floor' FROM meetings`
	for _, burst := range []struct {
		job   string
		seed  string // of the meetings, with the instant $1
		table string // that each of them changes a row of
		left  string // of its rows: those still to be changed
		done  string
		floor []string
	}{
		{
			"approval.expire",
			`WITH m AS (UPDATE meetings SET status = 'pending', approval_required = true, approval_deadline = $1 RETURNING id)
			INSERT INTO approvals (meeting_id, number, waiting, first_number, level, asked_at, deadline) SELECT id, 1, true, 1, 1, now(), $1 FROM m`,
			"meetings", "status = 'pending'",
			`SELECT count(*) FROM meetings m JOIN history h ON h.meeting_id = m.id AND h.action = 'rejected'
				JOIN notifications n ON n.meeting_id = m.id AND n.kind = 'decision' WHERE m.status = 'rejected'`,
			[]string{`UPDATE meetings SET status = 'rejected', version = version + 1`, `UPDATE approvals SET waiting = false`, `DELETE FROM occupancies`, insertHistory, insertNotices},
		},
		{
			"approval.remind",
			`WITH m AS (UPDATE meetings SET status = 'pending', approval_required = true, approval_deadline = $1::timestamptz + interval '1 hour' RETURNING id)
			INSERT INTO approvals (meeting_id, number, waiting, first_number, level, asked_at, deadline, remind_at) SELECT id, 1, true, 1, 1, now(), $1::timestamptz + interval '1 hour', $1 FROM m`,
			"approvals", "remind_at IS NOT NULL",
			`SELECT count(*) FROM approvals q JOIN notifications n ON n.meeting_id = q.meeting_id AND n.kind = 'approval_reminder' WHERE q.remind_at IS NULL`,
			[]string{`UPDATE approvals SET remind_at = now()`, insertNotices},
		},
		{
			"meeting.no_show",
			`UPDATE meetings SET starts_at = $1::timestamptz - interval '5 minutes', status = 'in_progress', started_at = $1::timestamptz - interval '5 minutes', no_show_at = $1`,
			"meetings", "status = 'in_progress'",
			`SELECT count(*) FROM meetings m JOIN history h ON h.meeting_id = m.id AND h.action = 'released'
				JOIN notifications n ON n.meeting_id = m.id AND n.kind = 'released' WHERE m.status = 'released'`,
			[]string{`UPDATE meetings SET status = 'released', version = version + 1`, `DELETE FROM occupancies`, insertHistory, insertNotices},
		},
		{
			"waitlist.expire",
			`WITH w AS (INSERT INTO waitlist (user_id, state, wish, until_at, expires_at, due_at, created_at, updated_at)
				SELECT organizer_id, 'waiting', jsonb_build_object('title', title, 'start', starts_at, 'end', ends_at, 'timezone', 'UTC',
					'room_ids', jsonb_build_array(room_id), 'room_names', jsonb_build_array('Room'), 'visibility', 'public'), $1::timestamptz, $1, $1, now(), now()
				FROM meetings m JOIN meeting_rooms r ON r.meeting_id = m.id RETURNING id, wish)
			INSERT INTO waitlist_rooms (waitlist_id, room_id, starts_at, ends_at)
			SELECT id, (wish -> 'room_ids' ->> 0)::bigint, (wish ->> 'start')::timestamptz, (wish ->> 'end')::timestamptz FROM w`,
			"waitlist", "state = 'waiting'",
			`SELECT count(*) FROM notifications n WHERE n.kind = 'waitlist_expired'`,
			[]string{`UPDATE waitlist SET state = 'expired', version = version + 1`, `DELETE FROM waitlist_rooms`, insertNotices},
		},
	} {
		b.Run(burst.job, func(b *testing.B) {
			var from time.Time
			p := start(b, func(db *pgxpool.Pool) {
				from = time.Now().Add(20 * time.Second)
				meetings(b, db, n, func(int) time.Time { return from.Add(time.Hour) })
				exec(b, db, `UPDATE rooms SET approval_required = true`)
				exec(b, db, burst.seed, from)
			})
			if time.Now().After(from.Add(-3 * time.Second)) {
				b.Fatal("the set-up took too long")
			}
			time.Sleep(time.Until(from))
			for {
				left := query[int64](b, p.db, "SELECT count(*) FROM "+burst.table+" WHERE "+burst.left)
				if left == 0 {
					break
				}
				if time.Since(from) > time.Minute {
					b.Fatalf("%d of %d are left after a minute", left, n)
				}
				time.Sleep(100 * time.Millisecond)
			}
			took := query[time.Time](b, p.db, "SELECT max(pg_xact_commit_timestamp(xmin)) FROM "+burst.table).Sub(from)
			if got := query[int64](b, p.db, burst.done); got != n {
				b.Errorf("%d of %d have their history and notifications", got, n)
			}
			p.Stop()
			exec(b, p.db, `ALTER TABLE history DISABLE TRIGGER USER`) // or nothing can be deleted
			exec(b, p.db, `DELETE FROM history WHERE action <> 'created'`)
			exec(b, p.db, `DELETE FROM notifications`)
			exec(b, p.db, `VACUUM ANALYZE`)
			begin := time.Now()
			for _, statement := range burst.floor {
				exec(b, p.db, statement)
			}
			floor := time.Since(begin)
			b.ReportMetric(took.Seconds(), "s/10k")
			b.ReportMetric(floor.Seconds(), "floor-s/10k")
			b.ReportMetric(0, "ns/op")
			tell("10,000 timers due at one instant, with history and notifications: "+burst.job, fmt.Sprintf("%.1f s", took.Seconds()), "<= 3 s",
				fmt.Sprintf("one SQL statement for each table: %.1f s, %.1f times", floor.Seconds(), took.Seconds()/floor.Seconds()))
		})
	}
}
