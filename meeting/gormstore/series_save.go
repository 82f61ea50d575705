package gormstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database/receipt"
	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

var (
	raiseSequence = write(`UPDATE series SET sequence = sequence + 1 WHERE id = $1 RETURNING sequence`)

	lockMeetings = load("lock_meetings")

	// Dates that move may temporarily have each other's place and time.
	leavePlaces = write(`UPDATE meetings SET original_start = NULL WHERE id ` + amongIDs)
)

func (s *Store) SaveSeries(ctx context.Context, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	var saved meeting.SeriesChange
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) (err error) {
		saved = draftOf(c) // a copy: c keeps its notices for a retry
		notices, err = s.saveSeries(tx, &saved)
		return err
	})
	if errors.Is(taken(err), errTaken) {
		return nil, &meeting.ConflictError{}
	}
	if err != nil {
		return nil, fmt.Errorf("save series: %w", err)
	}
	failpoint.Reach("series.after", "")
	*c = saved
	return notices, nil
}

// draftOf returns a copy with a series and meetings of its own.
func draftOf(c *meeting.SeriesChange) meeting.SeriesChange {
	d := *c
	if c.Series != nil {
		d.Series = new(*c.Series)
	}
	if c.Split != nil {
		d.Split = new(*c.Split)
	}
	copies := map[*meeting.Meeting]*meeting.Meeting{}
	copied := func(ms []*meeting.Meeting) []*meeting.Meeting {
		out := make([]*meeting.Meeting, len(ms))
		for i, m := range ms {
			out[i] = new(*m)
			copies[m] = out[i]
		}
		return out
	}
	d.Update, d.Create = copied(c.Update), copied(c.Create)
	for _, s := range []*meeting.Series{d.Series, d.Split} {
		if s != nil {
			s.FileNotices(copies)
		}
	}
	return d
}

// saveSeries also keeps what the change replaced, if it can be undone.
func (s *Store) saveSeries(tx *gorm.DB, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	if c.Undoes != nil {
		return s.saveUndo(tx, c)
	}
	var series *seriesRow // as it was
	if c.Undoable != nil && c.Series.ID != 0 {
		var err error
		if series, err = take[seriesRow](tx.Where("id = ?", c.Series.ID)); err != nil {
			return nil, err
		}
	}
	notices, before, err := s.saveParts(tx, c)
	if err == nil && c.Undoable != nil {
		err = s.keepSeriesChange(tx, c, series, before, notices)
	}
	return notices, err
}

// saveParts returns the notices, and the meetings that were updated as they were before.
func (s *Store) saveParts(tx *gorm.DB, c *meeting.SeriesChange) ([]meeting.Notice, map[int64]*meeting.Meeting, error) {
	if c.Series == nil {
		return s.updateAll(tx, c)
	}
	isNew := c.Series.ID == 0
	if err := s.putSeries(tx, c.Series, c.RaisesSequence()); err != nil {
		return nil, nil, err
	}
	for _, m := range c.Update {
		if isNew {
			m.SeriesID, m.SeriesFirst = c.Series.ID, c.Series.FirstMeeting
		}
	}
	if c.Split != nil {
		c.Split.PreviousID = c.Series.ID
		if err := s.putSeries(tx, c.Split, true); err != nil {
			return nil, nil, err
		}
	}
	if err := s.lockQuotas(tx, append(slices.Clone(c.Update), c.Create...)...); err != nil {
		return nil, nil, err
	}
	notices, before, err := s.updateAll(tx, c)
	if err != nil {
		return nil, nil, err
	}
	some, err := s.createAll(tx, c.Target(), c.Create, c.Undoable)
	if err != nil {
		return nil, nil, err
	}
	failpoint.Reach("series.middle", "")
	own := c.Series.TakeNotices()
	if c.Split != nil {
		own = append(own, c.Split.TakeNotices()...)
	}
	if own = append(own, some...); len(own) > 0 {
		if err := s.outbox.Insert(tx, own); err != nil {
			return nil, nil, err
		}
	}
	failpoint.Reach("series.before", "")
	return append(notices, own...), before, nil
}

