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

	"punctual/meeting"
	"punctual/meeting/policy"
)

type roomRow struct {
	ID                           int64
	SiteID                       *int64
	Name                         string
	Floor                        string
	Capacity                     int
	Features                     []string `gorm:"serializer:json"`
	Timezone                     string
	Active                       bool
	ApprovalRequired             bool
	ApprovalTimeoutSeconds       int64
	ApprovalOnTimeout            string
	ApprovalEscalateAfterSeconds int64
	Policy                       policyJSON  `gorm:"serializer:json"`
	CheckIn                      checkInJSON `gorm:"serializer:json"`
	Access                       *accessJSON `gorm:"serializer:json"`
	Address                      string
	Facility                     string `gorm:"column:facility_email"`
	Photo                        string
	DeletedAt                    *time.Time
	Closures                     int64 `gorm:"->"` // raised by statements alone
	Version                      int64
	CreatedAt                    time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt                    time.Time `gorm:"autoUpdateTime:false"`
}

func (roomRow) TableName() string { return "rooms" }

// fullRoom is a room with the zone that it or its site names, and with its approvers.
type fullRoom struct {
	Row       roomRow
	Zone      string
	Closures  int64
	Posted    bool
	Approvers []approverPart
	OfSite    *accessJSON // access
}

// Levels of approvers that only the store knows by number.
const (
	firstLevel = 1 + iota
	secondLevel
	escalated
)

type approverPart struct {
	UserID int64 `json:"user"`
	Level  int   `json:"level"`
}

var fullRoomColumns, bookedRoomColumns = roomColumns("false"),
	roomColumns("EXISTS (SELECT 1 FROM chat_targets AS c WHERE c.room_id = rooms.id) OR EXISTS (SELECT 1 FROM chat_targets AS c WHERE c.site_id = rooms.site_id)")

// roomColumns are what [roomReader] reads. posted says whether there is a chat channel, which only bookings ask.
func roomColumns(posted string) statement {
	return write(`rooms.id, rooms.site_id, rooms.name, rooms.floor, rooms.capacity, rooms.timezone, rooms.active,
	rooms.approval_required, rooms.approval_timeout_seconds, rooms.approval_on_timeout, rooms.approval_escalate_after_seconds,
	rooms.version, rooms.created_at, rooms.updated_at, COALESCE(NULLIF(rooms.timezone, ''), sites.timezone, '') AS zone, rooms.closures,
	` + posted + ` AS posted,
	rooms.features, rooms.policy, rooms.check_in, rooms.address, rooms.facility_email, rooms.photo, rooms.access, sites.access AS site_access,
	(SELECT {array}({object}('user', a.user_id, 'level', a.level) ORDER BY a.level, a.position) FROM room_approvers AS a WHERE a.room_id = rooms.id) AS approvers`)
}

// roomReader reads rows of roomColumns. Every booking and every search reads rooms, and gorm
// takes several times as long for so many columns.
type roomReader struct {
	features  decoded[[]string]
	policies  decoded[policyJSON]
	checkIns  decoded[checkInJSON]
	accesses  decoded[*accessJSON]
	approvers decoded[[]approverPart]
}

func (d *roomReader) read(rows *sql.Rows) (*meeting.Room, error) {
	var z fullRoom
	r := &z.Row
	var features, policy, checkIn, access, ofSite, approvers sql.RawBytes
	err := rows.Scan(&r.ID, &r.SiteID, &r.Name, &r.Floor, &r.Capacity, &r.Timezone, &r.Active,
		&r.ApprovalRequired, &r.ApprovalTimeoutSeconds, &r.ApprovalOnTimeout, &r.ApprovalEscalateAfterSeconds,
		&r.Version, &r.CreatedAt, &r.UpdatedAt, &z.Zone, &z.Closures, &z.Posted,
		&features, &policy, &checkIn, &r.Address, &r.Facility, &r.Photo, &access, &ofSite, &approvers)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(d.features.into(&r.Features, features), d.policies.into(&r.Policy, policy), d.checkIns.into(&r.CheckIn, checkIn), d.accesses.into(&r.Access, access), d.accesses.into(&z.OfSite, ofSite),
		d.approvers.into(&z.Approvers, approvers))
	if err != nil {
		return nil, fmt.Errorf("room %d: %w", r.ID, err)
	}
	return z.room(), nil
}

