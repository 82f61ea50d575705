package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"punctual/app/database/transaction"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// Candidates leave their Zone empty where neither room nor site names one.
func (s *Store) Candidates(ctx context.Context, n finding.Need, after *meeting.Room, limit int) ([]*meeting.Room, error) {
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

// suiting selects rooms that meet the need.
func (s *Store) suiting(db *gorm.DB, n finding.Need) *gorm.DB {
	return s.filterRooms(db, meeting.RoomQuery{IDs: n.RoomIDs, SiteID: n.SiteID, Features: n.Features, Persons: n.Persons})
}

// Rooms are grouped by what an index holds, and the policy is read once for each group.
var (
	kindColumns = write(`rooms.site_id, rooms.timezone, min(rooms.id) AS one, {list rooms.id} AS room_ids`)
	readKinds   = write(`SELECT k.site_id, COALESCE(NULLIF(k.timezone, ''), sites.timezone, '') AS zone, one.policy, k.room_ids
		FROM (?) AS k JOIN rooms AS one ON one.id = k.one LEFT JOIN sites ON sites.id = k.site_id`)
)

// Kinds leave their Zone empty where neither room nor site names one.
func (s *Store) Kinds(ctx context.Context, n finding.Need) ([]*finding.Kind, error) {
	db := s.db.WithContext(ctx)
	groups := s.suiting(db.Table("rooms").Where("rooms.deleted_at IS NULL"), n).
		Select(kindColumns[s.dialect]).Group("rooms.site_id, rooms.timezone, rooms.policy_key")
	var kinds []*finding.Kind
	err := scanRows(db.Raw(readKinds[s.dialect], groups), func(rows *sql.Rows) error {
		var k finding.Kind
		var site sql.NullInt64
		var rules sql.RawBytes
		var p policyJSON
		if err := rows.Scan(&site, &k.Zone, &rules, (*idList)(&k.RoomIDs)); err != nil {
			return err
		}
		err := json.Unmarshal(rules, &p)
		k.SiteID, k.Policy = site.Int64, p.policy()
		kinds = append(kinds, &k)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kinds of rooms: %w", err)
	}
	return kinds, nil
}

// takenOfRooms are the occupancies of rooms ($1) within a span ($2, $3), looked up room by room.
var takenOfRooms = occupanciesOf("$1", "$2", "$3")

func occupanciesOf(rooms, from, to string) string {
	return eachOf(rooms) + " {sqlite: CROSS} JOIN occupancies AS o ON " + ofRoom("r.value", from, to)
}

// eachOf is a table of the IDs in a parameter: r.value.
func eachOf(ids string) string {
	return "{postgres: unnest(CAST(" + ids + " AS bigint[])) AS r(value)}{sqlite: json_each(" + ids + ") AS r}"
}

var (
	getTaken = write(`SELECT o.room_id, o.starts_at, o.ends_at FROM
		` + takenOfRooms + `
		WHERE ` + unlapsed("$4"))
	// Many meetings begin and end at the same times, and an index has their rooms in that order.
	getAllTaken = write(`SELECT o.starts_at, o.ends_at, {list o.room_id} FROM occupancies AS o
		WHERE ` + recent("o", "$1", "$2") + ` AND ` + unlapsed("$3") + `
		GROUP BY o.starts_at, o.ends_at
		UNION ALL SELECT o.starts_at, o.ends_at, {list o.room_id}
		FROM (` + longRowsWithin("occupancies", "o.room_id, o.starts_at, o.ends_at, o.lapses_at", "$1", "$2") + `) AS o
		WHERE ` + unlapsed("$3") + ` GROUP BY o.starts_at, o.ends_at`)
	getAllStarting = write(`SELECT o.starts_at, o.ends_at, {list o.room_id} FROM occupancies AS o
		WHERE o.starts_at >= $1 AND o.starts_at < $2 AND ` + unlapsed("$3") + `
		GROUP BY o.starts_at, o.ends_at`)
	getHeldBy = write(`SELECT o.room_id, m.starts_at, m.ends_at, m.ended_at ` + heldMeetings("$3", "$4", "$5") + `
		AND +o.room_id {postgres: = ANY ($2::bigint[])}{sqlite: IN (SELECT value FROM json_each($2))}`)  // by meeting, because an index would be searched for each of the rooms
	getBooked = write(`SELECT o.room_id, m.starts_at, m.ends_at, m.ended_at FROM
		` + takenOfRooms + `
		JOIN meetings AS m ON m.id = o.meeting_id
		WHERE NOT o.held AND ` + unlapsed("$4"))
	getOccupants = write(selectMeetings + `
		WHERE m.id IN (SELECT o.meeting_id FROM occupancies AS o WHERE ` + ofRoom("$1", "$2", "$3") + `)
		ORDER BY m.starts_at, m.id`)
)

// heldMeetings are the occupancies of meetings of the user $1 within a span, by the organizer's
// index, that have not lapsed at an instant.
func heldMeetings(from, to, at string) string {
	return `FROM (SELECT m.id, m.starts_at, m.ends_at, m.ended_at, m.type_id FROM meetings AS m WHERE m.organizer_id = $1 AND ` + recent("m", from, to) + `
			UNION ALL SELECT m.id, m.starts_at, m.ends_at, m.ended_at, m.type_id
			FROM (` + longRowsWithin("meetings", "o.id", from, to) + `) AS l CROSS JOIN meetings AS m WHERE m.id = l.id AND m.organizer_id = $1) AS m
		JOIN occupancies AS o ON o.meeting_id = m.id
		WHERE NOT o.held AND ` + notExempt + ` AND ` + unlapsed(at)
}

func (s *Store) Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	return s.slots(ctx, slotOf, getTaken, s.ids(rooms...), micro(span.Start), micro(span.End), micro(at))
}

// micros is an instant, scanned without reflection, which takes longer than reading the row. NULL is 0.
type micros int64

func (m *micros) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		*m = micros(v)
	case time.Time:
		*m = micros(v.UnixMicro())
	case nil:
		*m = 0
	default:
		return fmt.Errorf("%T instead of an instant", v)
	}
	return nil
}

