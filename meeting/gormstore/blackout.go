package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

type blackoutRow struct {
	ID         int64
	RoomID     *int64
	SiteID     *int64
	StartsAt   time.Time
	EndsAt     time.Time
	Reason     string
	CalendarID *int64
	Version    int64
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt  time.Time `gorm:"autoUpdateTime:false"`
}

func (blackoutRow) TableName() string { return "blackouts" }

func newBlackoutRow(b *policy.Blackout) *blackoutRow {
	row := &blackoutRow{
		ID: b.ID, StartsAt: micro(b.Slot.Start), EndsAt: micro(b.Slot.End), Reason: b.Reason,
		Version: b.Version, CreatedAt: micro(b.CreatedAt), UpdatedAt: micro(b.UpdatedAt),
	}
	if b.RoomID != 0 {
		row.RoomID = &b.RoomID
	}
	if b.SiteID != 0 {
		row.SiteID = &b.SiteID
	}
	if b.CalendarID != 0 {
		row.CalendarID = &b.CalendarID
	}
	return row
}

func (r *blackoutRow) blackout() *policy.Blackout {
	b := &policy.Blackout{
		ID: r.ID, Slot: clock.Slot{Start: r.StartsAt.UTC(), End: r.EndsAt.UTC()}, Reason: r.Reason,
		Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.RoomID != nil {
		b.RoomID = *r.RoomID
	}
	if r.SiteID != nil {
		b.SiteID = *r.SiteID
	}
	b.CalendarID = orZero(r.CalendarID)
	return b
}

func (s *Store) CreateBlackout(ctx context.Context, b *policy.Blackout) error {
	row := newBlackoutRow(b)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row.ID = 0
		rooms, err := closeRooms(tx, row)
		if err != nil {
			return err
		}
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		if err := s.closeRequests(tx, rooms, row.CreatedAt); err != nil {
			return err
		}
		return s.note(tx, "blackout.created", row.ID, row.Reason, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create blackout: %w", err)
	}
	b.ID, b.Version = row.ID, row.Version
	return nil
}

// closeRooms makes every booking that was checked before fail, or waits until it is saved. A
// booking takes a shared lock of its rooms and compares closures. So it either got the lock first
// and is among the meetings that are read afterwards, or it finds another number.
//
// The site's lock keeps rooms from joining it: their foreign key takes a shared lock.
func closeRooms(tx *gorm.DB, b *blackoutRow) (closed []int64, err error) {
	rooms, err := roomsOf(tx, b)
	if err != nil {
		return nil, err
	}
	closed, err = recheck(tx, rooms)
	if err == nil && len(closed) == 0 && b.SiteID == nil {
		err = meeting.ErrNotFound
	}
	return closed, err
}

// roomsOf locks the rooms that a blackout closes once they are read.
func roomsOf(tx *gorm.DB, b *blackoutRow) (*gorm.DB, error) {
	rooms := forRemoval(tx).Select("id").Where("deleted_at IS NULL").Order("id")
	if b.SiteID != nil {
		if _, err := take[siteRow](forRemoval(tx).Where("id = ?", *b.SiteID)); err != nil {
			return nil, err
		}
		return rooms.Where("site_id = ?", *b.SiteID), nil
	}
	return rooms.Where("id = ?", *b.RoomID), nil
}

var (
	closeRequests = load("close_requests")
	lapseClosed   = load("lapse_closed")
)

// closeRequests fixes the outcome of the time-outs of requests whose rooms have just been closed or
// opened, so that readers and the timer agree at the deadline. A blackout after the deadline does
// not matter: the request is booked by then. See [meeting.Meeting.EffectiveStatus].
func (s *Store) closeRequests(tx *gorm.DB, rooms []int64, at time.Time) error {
	if len(rooms) == 0 {
		return nil
	}
	ids, err := s.numbers(tx, closeRequests, micro(at), s.ids(rooms...))
	if err == nil && len(ids) > 0 {
		_, err = s.exec(tx, lapseClosed, s.ids(ids...))
	}
	return err
}

// recheck locks the rooms of a query and makes bookings fail that were checked before.
func recheck(tx, query *gorm.DB) (ids []int64, err error) {
	if err := query.Model(&roomRow{}).Pluck("id", &ids).Error; err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids, tx.Exec("UPDATE rooms SET closures = closures + 1 WHERE id IN ?", ids).Error
}

// joinSite applies the blackouts of a site to a room that joins it. The site cannot get a blackout
// at the same time: see closeRooms.
func joinSite(tx *gorm.DB, roomID, siteID int64) error {
	if siteID == 0 {
		return nil
	}
	return tx.Exec("UPDATE rooms SET closures = closures + 1 WHERE id = ? AND EXISTS (SELECT 1 FROM blackouts WHERE site_id = ?)", roomID, siteID).Error
}

func (s *Store) Blackout(ctx context.Context, id int64) (*policy.Blackout, error) {
	row, err := take[blackoutRow](s.db.WithContext(ctx).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("blackout %d: %w", id, err)
	}
	return row.blackout(), nil
}

func (s *Store) UpdateBlackout(ctx context.Context, id int64, fn func(*policy.Blackout) error) (*policy.Blackout, error) {
	var b *policy.Blackout
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[blackoutRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return fmt.Errorf("update blackout %d: %w", id, err)
		}
		b = row.blackout()
		if err := fn(b); err != nil {
			return err
		}
		b.ID, b.RoomID, b.SiteID, b.Version = id, row.blackout().RoomID, row.blackout().SiteID, row.Version+1
		changed := newBlackoutRow(b)
		rooms, err := closeRooms(tx, changed)
		if err != nil {
			return fmt.Errorf("update blackout %d: %w", id, err)
		}
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return fmt.Errorf("update blackout %d: %w", id, err)
		}
		if err := s.closeRequests(tx, rooms, changed.UpdatedAt); err != nil {
			return fmt.Errorf("update blackout %d: %w", id, err)
		}
		return s.note(tx, "blackout.changed", id, changed.Reason, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// DeleteBlackout does not change the rooms' closures: bookings checked against the blackout were
// refused.
func (s *Store) DeleteBlackout(ctx context.Context, id int64, at time.Time, fn func(*policy.Blackout) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[blackoutRow](forRemoval(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := fn(row.blackout()); err != nil {
			return err
		}
		closed, err := roomsOf(tx, row)
		if err != nil {
			return err
		}
		var rooms []int64
		if err := closed.Model(&roomRow{}).Pluck("id", &rooms).Error; err != nil {
			return err
		}
		if err := tx.Delete(&blackoutRow{}, id).Error; err != nil {
			return err
		}
		if err := s.closeRequests(tx, rooms, at); err != nil {
			return err
		}
		return s.note(tx, "blackout.deleted", id, row.Reason, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete blackout %d: %w", id, err)
	}
	return nil
}

// ListBlackouts is ordered by start.
func (s *Store) ListBlackouts(ctx context.Context, q meeting.BlackoutQuery, p meeting.Page) (bs []*policy.Blackout, next string, err error) {
	after, err := readCursor("blackouts", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	db := s.db.WithContext(ctx).Order("starts_at, id").Limit(limit(p) + 1)
	if after != nil {
		db = db.Where("(starts_at, id) > (?, ?)", after.time(), after.ID)
	}
	if !q.From.IsZero() {
		db = db.Where("ends_at > ?", micro(q.From))
	}
	if !q.To.IsZero() {
		db = db.Where("starts_at < ?", micro(q.To))
	}
	db = s.whereVisible(db, q.Viewer, "blackouts.room_id")
	if q.RoomID != 0 {
		db = db.Where("(room_id = ? OR site_id = (SELECT site_id FROM rooms WHERE id = ?))", q.RoomID, q.RoomID)
	}
	if q.SiteID != 0 {
		db = db.Where("(site_id = ? OR room_id IN (SELECT id FROM rooms WHERE site_id = ?))", q.SiteID, q.SiteID)
	}
	var rows []*blackoutRow
	if err := db.Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list blackouts: %w", err)
	}
	rows, next = paged(rows, limit(p), func(r *blackoutRow) position {
		return position{List: "blackouts", At: r.StartsAt.UnixMicro(), ID: r.ID}
	})
	for _, r := range rows {
		bs = append(bs, r.blackout())
	}
	return bs, next, nil
}

// The result is small, and an index of approvals covers it.
var waitingMoves = write(selectMeetings + `
	WHERE q.waiting AND q.change IS NOT NULL
	ORDER BY m.starts_at, m.id`)

func (s *Store) WaitingMoves(ctx context.Context) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), waitingMoves)
	if err != nil {
		return nil, fmt.Errorf("waiting moves: %w", err)
	}
	return ms, nil
}

func (s *Store) BlackoutsWithin(ctx context.Context, rooms []int64, span clock.Slot) ([]policy.Blackout, error) {
	var rows []*blackoutRow
	tx := s.db.WithContext(ctx).Where("ends_at > ?", micro(span.Start))
	if !span.End.IsZero() {
		tx = tx.Where("starts_at < ?", micro(span.End))
	}
	err := tx.Where("(room_id IN ? OR site_id IN (SELECT site_id FROM rooms WHERE id IN ?))", rooms, rooms).
		Order("starts_at, id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("blackouts of rooms: %w", err)
	}
	bs := make([]policy.Blackout, len(rows))
	for i, r := range rows {
		bs[i] = *r.blackout()
	}
	return bs, nil
}
