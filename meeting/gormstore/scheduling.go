package gormstore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
	"punctual/meeting/scheduling"
)

type calendarInstanceRow struct {
	ID           int64
	ObjectID     int64
	RecurrenceID string
	Sequence     int64
	Dtstamp      *time.Time
	ICS          string `gorm:"column:ics"`
}

func (calendarInstanceRow) TableName() string { return "calendar_instances" }

type calendarAnswerRow struct {
	ID           int64
	ObjectID     int64
	RecurrenceID string
	Address      string
	RoomID       *int64
	Sequence     int64
	Dtstamp      *time.Time
	Partstat     scheduling.Status
	Reason       string
	Comment      string
	MessageID    string
	Recipient    string
	Number       int64
}

func (calendarAnswerRow) TableName() string { return "calendar_answers" }

type calendarChangeRow struct {
	MeetingID int64 `gorm:"primaryKey"`
	At        time.Time
}

func (calendarChangeRow) TableName() string { return "calendar_changes" }

type calendarReplyRow struct {
	ID           int64
	MeetingID    *int64
	SeriesID     *int64
	UID          string `gorm:"column:uid"`
	RecurrenceID string
	Email        string
	Sequence     int64
	Dtstamp      *time.Time
}

func (calendarReplyRow) TableName() string { return "calendar_replies" }

// eventLocks limits how many events a process works on at once on Postgres. Each holds a connection for
// its lock and needs another one for its work, so they must leave some of the pool.
const eventLocks = 4

// exclusive are the events that this process works on.
type exclusive struct {
	slots chan struct{}
	uids  [256]sync.Mutex // by the hash of the UID
}

func newExclusive(db *gorm.DB) *exclusive {
	locks := eventLocks
	if pool, err := db.DB(); err == nil && pool.Stats().MaxOpenConnections > 0 {
		locks = min(locks, max(1, (pool.Stats().MaxOpenConnections-1)/2))
	}
	return &exclusive{slots: make(chan struct{}, locks)}
}

const lockEvent = `SELECT pg_advisory_xact_lock(?, ?)
	FROM (SELECT set_config('idle_in_transaction_session_timeout', '0', true)) AS unbound`

// eventLock is the class of the advisory locks of events. It only has to differ from other locks.
const eventLock = 0x6974 // "it"

// Exclusively implements [scheduling.Store]. On Postgres the lock belongs to a transaction, so it ends
// with a process that dies. SQLite has one process.
func (s *Store) Exclusively(ctx context.Context, uid string, fn func(context.Context) error) error {
	hash := fnv.New32a()
	hash.Write([]byte(uid))
	mu := &s.exclusive.uids[hash.Sum32()%uint32(len(s.exclusive.uids))]
	mu.Lock()
	defer mu.Unlock()
	if s.dialect != postgres {
		return fn(ctx)
	}
	select {
	case s.exclusive.slots <- struct{}{}:
		defer func() { <-s.exclusive.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec(lockEvent, eventLock, int32(hash.Sum32())).Error; err != nil {
			return fmt.Errorf("lock event: %w", err)
		}
		return fn(ctx)
	})
}

// KnownEvent implements [scheduling.Store].
func (s *Store) KnownEvent(ctx context.Context, uid, organizer string) (*scheduling.Known, error) {
	row, err := gorm.G[calendarObjectRow](s.db).Where("uid = ? AND organizer = ?", uid, organizer).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return &scheduling.Known{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up event: %w", err)
	}
	known := &scheduling.Known{ID: row.ID, Origin: row.Origin, MeetingID: orZero(row.MeetingID), SeriesID: orZero(row.SeriesID), ExtendAt: orZero(row.ExtendAt)}
	instances, err := gorm.G[calendarInstanceRow](s.db).Where("object_id = ?", row.ID).Order("recurrence_id").Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up event %d: %w", row.ID, err)
	}
	for _, i := range instances {
		known.Instances = append(known.Instances, scheduling.Instance{
			RecurrenceID: i.RecurrenceID, Version: scheduling.Version{Sequence: i.Sequence, Stamp: orZero(i.Dtstamp)}, ICS: i.ICS,
		})
	}
	answers, err := gorm.G[calendarAnswerRow](s.db).Where("object_id = ?", row.ID).Order("id").Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up event %d: %w", row.ID, err)
	}
	for _, a := range answers {
		known.Answers = append(known.Answers, scheduling.Told{
			RecurrenceID: a.RecurrenceID, Address: a.Address, RoomID: orZero(a.RoomID), Version: scheduling.Version{Sequence: a.Sequence, Stamp: orZero(a.Dtstamp)},
			Status: a.Partstat, Reason: a.Reason, Text: a.Comment, MessageID: a.MessageID, Recipient: a.Recipient, Number: a.Number,
		})
	}
	return known, nil
}