// decoded holds values by their JSON, because many rooms have the same rules and decoding them takes
// longer than reading them. Values with equal JSON share their slices, which must not be modified.
type decoded[T any] map[string]T

func (d *decoded[T]) into(v *T, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	known, ok := (*d)[string(text)]
	if !ok {
		if err := json.Unmarshal(text, &known); err != nil {
			return err
		}
		if *d == nil {
			*d = decoded[T]{}
		}
		(*d)[string(text)] = known
	}
	*v = known
	return nil
}

type approverRow struct{ RoomID, UserID, Position, Level int64 }

func (approverRow) TableName() string { return "room_approvers" }

// period is a duration in JSON, as "1h30m0s".
type period time.Duration

func (p period) MarshalText() ([]byte, error) { return []byte(time.Duration(p).String()), nil }

func (p *period) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	*p = period(d)
	return err
}

type policyJSON struct {
	OpeningHours []policy.OpeningHours `json:"opening_hours,omitempty"`
	MinDuration  period                `json:"min_duration"`
	MaxDuration  period                `json:"max_duration"`
	Step         period                `json:"step,omitempty"`
	MinNotice    period                `json:"min_notice"`
	MaxAdvance   period                `json:"max_advance"`
	LastChange   period                `json:"last_change,omitempty"`
	BufferBefore period                `json:"buffer_before"`
	BufferAfter  period                `json:"buffer_after"`
	Quota        *quotaJSON            `json:"quota,omitempty"`
}

type quotaJSON struct {
	Per      string           `json:"per"`
	Count    int              `json:"count"`
	Duration period           `json:"duration"`
	Groups   []groupQuotaJSON `json:"groups,omitempty"`
}

type groupQuotaJSON struct {
	GroupID  int64  `json:"group_id"`
	Count    int    `json:"count"`
	Duration period `json:"duration"`
}

type checkInJSON struct {
	Required bool   `json:"required"`
	Opens    period `json:"opens"`
	Grace    period `json:"grace"`
	Inherits bool   `json:"inherits,omitempty"` // follows the installation's settings
}

func newRoomRow(r *meeting.Room) *roomRow {
	p := r.Policy
	row := &roomRow{
		ID: r.ID, Name: r.Name, Floor: r.Floor, Capacity: r.Capacity, Features: r.Features, Timezone: r.Timezone, Active: r.Active, Address: r.Address, Facility: r.Facility, Photo: r.Photo,
		ApprovalRequired: r.Approval.Required, ApprovalTimeoutSeconds: int64(r.Approval.Timeout / time.Second),
		ApprovalOnTimeout: string(r.Approval.OnTimeout), ApprovalEscalateAfterSeconds: int64(r.Approval.EscalateAfter / time.Second),
		Policy: policyJSON{
			OpeningHours: p.OpeningHours, MinDuration: period(p.MinDuration), MaxDuration: period(p.MaxDuration), Step: period(p.Step),
			MinNotice: period(p.MinNotice), MaxAdvance: period(p.MaxAdvance), LastChange: period(p.LastChange),
			BufferBefore: period(p.BufferBefore), BufferAfter: period(p.BufferAfter),
		},
		CheckIn: checkInJSON{Required: r.CheckIn.Required, Opens: period(r.CheckIn.Opens), Grace: period(r.CheckIn.Grace), Inherits: r.Inherits},
		Version: r.Version, CreatedAt: micro(r.CreatedAt), UpdatedAt: micro(r.UpdatedAt),
	}
	if r.OwnAccess != nil {
		row.Access = accessRow(*r.OwnAccess)
	}
	if r.Features == nil {
		row.Features = []string{}
	}
	if r.SiteID != 0 {
		row.SiteID = &r.SiteID
	}
	if q := p.Quota; q != nil {
		row.Policy.Quota = &quotaJSON{Per: q.Per, Count: q.Count, Duration: period(q.Duration)}
		for _, g := range q.Groups {
			row.Policy.Quota.Groups = append(row.Policy.Quota.Groups, groupQuotaJSON{g.GroupID, g.Count, period(g.Duration)})
		}
	}
	return row
}

