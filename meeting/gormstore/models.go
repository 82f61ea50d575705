package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

type meetingRow struct {
	ID               int64
	Title            string
	Description      string
	StartsAt         time.Time
	EndsAt           time.Time
	Timezone         string
	ShownStart       *string
	ShownEnd         *string
	OrganizerID      int64
	Status           meeting.Status
	Visibility       meeting.Visibility
	ApprovalRequired bool
	ApprovalDeadline *time.Time
	DecidedAt        *time.Time
	DecidedBy        *int64
	DecisionComment  string
	DecisionReason   string
	DefaultReminders bool
	CheckInOpensAt   *time.Time
	NoShowAt         *time.Time
	CheckedInAt      *time.Time
	StartedAt        *time.Time
	EndedAt          *time.Time
	SeriesID         *int64
	OriginalStart    *time.Time
	OriginalWall     *string
	TypeID           *int64
	Origin           meeting.OriginKind
	ReplyDomain      string
	Custom           jsonText  `gorm:"column:fields"`
	CreatedAt        time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt        time.Time `gorm:"autoUpdateTime:false"`
	BookedBy         *int64
	Version          int64
	ScheduleVersion  int64 // raised by triggers
}

func (meetingRow) TableName() string { return "meetings" }

func newMeetingRow(m *meeting.Meeting) *meetingRow {
	return &meetingRow{
		ID: m.ID, Title: m.Title, Description: m.Description, StartsAt: micro(m.Slot.Start), EndsAt: micro(m.Slot.End), Timezone: m.Timezone,
		ShownStart: wallText(m.Shown.Start), ShownEnd: wallText(m.Shown.End), OrganizerID: m.Organizer.UserID, Status: m.Status, Visibility: m.Visibility,
		ApprovalRequired: m.Approval.Required, ApprovalDeadline: optional(m.Approval.Deadline), DecidedAt: optional(m.Approval.DecidedAt),
		DecidedBy: reference(m.Approval.DecidedBy), DecisionComment: m.Approval.Comment, DecisionReason: m.Approval.Reason,
		DefaultReminders: m.DefaultReminders, CheckInOpensAt: optional(m.CheckIn.Opens), NoShowAt: optional(m.CheckIn.Until),
		CheckedInAt: optional(m.CheckedInAt), StartedAt: optional(m.StartedAt), EndedAt: optional(m.EndedAt), SeriesID: reference(m.SeriesID),
		OriginalStart: optional(m.OriginalStart), OriginalWall: wallText(m.OriginalWall), TypeID: reference(m.TypeID), Origin: m.Foreign, ReplyDomain: m.ReplyDomain, Custom: valuesText(m.Custom), CreatedAt: micro(m.CreatedAt), UpdatedAt: micro(m.UpdatedAt),
		BookedBy: reference(m.BookedBy.UserID), Version: 1, ScheduleVersion: 1,
	}
}

// meetingColumns are those of fields.
const meetingColumns = `m.id, m.title, m.description, m.starts_at, m.ends_at, m.timezone, m.shown_start, m.shown_end, m.organizer_id, m.status,
	m.visibility, m.approval_required, m.approval_deadline, m.decided_at, m.decided_by, m.decision_comment, m.decision_reason, m.default_reminders,
	m.check_in_opens_at, m.no_show_at, m.checked_in_at, m.started_at, m.ended_at, m.series_id, m.original_start, m.original_wall, m.type_id, m.origin, m.reply_domain, m.fields,
	m.created_at, m.updated_at, m.booked_by, m.version, m.schedule_version`

// fields are where a query for meetingColumns puts them.
func (r *meetingRow) fields() []any {
	return []any{
		&r.ID, &r.Title, &r.Description, &r.StartsAt, &r.EndsAt, &r.Timezone, &r.ShownStart, &r.ShownEnd, &r.OrganizerID, &r.Status,
		&r.Visibility, &r.ApprovalRequired, &r.ApprovalDeadline, &r.DecidedAt, &r.DecidedBy, &r.DecisionComment, &r.DecisionReason, &r.DefaultReminders,
		&r.CheckInOpensAt, &r.NoShowAt, &r.CheckedInAt, &r.StartedAt, &r.EndedAt, &r.SeriesID, &r.OriginalStart, &r.OriginalWall, &r.TypeID, &r.Origin, &r.ReplyDomain, &r.Custom,
		&r.CreatedAt, &r.UpdatedAt, &r.BookedBy, &r.Version, &r.ScheduleVersion,
	}
}