// EventOf implements [scheduling.Store].
func (s *Store) EventOf(ctx context.Context, id meeting.ID) (uid, organizer string, err error) {
	row, err := gorm.G[calendarObjectRow](s.db).
		Where("meeting_id = ? OR series_id = (SELECT series_id FROM meetings WHERE id = ?)", id, id).Order("meeting_id").Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("event of meeting %d: %w", id, err)
	}
	return row.UID, row.Organizer, nil
}

// SaveRecord implements [scheduling.Store].
func (s *Store) SaveRecord(ctx context.Context, r *scheduling.Record) ([]meeting.Notice, error) {
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		object := calendarObjectRow{
			UID: r.UID, Organizer: r.Organizer, Origin: r.Via, MeetingID: reference(r.MeetingID), SeriesID: reference(r.SeriesID), ExtendAt: optional(r.ExtendAt),
		}
		of := []clause.Column{{Name: "uid"}, {Name: "organizer"}}
		if err := tx.Clauses(clause.OnConflict{Columns: of, DoUpdates: clause.AssignmentColumns([]string{"origin", "meeting_id", "series_id", "extend_at"})}).Create(&object).Error; err != nil {
			return err
		}
		if err := tx.Where("uid = ? AND organizer = ?", r.UID, r.Organizer).Take(&object).Error; err != nil {
			return err
		}
		for _, i := range r.Instances {
			row := calendarInstanceRow{ObjectID: object.ID, RecurrenceID: i.RecurrenceID, Sequence: i.Sequence, Dtstamp: optional(i.Stamp), ICS: i.ICS}
			err := tx.Clauses(clause.OnConflict{
				Columns: []clause.Column{{Name: "object_id"}, {Name: "recurrence_id"}}, DoUpdates: clause.AssignmentColumns([]string{"sequence", "dtstamp", "ics"}),
			}).Create(&row).Error
			if err != nil {
				return err
			}
		}
		for _, a := range r.Answers {
			row := calendarAnswerRow{
				ObjectID: object.ID, RecurrenceID: a.RecurrenceID, Address: a.Address, RoomID: reference(a.RoomID), Sequence: a.Sequence, Dtstamp: optional(a.Stamp),
				Partstat: a.Status, Reason: a.Reason, Comment: a.Text, MessageID: a.MessageID, Recipient: a.Recipient, Number: a.Number,
			}
			err := tx.Clauses(clause.OnConflict{
				Columns:   []clause.Column{{Name: "object_id"}, {Name: "recurrence_id"}, {Name: "address"}},
				DoUpdates: clause.AssignmentColumns([]string{"room_id", "sequence", "dtstamp", "partstat", "reason", "comment", "message_id", "recipient", "number"}),
			}).Create(&row).Error
			if err != nil {
				return err
			}
		}
		if err := s.outbox.Outdate(tx, r.Outdated, "the room is no longer invited"); err != nil {
			return err
		}
		notices = append([]meeting.Notice{}, r.Replies...)
		if len(notices) == 0 {
			return nil
		}
		return s.outbox.Insert(tx, notices)
	})
	if err != nil {
		return nil, fmt.Errorf("save answers: %w", err)
	}
	return notices, nil
}

// Tell implements [scheduling.Store].
func (s *Store) Tell(ctx context.Context, notices []meeting.Notice) ([]meeting.Notice, error) {
	var told []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		told = append([]meeting.Notice{}, notices...)
		return s.outbox.Insert(tx, told)
	})
	if err != nil {
		return nil, fmt.Errorf("save notices: %w", err)
	}
	return told, nil
}

// Changed implements [scheduling.Store].
func (s *Store) Changed(ctx context.Context, until time.Time, after meeting.ID, limit int) ([]scheduling.Change, error) {
	rows, err := gorm.G[calendarChangeRow](s.db).Where("at <= ? AND meeting_id > ?", micro(until), after).Order("meeting_id").Limit(limit).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("changed meetings: %w", err)
	}
	changes := make([]scheduling.Change, len(rows))
	for i, r := range rows {
		changes[i] = scheduling.Change{MeetingID: r.MeetingID, At: r.At}
	}
	return changes, nil
}

