package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"punctual/meeting"
)

// What belongs to a meeting is written by these inserts. Each takes its rows as one table,
// in $1, and in place of {meeting} a table m(id) of the one meeting.
const (
	insertRooms = `INSERT INTO meeting_rooms (meeting_id, room_id, position)
		SELECT m.id, x.room_id, x.position FROM {meeting} AS m, {rows $1: room_id bigint, position integer}`

	// In the order of rooms, so that two meetings that want the same rooms do not wait for each other.
	insertOccupancies = `INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at, held, lapses_at)
		SELECT m.id, x.room_id, x.starts_at, x.ends_at, x.held, x.lapses_at
		FROM {meeting} AS m, {rows $1: room_id bigint, starts_at timestamptz, ends_at timestamptz, held boolean, lapses_at timestamptz} ORDER BY x.room_id, x.starts_at
		{postgres: ON CONFLICT ON CONSTRAINT occupancies_no_overlap DO NOTHING}`

	insertAttendees = `INSERT INTO attendees (meeting_id, position, user_id, email, name, phone, locale, timezone, response, comment)
		SELECT m.id, x.position, x.user_id, x.email, x.name, x.phone, x.locale, x.timezone, x.response, x.comment
		FROM {meeting} AS m, {rows $1: position integer, user_id bigint, email text, name text, phone text, locale text, timezone text, response text, comment text}`

	insertReminders = `INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at, handled_at)
		SELECT m.id, x.before, x.offset_seconds, x.channels, x.due_at, x.handled_at
		FROM {meeting} AS m, {rows $1: before text, offset_seconds bigint, channels jsonb, due_at timestamptz, handled_at timestamptz}
		WHERE true` // otherwise SQLite parses a following ON as a join condition

	insertHistory = `INSERT INTO history (meeting_id, at, action, actor_kind, actor_id, actor_name, address, changes, reason)
		SELECT m.id, x.at, x.action, x.actor_kind, x.actor_id, x.actor_name, x.address, x.changes, x.reason
		FROM {meeting} AS m, {rows $1: position integer, at timestamptz, action text, actor_kind text, actor_id bigint, actor_name text, address text, changes jsonb, reason text}
		ORDER BY x.position`
)

// For one that is there, its id is $2.
var (
	addRooms       = partOf(insertRooms)
	addOccupancies = partOf(insertOccupancies)
	addAttendees   = partOf(insertAttendees)
	addReminders   = partOf(insertReminders)
	addHistory     = partOf(insertHistory)
)

func partOf(insert string) statement {
	return write(strings.ReplaceAll(insert, "{meeting}", "(SELECT CAST($2 AS bigint) AS id)"))
}

func roomRows(m *meeting.Meeting) []row {
	rows := make([]row, len(m.RoomIDs))
	for i, id := range m.RoomIDs {
		rows[i] = row{"room_id": id, "position": i, "closures": judgedBy(m, id)}
	}
	return rows
}

// judgedBy is null for a room by whose blackouts the meeting was not judged.
func judgedBy(m *meeting.Meeting, roomID int64) any {
	if n, ok := m.CheckedClosures(roomID); ok {
		return n
	}
	return nil
}

// takenRows are all that a meeting takes, for a change that waits included.
func (d dialect) takenRows(m *meeting.Meeting) []row {
	rows := d.occupancyRows(m.Occupied, false, m.Lapses())
	if held := heldBy(m); len(held) > 0 {
		rows = append(rows, d.occupancyRows(held, true, m.ChangeLapses())...)
	}
	return rows
}

// placeRows are the rooms and times of occupancies alone.
func (d dialect) placeRows(os []meeting.Occupancy) []row {
	return d.occupancyRows(os, false, time.Time{})
}

func (d dialect) occupancyRows(os []meeting.Occupancy, held bool, lapses time.Time) []row {
	rows := make([]row, len(os))
	for i, o := range os {
		rows[i] = row{
			"room_id": o.RoomID, "starts_at": d.instant(o.Slot.Start), "ends_at": d.instant(o.Slot.End),
			"held": held, "lapses_at": d.optional(lapses),
		}
	}
	return rows
}

// heldBy is what a change that waits holds beyond what the meeting has.
func heldBy(m *meeting.Meeting) []meeting.Occupancy {
	if m.Request == nil || m.Request.Change == nil {
		return nil
	}
	return m.Request.Change.Held
}

func attendeeRows(m *meeting.Meeting) []row {
	rows := make([]row, len(m.Attendees))
	for i, a := range m.Attendees {
		response := a.Response
		if response == "" {
			response = meeting.NeedsAction
		}
		rows[i] = row{
			"position": i, "user_id": reference(a.UserID), "email": a.Email, "name": a.Name, "phone": a.Phone,
			"locale": a.Locale, "timezone": a.Timezone, "response": response, "comment": a.Comment,
		}
	}
	return rows
}

// reminderRows are handled already if their time had passed when the meeting was saved: a
// booking made ten minutes ahead has no use for a reminder of fifteen.
func (d dialect) reminderRows(m *meeting.Meeting) []row {
	rows := make([]row, len(m.Reminders))
	for i, r := range m.Reminders {
		rows[i] = d.reminderRow(m, r)
	}
	return rows
}

func (d dialect) reminderRow(m *meeting.Meeting, r meeting.Reminder) row {
	due := micro(r.Due(m))
	var handled any
	if now := micro(m.UpdatedAt); !due.After(now) {
		handled = d.instant(now)
	}
	return row{
		"before": r.Before, "offset_seconds": int64(r.Offset / time.Second), "channels": r.Channels,
		"due_at": d.instant(due), "handled_at": handled,
	}
}

// historyRows name the client whose request ctx is of.
func (d dialect) historyRows(ctx context.Context, entries []meeting.Entry) ([]row, error) {
	rows := make([]row, len(entries))
	for i, e := range entries {
		var changes any
		if len(e.Changes) > 0 {
			b, err := json.Marshal(e.Changes)
			if err != nil {
				return nil, fmt.Errorf("changes: %w", err)
			}
			changes = json.RawMessage(b)
		}
		rows[i] = row{
			"position": i, "at": d.instant(e.At), "action": e.Action, "actor_kind": e.Actor.Kind,
			"actor_id": reference(e.Actor.ID), "actor_name": e.Actor.Name, "address": meeting.Client(ctx), "changes": changes, "reason": e.Reason,
		}
	}
	return rows, nil
}
