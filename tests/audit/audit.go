// Package audit checks, from outside, what must hold of an installation on Postgres whatever
// went wrong before: that nothing which was due is left undone, that nothing was done twice or
// early, that nobody was written to without need, and how late it all was.
package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Report is the state of a database at one moment.
type Report struct {
	Open   []string // what is due and not done yet; empty once the installation has caught up
	Faults []string // what must never be

	Meetings, Sent int // meetings that were booked, notifications that were sent
	Never          int // meetings that ended without having begun, since they were over by then
	TooLate        int // notifications that were skipped because their time was over
	Began          []time.Duration
	Ended          []time.Duration // lateness of each start and end, sorted
}

// open lists what is due and waits; grace is given to what is just due.
const open = `
	SELECT 'meeting ' || id || ' (' || status || ') should have begun at ' || starts_at FROM meetings
		WHERE status = 'confirmed' AND starts_at < now() AND ends_at > now()
	UNION ALL SELECT 'meeting ' || id || ' (' || status || ') should have ended at ' || ends_at FROM meetings
		WHERE status IN ('confirmed', 'in_progress') AND ends_at < now()
	UNION ALL SELECT 'request ' || id || ' should have been rejected at ' || least(approval_deadline, starts_at) FROM meetings
		WHERE status = 'pending' AND least(approval_deadline, starts_at) < now()
	UNION ALL SELECT 'reminder of meeting ' || meeting_id || ' due at ' || due_at || ' is not handled' FROM meeting_reminders r
		JOIN meetings m ON m.id = r.meeting_id AND m.status IN ('confirmed', 'in_progress', 'ended')
		WHERE handled_at IS NULL AND due_at < now()
	UNION ALL SELECT 'notification ' || id || ' (' || kind || ') is ' || state FROM notifications
		WHERE state IN ('pending', 'sending') AND due_at < now()
	UNION ALL SELECT 'job ' || id || ' of topic ' || topic || ' is pending' FROM delay_jobs WHERE state = 'pending' AND due_at < now()`

// never lists what no fault excuses. A meeting that ended without having begun is none: it
// was over before anybody could begin it.
const never = `
	SELECT 'meeting ' || meeting_id || ': ' || count(*) || ' times ' || action FROM history
		WHERE action NOT IN ('changed', 'confirmed') GROUP BY meeting_id, action HAVING count(*) > 1
	UNION ALL SELECT 'meeting ' || h.meeting_id || ' ' || action || ' at ' || at || ', early: it is ' || starts_at || ' to ' || ends_at FROM history h
		JOIN meetings m ON m.id = h.meeting_id WHERE h.actor_kind = 'timer' AND (action = 'started' AND at < starts_at OR action = 'ended' AND at < ends_at)
	UNION ALL SELECT 'meeting ' || m.id || ' is ' || status || ' without that in its history' FROM meetings m WHERE status IN ('in_progress', 'ended', 'rejected', 'cancelled')
		AND NOT EXISTS (SELECT FROM history h WHERE h.meeting_id = m.id AND action = CASE status WHEN 'in_progress' THEN 'started' ELSE status END)
	UNION ALL SELECT 'meeting ' || h.meeting_id || ' ' || h.action || ' though it was cancelled' FROM history h
		JOIN history c ON c.meeting_id = h.meeting_id AND c.action = 'cancelled' AND c.at < h.at WHERE h.actor_kind = 'timer'
	UNION ALL SELECT 'notification ' || id || ' (' || kind || ') failed: ' || last_error FROM notifications WHERE state = 'failed'
	UNION ALL SELECT 'dead letter ' || job || ':' || key || ': ' || error FROM job_failures
	UNION ALL SELECT 'dead job ' || id || ' of topic ' || topic || ': ' || last_error FROM delay_jobs WHERE state = 'dead'`

// Database reports on the database that c is connected to.
func Database(ctx context.Context, c *pgx.Conn) (*Report, error) {
	r := &Report{}
	var err error
	if r.Open, err = list[string](ctx, c, open); err != nil {
		return nil, err
	}
	if r.Faults, err = list[string](ctx, c, never); err != nil {
		return nil, err
	}
	const counts = `SELECT (SELECT count(*) FROM meetings), (SELECT count(*) FROM notifications WHERE state = 'sent'),
		(SELECT count(*) FROM meetings WHERE status = 'ended' AND started_at IS NULL), (SELECT count(*) FROM notifications WHERE state = 'skipped_late')`
	if err = c.QueryRow(ctx, counts).Scan(&r.Meetings, &r.Sent, &r.Never, &r.TooLate); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	const late = `SELECT (extract(epoch FROM at - CASE action WHEN 'started' THEN starts_at ELSE ends_at END) * 1e9)::bigint
		FROM history h JOIN meetings m ON m.id = h.meeting_id WHERE actor_kind = 'timer' AND action = $1`
	if r.Began, err = list[time.Duration](ctx, c, late, "started"); err != nil {
		return nil, err
	}
	if r.Ended, err = list[time.Duration](ctx, c, late, "ended"); err != nil {
		return nil, err
	}
	slices.Sort(r.Began)
	slices.Sort(r.Ended)
	return r, nil
}

func list[T any](ctx context.Context, c *pgx.Conn, sql string, args ...any) ([]T, error) {
	rows, _ := c.Query(ctx, sql, args...)
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return all, nil
}

// Mails compares what the ledger says was sent by mail with what a mail server accepted, by
// Message-ID: lost are those that nobody accepted, and each of again came so often.
func Mails(ctx context.Context, c *pgx.Conn, accepted map[string]int) (lost []string, again map[string]int, err error) {
	sent, err := list[string](ctx, c, `SELECT message_id FROM notifications WHERE state = 'sent' AND channel = 'email'`)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range sent {
		if accepted[id] == 0 {
			lost = append(lost, id)
		}
	}
	again = map[string]int{}
	for id, n := range accepted {
		if n > 1 {
			again[id] = n
		}
	}
	return lost, again, nil
}

// Percentile p (0 to 1) of sorted durations; zero if there are none.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