// putSeries inserts a series, which may begin with the sequence of a meeting, or updates it if its version is still the one that was read.
func (s *Store) putSeries(tx *gorm.DB, series *meeting.Series, raise bool) error {
	row := newSeriesRow(series)
	if series.ID == 0 {
		row.Version, row.Sequence = 1, max(1, series.Sequence)
		err := tx.Omit(clause.Associations).Create(row).Error
		series.ID, series.Version, series.Sequence = row.ID, 1, row.Sequence
		if err != nil {
			return err
		}
		receipt.Created(tx, "series", strconv.FormatInt(series.ID, 10))
		return s.insertOrigin(tx, series.Origin, 0, series.ID)
	}
	now, err := take[seriesRow](forUpdate(tx).Select("version", "sequence").Where("id = ?", series.ID))
	if err != nil {
		return err
	}
	if now.Version != series.Version {
		return meeting.ErrOutdated
	}
	series.Version, series.Sequence = now.Version+1, now.Sequence
	if raise {
		series.Sequence++
	}
	row.Version, row.Sequence = series.Version, series.Sequence
	return tx.Select("*").Omit(clause.Associations).Updates(row).Error
}

// updateAll saves the existing meetings if they are still as they were read. It also returns their
// state before.
func (s *Store) updateAll(tx *gorm.DB, c *meeting.SeriesChange) ([]meeting.Notice, map[int64]*meeting.Meeting, error) {
	if len(c.Update) == 0 {
		return nil, nil, nil
	}
	ids := make([]int64, len(c.Update))
	for i, m := range c.Update {
		ids[i] = m.ID
	}
	now, err := s.lockedMeetings(tx, ids...)
	if err != nil {
		return nil, nil, err
	}
	before := make(map[int64]*meeting.Meeting, len(now))
	for _, m := range now {
		before[m.ID] = m
	}
	cs := make([]change, len(c.Update))
	for i, m := range c.Update {
		was := before[m.ID]
		if was == nil || was.Version != m.Version {
			return nil, nil, meeting.ErrOutdated
		}
		if m.SeriesID == 0 && c.Split != nil {
			m.SeriesID, m.SeriesFirst = c.Split.ID, 0
		}
		if c.Series != nil {
			m.SeriesSequence = c.Series.Sequence
		}
		if c.Split != nil && m.SeriesID == c.Split.ID {
			m.SeriesSequence = c.Split.Sequence
		}
		cs[i] = change{before: was, m: m, left: true}
	}
	if _, err := s.exec(tx, leavePlaces, s.ids(ids...)); err != nil {
		return nil, nil, err
	}
	if c.Undoes == nil { // what an undo takes back was not posted
		if err := s.post(tx, cs, nil, c.Undoable); err != nil {
			return nil, nil, err
		}
	}
	notices, err := s.save(tx, cs...)
	return notices, before, err
}

// createAll writes new meetings of a series with a few statements, however many they are, and
// returns their notices.
func (s *Store) createAll(tx *gorm.DB, series *meeting.Series, ms []*meeting.Meeting, u *meeting.Undoable) ([]meeting.Notice, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	rooms := map[int64]*int64{}
	rows := make([]*meetingRow, len(ms))
	for i, m := range ms {
		m.SeriesID, m.SeriesFirst, m.Version, m.ScheduleVersion = series.ID, series.FirstMeeting, 1, 1
		m.Foreign, m.ReplyDomain = series.Foreign, series.ReplyDomain
		maps.Copy(rooms, roomsToCheck(nil, m))
		rows[i] = newMeetingRow(m)
	}
	if err := s.checkPresent(tx, rooms); err != nil {
		return nil, err
	}
	if err := tx.CreateInBatches(rows, 100).Error; err != nil {
		return nil, err
	}
	cs := make([]change, len(ms))
	for i, m := range ms {
		m.ID = rows[i].ID
		cs[i].m = m
	}
	if err := s.post(tx, cs, series, u); err != nil {
		return nil, err
	}
	var history []historyRow
	for _, m := range ms {
		entries, err := historyRows(tx.Statement.Context, m.ID, m.TakeHistory())
		if err != nil {
			return nil, err
		}
		history = append(history, entries...)
	}
	if err := s.insertParts(tx, ms, history); err != nil {
		return nil, err
	}
	if err := s.allowed(tx, cs); err != nil { // they count each other, because all are stored
		return nil, err
	}
	if err := s.saveApprovals(tx, cs); err != nil {
		return nil, err
	}
	var notices []meeting.Notice
	for _, m := range ms {
		notices = append(notices, m.TakeNotices()...)
	}
	return notices, nil
}

// insertParts writes what belongs to new meetings.
func (s *Store) insertParts(tx *gorm.DB, ms []*meeting.Meeting, history []historyRow) error {
	var rooms []meetingRoomRow
	var occupancies []occupancyRow
	var reminders []reminderRow
	for _, m := range ms {
		rooms, occupancies, reminders = append(rooms, roomRows(m)...), append(occupancies, takenRows(m)...), append(reminders, reminderRows(m)...)
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
	if err := s.invite(tx, ms); err != nil {
		return err
	}
	return occupy(tx, occupancies)
}
