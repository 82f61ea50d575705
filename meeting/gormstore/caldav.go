package gormstore

import (
	"context"
	"database/sql"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/caldav"
	"punctual/meeting/clock"
)

type davObjectRow struct {
	ID        int64
	UserID    int64
	Name      string
	UID       string `gorm:"column:uid"`
	MeetingID *int64
	SeriesID  *int64
	StartsAt  time.Time
	EndsAt    *time.Time
	ICS       string `gorm:"column:ics"`
	Version   int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (davObjectRow) TableName() string { return "dav_objects" }

type davCollectionRow struct {
	Name   string `gorm:"primaryKey"`
	Number int64
	Oldest int64
	State  string
}

func (davCollectionRow) TableName() string { return "dav_collections" }

type davChangeRow struct {
	Collection  string `gorm:"primaryKey"`
	Object      string `gorm:"primaryKey"`
	Name        string
	Fingerprint string
	ETag        string `gorm:"column:etag"`
	Number      int64
	Gone        bool
	ChangedAt   time.Time
}

func (davChangeRow) TableName() string { return "dav_changes" }

type davPropertyRow struct {
	UserID int64  `gorm:"primaryKey"`
	Path   string `gorm:"primaryKey"`
	Space  string `gorm:"primaryKey"`
	Name   string `gorm:"primaryKey"`
	Value  string
}

func (davPropertyRow) TableName() string { return "dav_properties" }

// Meetings of calendars. $1 is the user or room, $2 the user's email, $3 from when and $4 until when, null: no end.
const (
	davShown = "m.status IN ('pending', 'confirmed', 'in_progress', 'ended') AND m.ends_at > $3 AND ({postgres: $4::timestamptz}{sqlite: $4} IS NULL OR m.starts_at < $4)"
	// What invitations by mail booked for an event that the user's program keeps here and invites rooms to itself: a
	// calendar has each UID once.
	davTwice = `m.origin = 'mail' AND EXISTS (
		SELECT 1 FROM calendar_objects o JOIN dav_objects d ON d.user_id = $1 AND d.uid = o.uid AND d.meeting_id IS NULL AND d.series_id IS NULL
		WHERE o.meeting_id = m.id OR o.series_id = m.series_id)`
	davMine = `
	SELECT m.id, m.series_id, m.version FROM meetings m WHERE m.organizer_id = $1 AND ` + davShown + ` AND NOT (` + davTwice + `)
	UNION ALL
	SELECT m.id, m.series_id, m.version FROM attendees a JOIN meetings m ON m.id = a.meeting_id
	WHERE lower(a.email) = lower($2) AND a.response <> 'declined' AND m.organizer_id <> $1 AND ` + davShown
	davOfRoom = `
	SELECT m.id, CAST(NULL AS bigint) AS series_id, m.version FROM meeting_rooms mr JOIN meetings m ON m.id = mr.meeting_id
	WHERE mr.room_id = $1 AND CAST($2 AS text) = '' AND ` + davShown
	davSums = `
	SELECT count(*), COALESCE(sum(x.id), 0), COALESCE(sum(x.version), 0), COALESCE(sum(x.id * x.version), 0), COALESCE(sum(s.version), 0)
	FROM ({of}) AS x LEFT JOIN series s ON s.id = x.series_id`
	davMembers = `
	SELECT CASE WHEN x.series_id IS NULL THEN x.id END, x.series_id, count(*), sum(x.id), sum(x.version), COALESCE(max(s.version), 0)
	FROM ({of}) AS x LEFT JOIN series s ON s.id = x.series_id GROUP BY 1, 2`
	// Objects without a meeting.
	davFree = "user_id = ? AND meeting_id IS NULL AND series_id IS NULL"
)

var (
	davSumsOfUser    = write(strings.Replace(davSums, "{of}", davMine, 1))
	davSumsOfRoom    = write(strings.Replace(davSums, "{of}", davOfRoom, 1))
	davMembersOfUser = write(strings.Replace(davMembers, "{of}", davMine, 1))
	davMembersOfRoom = write(strings.Replace(davMembers, "{of}", davOfRoom, 1))
)

func davParams(c caldav.Collection, span clock.Slot) []any {
	if c.RoomID != 0 {
		return []any{c.RoomID, "", micro(span.Start), optional(span.End)}
	}
	return []any{c.UserID, c.Email, micro(span.Start), optional(span.End)}
}

// State implements [caldav.Store].
func (s *Store) State(ctx context.Context, c caldav.Collection, from time.Time) (string, error) {
	q := davSumsOfUser
	if c.RoomID != 0 {
		q = davSumsOfRoom
	}
	var sums [5]int64
	tx := s.db.WithContext(ctx)
	err := s.query(tx, func(rows *sql.Rows) error {
		return rows.Scan(&sums[0], &sums[1], &sums[2], &sums[3], &sums[4])
	}, q, davParams(c, clock.Slot{Start: from})...)
	var own [3]int64
	if err == nil && c.RoomID == 0 {
		err = tx.Model(&davObjectRow{}).Select("count(*), COALESCE(sum(version), 0), COALESCE(sum(id * version), 0)").
			Where("user_id = ?", c.UserID).
			Row().Scan(&own[0], &own[1], &own[2])
	}
	var limits int64
	if err == nil && c.RoomID != 0 { // its readers see less when a room of one of its meetings shows less
		limits, err = s.limitsVersion(tx)
	}
	if err != nil {
		return "", fmt.Errorf("state of a calendar: %w", err)
	}
	return fmt.Sprint(sums, own, limits), nil
}

// Members implements [caldav.Store].
func (s *Store) Members(ctx context.Context, c caldav.Collection, span clock.Slot) ([]caldav.Member, error) {
	q := davMembersOfUser
	if c.RoomID != 0 {
		q = davMembersOfRoom
	}
	var members []caldav.Member
	tx := s.db.WithContext(ctx)
	var limits int64
	var err error
	if c.RoomID != 0 {
		if limits, err = s.limitsVersion(tx); err != nil {
			return nil, fmt.Errorf("members of a calendar: %w", err)
		}
	}
	err = s.query(tx, func(rows *sql.Rows) error {
		var meetingID, seriesID *int64
		var sums [4]int64
		err := rows.Scan(&meetingID, &seriesID, &sums[0], &sums[1], &sums[2], &sums[3])
		members = append(members, caldav.Member{MeetingID: orZero(meetingID), SeriesID: orZero(seriesID), Fingerprint: fmt.Sprint(sums, limits)})
		return err
	}, q, davParams(c, span)...)
	if err == nil && c.RoomID == 0 {
		var own []davObjectRow
		free := tx.Select("id", "version").Where(davFree, c.UserID)
		if !span.End.IsZero() {
			free = free.Where("(ends_at IS NULL OR ends_at > ?) AND starts_at < ?", micro(span.Start), micro(span.End))
		}
		err = free.Find(&own).Error
		for _, o := range own {
			members = append(members, caldav.Member{ObjectID: o.ID, Fingerprint: fmt.Sprint(o.Version)})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("members of a calendar: %w", err)
	}
	return members, nil
}

// Known implements [caldav.Store].
func (s *Store) Known(ctx context.Context, collection string) (caldav.Known, error) {
	row, err := gorm.G[davCollectionRow](s.db).Where("name = ?", collection).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return caldav.Known{}, nil
	}
	if err != nil {
		return caldav.Known{}, fmt.Errorf("calendar %s: %w", collection, err)
	}
	return caldav.Known{Number: row.Number, Oldest: row.Oldest, State: row.State}, nil
}

// Changes implements [caldav.Store].
func (s *Store) Changes(ctx context.Context, collection string, after int64) ([]caldav.Change, error) {
	rows, err := gorm.G[davChangeRow](s.db).Where("collection = ? AND number > ?", collection, after).Order("number, object").Find(ctx)
	return changesOf(rows, collection, err)
}

// ChangesNamed implements [caldav.Store].
func (s *Store) ChangesNamed(ctx context.Context, collection string, names []string) ([]caldav.Change, error) {
	if len(names) == 0 {
		return nil, nil
	}
	listed := "name IN (SELECT value FROM json_each(?))" // they may be more than there may be parameters
	if s.dialect == postgres {
		listed = "name IN (SELECT jsonb_array_elements_text(CAST(? AS jsonb)))"
	}
	rows, err := gorm.G[davChangeRow](s.db).Where("collection = ?", collection).Where(listed, textOf(names)).Find(ctx)
	return changesOf(rows, collection, err)
}

func changesOf(rows []davChangeRow, collection string, err error) ([]caldav.Change, error) {
	if err != nil {
		return nil, fmt.Errorf("changes of calendar %s: %w", collection, err)
	}
	cs := make([]caldav.Change, len(rows))
	for i, r := range rows {
		cs[i] = caldav.Change{Object: r.Object, Name: r.Name, Fingerprint: r.Fingerprint, ETag: r.ETag, Number: r.Number, Gone: r.Gone}
	}
	return cs, nil
}

// Record implements [caldav.Store].
func (s *Store) Record(ctx context.Context, collection string, seen int64, now caldav.Known, cs []caldav.Change, at, forget time.Time) (bool, error) {
	recorded := false
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		recorded = false
		row := davCollectionRow{Name: collection}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}
		locked := tx
		if s.dialect == postgres {
			locked = tx.Clauses(clause.Locking{Strength: "UPDATE"})
		}
		if err := locked.Where("name = ?", collection).Take(&row).Error; err != nil || row.Number != seen {
			return err
		}
		var oldest *int64
		gone := tx.Model(&davChangeRow{}).Where("collection = ? AND gone AND changed_at < ?", collection, micro(forget))
		if err := gone.Session(&gorm.Session{}).Select("max(number)").Row().Scan(&oldest); err != nil {
			return err
		}
		if oldest != nil {
			if err := gone.Session(&gorm.Session{}).Delete(&davChangeRow{}).Error; err != nil {
				return err
			}
		}
		rows := make([]davChangeRow, len(cs))
		for i, c := range cs {
			rows[i] = davChangeRow{Collection: collection, Object: c.Object, Name: c.Name, Fingerprint: c.Fingerprint, ETag: c.ETag, Number: c.Number, Gone: c.Gone, ChangedAt: micro(at)}
		}
		if len(rows) > 0 {
			err := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "collection"}, {Name: "object"}}, UpdateAll: true}).CreateInBatches(rows, 500).Error
			if err != nil {
				return err
			}
		}
		row.Number, row.State, row.Oldest = now.Number, now.State, max(row.Oldest, orZero(oldest))
		recorded = true
		return tx.Save(&row).Error
	})
	if err != nil {
		return false, fmt.Errorf("record changes of calendar %s: %w", collection, err)
	}
	return recorded, nil
}