func (z *fullRoom) room() *meeting.Room {
	r := &z.Row
	room := &meeting.Room{
		Room:  policy.Room{ID: r.ID, Name: r.Name, Zone: z.Zone, Capacity: r.Capacity, Active: r.Active, Policy: r.Policy.policy()},
		Floor: r.Floor, Timezone: r.Timezone, Address: r.Address, Facility: r.Facility, Photo: r.Photo,
		Approval: meeting.RoomApproval{
			Required: r.ApprovalRequired, Timeout: time.Duration(r.ApprovalTimeoutSeconds) * time.Second,
			OnTimeout: meeting.Status(r.ApprovalOnTimeout), EscalateAfter: time.Duration(r.ApprovalEscalateAfterSeconds) * time.Second,
		},
		CheckIn:  r.CheckIn.checkIn(),
		Inherits: r.CheckIn.Inherits,
		Closures: z.Closures,
		Posted:   z.Posted,
		Version:  r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	room.OwnAccess = r.Access.access()
	if in := cmp.Or(r.Access, z.OfSite); in != nil {
		room.Access = *in.access()
	}
	if len(r.Features) > 0 {
		room.Features = r.Features
	}
	for _, a := range z.Approvers {
		switch into := &room.Approval; a.Level {
		case firstLevel:
			into.ApproverIDs = append(into.ApproverIDs, a.UserID)
		case secondLevel:
			into.SecondIDs = append(into.SecondIDs, a.UserID)
		case escalated:
			into.EscalateTo = append(into.EscalateTo, a.UserID)
		}
	}
	if r.SiteID != nil {
		room.SiteID = *r.SiteID
	}
	return room
}

func (p *policyJSON) policy() policy.Policy {
	rules := policy.Policy{
		OpeningHours: p.OpeningHours, MinDuration: time.Duration(p.MinDuration), MaxDuration: time.Duration(p.MaxDuration), Step: time.Duration(p.Step),
		MinNotice: time.Duration(p.MinNotice), MaxAdvance: time.Duration(p.MaxAdvance), LastChange: time.Duration(p.LastChange),
		BufferBefore: time.Duration(p.BufferBefore), BufferAfter: time.Duration(p.BufferAfter),
	}
	if q := p.Quota; q != nil {
		rules.Quota = &policy.Quota{Per: q.Per, Count: q.Count, Duration: time.Duration(q.Duration)}
		for _, g := range q.Groups {
			rules.Quota.Groups = append(rules.Quota.Groups, policy.GroupQuota{GroupID: g.GroupID, Count: g.Count, Duration: time.Duration(g.Duration)})
		}
	}
	return rules
}

func (s *Store) CreateRooms(ctx context.Context, rooms []*meeting.Room) error {
	rows := make([]*roomRow, len(rooms))
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		for i, r := range rooms {
			rows[i] = newRoomRow(r)
			if err := s.createRoom(tx, rows[i], r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create rooms: %w", err)
	}
	for i, r := range rooms {
		r.ID, r.Version = rows[i].ID, rows[i].Version
	}
	return nil
}

func (s *Store) createRoom(tx *gorm.DB, row *roomRow, r *meeting.Room) error {
	row.ID, row.Version = 0, 1
	if err := tx.Create(row).Error; err != nil {
		return err
	}
	if err := joinSite(tx, row.ID, r.SiteID); err != nil {
		return err
	}
	if err := saveAddress(tx, "", mailAddressRow{Address: r.Address, RoomID: &row.ID}); err != nil {
		return err
	}
	if err := saveApprovers(tx, row.ID, r.Approval); err != nil {
		return err
	}
	if err := saveAccess(tx, accessGroupRow{RoomID: &row.ID}, r.OwnAccess, r.Policy.Quota); err != nil {
		return err
	}
	if _, err := s.limitInForce(tx, row.ID, r.SiteID); err != nil {
		return err
	}
	return s.note(tx, "room.created", row.ID, row.Name, nil, noted(row, r))
}

// noted returns a room as the audit trail records it.
func noted(row *roomRow, r *meeting.Room) []any {
	return []any{row, map[string]any{
		"approver_ids": r.Approval.ApproverIDs, "second_approver_ids": r.Approval.SecondIDs, "escalate_to": r.Approval.EscalateTo,
	}}
}

// Rooms leaves their Zone empty where neither room nor site names one.
func (s *Store) Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) {
	found, err := s.readRoomsWith(bookedRoomColumns, s.db.WithContext(ctx), func(q *gorm.DB) *gorm.DB { return q.Where("rooms.id IN ?", ids) })
	if err != nil {
		return nil, fmt.Errorf("rooms: %w", err)
	}
	byID := make(map[int64]*meeting.Room, len(found))
	for _, r := range found {
		byID[r.ID] = r
	}
	rooms := make([]*meeting.Room, 0, len(ids))
	for _, id := range ids {
		if r := byID[id]; r != nil {
			rooms = append(rooms, r)
		}
	}
	return rooms, nil
}

func (s *Store) UpdateRoom(ctx context.Context, id int64, fn func(*meeting.Room) error) (*meeting.Room, error) {
	var room *meeting.Room
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if _, err := take[roomRow](forUpdate(tx).Where("id = ? AND deleted_at IS NULL", id)); err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		found, err := s.readRooms(tx, func(q *gorm.DB) *gorm.DB { return q.Where("rooms.id = ?", id) })
		if err != nil || len(found) == 0 {
			return fmt.Errorf("update room %d: %w", id, cmp.Or(err, meeting.ErrNotFound))
		}
		room = found[0]
		was := *room
		before := noted(newRoomRow(room), room)
		if err := fn(room); err != nil {
			return err
		}
		rechecked := checksDiffer(&was, room)
		if rechecked {
			if _, err := recheck(tx, forRemoval(tx).Where("id = ?", id)); err != nil {
				return fmt.Errorf("update room %d: %w", id, err)
			}
		}
		room.ID, room.Version = id, was.Version+1
		if err := tx.Select("*").Updates(newRoomRow(room)).Error; err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		if rechecked {
			if err := s.closeRequests(tx, []int64{id}, room.UpdatedAt); err != nil {
				return fmt.Errorf("update room %d: %w", id, err)
			}
		}
		if err := saveAddress(tx, was.Address, mailAddressRow{Address: room.Address, RoomID: &id}); err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		if err := tx.Where("room_id = ?", id).Delete(&approverRow{}).Error; err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		if err := saveApprovers(tx, id, room.Approval); err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		if !reflect.DeepEqual(room.OwnAccess, was.OwnAccess) || !reflect.DeepEqual(room.Policy.Quota, was.Policy.Quota) {
			if err := saveAccess(tx, accessGroupRow{RoomID: &id}, room.OwnAccess, room.Policy.Quota); err != nil {
				return fmt.Errorf("update room %d: %w", id, err)
			}
		}
		if room.CheckIn != was.CheckIn {
			if err := s.expectPeople(tx, id, room.UpdatedAt); err != nil {
				return fmt.Errorf("update room %d: %w", id, err)
			}
		}
		if err := s.moveWanted(tx, id, was.Policy, room.Policy); err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		now, err := s.limitInForce(tx, id, room.SiteID)
		if err != nil {
			return fmt.Errorf("update room %d: %w", id, err)
		}
		room.Zone, room.Closures, room.Access = now.Zone, now.Closures, now.Access
		return s.note(tx, "room.changed", id, room.Name, before, noted(newRoomRow(room), room))
	})
	if err != nil {
		return nil, err
	}
	return room, nil
}

