package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/app/database/receipt"
	"punctual/delayjob/failpoint"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

var (
	saveWaits = load("save_waits")
	lockWaits = write(`SELECT id FROM waitlist WHERE id ` + amongIDs + ` ORDER BY id {postgres: FOR UPDATE}`)

	widenWanted = load("widen_wanted")

	awaited  = load("awaited")
	nextLook = write(`SELECT {postgres: CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)}{sqlite: CAST((julianday('now') - 2440587.5) * 86400000000 AS integer)}`)

	firstInLine = write(selectWaits("0") + `
		WHERE w.state = 'waiting' AND w.expires_at > $2 AND w.id > $3
			AND w.id IN (SELECT a.waitlist_id FROM waitlist_rooms a WHERE a.room_id ` + amongIDs + `) AND ` + allFree("$2") + `
		ORDER BY w.id LIMIT $4`)
	freeAndAwaited = write(`SELECT DISTINCT a.room_id FROM waitlist w JOIN waitlist_rooms a ON a.waitlist_id = w.id
		WHERE w.state = 'waiting' AND w.expires_at > $1 AND ` + allFree("$1") + `
		ORDER BY a.room_id`)
)

// allFree is the condition that nothing conflicts with the wait w at the instant of a parameter.
func allFree(at string) string {
	return `NOT EXISTS (SELECT 1 FROM waitlist_rooms b JOIN occupancies o ON ` + ofRoom("b.room_id", "b.starts_at", "b.ends_at") + ` AND ` + unlapsed(at) + `
			WHERE b.waitlist_id = w.id)`
}

// overlap of two rows that have a start and an end.
func overlap(a, b string) string {
	return strings.NewReplacer("{a}", a, "{b}", b).Replace(`{postgres: tstzrange({a}.starts_at, {a}.ends_at) && tstzrange({b}.starts_at, {b}.ends_at)}` +
		`{sqlite: {a}.starts_at < {b}.ends_at AND {a}.ends_at > {b}.starts_at}`)
}

// selectWaits reads waits w with their position in line, given by an expression.
func selectWaits(position string) string {
	return `SELECT w.id, w.user_id, u.email, u.name, u.phone, u.locale, u.timezone, w.state, w.wish, w.until_at, w.expires_at,
		w.offer_until, w.meeting_id, w.reason, w.detail, w.version, w.created_at, w.updated_at, w.joined_by, (SELECT j.name FROM users j WHERE j.id = w.joined_by),
		(SELECT {array}({object}('room_id', a.room_id, 'starts_at', a.starts_at, 'ends_at', a.ends_at)) FROM waitlist_rooms a WHERE a.waitlist_id = w.id),
		` + position + `
	FROM waitlist w JOIN users u ON u.id = w.user_id `
}

var inLine = `CASE WHEN w.state = 'waiting' THEN 1 + (SELECT count(DISTINCT a.waitlist_id) FROM waitlist_rooms b
			JOIN waitlist_rooms a ON a.room_id = b.room_id AND ` + overlap("a", "b") + ` AND a.waitlist_id < w.id
			WHERE b.waitlist_id = w.id) ELSE 0 END`

var (
	waitByID   = write(selectWaits(inLine) + `WHERE w.id = $1`)
	readLocked = write(selectWaits("0") + `WHERE w.id ` + amongIDs + ` ORDER BY w.id`) // their positions are about to change
)

type waitRow struct {
	ID         int64
	UserID     int64
	State      meeting.WaitState
	Wish       wishPart `gorm:"serializer:json"`
	UntilAt    *time.Time
	ExpiresAt  time.Time
	OfferUntil *time.Time
	DueAt      time.Time
	MeetingID  *int64
	Reason     string
	Detail     string
	JoinedBy   *int64
	Version    int64
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt  time.Time `gorm:"autoUpdateTime:false"`
}

func (waitRow) TableName() string { return "waitlist" }

// waitRoomRow exists exactly while its wait is open.
type waitRoomRow struct {
	WaitlistID int64
	RoomID     int64
	StartsAt   time.Time
	EndsAt     time.Time
}

func (waitRoomRow) TableName() string { return "waitlist_rooms" }