func (r *davObjectRow) stored() *caldav.Stored {
	return &caldav.Stored{
		ID: r.ID, UserID: r.UserID, Name: r.Name, UID: r.UID, MeetingID: orZero(r.MeetingID), SeriesID: orZero(r.SeriesID),
		Start: r.StartsAt, End: orZero(r.EndsAt), ICS: r.ICS, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// Objects implements [caldav.Store].
func (s *Store) Objects(ctx context.Context, userID int64) ([]*caldav.Stored, error) {
	rows, err := gorm.G[davObjectRow](s.db).Omit("ics").Where("user_id = ?", userID).Find(ctx)
	return storedObjects(rows, err)
}

// ObjectsByID implements [caldav.Store].
func (s *Store) ObjectsByID(ctx context.Context, ids []int64) ([]*caldav.Stored, error) {
	var rows []davObjectRow
	err := s.among(s.db.WithContext(ctx), "id", ids).Find(&rows).Error
	return storedObjects(rows, err)
}

func storedObjects(rows []davObjectRow, err error) ([]*caldav.Stored, error) {
	if err != nil {
		return nil, fmt.Errorf("stored events: %w", err)
	}
	os := make([]*caldav.Stored, len(rows))
	for i := range rows {
		os[i] = rows[i].stored()
	}
	return os, nil
}

// SaveObject implements [caldav.Store].
func (s *Store) SaveObject(ctx context.Context, o *caldav.Stored) error {
	row := davObjectRow{
		ID: o.ID, UserID: o.UserID, Name: o.Name, UID: o.UID, MeetingID: reference(o.MeetingID), SeriesID: reference(o.SeriesID),
		StartsAt: micro(o.Start), EndsAt: optional(o.End), ICS: o.ICS, Version: o.Version + 1, CreatedAt: micro(o.CreatedAt), UpdatedAt: micro(o.UpdatedAt),
	}
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var saved *gorm.DB
		if o.ID == 0 {
			row.ID = 0
			saved = tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		} else {
			saved = tx.Model(&davObjectRow{}).Where("id = ? AND version = ?", o.ID, o.Version).Select("*").Omit("id", "user_id", "created_at").Updates(&row)
		}
		if saved.Error == nil && saved.RowsAffected == 0 {
			return caldav.ErrChanged
		}
		if saved.Error != nil {
			return saved.Error
		}
		var kept struct{ Objects, Bytes int64 }
		err := tx.Model(&davObjectRow{}).Select("count(*) AS objects, sum(octet_length(ics)) AS bytes").Where("user_id = ?", o.UserID).Take(&kept).Error
		if err == nil && (kept.Objects > caldav.MaxObjects || kept.Bytes > caldav.MaxStored) {
			err = caldav.ErrFull
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("save event %q: %w", o.Name, err)
	}
	o.ID, o.Version = row.ID, row.Version
	return nil
}

// DeleteObject implements [caldav.Store].
func (s *Store) DeleteObject(ctx context.Context, o *caldav.Stored) error {
	return s.transaction(ctx, func(tx *gorm.DB) error {
		deleted := tx.Where("id = ? AND version = ?", o.ID, o.Version).Delete(&davObjectRow{})
		if deleted.Error == nil && deleted.RowsAffected == 0 {
			return caldav.ErrChanged
		}
		return deleted.Error
	})
}

// Adopt implements [caldav.Store].
func (s *Store) Adopt(ctx context.Context, uid, organizer string) (caldav.Member, error) {
	var m caldav.Member
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var row calendarObjectRow
		err := tx.Where("uid = ? AND organizer = ? AND origin = ?", uid, fault.FoldEmail(organizer), meeting.OriginMail).Take(&row).Error
		if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && row.MeetingID == nil && row.SeriesID == nil {
			return nil
		}
		if err != nil {
			return err
		}
		live := tx.Model(&meetingRow{}).Where("status IN ?", []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress})
		if row.SeriesID != nil {
			live = live.Where("series_id = ?", *row.SeriesID)
		} else {
			live = live.Where("id = ?", *row.MeetingID)
		}
		taken := live.Updates(map[string]any{"origin": meeting.OriginCalDAV, "version": gorm.Expr("version + 1")})
		if taken.Error != nil || taken.RowsAffected == 0 {
			return taken.Error
		}
		m = caldav.Member{MeetingID: orZero(row.MeetingID), SeriesID: orZero(row.SeriesID)}
		if m.SeriesID != 0 {
			m.MeetingID = 0
			changed := map[string]any{"origin": meeting.OriginCalDAV, "version": gorm.Expr("version + 1")}
			if err := tx.Model(&seriesRow{}).Where("id = ?", m.SeriesID).Updates(changed).Error; err != nil {
				return err
			}
		}
		for _, of := range []any{&calendarInstanceRow{}, &calendarAnswerRow{}} { // what was mailed counts no longer
			if err := tx.Where("object_id = ?", row.ID).Delete(of).Error; err != nil {
				return err
			}
		}
		return tx.Model(&row).Select("origin", "extend_at").Updates(calendarObjectRow{Origin: meeting.OriginCalDAV}).Error
	})
	if err != nil {
		return caldav.Member{}, fmt.Errorf("take over event %q: %w", uid, err)
	}
	return m, nil
}

