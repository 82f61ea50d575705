package gormstore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
)

// SaveTransfers implements [booking.TransferStore]. The number of statements depends on the number of
// series, not on that of meetings.
func (s *Store) SaveTransfers(ctx context.Context, cs []*meeting.SeriesChange) error {
	if len(cs) == 0 {
		return nil
	}
	var saved []meeting.SeriesChange
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		saved = make([]meeting.SeriesChange, len(cs))
		for i, c := range cs {
			saved[i] = draftOf(c) // copies, for a retry
		}
		return s.saveTransfers(tx, saved)
	})
	switch {
	case errors.Is(taken(err), errTaken):
		return &meeting.ConflictError{}
	case err != nil:
		return fmt.Errorf("save transfers: %w", err)
	}
	for i, c := range cs {
		*c = saved[i]
	}
	return nil
}

func (s *Store) saveTransfers(tx *gorm.DB, cs []meeting.SeriesChange) error {
	var ms []*meeting.Meeting
	rooms := map[int64]*int64{}
	for i := range cs {
		c := &cs[i]
		if c.Series != nil {
			if err := s.putSeries(tx, c.Series, false); err != nil {
				return err
			}
		}
		for _, m := range c.Create {
			if c.Series != nil {
				m.SeriesID = c.Series.ID
			}
			m.Version, m.ScheduleVersion = 1, 1
			maps.Copy(rooms, roomsToCheck(nil, m))
			ms = append(ms, m)
		}
	}
	if err := s.checkPresent(tx, rooms); err != nil {
		return err
	}
	rows := make([]*meetingRow, len(ms))
	for i, m := range ms {
		rows[i] = newMeetingRow(m)
	}
	if err := tx.CreateInBatches(rows, 200).Error; err != nil {
		return err
	}
	var history []historyRow
	var origins []calendarObjectRow
	changes := make([]change, len(ms))
	for i, m := range ms {
		m.ID = rows[i].ID
		entries, err := historyRows(tx.Statement.Context, m.ID, m.TakeHistory())
		if err != nil {
			return err
		}
		history = append(history, entries...)
		changes[i].m = m
		if o := m.Origin; o != nil {
			origins = append(origins, calendarObjectRow{
				UID: o.UID, Organizer: o.Organizer, Origin: o.Kind, MeetingID: reference(m.ID), Sequence: o.Sequence, Dtstamp: optional(o.Stamp),
			})
		}
	}
	if err := insertOrigins(tx, origins); err != nil {
		return err
	}
	if err := s.insertTransferred(tx, ms, history); err != nil {
		return err
	}
	return s.saveApprovals(tx, changes)
}

func insertOrigins(tx *gorm.DB, rows []calendarObjectRow) error {
	if len(rows) == 0 {
		return nil
	}
	onConflict := clause.OnConflict{Columns: []clause.Column{{Name: "uid"}, {Name: "organizer"}}, DoNothing: true}
	res := tx.Clauses(onConflict).CreateInBatches(rows, 500)
	if res.Error == nil && res.RowsAffected < int64(len(rows)) {
		return meeting.ErrOriginTaken
	}
	return res.Error
}

func (s *Store) insertTransferred(tx *gorm.DB, ms []*meeting.Meeting, history []historyRow) error {
	var rooms []meetingRoomRow
	var occupancies []occupancyRow
	var reminders []reminderRow
	var attendees []attendeeRow
	for _, m := range ms {
		rooms, occupancies, reminders = append(rooms, roomRows(m)...), append(occupancies, takenRows(m)...), append(reminders, reminderRows(m)...)
		attendees = append(attendees, attendeeRows(m)...)
	}
	if err := insert(tx, rooms); err != nil {
		return err
	}
	if err := insert(tx, reminders); err != nil {
		return err
	}
	if err := insert(tx, history); err != nil {
		return err
	}
	if err := insert(tx, attendees); err != nil {
		return err
	}
	return occupy(tx, occupancies)
}