// values are the parameters $1 to $32 of the statement create.
func (r *meetingRow) values() []any {
	return []any{
		r.Title, r.Description, r.StartsAt, r.EndsAt, r.Timezone, r.ShownStart, r.ShownEnd, r.OrganizerID, string(r.Status), string(r.Visibility),
		r.ApprovalRequired, r.ApprovalDeadline, r.DecidedAt, r.DecidedBy, r.DecisionComment, r.DecisionReason, r.DefaultReminders,
		r.CheckInOpensAt, r.NoShowAt, r.CheckedInAt, r.StartedAt, r.EndedAt, r.SeriesID, r.OriginalStart, r.OriginalWall, r.TypeID, string(r.Origin), r.ReplyDomain, r.Custom, r.CreatedAt, r.UpdatedAt, r.BookedBy,
	}
}

func (r *meetingRow) meeting() *meeting.Meeting {
	m := &meeting.Meeting{
		ID: r.ID, Title: r.Title, Description: r.Description, Slot: clock.Slot{Start: r.StartsAt, End: r.EndsAt}, Timezone: r.Timezone,
		Status: r.Status, Visibility: r.Visibility, DefaultReminders: r.DefaultReminders, SeriesID: orZero(r.SeriesID),
		CheckedInAt: orZero(r.CheckedInAt), StartedAt: orZero(r.StartedAt), EndedAt: orZero(r.EndedAt),
		OriginalStart: orZero(r.OriginalStart), OriginalWall: wallTime(r.OriginalWall), TypeID: orZero(r.TypeID), Foreign: r.Origin, ReplyDomain: r.ReplyDomain, Custom: valuesOf(r.Custom),
		Version: r.Version, ScheduleVersion: r.ScheduleVersion, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	m.Organizer.UserID = r.OrganizerID
	m.Shown.Start, m.Shown.End = wallTime(r.ShownStart), wallTime(r.ShownEnd)
	m.CheckIn.Opens, m.CheckIn.Until = orZero(r.CheckInOpensAt), orZero(r.NoShowAt)
	m.Approval = meeting.Approval{
		Required: r.ApprovalRequired, Deadline: orZero(r.ApprovalDeadline), DecidedAt: orZero(r.DecidedAt), DecidedBy: orZero(r.DecidedBy),
		Comment: r.DecisionComment, Reason: r.DecisionReason,
	}
	return m
}

// The models of what belongs to a meeting have JSON names, for the statements that take many rows in
// one parameter.

type meetingRoomRow struct {
	MeetingID int64  `json:"meeting_id"`
	RoomID    int64  `json:"room_id"`
	Position  int    `json:"position"`
	Closures  *int64 `json:"closures" gorm:"-"` // of the room when the meeting was validated; nil: not validated
}

func (meetingRoomRow) TableName() string { return "meeting_rooms" }

func roomRows(m *meeting.Meeting) []meetingRoomRow {
	rows := make([]meetingRoomRow, len(m.RoomIDs))
	for i, id := range m.RoomIDs {
		rows[i] = meetingRoomRow{MeetingID: m.ID, RoomID: id, Position: i, Closures: validatedClosures(m, id)}
	}
	return rows
}

func validatedClosures(m *meeting.Meeting, roomID int64) *int64 {
	if n, ok := m.CheckedClosures(roomID); ok {
		return &n
	}
	return nil
}

type occupancyRow struct {
	MeetingID  *int64     `json:"meeting_id"`
	WaitlistID *int64     `json:"waitlist_id"` // of an offer
	RoomID     int64      `json:"room_id"`
	StartsAt   time.Time  `json:"starts_at"`
	EndsAt     time.Time  `json:"ends_at"`
	Held       bool       `json:"held"` // for a pending move, or for an offer
	LapsesAt   *time.Time `json:"lapses_at"`
}

func (occupancyRow) TableName() string { return "occupancies" }

// takenRows are all that a meeting takes, including what it holds for a requested change.
func takenRows(m *meeting.Meeting) []occupancyRow {
	rows := occupancyRows(m.Occupied, occupancyRow{MeetingID: reference(m.ID), LapsesAt: optional(m.Lapses())})
	if held := heldBy(m); len(held) > 0 {
		rows = append(rows, occupancyRows(held, occupancyRow{MeetingID: reference(m.ID), Held: true, LapsesAt: optional(m.ChangeLapses())})...)
	}
	return rows
}

// occupancyRows have the rooms and times of os and the other fields of like.
func occupancyRows(os []meeting.Occupancy, like occupancyRow) []occupancyRow {
	rows := make([]occupancyRow, len(os))
	for i, o := range os {
		rows[i] = like
		rows[i].RoomID, rows[i].StartsAt, rows[i].EndsAt = o.RoomID, micro(o.Slot.Start), micro(o.Slot.End)
	}
	return rows
}

// heldBy returns what a requested change holds in addition to the meeting.
func heldBy(m *meeting.Meeting) []meeting.Occupancy {
	if m.Request == nil || m.Request.Change == nil {
		return nil
	}
	return m.Request.Change.Held
}

type attendeeRow struct {
	MeetingID int64            `json:"-"`
	Position  int              `json:"position"`
	UserID    *int64           `json:"user_id"`
	Email     string           `json:"email"`
	Name      string           `json:"name"`
	Phone     string           `json:"phone"`
	Locale    string           `json:"locale"`
	Timezone  string           `json:"timezone"`
	Response  meeting.Response `json:"response"`
	Comment   string           `json:"comment"`
}

func (attendeeRow) TableName() string { return "attendees" }

func attendeeRows(m *meeting.Meeting) []attendeeRow {
	rows := make([]attendeeRow, len(m.Attendees))
	for i, a := range m.Attendees {
		rows[i] = attendeeRow{
			MeetingID: m.ID, Position: i, UserID: reference(a.UserID), Email: a.Email, Name: a.Name, Phone: a.Phone,
			Locale: a.Locale, Timezone: a.Timezone, Response: cmp.Or(a.Response, meeting.NeedsAction), Comment: a.Comment,
		}
	}
	return rows
}

type reminderRow struct {
	MeetingID     int64             `json:"meeting_id"`
	Before        meeting.Anchor    `json:"before"`
	OffsetSeconds int64             `json:"offset_seconds"`
	Channels      []meeting.Channel `json:"channels" gorm:"serializer:json"`
	DueAt         time.Time         `json:"due_at"`
	HandledAt     *time.Time        `json:"handled_at"`
}

func (reminderRow) TableName() string { return "meeting_reminders" }

// reminderRows are marked as handled if their time had passed when the meeting was saved: a booking
// made ten minutes ahead has no use for a reminder 15 minutes before.
func reminderRows(m *meeting.Meeting) []reminderRow {
	rows := make([]reminderRow, len(m.Reminders))
	for i, r := range m.Reminders {
		rows[i] = reminderRow{MeetingID: m.ID, Before: r.Before, OffsetSeconds: int64(r.Offset / time.Second), Channels: r.Channels, DueAt: micro(r.Due(m))}
		if now := micro(m.UpdatedAt); !rows[i].DueAt.After(now) {
			rows[i].HandledAt = &now
		}
	}
	return rows
}

type historyRow struct {
	ID        int64             `json:"-"`
	MeetingID int64             `json:"meeting_id"`
	Position  int               `json:"position" gorm:"-"`
	At        time.Time         `json:"at"`
	Action    meeting.Action    `json:"action"`
	ActorKind meeting.ActorKind `json:"actor_kind"`
	ActorID   *int64            `json:"actor_id"`
	ActorName string            `json:"actor_name"`
	Address   string            `json:"address"`
	Changes   jsonText          `json:"changes"`
	Reason    string            `json:"reason"`
}

func (historyRow) TableName() string { return "history" }

// historyRows name the client that sent the request of ctx.
func historyRows(ctx context.Context, id meeting.ID, entries []meeting.Entry) ([]historyRow, error) {
	rows := make([]historyRow, len(entries))
	for i, e := range entries {
		rows[i] = historyRow{
			MeetingID: id, Position: i, At: micro(e.At), Action: e.Action, ActorKind: e.Actor.Kind, ActorID: reference(e.Actor.ID),
			ActorName: e.Actor.Name, Address: meeting.Client(ctx), Reason: e.Reason,
		}
		if len(e.Changes) == 0 {
			continue
		}
		b, err := json.Marshal(e.Changes)
		if err != nil {
			return nil, fmt.Errorf("changes: %w", err)
		}
		rows[i].Changes = jsonText(b)
	}
	return rows, nil
}

// jsonText is a JSON value in a column; "" is NULL.
type jsonText string

func (j jsonText) Value() (driver.Value, error) {
	if j == "" {
		return nil, nil
	}
	return string(j), nil
}

func (j *jsonText) Scan(v any) error {
	var text sql.NullString
	err := text.Scan(v)
	*j = jsonText(text.String)
	return err
}

func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(j, "null")), nil }