// Properties implements [caldav.Store].
func (s *Store) Properties(ctx context.Context, userID int64, path string) (map[xml.Name]string, error) {
	rows, err := gorm.G[davPropertyRow](s.db).Where("user_id = ? AND path = ?", userID, path).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("properties of calendar %s: %w", path, err)
	}
	ps := make(map[xml.Name]string, len(rows))
	for _, r := range rows {
		ps[xml.Name{Space: r.Space, Local: r.Name}] = r.Value
	}
	return ps, nil
}

// SaveProperties implements [caldav.Store].
func (s *Store) SaveProperties(ctx context.Context, userID int64, path string, set map[xml.Name]string, remove []xml.Name) error {
	var rows []davPropertyRow
	for name, value := range set {
		rows = append(rows, davPropertyRow{userID, path, name.Space, name.Local, value})
	}
	slices.SortFunc(rows, func(a, b davPropertyRow) int { return strings.Compare(a.Space+" "+a.Name, b.Space+" "+b.Name) }) // so that two requests lock in one order
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		for _, name := range remove {
			if err := tx.Delete(&davPropertyRow{}, "user_id = ? AND path = ? AND space = ? AND name = ?", userID, path, name.Space, name.Local).Error; err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error
	})
	if err != nil {
		return fmt.Errorf("save properties of calendar %s: %w", path, err)
	}
	return nil
}

// Origins implements [caldav.Store].
func (s *Store) Origins(ctx context.Context, meetings, series []int64) (ofMeetings, ofSeries map[int64]meeting.Origin, err error) {
	ofMeetings, ofSeries = map[int64]meeting.Origin{}, map[int64]meeting.Origin{}
	for _, part := range []struct {
		column string
		ids    []int64
	}{{"meeting_id", meetings}, {"series_id", series}} {
		if len(part.ids) == 0 {
			continue
		}
		var rows []calendarObjectRow
		if err := s.among(s.db.WithContext(ctx), part.column, part.ids).Find(&rows).Error; err != nil {
			return nil, nil, fmt.Errorf("origins of meetings: %w", err)
		}
		for i := range rows {
			o := rows[i].object()
			if part.column == "meeting_id" {
				ofMeetings[o.MeetingID] = o.Origin
			} else {
				ofSeries[o.SeriesID] = o.Origin
			}
		}
	}
	return ofMeetings, ofSeries, nil
}
