package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
)

// dueMeetings are the meetings that wait for one edge, and the words of its partial index.
func dueMeetings(column, statuses string) dueQuery {
	return dueQuery{
		order: column + ", m.id",
		text: `SELECT m.id, '', m.schedule_version, ` + column + ` FROM meetings m
			WHERE m.status ` + statuses + ` AND ` + column + ` <= $1 AND {lower bound}
			AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.key = CAST(m.id AS text) AND f.version = m.schedule_version)
			ORDER BY {order} LIMIT $2`,
	}
}

type dueQuery struct{ text, order string }

// statements by what bounds them below: nothing, an instant ($4) or a cursor ($4, ...).
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
	meeting.JobStart:  dueMeetings("m.starts_at", "= 'confirmed'").statements(),
	meeting.JobEnd:    dueMeetings("m.ends_at", "IN ('confirmed', 'in_progress')").statements(),
	meeting.JobExpire: dueMeetings("m.approval_deadline", "= 'pending'").statements(),
	// Reminders of meetings that ended while nobody was there to send them are due as well, to
	// be recorded as skipped.
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
	q, ok := due[job]
	if !ok {
		return nil, fmt.Errorf("due: there is no job %q", job)
	}
	args := []any{micro(to), limit, job}
	text := q.all
	switch {
	case after.ID != 0:
		text = q.after
		position, err := boundsAfter(job, after)
		if err != nil {
			return nil, fmt.Errorf("due for %s: %w", job, err)
		}
		args = append(args, position...)
	case !from.IsZero():
		text = q.from
		args = append(args, micro(from))
	}
	var found []meeting.Due
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
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

func boundsAfter(job string, c meeting.DueCursor) ([]any, error) {
	args := []any{micro(c.Due), c.ID}
	if job != meeting.JobRemind {
		return args, nil
	}
	before, offset, _ := strings.Cut(c.Sub, ":")
	seconds, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cursor %q: %w", c.Sub, err)
	}
	return append(args, before, seconds), nil
}