// Extended implements [scheduling.Store].
func (s *Store) Extended(ctx context.Context, until time.Time, after int64, limit int) ([]scheduling.Extension, error) {
	rows, err := gorm.G[calendarObjectRow](s.db).Where("extend_at <= ? AND id > ?", micro(until), after).Order("id").Limit(limit).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("series to extend: %w", err)
	}
	all := make([]scheduling.Extension, len(rows))
	for i, r := range rows {
		all[i] = scheduling.Extension{ID: r.ID, UID: r.UID, Organizer: r.Organizer, At: orZero(r.ExtendAt)}
	}
	return all, nil
}

// Extension implements [scheduling.Store].
func (s *Store) Extension(ctx context.Context, id int64) (*scheduling.Extension, error) {
	r, err := gorm.G[calendarObjectRow](s.db).Where("id = ? AND extend_at IS NOT NULL", id).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("series %d to extend: %w", id, err)
	}
	return &scheduling.Extension{ID: r.ID, UID: r.UID, Organizer: r.Organizer, At: orZero(r.ExtendAt)}, nil
}

// SettleChange implements [scheduling.Store].
func (s *Store) SettleChange(ctx context.Context, c scheduling.Change) error {
	if _, err := gorm.G[calendarChangeRow](s.db).Where("meeting_id = ? AND at = ?", c.MeetingID, micro(c.At)).Delete(ctx); err != nil {
		return fmt.Errorf("settle change of meeting %d: %w", c.MeetingID, err)
	}
	return nil
}

// SeriesOfFirst implements [scheduling.Store].
func (s *Store) SeriesOfFirst(ctx context.Context, id meeting.ID) (int64, error) {
	row, err := gorm.G[seriesRow](s.db).Select("id").Where("first_meeting_id = ?", id).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("series of meeting %d: %w", id, err)
	}
	return row.ID, nil
}

// Replied implements [scheduling.Store].
func (s *Store) Replied(ctx context.Context, uid, email string) ([]scheduling.Replied, error) {
	rows, err := gorm.G[calendarReplyRow](s.db).Where("uid = ? AND email = ?", uid, email).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up responses by mail: %w", err)
	}
	all := make([]scheduling.Replied, len(rows))
	for i, r := range rows {
		all[i] = scheduling.Replied{
			UID: r.UID, Email: r.Email, RecurrenceID: r.RecurrenceID, MeetingID: orZero(r.MeetingID), SeriesID: orZero(r.SeriesID),
			Version: scheduling.Version{Sequence: r.Sequence, Stamp: orZero(r.Dtstamp)},
		}
	}
	return all, nil
}

// SaveReply implements [scheduling.Store].
func (s *Store) SaveReply(ctx context.Context, r scheduling.Replied) error {
	row := calendarReplyRow{
		MeetingID: reference(r.MeetingID), SeriesID: reference(r.SeriesID), UID: r.UID, RecurrenceID: r.RecurrenceID, Email: r.Email,
		Sequence: r.Sequence, Dtstamp: optional(r.Stamp),
	}
	of := []clause.Column{{Name: "uid"}, {Name: "email"}, {Name: "recurrence_id"}}
	err := s.db.WithContext(ctx).Clauses(clause.OnConflict{Columns: of, DoUpdates: clause.AssignmentColumns([]string{"meeting_id", "series_id", "sequence", "dtstamp"})}).Create(&row).Error
	if err != nil {
		return fmt.Errorf("save a response by mail: %w", err)
	}
	return nil
}

// OverCalDAV implements [scheduling.Store].
func (s *Store) OverCalDAV(ctx context.Context, uid string, userID int64) (meeting.ID, int64, error) {
	rows, err := gorm.G[davObjectRow](s.db).Omit("ics").Where("user_id = ? AND uid = ? AND (meeting_id IS NOT NULL OR series_id IS NOT NULL)", userID, uid).Limit(1).Find(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("event over CalDAV: %w", err)
	}
	if len(rows) == 0 {
		return 0, 0, nil
	}
	return orZero(rows[0].MeetingID), orZero(rows[0].SeriesID), nil
}
