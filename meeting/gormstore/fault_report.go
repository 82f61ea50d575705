package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
)

type faultReportRow struct {
	ID        int64
	RoomID    int64
	Category  meeting.FaultCategory
	Text      string
	UserID    *int64
	DoneAt    *time.Time
	Version   int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (faultReportRow) TableName() string { return "fault_reports" }

// fullFaultReport is a report with the names of its room and its reporter.
type fullFaultReport struct {
	Row    faultReportRow `gorm:"embedded"`
	Room   string
	ByName string
}

func newFaultReportRow(r *meeting.FaultReport) *faultReportRow {
	row := &faultReportRow{ID: r.ID, RoomID: r.RoomID, Category: r.Category, Text: r.Text, Version: r.Version, CreatedAt: micro(r.CreatedAt), UpdatedAt: micro(r.UpdatedAt)}
	if r.By != 0 {
		row.UserID = &r.By
	}
	if !r.DoneAt.IsZero() {
		row.DoneAt = new(micro(r.DoneAt))
	}
	return row
}

func (z *fullFaultReport) report() *meeting.FaultReport {
	row := &z.Row
	r := &meeting.FaultReport{
		ID: row.ID, RoomID: row.RoomID, Room: z.Room, Category: row.Category, Text: row.Text, ByName: z.ByName,
		Version: row.Version, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if row.UserID != nil {
		r.By = *row.UserID
	}
	if row.DoneAt != nil {
		r.DoneAt = *row.DoneAt
	}
	return r
}

func faultReports(db *gorm.DB) *gorm.DB {
	return db.Table("fault_reports AS f").Select("f.id, f.room_id, f.category, f.text, f.user_id, f.done_at, f.version, f.created_at, f.updated_at, rooms.name AS room, COALESCE(users.name, '') AS by_name").
		Joins("JOIN rooms ON rooms.id = f.room_id AND rooms.deleted_at IS NULL").Joins("LEFT JOIN users ON users.id = f.user_id")
}

func (s *Store) CreateFaultReport(ctx context.Context, r *meeting.FaultReport, notices []meeting.Notice, fn func(open int64) error) error {
	row := newFaultReportRow(r)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		room, err := take[roomRow](forUpdate(tx).Where("id = ? AND deleted_at IS NULL", r.RoomID))
		if err != nil {
			return err
		}
		var open int64
		if err := tx.Model(&faultReportRow{}).Where("room_id = ? AND done_at IS NULL", r.RoomID).Count(&open).Error; err != nil {
			return err
		}
		if err := fn(open); err != nil {
			return err
		}
		row.ID = 0
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		for i := range notices {
			notices[i].File(row.ID)
		}
		if len(notices) > 0 {
			if err := s.outbox.Insert(tx, notices); err != nil {
				return err
			}
		}
		return s.note(tx, "fault_report.created", row.ID, room.Name, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create fault report: %w", err)
	}
	r.ID, r.Version = row.ID, row.Version
	return nil
}

func (s *Store) FaultReport(ctx context.Context, id int64) (*meeting.FaultReport, error) {
	z, err := take[fullFaultReport](faultReports(s.db.WithContext(ctx)).Where("f.id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("fault report %d: %w", id, err)
	}
	return z.report(), nil
}

// ListFaultReports is ordered by ID, latest first.
func (s *Store) ListFaultReports(ctx context.Context, q meeting.FaultReportQuery, p meeting.Page) (rs []*meeting.FaultReport, next string, err error) {
	after, err := readCursor("fault_reports", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	db := faultReports(s.db.WithContext(ctx)).Order("f.id DESC").Limit(limit(p) + 1)
	if after != nil {
		db = db.Where("f.id < ?", after.ID)
	}
	db = s.whereVisible(db, q.Viewer, "f.room_id")
	if q.RoomID != 0 {
		db = db.Where("f.room_id = ?", q.RoomID)
	}
	if q.Open {
		db = db.Where("f.done_at IS NULL")
	}
	if q.Done {
		db = db.Where("f.done_at IS NOT NULL")
	}
	var rows []*fullFaultReport
	if err := db.Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list fault reports: %w", err)
	}
	rows, next = paged(rows, limit(p), func(z *fullFaultReport) position { return position{List: "fault_reports", ID: z.Row.ID} })
	for _, z := range rows {
		rs = append(rs, z.report())
	}
	return rs, next, nil
}

func (s *Store) UpdateFaultReport(ctx context.Context, id int64, fn func(*meeting.FaultReport, *meeting.Room) error) (*meeting.FaultReport, error) {
	var r *meeting.FaultReport
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[faultReportRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		z, err := take[fullFaultReport](faultReports(tx).Where("f.id = ?", id))
		if err != nil {
			return err
		}
		rooms, err := s.readRooms(tx, func(q *gorm.DB) *gorm.DB { return q.Where("rooms.id = ?", row.RoomID) })
		if err != nil || len(rooms) == 0 {
			return cmp.Or(err, meeting.ErrNotFound)
		}
		r = z.report()
		if err := fn(r, rooms[0]); err != nil {
			return err
		}
		r.ID, r.Version = id, row.Version+1
		changed := newFaultReportRow(r)
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return err
		}
		return s.note(tx, "fault_report.changed", id, r.Room, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, fmt.Errorf("update fault report %d: %w", id, err)
	}
	return r, nil
}
