package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// newApprovalRow returns nil if no decision was ever required.
func newApprovalRow(m *meeting.Meeting) (*approvalRow, error) {
	a, r := m.Approval, m.Request
	if a.Requested == 0 && len(a.Agreed) == 0 {
		return nil, nil
	}
	row := &approvalRow{MeetingID: m.ID, Number: a.Requested, Waiting: r != nil, OnTimeout: cmp.Or(a.OnTimeout, meeting.Rejected)}
	if r == nil {
		r = &meeting.Request{}
	}
	row.FirstNumber, row.Level, row.AskedAt, row.Deadline = r.First, r.Level, optional(r.RequestedAt), optional(r.Deadline)
	row.RemindAt, row.EscalateAt, row.EscalatedAt = optional(r.RemindAt), optional(r.EscalateAt), optional(r.EscalatedAt)
	parts := map[*jsonText]any{&row.AgreedNow: list(r.Agreed), &row.Agreed: list(a.Agreed)}
	if r.Change != nil {
		parts[&row.Change] = r.Change
	}
	if a.Decision != nil {
		parts[&row.Verdict] = a.Decision
	}
	if r.Notified != nil {
		parts[&row.Told] = r.Notified
	}
	for into, part := range parts {
		b, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("approval: %w", err)
		}
		*into = jsonText(b)
	}
	return row, nil
}

// list is never null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (r *approvalRow) addTo(m *meeting.Meeting) error {
	m.Approval.Requested = r.Number
	if r.Number > 0 {
		m.Approval.OnTimeout = r.OnTimeout
	}
	q := &meeting.Request{
		Number: r.Number, First: r.FirstNumber, Level: r.Level, RequestedAt: orZero(r.AskedAt), Deadline: orZero(r.Deadline),
		RemindAt: orZero(r.RemindAt), EscalateAt: orZero(r.EscalateAt), EscalatedAt: orZero(r.EscalatedAt),
	}
	for _, part := range []struct {
		text jsonText
		into any
	}{{r.Agreed, &m.Approval.Agreed}, {r.Verdict, &m.Approval.Decision}, {r.AgreedNow, &q.Agreed}, {r.Change, &q.Change}} {
		if part.text == "" || part.text == "[]" {
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return fmt.Errorf("approval: %w", err)
		}
	}
	if r.Told != "" { // an empty list means nobody
		if err := json.Unmarshal([]byte(r.Told), &q.Notified); err != nil {
			return fmt.Errorf("approval: %w", err)
		}
	}
	if r.Waiting {
		m.Request = q
	}
	return nil
}

// saveApprovals writes the approvals that differ from before; before is nil for a new meeting. The
// outcome of a request's time-out is fixed when it is made; only closeRequests changes it.
func (s *Store) saveApprovals(tx *gorm.DB, cs []change) error {
	var rows []*approvalRow
	for _, c := range cs {
		row, err := newApprovalRow(c.m)
		if err != nil {
			return err
		}
		var old *approvalRow
		if c.before != nil {
			if old, err = newApprovalRow(c.before); err != nil {
				return err
			}
		}
		if row != nil && !reflect.DeepEqual(old, row) {
			rows = append(rows, row)
		}
	}
	return insert(tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "meeting_id"}},
		DoUpdates: append(clause.AssignmentColumns([]string{"number", "waiting", "first_number", "level", "asked_at", "deadline",
			"remind_at", "escalate_at", "escalated_at", "change", "agreed_now", "agreed", "verdict", "told"}),
			clause.Assignments(map[string]any{
				"on_timeout": gorm.Expr("CASE WHEN excluded.number = approvals.number THEN approvals.on_timeout ELSE excluded.on_timeout END"),
				"closed":     gorm.Expr("approvals.closed AND excluded.number = approvals.number"),
			})...),
	}), rows)
}

var waitingMeetings = write(selectMeetings + `
	WHERE m.id IN (SELECT meeting_id FROM approvals WHERE waiting AND meeting_id > $1 ORDER BY meeting_id LIMIT $2)
	ORDER BY m.id`)

func (s *Store) Waiting(ctx context.Context, after meeting.ID, limit int) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), waitingMeetings, after, limit)
	if err != nil {
		return nil, fmt.Errorf("meetings that wait for a decision: %w", err)
	}
	return ms, nil
}

var heldForChanges = load("held_for_changes")

// HeldForChanges returns the slots of a room within a span that are held for pending moves and for
// offers, and have not lapsed.
func (s *Store) HeldForChanges(ctx context.Context, roomID int64, span clock.Slot, at time.Time) ([]meeting.HeldSlot, error) {
	var found []meeting.HeldSlot
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var h meeting.HeldSlot
		err := rows.Scan(&h.MeetingID, &h.Slot.Start, &h.Slot.End)
		found = append(found, h)
		return err
	}, heldForChanges, roomID, micro(span.Start), micro(span.End), micro(at))
	if err != nil {
		return nil, fmt.Errorf("held slots of room %d: %w", roomID, err)
	}
	return found, nil
}