func (s *Store) CreateWait(ctx context.Context, w *meeting.Wait, fn func(open int) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var person []int64
		if err := forUpdate(tx).Table("users").Where("id = ?", w.Person.UserID).Pluck("id", &person).Error; err != nil {
			return err
		}
		var open int64
		err := tx.Model(&waitRow{}).Where("user_id = ? AND state IN ('waiting', 'offered') AND due_at > ?", w.Person.UserID, micro(w.CreatedAt)).
			Count(&open).Error
		if err != nil {
			return err
		}
		if err := fn(int(open)); err != nil {
			return err
		}
		row := &waitRow{
			UserID: w.Person.UserID, State: w.State, Wish: wishOf(w.Wished), UntilAt: optional(w.Until), ExpiresAt: micro(w.Expires),
			JoinedBy: reference(w.JoinedBy.UserID), DueAt: micro(w.Due()), Version: 1, CreatedAt: micro(w.CreatedAt), UpdatedAt: micro(w.CreatedAt),
		}
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		receipt.Created(tx, "wait", strconv.FormatInt(row.ID, 10))
		wanted := make([]waitRoomRow, len(w.Wants))
		for i, o := range w.Wants {
			wanted[i] = waitRoomRow{WaitlistID: row.ID, RoomID: o.RoomID, StartsAt: micro(o.Slot.Start), EndsAt: micro(o.Slot.End)}
		}
		if err := insert(tx, wanted); err != nil {
			return err
		}
		w.ID = row.ID
		created, err := s.readWait(tx, w.ID)
		if err == nil {
			*w = *created
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create wait: %w", err)
	}
	return nil
}

func (s *Store) Wait(ctx context.Context, id int64) (*meeting.Wait, error) {
	w, err := s.readWait(s.db.WithContext(ctx), id)
	if err != nil {
		return nil, fmt.Errorf("wait %d: %w", id, err)
	}
	return w, nil
}

// UpdateWait takes the lock first, so that a concurrent call sees its result.
func (s *Store) UpdateWait(ctx context.Context, id int64, fn func(*meeting.Wait) (*meeting.Meeting, error)) (*meeting.Wait, *meeting.Meeting, []meeting.Notice, error) {
	var w *meeting.Wait
	var m *meeting.Meeting
	var notices []meeting.Notice
	err := s.orConflict(ctx, func() (*meeting.Meeting, error) {
		err := s.transaction(ctx, func(tx *gorm.DB) (err error) {
			m = nil
			ws, err := s.lockedWaits(tx, id)
			if err == nil && len(ws) == 0 {
				err = meeting.ErrNotFound
			}
			if err != nil {
				return fmt.Errorf("update wait %d: %w", id, err)
			}
			w = ws[0]
			was := w.State
			if m, err = fn(w); err != nil {
				return err
			}
			if notices, err = s.saveWaits(tx, []waitChange{{was, w, m}}); err != nil {
				return fmt.Errorf("update wait %d: %w", id, err)
			}
			failpoint.Reach("waitlist.before", "")
			return nil
		})
		switch {
		case m != nil:
			return m, err
		case w != nil:
			return &meeting.Meeting{Occupied: w.Wants}, err
		default:
			return nil, err
		}
	})
	if err != nil {
		return nil, nil, nil, err
	}
	failpoint.Reach("waitlist.after", "")
	return w, m, notices, nil
}

// UpdateWaits saves all changes with a few statements, however many waits there are.
func (s *Store) UpdateWaits(ctx context.Context, ids []int64, fn func(*meeting.Wait) (*meeting.Meeting, bool, error)) ([]meeting.Notice, error) {
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		notices = nil
		ws, err := s.lockedWaits(tx, ids...)
		if err != nil {
			return err
		}
		var cs []waitChange
		for _, w := range ws {
			was := w.State
			m, changed, err := fn(w)
			if err != nil {
				return err
			}
			if changed {
				cs = append(cs, waitChange{was, w, m})
			}
		}
		if len(cs) == 0 {
			return nil
		}
		notices, err = s.saveWaits(tx, cs)
		failpoint.Reach("waitlist.before", "")
		return err
	})
	if errors.Is(taken(err), errTaken) {
		return nil, &meeting.ConflictError{}
	}
	if err != nil {
		return nil, fmt.Errorf("update %d waits: %w", len(ids), err)
	}
	failpoint.Reach("waitlist.after", "")
	return notices, nil
}

// lockedWaits returns waits in the order of their IDs, in which all callers lock them.
func (s *Store) lockedWaits(tx *gorm.DB, ids ...int64) ([]*meeting.Wait, error) {
	if s.dialect == postgres {
		if _, err := s.numbers(tx, lockWaits, s.ids(ids...)); err != nil {
			return nil, err
		}
	}
	return s.readWaits(tx, readLocked, s.ids(ids...))
}

// A waitChange is a locked wait after a change, its state before, and the meeting that it becomes,
// if any.
type waitChange struct {
	was meeting.WaitState
	w   *meeting.Wait
	m   *meeting.Meeting
}

