package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

type seriesRow struct {
	ID               int64
	OrganizerID      int64
	PreviousID       *int64
	FirstMeetingID   *int64
	Title            string
	Description      string
	Timezone         string
	Starts           string
	Ends             string
	RRule            string         `gorm:"column:rrule"`
	ExDates          []string       `gorm:"column:exdates;serializer:json"`
	RDates           []string       `gorm:"column:rdates;serializer:json"`
	RoomIDs          []int64        `gorm:"column:room_ids;serializer:json"`
	Attendees        []attendeePart `gorm:"serializer:json"`
	Reminders        []reminderPart `gorm:"serializer:json"`
	DefaultReminders bool
	Visibility       meeting.Visibility
	TypeID           *int64
	Origin           meeting.OriginKind
	ReplyDomain      string
	Custom           jsonText `gorm:"column:fields"`
	CancelledAt      *time.Time
	Version          int64
	Sequence         int64
	CreatedAt        time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt        time.Time `gorm:"autoUpdateTime:false"`

	Organizer *organizerRow `gorm:"foreignKey:OrganizerID"` // read only
}

func (seriesRow) TableName() string { return "series" }

// organizerRow is the organizer as a meeting or a series shows them.
type organizerRow struct {
	ID       int64
	Email    string
	Name     string
	Phone    string
	Locale   string
	Timezone string

	CalendarMails bool
}

func (organizerRow) TableName() string { return "users" }

func newSeriesRow(s *meeting.Series) *seriesRow {
	r := &seriesRow{
		ID: s.ID, OrganizerID: s.Organizer.UserID, PreviousID: reference(s.PreviousID), FirstMeetingID: reference(s.FirstMeeting), Title: s.Title, Description: s.Description, Timezone: s.Timezone,
		Starts: s.Start.Format(clock.WallLayout), Ends: s.End.Format(clock.WallLayout), RRule: s.Rule.String(),
		ExDates: wallTexts(s.ExDates), RDates: wallTexts(s.RDates), RoomIDs: list(s.RoomIDs), Attendees: []attendeePart{}, Reminders: []reminderPart{},
		DefaultReminders: s.DefaultReminders, Visibility: s.Visibility, TypeID: reference(s.TypeID), Origin: s.Foreign, ReplyDomain: s.ReplyDomain, Custom: valuesText(s.Custom), CancelledAt: optional(s.CancelledAt),
		CreatedAt: micro(s.CreatedAt), UpdatedAt: micro(s.UpdatedAt),
	}
	for _, a := range s.Attendees {
		r.Attendees = append(r.Attendees, partOfAttendee(a))
	}
	for _, m := range s.Reminders {
		r.Reminders = append(r.Reminders, partOfReminder(m))
	}
	return r
}

func (r *seriesRow) series() (*meeting.Series, error) {
	o := orZero(r.Organizer)
	s := &meeting.Series{
		ID: r.ID, PreviousID: orZero(r.PreviousID), FirstMeeting: orZero(r.FirstMeetingID), Title: r.Title, Description: r.Description, Timezone: r.Timezone, RoomIDs: r.RoomIDs,
		ExDates: wallTimes(r.ExDates), RDates: wallTimes(r.RDates), DefaultReminders: r.DefaultReminders, Visibility: r.Visibility, TypeID: orZero(r.TypeID),
		Foreign: r.Origin, ReplyDomain: r.ReplyDomain, Custom: valuesOf(r.Custom), CancelledAt: orZero(r.CancelledAt), Version: r.Version, Sequence: r.Sequence, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Organizer: meeting.Person{UserID: o.ID, Email: o.Email, Name: o.Name, Phone: o.Phone, Locale: o.Locale, Timezone: o.Timezone, CalendarMails: o.CalendarMails},
	}
	var faults []meeting.Fault
	if s.Rule, faults = recurrence.ParseRule(r.RRule); len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	var err1, err2 error
	s.Start, err1 = time.Parse(clock.WallLayout, r.Starts)
	s.End, err2 = time.Parse(clock.WallLayout, r.Ends)
	for _, a := range r.Attendees {
		s.Attendees = append(s.Attendees, a.attendee())
	}
	for _, m := range r.Reminders {
		s.Reminders = append(s.Reminders, m.reminder())
	}
	return s, cmp.Or(err1, err2)
}

