package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

const approvalTable = `number bigint, waiting boolean, first_number bigint, level integer, asked_at timestamptz, deadline timestamptz, ` +
	`on_timeout text, remind_at timestamptz, escalate_at timestamptz, escalated_at timestamptz, change jsonb, agreed_now jsonb, agreed jsonb, verdict jsonb, told jsonb`

var approvalColumns = columnNames(approvalTable)

// columnNames are those of "a bigint, b text".
func columnNames(table string) []string {
	names := strings.Split(table, ", ")
	for i, c := range names {
		names[i], _, _ = strings.Cut(c, " ")
	}
	return names
}

// selectApproval are approvalColumns in selectMeetings, where a meeting need not have them.
const selectApproval = `COALESCE(q.number, 0), COALESCE(q.waiting, false), COALESCE(q.first_number, 0), COALESCE(q.level, 0), q.asked_at, q.deadline,
		COALESCE(q.on_timeout, ''), q.remind_at, q.escalate_at, q.escalated_at, q.change, q.agreed_now, q.agreed, q.verdict, q.told`

// What the time-out of a request does is settled when it is made, and changed by closeRequests alone.
var saveApprovals = write(`INSERT INTO approvals (meeting_id, ` + strings.Join(approvalColumns, ", ") + `)
	SELECT x.meeting_id, x.` + strings.Join(approvalColumns, ", x.") + ` FROM {rows $1: meeting_id bigint, ` + approvalTable + `}
	WHERE true
	ON CONFLICT (meeting_id) DO UPDATE SET ` + fromExcluded(slices.DeleteFunc(slices.Clone(approvalColumns), func(c string) bool { return c == "on_timeout" })) + `,
		on_timeout = CASE WHEN excluded.number = approvals.number THEN approvals.on_timeout ELSE excluded.on_timeout END,
		closed = approvals.closed AND excluded.number = approvals.number`)

// fromExcluded are "a = excluded.a, b = excluded.b" for columns.
func fromExcluded(columns []string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c + " = excluded." + c
	}
	return strings.Join(list, ", ")
}

// approvalValues are the values of approvalColumns; nil if nobody had to decide yet.
func approvalValues(m *meeting.Meeting) ([]any, error) {
	a, r := m.Approval, m.Request
	if a.Asked == 0 && len(a.Agreed) == 0 {
		return nil, nil
	}
	waiting := r != nil
	if r == nil {
		r = &meeting.Request{}
	}
	var parts [4]any
	for i, v := range []any{r.Change, list(r.Agreed), list(a.Agreed), a.Verdict} {
		if reflect.ValueOf(v).Kind() == reflect.Pointer && reflect.ValueOf(v).IsNil() {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("approval: %w", err)
		}
		parts[i] = json.RawMessage(b)
	}
	var told any
	if r.Told != nil {
		b, err := json.Marshal(r.Told)
		if err != nil {
			return nil, fmt.Errorf("approval: %w", err)
		}
		told = json.RawMessage(b)
	}
	return []any{
		a.Asked, waiting, r.First, r.Level, timestamp(r.AskedAt), timestamp(r.Deadline), string(cmp.Or(a.OnTimeout, meeting.Rejected)),
		timestamp(r.RemindAt), timestamp(r.EscalateAt), timestamp(r.EscalatedAt), parts[0], parts[1], parts[2], parts[3], told,
	}, nil
}

// list is never null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// approvalPart is read in selectMeetings.
type approvalPart struct {
	waiting                            bool
	request                            meeting.Request
	onTimeout                          meeting.Status
	change, agreedNow, agreed, verdict []byte
	told                               []byte
}

func (p *approvalPart) scans() []any {
	r := &p.request
	return []any{
		&r.Number, &p.waiting, &r.First, &r.Level, nullTime{&r.AskedAt}, nullTime{&r.Deadline}, &p.onTimeout,
		nullTime{&r.RemindAt}, nullTime{&r.EscalateAt}, nullTime{&r.EscalatedAt}, &p.change, &p.agreedNow, &p.agreed, &p.verdict, &p.told,
	}
}

