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
	getExpected = load("expected")
	setExpected = load("set_expected")
	setGrace    = load("set_grace")
)

// expectPeople applies a room's check-in settings to its meetings, together with those of their
// other rooms; see [meeting.CheckInWindow.Follow].
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