func wallTexts(ws []recurrence.WallTime) []string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.String()
	}
	return texts
}

func wallTimes(texts []string) (ws []recurrence.WallTime) {
	for _, text := range texts {
		w, _ := recurrence.WallTimeOf(clock.ParseDate(text), time.UTC)
		ws = append(ws, w)
	}
	return ws
}

var (
	meetingsOfSeries = write(selectMeetings + `
		WHERE m.series_id = $1
		ORDER BY m.starts_at, m.id`)

	takenOfWanted = write(`
		SELECT x.position, o.room_id, o.starts_at, o.ends_at, o.lapses_at
		FROM {rows $1: position integer, room_id bigint, starts_at timestamptz, ends_at timestamptz}
		JOIN occupancies o ON ` + ofRoom("x.room_id", "x.starts_at", "x.ends_at") + `
		WHERE (o.meeting_id IS NULL OR {postgres: NOT (o.meeting_id = ANY ($2::bigint[]))}{sqlite: o.meeting_id NOT IN (SELECT value FROM json_each($2))})
		ORDER BY x.position, o.starts_at`)
)

// Series also returns the names of its rooms.
func (s *Store) Series(ctx context.Context, id int64) (*meeting.Series, error) {
	tx := s.db.WithContext(ctx)
	var found []*meeting.Series
	r, err := take[seriesRow](tx.Joins("Organizer").Where("series.id = ?", id))
	if err == nil {
		found, err = s.seriesOf(tx, []*seriesRow{r})
	}
	if err != nil {
		return nil, fmt.Errorf("series %d: %w", id, err)
	}
	return found[0], nil
}

// seriesOf reads the names of the rooms of all the series at once.
func (s *Store) seriesOf(tx *gorm.DB, rows []*seriesRow) ([]*meeting.Series, error) {
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.RoomIDs...)
	}
	var rooms []roomRow
	if err := s.among(tx, "id", ids).Select("id", "name").Find(&rooms).Error; err != nil {
		return nil, err
	}
	names := make(map[int64]string, len(rooms))
	for _, r := range rooms {
		names[r.ID] = r.Name
	}
	limits, err := s.limits(tx, ids)
	if err != nil {
		return nil, err
	}
	var all []*meeting.Series
	for _, r := range rows {
		series, err := r.series()
		if err != nil {
			return nil, err
		}
		for _, id := range series.RoomIDs {
			series.RoomNames = append(series.RoomNames, names[id])
			if l, ok := limits[id]; ok {
				series.Limits = append(series.Limits, l)
			}
		}
		all = append(all, series)
	}
	return all, nil
}

func (s *Store) SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), meetingsOfSeries, id)
	if err != nil {
		return nil, fmt.Errorf("meetings of series %d: %w", id, err)
	}
	return ms, nil
}

func (s *Store) Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*meeting.Meeting, error) {
	var rows []meetingRow
	err := s.among(s.db.WithContext(ctx), "series_id", series).Select("id", "series_id", "status", "starts_at", "ends_at", "no_show_at", "checked_in_at").
		Where("starts_at < ?", micro(before)).Order("starts_at, id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("presence of %d series: %w", len(series), err)
	}
	found := map[int64][]*meeting.Meeting{}
	for i := range rows {
		m := rows[i].meeting()
		found[m.SeriesID] = append(found[m.SeriesID], m)
	}
	return found, nil
}

func (s *Store) Taken(ctx context.Context, requested []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error) {
	rows := make([]row, len(requested))
	for i, o := range requested {
		rows[i] = row{"position": i, "room_id": o.RoomID, "starts_at": s.dialect.instant(o.Slot.Start), "ends_at": s.dialect.instant(o.Slot.End)}
	}
	if except == nil {
		except = []meeting.ID{}
	}
	taken := make([][]meeting.Occupancy, len(requested))
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var i int
		var o meeting.Occupancy
		err := rows.Scan(&i, &o.RoomID, &o.Slot.Start, &o.Slot.End, nullTime{&o.Lapses})
		if err == nil {
			taken[i] = append(taken[i], o)
		}
		return err
	}, takenOfWanted, table(rows), s.ids(except...))
	if err != nil {
		return nil, fmt.Errorf("what is taken of %d rooms: %w", len(requested), err)
	}
	return taken, nil
}
