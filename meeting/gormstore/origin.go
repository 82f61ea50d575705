package gormstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/importing"
)

type calendarObjectRow struct {
	ID        int64
	UID       string `gorm:"column:uid"`
	Organizer string
	Origin    meeting.OriginKind
	MeetingID *int64
	SeriesID  *int64
	Sequence  int64
	Dtstamp   *time.Time
	ExtendAt  *time.Time
}

func (calendarObjectRow) TableName() string { return "calendar_objects" }

// insertOrigin notes the event that a new meeting or series comes from.
func (s *Store) insertOrigin(tx *gorm.DB, o *meeting.Origin, meetingID meeting.ID, seriesID int64) error {
	if o == nil {
		return nil
	}
	row := calendarObjectRow{
		UID: o.UID, Organizer: o.Organizer, Origin: o.Kind, MeetingID: reference(meetingID), SeriesID: reference(seriesID),
		Sequence: o.Sequence, Dtstamp: optional(o.Stamp),
	}
	onConflict := clause.OnConflict{Columns: []clause.Column{{Name: "uid"}, {Name: "organizer"}}, DoNothing: true}
	if o.Kind.Foreign() { // its calendar program replaces what it was before
		onConflict.DoNothing, onConflict.DoUpdates = false, clause.AssignmentColumns([]string{"origin", "meeting_id", "series_id"})
	}
	inserted := tx.Clauses(onConflict).Create(&row)
	if inserted.Error == nil && inserted.RowsAffected == 0 {
		return meeting.ErrOriginTaken
	}
	return inserted.Error
}

// originRows is the origin of a new meeting as a parameter of sql/create.postgres.sql.
func originRows(o *meeting.Origin) []row {
	if o == nil {
		return nil
	}
	return []row{{"uid": o.UID, "organizer": o.Organizer, "origin": o.Kind, "sequence": o.Sequence, "dtstamp": optional(o.Stamp)}}
}

// originTaken turns the database's refusal of a second origin into [meeting.ErrOriginTaken].
func originTaken(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" && e.ConstraintName == "calendar_objects_unique" {
		return meeting.ErrOriginTaken
	}
	return err
}

// Origin implements [meeting.OriginStore].
func (s *Store) Origin(ctx context.Context, id meeting.ID, seriesID int64) (*meeting.Origin, error) {
	row, err := gorm.G[calendarObjectRow](s.db).Where("meeting_id = ? OR series_id = ?", id, reference(seriesID)).Order("meeting_id").Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("origin of meeting %d: %w", id, err)
	}
	return &row.object().Origin, nil
}

func (r *calendarObjectRow) object() *importing.Known {
	return &importing.Known{
		ID: r.ID, MeetingID: orZero(r.MeetingID), SeriesID: orZero(r.SeriesID),
		Origin: meeting.Origin{Kind: r.Origin, UID: r.UID, Organizer: r.Organizer, Sequence: r.Sequence, Stamp: orZero(r.Dtstamp)},
	}
}

// KnownObjects implements [importing.Store].
func (s *Store) KnownObjects(ctx context.Context, uids []string) ([]*importing.Known, error) {
	var known []*importing.Known
	for part := range slices.Chunk(uids, 500) {
		rows, err := gorm.G[calendarObjectRow](s.db).Where("uid IN ?", part).Find(ctx)
		if err != nil {
			return nil, fmt.Errorf("look up events: %w", err)
		}
		for i := range rows {
			known = append(known, rows[i].object())
		}
	}
	slices.SortFunc(known, func(a, b *importing.Known) int { return cmp.Compare(a.ID, b.ID) })
	return known, nil
}

// SaveVersion implements [importing.Store].
func (s *Store) SaveVersion(ctx context.Context, id, sequence int64, stamp time.Time) error {
	_, err := gorm.G[calendarObjectRow](s.db).Where("id = ?", id).Select("sequence", "dtstamp").
		Updates(ctx, calendarObjectRow{Sequence: sequence, Dtstamp: optional(stamp)})
	if err != nil {
		return fmt.Errorf("save version of event %d: %w", id, err)
	}
	return nil
}

// Forget implements [importing.Store].
func (s *Store) Forget(ctx context.Context, id int64) error {
	if _, err := gorm.G[calendarObjectRow](s.db).Where("id = ?", id).Delete(ctx); err != nil {
		return fmt.Errorf("forget event %d: %w", id, err)
	}
	return nil
}
