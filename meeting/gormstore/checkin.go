package gormstore

import (
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

var (
	// getExpected are the meetings in a room ($1) that come, or to which people may still come, at
	// an instant ($2), with what all their rooms ask.
	getExpected = write(`SELECT m.id, m.starts_at, m.ends_at, m.check_in_opens_at, m.no_show_at,
			(SELECT {array}({json}(r.check_in)) FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id)
		FROM meetings m
		WHERE (m.status IN ('pending', 'confirmed') AND m.starts_at > $2
			OR m.status IN ('confirmed', 'in_progress') AND m.no_show_at > $2 AND m.checked_in_at IS NULL)
			AND m.id IN (SELECT meeting_id FROM meeting_rooms WHERE room_id = $1)
		ORDER BY m.id {postgres: FOR NO KEY UPDATE OF m}`)
	setExpected = write(`UPDATE meetings AS m SET check_in_opens_at = x.opens_at, no_show_at = x.no_show_at,
			version = m.version + 1, updated_at = $2
		FROM {rows $1: id bigint, opens_at timestamptz, no_show_at timestamptz} WHERE m.id = x.id {by m.id: $1 id}`)
	setGrace = write(`UPDATE occupancies AS o SET lapses_at = CASE WHEN m.no_show_at < m.ends_at AND m.checked_in_at IS NULL THEN m.no_show_at END
		FROM {rows $1: id bigint} JOIN meetings m ON m.id = x.id LEFT JOIN approvals q ON q.meeting_id = m.id
		WHERE o.meeting_id = x.id {by o.meeting_id: $1 id} AND NOT o.held AND (m.status <> 'pending' OR q.on_timeout = 'confirmed')`)
)

// expectPeople gives the meetings of a room the check-in that it asks for now, on top of what
// their other rooms do; see [meeting.CheckInWindow.Follow].
func (s *Store) expectPeople(tx *gorm.DB, roomID int64, at time.Time) error {
	var changed []row
	entries := map[meeting.ID]meeting.Entry{}
	err := s.query(tx, func(rows *sql.Rows) error {
		var id meeting.ID
		var slot clock.Slot
		var now meeting.CheckInWindow
		var asked []byte
		if err := rows.Scan(&id, &slot.Start, &slot.End, nullTime{&now.Opens}, nullTime{&now.Until}, &asked); err != nil {
			return err
		}
		var settings []checkInJSON
		if err := json.Unmarshal(asked, &settings); err != nil {
			return err
		}
		var rooms []meeting.CheckIn
		for _, c := range settings {
			rooms = append(rooms, c.checkIn())
		}
		if w := now.Follow(meeting.CheckInWindowOf(slot, rooms), slot, at); !w.Equal(now) {
			entries[id] = meeting.CheckInChanged(now, w, at)
			changed = append(changed, row{"id": id, "opens_at": s.dialect.instant(w.Opens), "no_show_at": s.dialect.optional(w.Until)})
		}
		return nil
	}, getExpected, roomID, micro(at))
	if err != nil {
		return err
	}
	for part := range slices.Chunk(changed, 5000) {
		if _, err := s.exec(tx, setExpected, table(part), micro(at)); err != nil {
			return err
		}
		if _, err := s.exec(tx, setGrace, table(part)); err != nil {
			return err
		}
	}
	return s.recordAll(tx, entries)
}

// optional is t in a [row]; the zero time is NULL.
func (d dialect) optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return d.instant(t)
}

func (c checkInJSON) checkIn() meeting.CheckIn {
	return meeting.CheckIn{Required: c.Required, Opens: time.Duration(c.Opens), Grace: time.Duration(c.Grace)}
}
