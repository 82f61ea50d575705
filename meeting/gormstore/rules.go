package gormstore

import (
	"context"
	"database/sql"
	"hash/fnv"
	"slices"
	"strconv"

	"gorm.io/gorm"

	"punctual/meeting"
)

var (
	// Held until the end of the transaction. SQLite writes one transaction at a time.
	lockClaims = write(`SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) AS k`)

	// An occupancy is there exactly while its meeting holds the room or has held it. Buffers
	// make it longer than the meeting, never shorter.
	heldSlots = write(`SELECT m.id, m.starts_at, m.ends_at, m.ended_at FROM occupancies o JOIN meetings m ON m.id = o.meeting_id
		WHERE o.room_id = $1 AND NOT o.held AND m.organizer_id = $2 AND m.starts_at < $4 AND m.ends_at > $3
			AND {postgres: tstzrange(o.starts_at, o.ends_at) && tstzrange($3, $4)}
			{sqlite: o.starts_at < $4 AND o.ends_at > $3 AND} ` + sinceLast("$1", "$3"))
)

// lockQuotas makes whoever saves another meeting of the same people in the same rooms wait
// until tx is over; quotas are to be read in a statement after it. Who saves several meetings
// in one transaction calls it once for all of them, so that locks are taken in one order.
func (s *Store) lockQuotas(tx *gorm.DB, ms ...*meeting.Meeting) error {
	var keys []int64
	for _, m := range ms {
		for _, c := range m.Claims() {
			keys = append(keys, lockKey(c))
		}
	}
	if len(keys) == 0 || s.dialect == sqlite {
		return nil
	}
	slices.Sort(keys)
	return s.query(tx, func(*sql.Rows) error { return nil }, lockClaims, slices.Compact(keys))
}

// lockKey of a room and a user. Two pairs that share one wait for each other without need.
func lockKey(c meeting.Claim) int64 {
	h := fnv.New64a()
	h.Write([]byte("punctual quota " + strconv.FormatInt(c.RoomID, 10) + " " + strconv.FormatInt(c.UserID, 10)))
	return int64(h.Sum64())
}

// claimQuotas refuses meetings that exceed quotas. It has to run in a transaction.
func (s *Store) claimQuotas(tx *gorm.DB, ms ...*meeting.Meeting) error {
	if err := s.lockQuotas(tx, ms...); err != nil {
		return err
	}
	for _, m := range ms {
		if err := s.claimQuota(tx, m, func(id meeting.ID) bool { return id != m.ID }); err != nil {
			return err
		}
	}
	return nil
}

// claimQuotasInOrder does so for meetings that are saved already: each counts those before it, as a preview does.
func (s *Store) claimQuotasInOrder(tx *gorm.DB, ms []*meeting.Meeting) error {
	place := make(map[meeting.ID]int, len(ms))
	for i, m := range ms {
		place[m.ID] = i
	}
	for i, m := range ms {
		counts := func(id meeting.ID) bool {
			at, among := place[id]
			return !among || at < i
		}
		if err := s.claimQuota(tx, m, counts); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) claimQuota(tx *gorm.DB, m *meeting.Meeting, counts func(meeting.ID) bool) error {
	var broken []meeting.Fault
	for _, c := range m.Claims() {
		others, err := s.held(tx, c, counts)
		if err != nil {
			return err
		}
		broken = append(broken, c.Check(others)...)
	}
	if len(broken) > 0 {
		return &meeting.PolicyError{Violations: broken}
	}
	return nil
}

func (s *Store) Held(ctx context.Context, c meeting.Claim, except meeting.ID) ([]meeting.Slot, error) {
	return s.held(s.db.WithContext(ctx), c, func(id meeting.ID) bool { return id != except })
}

// held are the times that meetings which count take of a claim's room.
func (s *Store) held(tx *gorm.DB, c meeting.Claim, counts func(meeting.ID) bool) ([]meeting.Slot, error) {
	var slots []meeting.Slot
	err := s.query(tx, func(rows *sql.Rows) error {
		var id meeting.ID
		slot, err := scanTook(rows, &id)
		if counts(id) {
			slots = append(slots, slot)
		}
		return err
	}, heldSlots, c.RoomID, c.UserID, micro(c.Span.Start), micro(c.Span.End))
	return slots, err
}

// scanTook reads starts_at, ends_at and ended_at of a meeting, behind other columns: the time
// that it takes, or took if it was ended early.
func scanTook(rows *sql.Rows, others ...any) (meeting.Slot, error) {
	var t meeting.Slot
	var ended sql.NullTime
	err := rows.Scan(append(others, &t.Start, &t.End, &ended)...)
	if ended.Valid && ended.Time.Before(t.End) {
		t.End = ended.Time
	}
	return t, err
}

// refuseTaken refuses a request for what others hold.
func (s *Store) refuseTaken(tx *gorm.DB, m *meeting.Meeting) error {
	asked := m.Asked()
	if len(asked) == 0 {
		return nil
	}
	found, err := s.overlaps(tx, m.ID, asked)
	if err == nil && len(found) > 0 {
		err = &meeting.ConflictError{Conflicts: found}
	}
	return err
}