// saveWaits writes waits, what they hold, and the meetings that they became.
func (s *Store) saveWaits(tx *gorm.DB, cs []waitChange) ([]meeting.Notice, error) {
	var meetings []*meeting.Meeting
	var left, over []int64
	var held []occupancyRow
	for _, c := range cs {
		if c.m != nil {
			meetings = append(meetings, c.m)
		}
		switch {
		case c.was == meeting.Offered && c.w.State != meeting.Offered:
			left = append(left, c.w.ID)
		case c.was != meeting.Offered && c.w.State == meeting.Offered:
			held = append(held, occupancyRows(c.w.Wants, occupancyRow{WaitlistID: &c.w.ID, Held: true, LapsesAt: optional(c.w.Due())})...)
		}
		if c.w.State != meeting.Waiting && c.w.State != meeting.Offered {
			over = append(over, c.w.ID)
		}
	}
	if err := s.lockQuotas(tx, meetings...); err != nil {
		return nil, err
	}
	if err := removeOf[occupancyRow](tx, "waitlist_id", left); err != nil {
		return nil, err
	}
	notices, err := s.insertAll(tx, meetings...)
	if err != nil {
		return nil, err
	}
	if err := occupy(tx, held); err != nil {
		return nil, err
	}
	if err := removeOf[waitRoomRow](tx, "waitlist_id", over); err != nil {
		return nil, err
	}
	rows := make([]row, len(cs))
	var notified []meeting.Notice
	for i, c := range cs {
		if c.m != nil {
			c.w.MeetingID = c.m.ID
		}
		rows[i] = row{"id": c.w.ID, "state": string(c.w.State), "due_at": s.dialect.instant(c.w.Due()), "meeting_id": reference(c.w.MeetingID),
			"reason": c.w.Reason, "detail": c.w.Detail, "updated_at": s.dialect.instant(c.w.UpdatedAt)}
		rows[i]["offer_until"] = s.dialect.optional(c.w.OfferUntil)
		c.w.Version++
		notified = append(notified, c.w.TakeNotices()...)
	}
	if err := s.insertRows(tx, saveWaits, rows); err != nil {
		return nil, err
	}
	if len(notified) > 0 {
		if err := s.outbox.Insert(tx, notified); err != nil {
			return nil, err
		}
	}
	return append(notices, notified...), nil
}

// moveWanted applies a room's current buffers to the waits for it. What is held for an offer stays
// unchanged.
func (s *Store) moveWanted(tx *gorm.DB, roomID int64, from, to policy.Policy) error {
	before, after := to.BufferBefore-from.BufferBefore, to.BufferAfter-from.BufferAfter
	if before == 0 && after == 0 {
		return nil
	}
	_, err := s.exec(tx, widenWanted, roomID, before.Microseconds(), after.Microseconds())
	return err
}

