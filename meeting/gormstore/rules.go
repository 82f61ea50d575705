package gormstore

import (
	"context"
	"database/sql"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

var (
	// Held until the end of the transaction. SQLite writes one transaction at a time.
	lockClaims = write(`SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) AS k`)

	// An occupancy exists exactly while its meeting holds the room or has held it. Buffers make it
	// longer than the meeting, never shorter.
	heldSlots = write(`SELECT m.id, m.starts_at, m.ends_at, m.ended_at FROM occupancies o JOIN meetings m ON m.id = o.meeting_id
		WHERE NOT o.held AND m.organizer_id = $2 AND m.starts_at < $4 AND m.ends_at > $3 AND ` + notExempt + ` AND ` + unlapsed("$5") + ` AND ` + ofRoom("$1", "$3", "$4"))
)

// notExempt leaves out meetings whose type is exempt from quotas.
const notExempt = `NOT EXISTS (SELECT 1 FROM meeting_types AS t WHERE t.id = m.type_id AND t.quota_exempt)`

// A person's meetings in all rooms, one row for each room.
var heldEverywhere = write(`SELECT m.id, m.starts_at, m.ends_at, m.ended_at ` + heldMeetings("$2", "$3", "$4"))

// lockQuotas blocks other transactions that save a meeting of the same people in the same rooms
// until tx ends. Read quotas in a later statement. A transaction that saves several meetings
// must call it once for all of them, so that locks are always taken in the same order.
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

// lockKey returns the lock of a room and a user. Two pairs with the same key wait for each other
// unnecessarily.
func lockKey(c policy.Claim) int64 {
	h := fnv.New64a()
	h.Write([]byte("punctual quota " + strconv.FormatInt(c.RoomID, 10) + " " + strconv.FormatInt(c.UserID, 10)))
	return int64(h.Sum64())
}

// claimQuotas rejects meetings that exceed quotas. It must run in a transaction.
func (s *Store) claimQuotas(tx *gorm.DB, ms ...*meeting.Meeting) error {
	if err := s.lockQuotas(tx, ms...); err != nil {
		return err
	}
	exempt, err := s.quotaExempt(tx, ms)
	if err != nil {
		return err
	}
	read, over := heldOnce{}, &meeting.PolicyError{}
	for _, m := range ms {
		if exempt[m] {
			continue
		}
		if err := s.claimQuota(tx, m, read, func(id meeting.ID) bool { return id != m.ID }, over); err != nil {
			return err
		}
	}
	return refused(over)
}

// claimQuotasInOrder is claimQuotas for meetings that are saved already: each counts earlier ones,
// as a preview does. Meetings that exceed a quota do not count.
func (s *Store) claimQuotasInOrder(tx *gorm.DB, ms []*meeting.Meeting) error {
	exempt, err := s.quotaExempt(tx, ms)
	if err != nil {
		return err
	}
	ms = slices.DeleteFunc(slices.Clone(ms), func(m *meeting.Meeting) bool { return exempt[m] })
	read := heldOnce{}
	for _, m := range ms {
		read.cover(m.Claims())
	}
	place := make(map[meeting.ID]int, len(ms))
	for i, m := range ms {
		place[m.ID] = i
	}
	over := &meeting.PolicyError{}
	for i, m := range ms {
		counts := func(id meeting.ID) bool {
			at, among := place[id]
			return !among || at < i && !slices.Contains(over.Meetings, id)
		}
		if err := s.claimQuota(tx, m, read, counts, over); err != nil {
			return err
		}
	}
	return refused(over)
}

func refused(over *meeting.PolicyError) error {
	if len(over.Meetings) == 0 {
		return nil
	}
	return over
}

// claimQuota adds a meeting that exceeds quotas to over.
func (s *Store) claimQuota(tx *gorm.DB, m *meeting.Meeting, read heldOnce, counts func(meeting.ID) bool, over *meeting.PolicyError) error {
	var violations []meeting.Fault
	for _, c := range m.Claims() {
		if c.ByGroup() {
			groups, err := groupsOf(tx, c.UserID)
			if err != nil {
				return err
			}
			c = c.In(groups)
		}
		all, err := s.readHeld(tx, c, read, m.UpdatedAt)
		if err != nil {
			return err
		}
		violations = append(violations, c.Check(countSlots(all, counts))...)
	}
	if len(violations) == 0 {
		return nil
	}
	if len(over.Meetings) == 0 {
		over.Violations = violations
	}
	over.Meetings = append(over.Meetings, m.ID)
	return nil
}

func (s *Store) Held(ctx context.Context, c policy.Claim, except meeting.ID, at time.Time) ([]clock.Slot, error) {
	all, err := s.held(s.db.WithContext(ctx), c, at)
	return countSlots(all, func(id meeting.ID) bool { return id != except }), err
}

// heldOnce holds the users' meetings in all rooms, by user, which are the same for all dates of a
// series.
type heldOnce map[int64]*heldSpan

type heldSpan struct {
	span clock.Slot
	read bool
	held []heldSlot
}

// cover extends the span to read to these claims.
func (h heldOnce) cover(claims []policy.Claim) {
	for _, c := range claims {
		if c.RoomID != 0 {
			continue
		}
		p, ok := h[c.UserID]
		if !ok {
			h[c.UserID] = &heldSpan{span: c.Span}
			continue
		}
		if c.Span.Start.Before(p.span.Start) {
			p.span.Start = c.Span.Start
		}
		if c.Span.End.After(p.span.End) {
			p.span.End = c.Span.End
		}
	}
}

func (s *Store) readHeld(tx *gorm.DB, c policy.Claim, read heldOnce, at time.Time) (held []heldSlot, err error) {
	p := read[c.UserID]
	if c.RoomID != 0 || p == nil {
		return s.held(tx, c, at)
	}
	if !p.read {
		c.Span = p.span
		p.held, err = s.held(tx, c, at)
		p.read = err == nil
	}
	return p.held, err
}

type heldSlot struct {
	id   meeting.ID
	slot clock.Slot
}

// countSlots of meetings that count.
func countSlots(all []heldSlot, counts func(meeting.ID) bool) (slots []clock.Slot) {
	for _, h := range all {
		if counts(h.id) {
			slots = append(slots, h.slot)
		}
	}
	return slots
}

// held returns when meetings of a claim's user take its room, or any room, at an instant.
func (s *Store) held(tx *gorm.DB, c policy.Claim, at time.Time) (held []heldSlot, err error) {
	statement, args := heldSlots, []any{c.RoomID, c.UserID, micro(c.Span.Start), micro(c.Span.End), micro(at)}
	if c.RoomID == 0 {
		statement, args = heldEverywhere, []any{c.UserID, micro(c.Span.Start), micro(c.Span.End), micro(at)}
	}
	err = s.query(tx, func(rows *sql.Rows) error {
		var id meeting.ID
		slot, err := scanTook(rows, &id)
		held = append(held, heldSlot{id, slot})
		return err
	}, statement, args...)
	return held, err
}

// scanTook scans starts_at, ends_at and ended_at, which must follow the other columns. It returns
// the time that the meeting takes, or took if it ended early.
func scanTook(rows *sql.Rows, others ...any) (clock.Slot, error) {
	var t clock.Slot
	var ended sql.NullTime
	err := rows.Scan(append(others, &t.Start, &t.End, &ended)...)
	if ended.Valid && ended.Time.Before(t.End) {
		t.End = ended.Time
	}
	return t, err
}

// refuseTaken rejects a request for rooms that others hold.
func (s *Store) refuseTaken(tx *gorm.DB, m *meeting.Meeting) error {
	requested := m.Requested()
	if len(requested) == 0 {
		return nil
	}
	found, err := s.overlaps(tx, m.ID, requested)
	if err == nil && len(found) > 0 {
		err = &meeting.ConflictError{Conflicts: found}
	}
	return err
}