type approvalRow struct {
	MeetingID   int64
	Number      int64
	Waiting     bool
	FirstNumber int64
	Level       int
	AskedAt     *time.Time
	Deadline    *time.Time
	OnTimeout   meeting.Status
	RemindAt    *time.Time
	EscalateAt  *time.Time
	EscalatedAt *time.Time
	Change      jsonText
	AgreedNow   jsonText
	Agreed      jsonText
	Verdict     jsonText
	Told        jsonText
	Closed      bool
}

func (approvalRow) TableName() string { return "approvals" }

// approvalColumns are those of fields, of a meeting that need not have them.
const approvalColumns = `COALESCE(q.number, 0), COALESCE(q.waiting, false), COALESCE(q.first_number, 0), COALESCE(q.level, 0), q.asked_at, q.deadline,
	COALESCE(q.on_timeout, ''), q.remind_at, q.escalate_at, q.escalated_at, q.change, q.agreed_now, q.agreed, q.verdict, q.told`

// fields are where a query for approvalColumns puts them.
func (r *approvalRow) fields() []any {
	return []any{
		&r.Number, &r.Waiting, &r.FirstNumber, &r.Level, &r.AskedAt, &r.Deadline, &r.OnTimeout,
		&r.RemindAt, &r.EscalateAt, &r.EscalatedAt, &r.Change, &r.AgreedNow, &r.Agreed, &r.Verdict, &r.Told,
	}
}