var requestsAskedWith = write(selectMeetings + `
	WHERE m.id IN (SELECT o.id FROM meetings g JOIN approvals a ON a.meeting_id = g.id AND a.waiting
			JOIN meetings o ON o.series_id = g.series_id JOIN approvals b ON b.meeting_id = o.id AND b.waiting AND b.asked_at = a.asked_at
		WHERE g.id ` + amongIDs + `)
	ORDER BY m.starts_at, m.id`)

func (s *Store) RequestsAskedWith(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), requestsAskedWith, s.ids(ids...))
	if err != nil {
		return nil, fmt.Errorf("requests asked with %d meetings: %w", len(ids), err)
	}
	return ms, nil
}

// changeRooms selects the rooms of the change that the request q is for.
const changeRooms = `{postgres: SELECT CAST(x AS bigint) FROM jsonb_array_elements_text(q.change -> 'room_ids') AS x}` +
	`{sqlite: SELECT value FROM json_each(q.change, '$.room_ids')}`

// requestedRooms selects the rooms of the request q of the meeting m that need an approval at the
// current level and have none yet.
const requestedRooms = `(SELECT r.id FROM rooms r WHERE r.approval_required
	AND r.id IN (SELECT mr.room_id FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND q.change IS NULL
		UNION ALL ` + changeRooms + `)
	AND (q.level = 1 OR EXISTS (SELECT 1 FROM room_approvers a WHERE a.room_id = r.id AND a.level = q.level))
	AND NOT EXISTS ({postgres: SELECT 1 FROM jsonb_array_elements(q.agreed_now) AS g
			WHERE CAST(g ->> 'level' AS integer) = q.level AND (g -> 'room_ids' IS NULL OR g -> 'room_ids' @> to_jsonb(r.id))}
		{sqlite: SELECT 1 FROM json_each(q.agreed_now) AS g WHERE json_extract(g.value, '$.level') = q.level
			AND (json_extract(g.value, '$.room_ids') IS NULL OR EXISTS (SELECT 1 FROM json_each(g.value, '$.room_ids') AS x WHERE x.value = r.id))}))`

// holdsRooms is the condition that a meeting m itself holds rooms.
const holdsRooms = `EXISTS (SELECT 1 FROM occupancies h WHERE h.meeting_id = m.id AND NOT h.held)`

// waits is [meeting.Meeting.Waits] in SQL, at the instant of a parameter.
func waits(now string) string {
	return `q.waiting AND (q.deadline > ` + now + ` OR q.on_timeout = 'confirmed' AND (q.change IS NOT NULL OR NOT ` + holdsRooms + `))
		AND (q.change IS NULL AND m.status = 'pending' OR q.change IS NOT NULL AND m.status = 'confirmed' AND m.starts_at > ` + now + `)`
}

// awaiting selects pending requests that the viewer can approve for one of the rooms. For admins,
// these are requests that nobody else is asked for, or that were escalated.
func (c *conditions) awaiting(q meeting.MeetingQuery) {
	c.all = append(c.all, waits(c.param(micro(q.Now))))
	v := q.Viewer
	if v == nil || v.Kind != meeting.ActorUser || v.Role == meeting.Member {
		c.all = append(c.all, "false")
		return
	}
	var names []string
	for _, id := range v.DecidesAs() {
		names = append(names, c.param(id))
	}
	me := "a.user_id IN (" + strings.Join(names, ", ") + ")"
	named := func(level, whom string) string {
		return "EXISTS (SELECT 1 FROM room_approvers a WHERE a.room_id = need.id AND a.level = " + level + whom + ")"
	}
	active := ` AND a.user_id IN (SELECT u.id FROM users u WHERE u.disabled_at IS NULL AND u.role <> 'member')`
	some := "EXISTS (SELECT 1 FROM " + requestedRooms + " AS need WHERE "
	mine := []string{
		some + named("q.level", " AND "+me) + ")",
		"q.escalated_at IS NOT NULL AND " + some + named("3", " AND "+me) + ")",
	}
	if v.Role == meeting.Admin {
		mine = append(mine,
			"NOT EXISTS "+requestedRooms, // no room still needs a decision
			some+"NOT "+named("q.level", active)+")",
			"q.escalated_at IS NOT NULL AND "+some+"NOT "+named("3", active)+")")
	}
	c.all = append(c.all, "(("+strings.Join(mine, ")\n\tOR (")+"))")
}
