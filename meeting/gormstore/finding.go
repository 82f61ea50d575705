package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Candidates leave their Zone empty where neither room nor site names one.
func (s *Store) Candidates(ctx context.Context, n meeting.Need, after *meeting.Room, limit int) ([]*meeting.Room, error) {
	rooms, err := s.readRooms(s.db.WithContext(ctx), func(db *gorm.DB) *gorm.DB {
		if after != nil {
			db = db.Where("((rooms.capacity = 0), rooms.capacity, lower(rooms.name), rooms.id) > (?, ?, lower(?), ?)",
				after.Capacity == 0, after.Capacity, after.Name, after.ID)
		}
		return s.suiting(db, n).Order("(rooms.capacity = 0), rooms.capacity, lower(rooms.name), rooms.id").Limit(limit)
	})
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	return rooms, nil
}

// suiting are rooms that have what the need asks for.
func (s *Store) suiting(db *gorm.DB, n meeting.Need) *gorm.DB {
	return s.filterRooms(db, meeting.RoomQuery{IDs: n.RoomIDs, SiteID: n.SiteID, Features: n.Features, Persons: n.Persons})
}

// kindRow is rooms of a site with the same rules.
type kindRow struct {
	SiteID  *int64
	Zone    string
	Policy  policyJSON `gorm:"serializer:json"`
	RoomIDs []int64    `gorm:"serializer:json"`
}

var kindColumns = write(`rooms.site_id, COALESCE(NULLIF(rooms.timezone, ''), sites.timezone, '') AS zone, rooms.policy, {array}(rooms.id) AS room_ids`)

// Kinds leave their Zone empty where neither room nor site names one.
func (s *Store) Kinds(ctx context.Context, n meeting.Need) ([]*meeting.Kind, error) {
	var rows []*kindRow
	err := s.suiting(s.roomTable(s.db.WithContext(ctx)), n).Select(kindColumns[s.dialect]).Group("rooms.site_id, zone, rooms.policy").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("kinds of rooms: %w", err)
	}
	kinds := make([]*meeting.Kind, len(rows))
	for i, r := range rows {
		kinds[i] = &meeting.Kind{Policy: r.Policy.policy(), Zone: r.Zone, RoomIDs: r.RoomIDs}
		if r.SiteID != nil {
			kinds[i].SiteID = *r.SiteID
		}
	}
	return kinds, nil
}

// takenOfRooms are the occupancies of rooms ($1) within a span ($2, $3), looked up room by room.
var takenOfRooms = occupanciesOf("$1", "$2", "$3")

func occupanciesOf(rooms, from, to string) string {
	return "{postgres: unnest(CAST(" + rooms + " AS bigint[])) AS r(value)}{sqlite: json_each(" + rooms + ") AS r CROSS} JOIN occupancies AS o ON " + ofRoom("r.value", from, to)
}

var (
	getTaken = write(`SELECT o.room_id, o.starts_at, o.ends_at FROM
		` + takenOfRooms + `
		WHERE ` + unlapsed("$4") + `
		ORDER BY o.room_id, o.starts_at`)
	getAllTaken = write(`SELECT o.room_id, o.starts_at, o.ends_at FROM (` + rowsWithin("occupancies", "o.room_id, o.starts_at, o.ends_at, o.lapses_at", "$1", "$2") + `) AS o
		WHERE ` + unlapsed("$3"))
	getHeldBy = write(`SELECT o.room_id, m.starts_at, m.ends_at, m.ended_at ` + heldMeetings("$3", "$4", "$5") + `
		AND o.room_id {postgres: = ANY ($2::bigint[])}{sqlite: IN (SELECT value FROM json_each($2))}`)
	getBooked = write(`SELECT o.room_id, m.starts_at, m.ends_at, m.ended_at FROM
		` + takenOfRooms + `
		JOIN meetings AS m ON m.id = o.meeting_id
		WHERE NOT o.held AND ` + unlapsed("$4") + `
		ORDER BY o.room_id, o.starts_at`)
	getOccupants = write(selectMeetings + `
		WHERE m.id IN (SELECT o.meeting_id FROM occupancies AS o WHERE ` + ofRoom("$1", "$2", "$3") + `)
		ORDER BY m.starts_at, m.id`)
)