// insert writes rows, unless there are none.
func insert[Row any](tx *gorm.DB, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.CreateInBatches(rows, 500).Error
}

// inOneParameter is a JSON array of the rows.
func inOneParameter[Row any](rows []Row) string {
	if len(rows) == 0 {
		return "[]"
	}
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err) // rows hold numbers, texts, times and JSON only
	}
	return string(b)
}

// byRoom orders occupancies by room: two meetings that take the same rooms do not wait for each other.
func byRoom(rows []occupancyRow) []occupancyRow {
	slices.SortStableFunc(rows, func(a, b occupancyRow) int {
		return cmp.Or(cmp.Compare(a.RoomID, b.RoomID), a.StartsAt.Compare(b.StartsAt))
	})
	return rows
}

// micro is t as it is stored: UTC, to the microsecond.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// optional is micro; the zero time is NULL.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(micro(t))
}

// reference is an id; 0 is NULL.
func reference(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// wallText is what a clock shows, without an offset; the zero time is NULL.
func wallText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.Format(clock.WallLayout + ".999999"))
}

// wallTime reads what wallText wrote. The database only holds such texts.
func wallTime(text *string) (t time.Time) {
	if text != nil {
		t, _ = time.Parse(clock.WallLayout, *text)
	}
	return t
}
