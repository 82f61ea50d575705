package leaving

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/account"
	accountstore "punctual/account/gormstore"
	"punctual/app/audit"
	"punctual/notify"
)

// Mails records notifications in a transaction.
type Mails interface {
	Insert(tx *gorm.DB, ns []notify.Notification) error
}

// Store keeps departures.
type Store struct {
	db    *gorm.DB
	mails Mails
}

// NewStore returns a store on a migrated database.
func NewStore(db *gorm.DB, mails Mails) *Store { return &Store{db, mails} }

type departureRow struct {
	UserID       int64 `gorm:"primaryKey;autoIncrement:false"`
	Meetings     string
	ToUserID     *int64
	Reason       string
	ByUserID     int64
	ByName       string
	Total        int64
	AfterSeries  int64
	AfterMeeting int64
	Version      int64
	CreatedAt    time.Time `gorm:"autoCreateTime:false"`
	FinishedAt   *time.Time
}

func (departureRow) TableName() string { return "departures" }

func (r *departureRow) departure() *Departure {
	d := &Departure{
		UserID: r.UserID, Meetings: Choice(r.Meetings), Reason: r.Reason, By: Admin{r.ByUserID, r.ByName}, Total: r.Total, CreatedAt: r.CreatedAt.UTC(),
		version: r.Version, afterSeries: r.AfterSeries, afterMeeting: r.AfterMeeting,
	}
	if r.ToUserID != nil {
		d.ToUserID = *r.ToUserID
	}
	if r.FinishedAt != nil {
		d.Finished = r.FinishedAt.UTC()
	}
	return d
}

// coming are the meetings that a user organizes from an instant on, read by the index of organizers.
func coming(tx *gorm.DB, userID int64, at time.Time) *gorm.DB {
	return tx.Table("meetings").Where("organizer_id = ? AND starts_at > ? AND status IN ('pending', 'confirmed')", userID, at)
}

// Duties counts what a user still has to do at an instant.
func (s *Store) Duties(ctx context.Context, userID int64, at time.Time) (d Duties, err error) {
	db := s.db.WithContext(ctx)
	own := func(alias string) *gorm.DB {
		return db.Table("room_approvers AS "+alias).Joins("JOIN rooms r ON r.id = "+alias+".room_id AND r.deleted_at IS NULL").Where(alias+".user_id = ?", userID)
	}
	err = errors.Join(
		coming(db, userID, at).Count(&d.Meetings).Error,
		coming(db, userID, at).Where("series_id IS NOT NULL").Distinct("series_id").Count(&d.Series).Error,
		db.Table("waitlist").Where("user_id = ? AND state IN ('waiting', 'offered')", userID).Count(&d.Waits).Error,
		own("a").Distinct("a.room_id").Count(&d.Rooms).Error,
		db.Table("approvals q").Where("q.waiting AND EXISTS (?)", db.Table("meeting_rooms mr").Select("1").
			Joins("JOIN room_approvers a ON a.room_id = mr.room_id").Where("mr.meeting_id = q.meeting_id AND a.user_id = ?", userID)).Count(&d.Requests).Error,
	)
	return d, err
}

// Departure returns the last departure of a user, or [account.ErrNotFound].
func (s *Store) Departure(ctx context.Context, userID int64, at time.Time) (*Departure, error) {
	db := s.db.WithContext(ctx)
	var rows []departureRow
	if err := db.Where("user_id = ?", userID).Limit(1).Find(&rows).Error; err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, account.ErrNotFound
	}
	d := rows[0].departure()
	left := coming(db, userID, at)
	if !d.Finished.IsZero() { // the user may be back, and book again
		left = left.Where("created_at <= ?", d.Finished)
	}
	return d, left.Count(&d.Left).Error
}