func (s *Store) readWait(tx *gorm.DB, id int64) (*meeting.Wait, error) {
	ws, err := s.readWaits(tx, waitByID, id)
	if err == nil && len(ws) == 0 {
		err = meeting.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return ws[0], nil
}

// readWaits runs a query that begins with selectWaits.
func (s *Store) readWaits(tx *gorm.DB, q statement, args ...any) ([]*meeting.Wait, error) {
	return collect(s, tx, scanWait, q, args...)
}

func scanWait(rows *sql.Rows) (*meeting.Wait, error) {
	w := &meeting.Wait{}
	p := &w.Person
	var wish, wants []byte
	var joiner sql.NullString
	if err := rows.Scan(&w.ID, &p.UserID, &p.Email, &p.Name, &p.Phone, &p.Locale, &p.Timezone, &w.State, &wish, nullTime{&w.Until}, &w.Expires,
		nullTime{&w.OfferUntil}, nullID{&w.MeetingID}, &w.Reason, &w.Detail, &w.Version, &w.CreatedAt, &w.UpdatedAt, nullID{&w.JoinedBy.UserID}, &joiner, &wants, &w.Position); err != nil {
		return nil, err
	}
	w.JoinedBy.Name = joiner.String
	var part wishPart
	if err := json.Unmarshal(wish, &part); err != nil {
		return nil, fmt.Errorf("wait %d: %w", w.ID, err)
	}
	w.Wished = part.wished()
	err := readParts(wants, func(p wantPart) {
		w.Wants = append(w.Wants, meeting.Occupancy{RoomID: p.RoomID, Slot: clock.Slot{Start: p.StartsAt.Time, End: p.EndsAt.Time}})
	})
	return w, err
}

type wantPart struct {
	RoomID   int64       `json:"room_id"`
	StartsAt readInstant `json:"starts_at"`
	EndsAt   readInstant `json:"ends_at"`
}

// wishPart is a [meeting.Wished] in the column wish.
type wishPart struct {
	Title            string               `json:"title"`
	Description      string               `json:"description,omitempty"`
	Start            time.Time            `json:"start"`
	End              time.Time            `json:"end"`
	Timezone         string               `json:"timezone"`
	RoomIDs          []int64              `json:"room_ids"`
	RoomNames        []string             `json:"room_names"`
	Attendees        []attendeePart       `json:"attendees,omitempty"`
	Reminders        []reminderPart       `json:"reminders,omitempty"`
	DefaultReminders bool                 `json:"default_reminders,omitempty"`
	Visibility       string               `json:"visibility"`
	Fields           []meeting.FieldValue `json:"fields,omitempty"`
}

func wishOf(w meeting.Wished) wishPart {
	p := wishPart{
		Title: w.Title, Description: w.Description, Start: micro(w.Slot.Start), End: micro(w.Slot.End), Timezone: w.Timezone,
		RoomIDs: w.RoomIDs, RoomNames: w.RoomNames, DefaultReminders: w.DefaultReminders, Visibility: string(w.Visibility), Fields: w.Custom,
	}
	for _, a := range w.Attendees {
		p.Attendees = append(p.Attendees, partOfAttendee(meeting.Attendee{Person: a}))
	}
	for _, r := range w.Reminders {
		p.Reminders = append(p.Reminders, partOfReminder(r))
	}
	return p
}

func (p wishPart) wished() meeting.Wished {
	w := meeting.Wished{
		Title: p.Title, Description: p.Description, Slot: clock.Slot{Start: p.Start, End: p.End}, Timezone: p.Timezone,
		RoomIDs: p.RoomIDs, RoomNames: p.RoomNames, DefaultReminders: p.DefaultReminders, Visibility: meeting.Visibility(p.Visibility),
		Attendees: []meeting.Person{}, Custom: p.Fields,
	}
	for _, a := range p.Attendees {
		w.Attendees = append(w.Attendees, a.attendee().Person)
	}
	for _, r := range p.Reminders {
		w.Reminders = append(w.Reminders, r.reminder())
	}
	return w
}

func (s *Store) ListWaits(ctx context.Context, q meeting.WaitQuery, p meeting.Page) ([]*meeting.Wait, string, error) {
	const list = "waitlist"
	after, err := readCursor(list, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	var c conditions
	if after != nil {
		c.add("w.id > ?", after.ID)
	}
	if q.UserID != 0 {
		c.add("w.user_id = ?", q.UserID)
	}
	if q.RoomID != 0 {
		room := c.param(q.RoomID)
		c.all = append(c.all, `{postgres: w.wish -> 'room_ids' @> to_jsonb(CAST(`+room+` AS bigint))}{sqlite: EXISTS (SELECT 1 FROM json_each(w.wish, '$.room_ids') WHERE value = `+room+`)}`)
	}
	if len(q.States) > 0 {
		var states []string
		for _, state := range q.States {
			states = append(states, c.param(string(state)))
		}
		c.all = append(c.all, "CASE WHEN w.state IN ('waiting', 'offered') AND w.due_at <= "+c.param(micro(q.Now))+" THEN 'expired' ELSE w.state END IN ("+strings.Join(states, ", ")+")")
	}
	size := limit(p)
	where := c.String()
	ws, err := s.readWaits(s.db.WithContext(ctx), write(selectWaits(inLine)+`WHERE `+where+` ORDER BY w.id LIMIT `+c.param(size+1)), c.args...)
	if err != nil {
		return nil, "", fmt.Errorf("list waits: %w", err)
	}
	ws, next := paged(ws, size, func(w *meeting.Wait) position { return position{List: list, ID: w.ID} })
	return ws, next, nil
}

func (s *Store) Awaited(ctx context.Context, free []meeting.Occupancy, at time.Time) ([]int64, int64, error) {
	return s.looks(ctx, awaited, table(s.dialect.placeRows(free)), micro(at))
}

func (s *Store) FreeAndAwaited(ctx context.Context, at time.Time) ([]int64, int64, error) {
	return s.looks(ctx, freeAndAwaited, micro(at))
}

// looks runs a query for rooms. The number is the database's clock, which all processes share.
// SQLite's clock only advances every millisecond, and many rooms can become free within one.
func (s *Store) looks(ctx context.Context, q statement, args ...any) (rooms []int64, number int64, err error) {
	tx := s.db.WithContext(ctx)
	if rooms, err = s.numbers(tx, q, args...); err != nil || len(rooms) == 0 {
		return nil, 0, err
	}
	now, err := s.numbers(tx, nextLook)
	if err == nil && len(now) == 0 {
		err = errors.New("database clock returned no row")
	}
	if err != nil {
		return nil, 0, err
	}
	for {
		last := s.lastLook.Load()
		number = max(now[0], last+1)
		if s.lastLook.CompareAndSwap(last, number) {
			return rooms, number, nil
		}
	}
}

func (s *Store) FirstInLine(ctx context.Context, rooms []int64, at time.Time, after int64, limit int) ([]*meeting.Wait, error) {
	line, err := s.readWaits(s.db.WithContext(ctx), firstInLine, s.ids(rooms...), micro(at), after, limit)
	if err != nil {
		return nil, fmt.Errorf("line for %d rooms: %w", len(rooms), err)
	}
	return line, nil
}