// checksDiffer reports whether a change of the room affects which bookings are allowed, or their
// status. Bookings that were checked before are then checked again: see closeRooms.
func checksDiffer(before, after *meeting.Room) bool {
	return before.Active != after.Active || before.Capacity != after.Capacity || before.CheckIn != after.CheckIn ||
		before.SiteID != after.SiteID || before.Timezone != after.Timezone ||
		!reflect.DeepEqual(before.OwnAccess, after.OwnAccess) || !reflect.DeepEqual(before.Policy, after.Policy) || !reflect.DeepEqual(before.Approval, after.Approval)
}

// DeleteRoom excludes new meetings in the room by the row's lock: see insertMeeting.
func (s *Store) DeleteRoom(ctx context.Context, id int64, at time.Time, fn func(*meeting.Room) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[roomRow](forRemoval(tx).Where("id = ? AND deleted_at IS NULL", id))
		if err != nil {
			return err
		}
		if err := fn((&fullRoom{Row: *row}).room()); err != nil {
			return err
		}
		last, err := s.neededUntil(tx, id, at)
		if err != nil {
			return err
		}
		if len(last) > 0 {
			return &meeting.InUseError{What: "the room", Until: last[0].UTC()}
		}
		if err := tx.Where("room_id = ?", id).Delete(&blackoutRow{}).Error; err != nil {
			return err
		}
		if err := tx.Delete(&roomPhotoRow{RoomID: id}).Error; err != nil {
			return err
		}
		if err := tx.Exec("DELETE FROM chat_targets WHERE room_id = ?", id).Error; err != nil {
			return err
		}
		if err := saveAddress(tx, row.Address, mailAddressRow{}); err != nil {
			return err
		}
		if err := saveAccess(tx, accessGroupRow{RoomID: &id}, nil, nil); err != nil {
			return err
		}
		// Who saw what took place there still does: room_limits stays. Its groups can be deleted, and are never replaced.
		err = tx.Model(&roomRow{ID: id}).Updates(map[string]any{
			"address": "", "photo": "", "access": nil, "deleted_at": micro(at), "updated_at": micro(at), "active": false, "version": gorm.Expr("version + 1"),
		}).Error
		if err != nil {
			return err
		}
		return s.note(tx, "room.deleted", id, row.Name, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete room %d: %w", id, err)
	}
	return nil
}