// Begin records a departure in place of an earlier one.
func (s *Store) Begin(ctx context.Context, d *Departure) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := accountstore.Recheck(tx); err != nil {
			return err
		}
		if err := coming(tx, d.UserID, d.CreatedAt).Count(&d.Total).Error; err != nil {
			return err
		}
		d.Left, d.version = d.Total, d.CreatedAt.UnixMicro()
		r := departureRow{
			UserID: d.UserID, Meetings: string(d.Meetings), Reason: d.Reason, ByUserID: d.By.ID, ByName: d.By.Name, Total: d.Total,
			Version: d.version, CreatedAt: d.CreatedAt,
		}
		if d.ToUserID != 0 {
			r.ToUserID = &d.ToUserID
		}
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&r).Error; err != nil {
			return err
		}
		changes := map[string]audit.Change{"meetings": {To: d.Meetings}}
		if d.ToUserID != 0 {
			changes["to_user_id"] = audit.Change{To: d.ToUserID}
		}
		name, err := userName(tx, d.UserID)
		if err != nil {
			return err
		}
		return audit.Add(tx, audit.Entry{Action: "user.left", ID: strconv.FormatInt(d.UserID, 10), Name: name, Changes: changes, Reason: d.Reason})
	})
}

func userName(tx *gorm.DB, id int64) (string, error) {
	var names []string
	err := tx.Table("users").Where("id = ?", id).Pluck("name", &names).Error
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// Due returns departures to carry out that were ordered by an instant, at most n, by time and user,
// after the given one; nil: the first.
func (s *Store) Due(ctx context.Context, by time.Time, after *Departure, n int) ([]*Departure, error) {
	q := s.db.WithContext(ctx).Where("finished_at IS NULL AND created_at <= ?", by.UTC()).Order("created_at, user_id").Limit(n)
	if after != nil {
		q = q.Where("(created_at, user_id) > (?, ?)", after.CreatedAt, after.UserID)
	}
	var rows []departureRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, err
	}
	ds := make([]*Departure, len(rows))
	for i := range rows {
		ds[i] = rows[i].departure()
	}
	return ds, nil
}

// NextSeries returns at most n series with coming dates, by ID.
func (s *Store) NextSeries(ctx context.Context, d *Departure, at time.Time, n int) (ids []int64, err error) {
	err = coming(s.db.WithContext(ctx), d.UserID, at).Where("series_id > ?", d.afterSeries).Distinct("series_id").
		Order("series_id").Limit(n).Pluck("series_id", &ids).Error
	return ids, err
}

// NextMeetings returns at most n coming meetings, by ID.
func (s *Store) NextMeetings(ctx context.Context, d *Departure, at time.Time, n int) (ids []int64, err error) {
	err = coming(s.db.WithContext(ctx), d.UserID, at).Where("id > ?", d.afterMeeting).Order("id").Limit(n).Pluck("id", &ids).Error
	return ids, err
}

// OpenWaits returns places on waiting lists of a user that are not over.
func (s *Store) OpenWaits(ctx context.Context, userID int64) (ids []int64, err error) {
	err = s.db.WithContext(ctx).Table("waitlist").Where("user_id = ? AND state IN ('waiting', 'offered')", userID).Order("id").Pluck("id", &ids).Error
	return ids, err
}

// Progress remembers how far a departure came.
func (s *Store) Progress(ctx context.Context, d *Departure) error {
	return s.db.WithContext(ctx).Model(&departureRow{}).Where("user_id = ? AND version = ?", d.UserID, d.version).
		Updates(map[string]any{"after_series": d.afterSeries, "after_meeting": d.afterMeeting}).Error
}

// Finish ends a departure, unless it was ended before, with a mail to the user who takes over.
func (s *Store) Finish(ctx context.Context, d *Departure, at time.Time, mail []notify.Notification) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Model(&departureRow{}).Where("user_id = ? AND version = ? AND finished_at IS NULL", d.UserID, d.version).Update("finished_at", at)
		if res.Error != nil || res.RowsAffected == 0 || len(mail) == 0 {
			return res.Error
		}
		return s.mails.Insert(tx, mail)
	})
}
