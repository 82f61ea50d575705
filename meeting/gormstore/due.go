package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
)

// dueQuery selects the messages of one job. Its conditions repeat the words of a partial index.
type dueQuery struct{ text, order string }

// dueMeetings selects the meetings whose start or end is due.
func dueMeetings(column, statuses string) dueQuery {
	return dueQuery{
		order: column + ", m.id",
		text: `SELECT m.id, '', m.schedule_version, ` + column + ` FROM meetings m
			WHERE m.status ` + statuses + ` AND ` + column + ` <= $1 AND {lower bound}
			AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.key = CAST(m.id AS text) AND f.version = m.schedule_version)
			ORDER BY {order} LIMIT $2`,
	}
}

// dueRequests selects the meetings whose request has a timer that is due.
func dueRequests(column string) dueQuery {
	return dueQuery{
		order: column + ", q.meeting_id",
		text: `SELECT q.meeting_id, '', q.number, ` + column + ` FROM approvals q
			WHERE q.waiting AND ` + column + ` <= $1 AND {lower bound}
			AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.key = CAST(q.meeting_id AS text) AND f.version = q.number)
			ORDER BY {order} LIMIT $2`,
	}
}

// dueStatements differ in their lower bound: none, an instant ($4) or a cursor ($4, ...).
type dueStatements struct{ all, from, after statement }

func (q dueQuery) statements() dueStatements {
	columns := strings.Split(q.order, ", ")
	params := placeholders(4, 3+len(columns))
	with := func(bound string) statement {
		return write(strings.NewReplacer("{lower bound}", bound, "{order}", q.order).Replace(q.text))
	}
	return dueStatements{
		all:   with("true"),
		from:  with(columns[0] + " > $4"),
		after: with("(" + q.order + ") > (" + params + ")"),
	}
}

var due = map[string]dueStatements{
	meeting.JobStart:          dueMeetings("m.starts_at", "= 'confirmed'").statements(),
	meeting.JobEnd:            dueMeetings("m.ends_at", "IN ('confirmed', 'in_progress')").statements(),
	meeting.JobNoShow:         dueMeetings("m.no_show_at", "IN ('confirmed', 'in_progress') AND m.checked_in_at IS NULL").statements(),
	meeting.JobExpire:         dueRequests("q.deadline").statements(),
	meeting.JobApprovalRemind: dueRequests("q.remind_at").statements(),
	meeting.JobEscalate:       dueRequests("q.escalate_at").statements(),
	meeting.JobWaitlistExpire: dueQuery{
		order: "w.due_at, w.id",
		text: `SELECT w.id, '', w.version, w.due_at FROM waitlist w
			WHERE w.state IN ('waiting', 'offered') AND w.due_at <= $1 AND {lower bound}
			AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.key = CAST(w.id AS text) AND f.version = w.version)
			ORDER BY {order} LIMIT $2`,
	}.statements(),
	// Reminders of meetings that ended while no process ran are due as well, to be recorded as
	// skipped.
	meeting.JobRemind: dueQuery{
		order: "r.due_at, r.meeting_id, r.before, r.offset_seconds",
		text: `SELECT r.meeting_id, r.before || ':' || CAST(r.offset_seconds AS text), m.schedule_version, r.due_at
			FROM meeting_reminders r JOIN meetings m ON m.id = r.meeting_id
			WHERE r.handled_at IS NULL AND r.due_at <= $1 AND {lower bound} AND m.status IN ('confirmed', 'in_progress', 'ended')
			AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.version = m.schedule_version
				AND f.key = CAST(m.id AS text) || ':' || r.before || ':' || CAST(r.offset_seconds AS text))
			ORDER BY {order} LIMIT $2`,
	}.statements(),
}

func (s *Store) Due(ctx context.Context, job string, from, to time.Time, after meeting.DueCursor, limit int) ([]meeting.Due, error) {
	text, args, err := dueStatement(job, from, to, after, limit)
	if err != nil {
		return nil, fmt.Errorf("due for %s: %w", job, err)
	}
	var found []meeting.Due
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var d meeting.Due
		if err := rows.Scan(&d.Cursor.ID, &d.Cursor.Sub, &d.Version, &d.Due); err != nil {
			return err
		}
		d.Cursor.Due = d.Due
		d.Key = strconv.FormatInt(d.Cursor.ID, 10)
		if d.Cursor.Sub != "" {
			d.Key += ":" + d.Cursor.Sub
		}
		found = append(found, d)
		return nil
	}, text, args...)
	if err != nil {
		return nil, fmt.Errorf("due for %s: %w", job, err)
	}
	return found, nil
}

// dueStatement selects the statement by its lower bound, and returns its parameters.
func dueStatement(job string, from, to time.Time, after meeting.DueCursor, limit int) (statement, []any, error) {
	q, ok := due[job]
	if !ok {
		return statement{}, nil, errors.New("there is no such job")
	}
	args := []any{micro(to), limit, job}
	switch {
	case after.ID != 0:
		args = append(args, micro(after.Due), after.ID)
		if job != meeting.JobRemind {
			return q.after, args, nil
		}
		before, offset, _ := strings.Cut(after.Sub, ":")
		seconds, err := strconv.ParseInt(offset, 10, 64)
		if err != nil {
			return statement{}, nil, fmt.Errorf("cursor %q: %w", after.Sub, err)
		}
		return q.after, append(args, before, seconds), nil
	case !from.IsZero():
		return q.from, append(args, micro(from)), nil
	default:
		return q.all, args, nil
	}
}

// placeholders are "$from, ..., $to".
func placeholders(from, to int) string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, "$"+strconv.Itoa(i))
	}
	return strings.Join(names, ", ")
}