// neededUntil returns the end of the last meeting that needs a room, or will after a pending move;
// zero: none does.
func (s *Store) neededUntil(tx *gorm.DB, id int64, at time.Time) (last []time.Time, err error) {
	var c conditions
	c.add("r.room_id = ?", id)
	c.add("m.ends_at > ?", micro(at))
	c.effective(meeting.MeetingQuery{Statuses: []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress}, Now: at})
	scan := func(rows *sql.Rows) error {
		var end time.Time
		err := rows.Scan(&end)
		last = append(last, end)
		return err
	}
	err = s.query(tx, scan, write(`SELECT m.ends_at FROM meeting_rooms r JOIN meetings m ON m.id = r.meeting_id
			LEFT JOIN approvals q ON q.meeting_id = m.id
		WHERE `+c.String()+`
		ORDER BY m.ends_at DESC LIMIT 1`), c.args...)
	if err == nil && len(last) == 0 {
		err = s.query(tx, scan, heldUntil, id, micro(at))
	}
	return last, err
}

var heldUntil = load("held_until")

// ListRooms is ordered by name.
func (s *Store) ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error) {
	after, err := readCursor("rooms", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	rooms, err = s.readRooms(s.db.WithContext(ctx), func(db *gorm.DB) *gorm.DB {
		if after != nil {
			db = db.Where("(lower(rooms.name), rooms.id) > (lower(?), ?)", after.Name, after.ID)
		}
		return s.filterRooms(db, q).Order("lower(rooms.name), rooms.id").Limit(limit(p) + 1)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list rooms: %w", err)
	}
	rooms, next = paged(rooms, limit(p), func(r *meeting.Room) position { return position{List: "rooms", Name: r.Name, ID: r.ID} })
	return rooms, next, nil
}

var (
	hasFeatures = write(`{postgres: rooms.features @> ?::jsonb}
		{sqlite: NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(rooms.features)))}`)
	hasText = write(`({fold}(rooms.name) LIKE {fold}(?) ESCAPE '\' OR {fold}(rooms.floor) LIKE {fold}(?) ESCAPE '\')`)
)

func (s *Store) filterRooms(db *gorm.DB, q meeting.RoomQuery) *gorm.DB {
	if !q.IncludeInactive {
		db = db.Where("rooms.active")
	}
	db = s.whereVisible(db, q.Viewer, "rooms.id")
	if len(q.IDs) > 0 {
		db = s.among(db, "rooms.id", q.IDs)
	}
	if q.SiteID != 0 {
		db = db.Where("rooms.site_id = ?", q.SiteID)
	}
	if q.Persons > 0 {
		db = db.Where("((rooms.capacity = 0), rooms.capacity) >= (false, ?)", q.Persons) // in words of rooms_fitting: 0, or so many
	}
	if q.MinCapacity > 0 {
		db = db.Where("rooms.capacity >= ?", q.MinCapacity)
	}
	if len(q.Features) > 0 {
		if s.dialect == sqlite {
			for _, f := range q.Features {
				db = db.Where("instr(rooms.features, ?) > 0", textOf(f)) // decoding the list of each room takes ten times as long
			}
		}
		db = db.Where(hasFeatures[s.dialect], textOf(q.Features))
	}
	if q.Text != "" {
		pattern := containing(q.Text)
		db = db.Where(hasText[s.dialect], pattern, pattern)
	}
	return db
}

// among selects rows by a column, with the same text for any number of ids.
func (s *Store) among(q *gorm.DB, column string, ids []int64) *gorm.DB {
	condition := " IN (SELECT value FROM json_each(?))"
	if s.dialect == postgres {
		condition = " = ANY (CAST(? AS bigint[]))"
	}
	return q.Where(column+condition, s.list(ids))
}

// list is ids as text, for they may be more than there may be parameters.
func (s *Store) list(ids []int64) string {
	list := textOf(ids)
	if s.dialect == postgres {
		return "{" + strings.Trim(list, "[]") + "}"
	}
	return list
}

// textOf strings or numbers is their JSON, as it is stored.
func textOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// containing is a pattern for LIKE ... ESCAPE '\'.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// roomTable selects existing rooms with their sites.
func (s *Store) roomTable(db *gorm.DB) *gorm.DB {
	return db.Table("rooms").Joins("LEFT JOIN sites ON sites.id = rooms.site_id").Where("rooms.deleted_at IS NULL")
}

// readRooms reads the rooms that match where, with their zones and approvers.
func (s *Store) readRooms(db *gorm.DB, where func(*gorm.DB) *gorm.DB) ([]*meeting.Room, error) {
	return s.readRoomsWith(fullRoomColumns, db, where)
}

func (s *Store) readRoomsWith(columns statement, db *gorm.DB, where func(*gorm.DB) *gorm.DB) ([]*meeting.Room, error) {
	rows, err := where(s.roomTable(db).Select(columns[s.dialect])).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rooms := []*meeting.Room{}
	var reader roomReader
	for rows.Next() {
		room, err := reader.read(rows)
		if err != nil {
			return nil, err
		}
		rooms = append(rooms, room)
	}
	return rooms, rows.Err()
}

func saveApprovers(tx *gorm.DB, roomID int64, a meeting.RoomApproval) error {
	var rows []approverRow
	for level, ids := range map[int64][]int64{firstLevel: a.ApproverIDs, secondLevel: a.SecondIDs, escalated: a.EscalateTo} {
		for i, id := range ids {
			rows = append(rows, approverRow{RoomID: roomID, UserID: id, Position: int64(i), Level: level})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return tx.Create(&rows).Error
}