func (p *approvalPart) addTo(m *meeting.Meeting) error {
	m.Approval.Asked = p.request.Number
	if p.request.Number > 0 {
		m.Approval.OnTimeout = p.onTimeout
	}
	for _, part := range []struct {
		text []byte
		into any
	}{{p.agreed, &m.Approval.Agreed}, {p.verdict, &m.Approval.Verdict}, {p.agreedNow, &p.request.Agreed}, {p.change, &p.request.Change}} {
		if len(part.text) == 0 || string(part.text) == "[]" {
			continue
		}
		if err := json.Unmarshal(part.text, part.into); err != nil {
			return fmt.Errorf("approval: %w", err)
		}
	}
	if len(p.told) > 0 { // an empty list says that nobody was
		if err := json.Unmarshal(p.told, &p.request.Told); err != nil {
			return fmt.Errorf("approval: %w", err)
		}
	}
	if p.waiting {
		m.Request = &p.request
	}
	return nil
}

// saveApprovals writes those that differ from before; before is nil for a new meeting.
func (s *Store) saveApprovals(tx *gorm.DB, cs []change) error {
	var rows []row
	for _, c := range cs {
		values, err := approvalValues(c.m)
		if err != nil {
			return err
		}
		var old []any
		if c.before != nil {
			if old, err = approvalValues(c.before); err != nil {
				return err
			}
		}
		if values == nil || reflect.DeepEqual(old, values) {
			continue
		}
		r := row{"meeting_id": c.m.ID}
		for i, name := range approvalColumns {
			r.set(s.dialect, name, values[i])
		}
		rows = append(rows, r)
	}
	return s.insertRows(tx, saveApprovals, rows)
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

// The parts that one change holds need not touch. What is held for an offer is of no meeting.
var heldForChanges = write(`SELECT COALESCE(o.meeting_id, 0), o.starts_at, o.ends_at FROM occupancies o
	WHERE o.room_id = $1 AND o.held AND o.starts_at < $3 AND o.ends_at > $2 AND ` + unlapsed("$4") + ` ORDER BY o.starts_at`)

// HeldForChanges returns which slots of a room are held for changes that wait and for offers, in a span and
// have not lapsed.
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

// changeRooms are the rooms of the change that the request q is for.
const changeRooms = `{postgres: SELECT CAST(x AS bigint) FROM jsonb_array_elements_text(q.change -> 'room_ids') AS x}` +
	`{sqlite: SELECT value FROM json_each(q.change, '$.room_ids')}`

// requestedRooms are the rooms that the request q of the meeting m is about, as far as they
// need an agreement at the level that is asked and have none yet.
const requestedRooms = `(SELECT r.id FROM rooms r WHERE r.approval_required
	AND r.id IN (SELECT mr.room_id FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND q.change IS NULL
		UNION ALL ` + changeRooms + `)
	AND (q.level = 1 OR EXISTS (SELECT 1 FROM room_approvers a WHERE a.room_id = r.id AND a.level = q.level))
	AND NOT EXISTS ({postgres: SELECT 1 FROM jsonb_array_elements(q.agreed_now) AS g
			WHERE CAST(g ->> 'level' AS integer) = q.level AND (g -> 'room_ids' IS NULL OR g -> 'room_ids' @> to_jsonb(r.id))}
		{sqlite: SELECT 1 FROM json_each(q.agreed_now) AS g WHERE json_extract(g.value, '$.level') = q.level
			AND (json_extract(g.value, '$.room_ids') IS NULL OR EXISTS (SELECT 1 FROM json_each(g.value, '$.room_ids') AS x WHERE x.value = r.id))}))`

// holdsRooms is the condition on a meeting m that it holds rooms, for itself.
const holdsRooms = `EXISTS (SELECT 1 FROM occupancies h WHERE h.meeting_id = m.id AND NOT h.held)`

// waits is [meeting.Meeting.Waits] in SQL, at the instant of a parameter.
func waits(now string) string {
	return `q.waiting AND (q.deadline > ` + now + ` OR q.on_timeout = 'confirmed' AND (q.change IS NOT NULL OR NOT ` + holdsRooms + `))
		AND (q.change IS NULL AND m.status = 'pending' OR q.change IS NOT NULL AND m.status = 'confirmed' AND m.starts_at > ` + now + `)`
}

// awaiting asks for meetings that wait for the viewer to agree to one of their rooms. Of what
// admins may decide, it is what nobody else is asked for, or what took too long.
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
