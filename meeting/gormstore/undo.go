package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
)

// pastChangeRow is the latest change of a meeting or a series, for as long as it can be undone.
type pastChangeRow struct {
	ID        int64
	MeetingID *int64 // or
	SeriesID  *int64
	UserID    int64
	ChangedAt time.Time
	UndoUntil time.Time
	Content   jsonText // a pastContent
}

func (pastChangeRow) TableName() string { return "past_changes" }

// pastContent is what a change replaced. It is read again by the same release within seconds.
type pastContent struct {
	Meetings []pastMeeting        `json:"meetings"`
	People   [][]meeting.Attendee `json:"people"` // the dates of a series mostly have the same
	Series   *pastSeries          `json:"series,omitempty"`
	Notices  []int64              `json:"notices"`
}

type pastMeeting struct {
	ID      meeting.ID       `json:"id"`
	Version int64            `json:"version"`
	Before  *meeting.Meeting `json:"before,omitempty"` // without attendees
	People  int              `json:"people"`           // the position of its attendees
}

type pastSeries struct {
	ID      int64      `json:"id"`
	Version int64      `json:"version"`
	Before  *seriesRow `json:"before,omitempty"`
	SplitID int64      `json:"split_id"`
}

// add adds a meeting as it was before a change; nil: it was not there.
func (c *pastContent) add(before, m *meeting.Meeting) {
	past := pastMeeting{ID: m.ID, Version: m.Version}
	if before != nil {
		if last := len(c.People) - 1; last < 0 || !reflect.DeepEqual(c.People[last], before.Attendees) {
			c.People = append(c.People, before.Attendees)
		}
		past.People = len(c.People) - 1
		past.Before = new(*before)
		past.Before.Attendees = nil
	}
	c.Meetings = append(c.Meetings, past)
}

// keepChange keeps what a change of one meeting replaced, if it can be undone.
func (s *Store) keepChange(tx *gorm.DB, before, m *meeting.Meeting, notices []meeting.Notice) error {
	u := m.Undoable
	if u == nil {
		return nil
	}
	var c pastContent
	c.add(before, m)
	return keep(tx, pastChangeRow{MeetingID: &m.ID}, u, c, notices)
}

// keepSeriesChange keeps what a change of a series replaced: the series, nil for a new one, and the
// meetings that it updated, by ID.
func (s *Store) keepSeriesChange(tx *gorm.DB, change *meeting.SeriesChange, series *seriesRow, before map[int64]*meeting.Meeting, notices []meeting.Notice) error {
	c := pastContent{Series: &pastSeries{ID: change.Series.ID, Version: change.Series.Version, Before: series}}
	if change.Split != nil {
		c.Series.SplitID = change.Split.ID
	}
	for _, m := range change.Update {
		c.add(before[m.ID], m)
	}
	for _, m := range change.Create {
		c.add(nil, m)
	}
	return keep(tx, pastChangeRow{SeriesID: &change.Series.ID}, change.Undoable, c, notices)
}

func keep(tx *gorm.DB, row pastChangeRow, u *meeting.Undoable, c pastContent, notices []meeting.Notice) error {
	for _, n := range notices {
		if n.ID != 0 {
			c.Notices = append(c.Notices, n.ID)
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("past change: %w", err)
	}
	row.UserID, row.ChangedAt, row.UndoUntil, row.Content = u.UserID, micro(u.At), micro(u.Until), jsonText(b)
	of := "series_id"
	if row.MeetingID != nil {
		of = "meeting_id"
	}
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: of}},
		DoUpdates: clause.AssignmentColumns([]string{"user_id", "changed_at", "undo_until", "content"}),
	}).Create(&row).Error
}

func (s *Store) LastChange(ctx context.Context, id meeting.ID) (*meeting.PastChange, error) {
	return s.pastChange(ctx, "meeting_id", id)
}

func (s *Store) LastSeriesChange(ctx context.Context, id int64) (*meeting.PastChange, error) {
	return s.pastChange(ctx, "series_id", id)
}

func (s *Store) pastChange(ctx context.Context, of string, id int64) (*meeting.PastChange, error) {
	row, err := take[pastChangeRow](s.db.WithContext(ctx).Where(of+" = ?", id))
	if err != nil {
		return nil, fmt.Errorf("past change: %w", err)
	}
	var c pastContent
	if err := json.Unmarshal([]byte(row.Content), &c); err != nil {
		return nil, fmt.Errorf("past change %d: %w", row.ID, err)
	}
	p := &meeting.PastChange{
		ID: row.ID, Undoable: meeting.Undoable{UserID: row.UserID, At: row.ChangedAt.UTC(), Until: row.UndoUntil.UTC()}, Notices: c.Notices,
	}
	for _, m := range c.Meetings {
		if m.Before != nil {
			m.Before.Attendees = c.People[m.People]
		}
		p.Meetings = append(p.Meetings, meeting.PastMeeting{ID: m.ID, Version: m.Version, Before: m.Before})
	}
	if c.Series == nil {
		return p, nil
	}
	p.Series = &meeting.PastSeries{ID: c.Series.ID, Version: c.Series.Version, SplitID: c.Series.SplitID}
	if c.Series.Before != nil {
		if p.Series.Before, err = c.Series.Before.series(); err != nil {
			return nil, fmt.Errorf("past change %d: %w", row.ID, err)
		}
		p.Series.Before.Organizer.UserID = c.Series.Before.OrganizerID
	}
	return p, nil
}

// saveUndo saves a change that takes back another, and returns the notices that wait again.
func (s *Store) saveUndo(tx *gorm.DB, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	var created, all []meeting.ID
	for _, m := range c.Undoes.Meetings {
		all = append(all, m.ID)
		if m.Before == nil {
			created = append(created, m.ID)
		}
	}
	threads, err := s.outbox.Retract(tx, c.Undoes.Notices, created) // before save withdraws some of them
	if err != nil {
		return nil, err
	}
	if _, _, err := s.saveParts(tx, c); err != nil {
		return nil, err
	}
	if c.Undoes.ID != 0 {
		res := tx.Where("id = ? AND changed_at = ?", c.Undoes.ID, micro(c.Undoes.At)).Delete(&pastChangeRow{})
		if res.Error != nil {
			return nil, res.Error
		}
		if res.RowsAffected == 0 {
			return nil, meeting.ErrOutdated
		}
	}
	return s.outbox.Revive(tx, all, threads, c.Undoes.At)
}

// TrimPastChanges deletes up to limit of what can no longer be undone at an instant, and returns how many.
func (s *Store) TrimPastChanges(ctx context.Context, at time.Time, limit int) (int64, error) {
	db := s.db.WithContext(ctx)
	old := db.Model(&pastChangeRow{}).Select("id").Where("undo_until < ?", micro(at)).Limit(limit)
	done := db.Where("id IN (?) AND undo_until < ?", old, micro(at)).Delete(&pastChangeRow{})
	if done.Error != nil {
		return 0, fmt.Errorf("trim past changes: %w", done.Error)
	}
	return done.RowsAffected, nil
}