// heldMeetings are the occupancies of meetings of the user $1 within a span, by the organizer's
// index, that have not lapsed at an instant.
func heldMeetings(from, to, at string) string {
	return `FROM (SELECT m.id, m.starts_at, m.ends_at, m.ended_at FROM meetings AS m WHERE m.organizer_id = $1 AND ` + recent("m", from, to) + `
			UNION ALL SELECT m.id, m.starts_at, m.ends_at, m.ended_at
			FROM (` + longRowsWithin("meetings", "o.id", from, to) + `) AS l CROSS JOIN meetings AS m WHERE m.id = l.id AND m.organizer_id = $1) AS m
		JOIN occupancies AS o ON o.meeting_id = m.id
		WHERE NOT o.held AND ` + unlapsed(at)
}

func (s *Store) Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	return s.slots(ctx, slotOf, getTaken, s.ids(rooms...), micro(span.Start), micro(span.End), micro(at))
}

// roomSlot is what one meeting takes of a room.
type roomSlot struct {
	room int64
	clock.Slot
}

// AllBusy groups and sorts in Go: there are few slots of each room, and tens of thousands of all.
func (s *Store) AllBusy(ctx context.Context, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	all, err := s.roomSlots(ctx, getAllTaken, micro(span.Start), micro(span.End), micro(at))
	if err != nil {
		return nil, fmt.Errorf("slots of all rooms: %w", err)
	}
	counts := map[int64]int{}
	for i := range all {
		counts[all[i].room]++
	}
	found, rest := make(map[int64][]clock.Slot, len(counts)), make([]clock.Slot, len(all))
	for room, n := range counts {
		found[room], rest = rest[:0:n], rest[n:]
	}
	for i := range all {
		found[all[i].room] = append(found[all[i].room], all[i].Slot)
	}
	byStart := func(a, b clock.Slot) int { return a.Start.Compare(b.Start) }
	for _, taken := range found {
		if !slices.IsSortedFunc(taken, byStart) {
			slices.SortFunc(taken, byStart)
		}
	}
	return found, nil
}

// roomSlots reads room, start and end. On Postgres it asks the driver itself for them: database/sql
// takes three times as long for so many rows.
func (s *Store) roomSlots(ctx context.Context, q statement, args ...any) (all []roomSlot, err error) {
	tx := s.db.WithContext(ctx)
	pool, ok := tx.Statement.ConnPool.(interface {
		Conn(context.Context) (*sql.Conn, error)
	})
	if !ok {
		err = s.query(tx, func(rows *sql.Rows) error {
			var t roomSlot
			err := rows.Scan(&t.room, &t.Start, &t.End)
			all = append(all, t)
			return err
		}, q, args...)
		return all, err
	}
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, c.Close()) }()
	err = c.Raw(func(driver any) error {
		rows, err := driver.(*stdlib.Conn).Conn().Query(ctx, q[s.dialect], args...)
		if err != nil {
			return err
		}
		var t roomSlot
		_, err = pgx.ForEachRow(rows, []any{&t.room, &t.Start, &t.End}, func() error {
			all = append(all, t)
			return nil
		})
		return err
	})
	return all, err
}

func slotOf(rows *sql.Rows, room *int64) (t clock.Slot, err error) {
	err = rows.Scan(room, &t.Start, &t.End)
	return t, err
}

// slots of rooms.
func (s *Store) slots(ctx context.Context, scan func(*sql.Rows, *int64) (clock.Slot, error), q statement, args ...any) (map[int64][]clock.Slot, error) {
	found := map[int64][]clock.Slot{}
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var id int64
		t, err := scan(rows, &id)
		found[id] = append(found[id], t)
		return err
	}, q, args...)
	if err != nil {
		return nil, fmt.Errorf("slots of rooms: %w", err)
	}
	return found, nil
}

func (s *Store) HeldBy(ctx context.Context, userID int64, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	return s.slots(ctx, tookOf, getHeldBy, userID, s.ids(rooms...), micro(span.Start), micro(span.End), micro(at))
}

func (s *Store) Booked(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	return s.slots(ctx, tookOf, getBooked, s.ids(rooms...), micro(span.Start), micro(span.End), micro(at))
}

func tookOf(rows *sql.Rows, room *int64) (clock.Slot, error) { return scanTook(rows, room) }

func (s *Store) Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), getOccupants, roomID, micro(span.Start), micro(span.End))
	if err != nil {
		return nil, fmt.Errorf("occupants of room %d: %w", roomID, err)
	}
	return ms, nil
}