// takenSlot is a slot, and the rooms in which it is taken.
type takenSlot struct {
	clock.Slot
	rooms []int64
}

// AllBusy reads both halves of the span at the same time: on a day on which all rooms are taken, that
// is most of what a search costs.
func (s *Store) AllBusy(ctx context.Context, span clock.Slot, at time.Time, each func(taken clock.Slot, rooms []int64)) error {
	middle := span.Start.Add(span.End.Sub(span.Start) / 2)
	halves, ctx := errgroup.WithContext(ctx)
	if transaction.In(ctx) { // which has one connection
		halves.SetLimit(1)
	}
	var former, latter []takenSlot
	halves.Go(func() (err error) {
		former, err = s.takenSlots(ctx, getAllTaken, clock.Slot{Start: span.Start, End: middle}, at)
		return err
	})
	halves.Go(func() (err error) {
		latter, err = s.takenSlots(ctx, getAllStarting, clock.Slot{Start: middle, End: span.End}, at)
		return err
	})
	if err := halves.Wait(); err != nil {
		return fmt.Errorf("slots of all rooms: %w", err)
	}
	for _, half := range [][]takenSlot{former, latter} {
		for _, t := range half {
			each(t.Slot, t.rooms)
		}
	}
	return nil
}

// takenSlots returns slots by start. It reads the rooms of each as one text, because tens of thousands
// of rows take longer.
func (s *Store) takenSlots(ctx context.Context, q statement, span clock.Slot, at time.Time) (all []takenSlot, err error) {
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var t takenSlot
		err := rows.Scan(&t.Start, &t.End, (*idList)(&t.rooms))
		all = append(all, t)
		return err
	}, q, micro(span.Start), micro(span.End), micro(at))
	slices.SortFunc(all, func(a, b takenSlot) int { return a.Start.Compare(b.Start) })
	return all, err
}

// idList is the result of {list}: a JSON decoder would take longer.
type idList []int64

func (l *idList) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%T instead of a list", v)
	}
	*l = make(idList, 0, strings.Count(text, ",")+1)
	for part := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return err
		}
		*l = append(*l, id)
	}
	return nil
}

func slotOf(rows *sql.Rows, room *int64) (t clock.Slot, err error) {
	err = rows.Scan(room, &t.Start, &t.End)
	return t, err
}

// slots of rooms, by start. They are sorted here, if at all: an index of rooms has them in that order.
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
	byStart := func(a, b clock.Slot) int { return a.Start.Compare(b.Start) }
	for _, of := range found {
		if !slices.IsSortedFunc(of, byStart) {
			slices.SortFunc(of, byStart)
		}
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
