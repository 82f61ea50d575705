package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

type holidayCalendarRow struct {
	ID        int64
	Name      string
	SiteIDs   []int64           `gorm:"column:site_ids;serializer:json"`
	Days      []meeting.Holiday `gorm:"serializer:json"`
	Version   int64
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

func (holidayCalendarRow) TableName() string { return "holiday_calendars" }

func newHolidayCalendarRow(c *meeting.HolidayCalendar) *holidayCalendarRow {
	return &holidayCalendarRow{
		ID: c.ID, Name: c.Name, SiteIDs: list(c.SiteIDs), Days: list(c.Days), Version: c.Version, CreatedAt: micro(c.CreatedAt), UpdatedAt: micro(c.UpdatedAt),
	}
}

func (r *holidayCalendarRow) calendar() *meeting.HolidayCalendar {
	return &meeting.HolidayCalendar{ID: r.ID, Name: r.Name, SiteIDs: r.SiteIDs, Days: r.Days, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

// HolidayCalendars is ordered by name.
func (s *Store) HolidayCalendars(ctx context.Context) (calendars []*meeting.HolidayCalendar, err error) {
	var rows []*holidayCalendarRow
	if err := s.db.WithContext(ctx).Order("lower(name), id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list holiday calendars: %w", err)
	}
	for _, r := range rows {
		calendars = append(calendars, r.calendar())
	}
	return calendars, nil
}

func (s *Store) HolidayCalendar(ctx context.Context, id int64) (*meeting.HolidayCalendar, error) {
	row, err := take[holidayCalendarRow](s.db.WithContext(ctx).Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("holiday calendar %d: %w", id, err)
	}
	return row.calendar(), nil
}

func (s *Store) CreateHolidays(ctx context.Context, c *meeting.HolidayCalendar, places []meeting.HolidayPlace) error {
	row := newHolidayCalendarRow(c)
	row.Version = 1
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row.ID = 0
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		if err := s.followHolidays(tx, places, []*holidayCalendarRow{row}, row.CreatedAt); err != nil {
			return err
		}
		return s.note(tx, "holidays.created", row.ID, row.Name, nil, []any{row})
	})
	if err != nil {
		return fmt.Errorf("create holidays: %w", err)
	}
	c.ID, c.Version = row.ID, row.Version
	return nil
}

func (s *Store) UpdateHolidays(ctx context.Context, id int64, places []meeting.HolidayPlace, fn func(*meeting.HolidayCalendar) error) (*meeting.HolidayCalendar, error) {
	var c *meeting.HolidayCalendar
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[holidayCalendarRow](forUpdate(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		c = row.calendar()
		if err := fn(c); err != nil {
			return err
		}
		c.ID, c.Version = row.ID, row.Version+1
		changed := newHolidayCalendarRow(c)
		if err := tx.Select("*").Updates(changed).Error; err != nil {
			return err
		}
		if err := s.followHolidays(tx, places, []*holidayCalendarRow{changed}, changed.UpdatedAt); err != nil {
			return err
		}
		return s.note(tx, "holidays.changed", id, changed.Name, []any{row}, []any{changed})
	})
	if err != nil {
		return nil, fmt.Errorf("update holidays %d: %w", id, err)
	}
	return c, nil
}

func (s *Store) DeleteHolidays(ctx context.Context, id int64, at time.Time, fn func(*meeting.HolidayCalendar) error) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		row, err := take[holidayCalendarRow](forRemoval(tx).Where("id = ?", id))
		if err != nil {
			return err
		}
		if err := fn(row.calendar()); err != nil {
			return err
		}
		var closed []*blackoutRow
		if err := tx.Where("calendar_id = ? AND ends_at > ?", id, micro(at)).Order("id").Find(&closed).Error; err != nil {
			return err
		}
		if err := tx.Model(&blackoutRow{}).Where("calendar_id = ? AND ends_at <= ?", id, micro(at)).Update("calendar_id", nil).Error; err != nil {
			return err
		}
		if err := s.open(tx, closed, at); err != nil {
			return err
		}
		if err := tx.Delete(&holidayCalendarRow{}, id).Error; err != nil {
			return err
		}
		return s.note(tx, "holidays.deleted", id, row.Name, []any{row}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete holidays %d: %w", id, err)
	}
	return nil
}

func (s *Store) FollowHolidays(ctx context.Context, places []meeting.HolidayPlace, at time.Time) error {
	return s.transaction(ctx, func(tx *gorm.DB) error {
		var calendars []*holidayCalendarRow
		if err := forUpdate(tx).Order("id").Find(&calendars).Error; err != nil || len(calendars) == 0 {
			return err
		}
		return s.followHolidays(tx, places, calendars, at)
	})
}

// followHolidays makes the coming blackouts of places those of the calendars, which are locked.
func (s *Store) followHolidays(tx *gorm.DB, places []meeting.HolidayPlace, calendars []*holidayCalendarRow, at time.Time) error {
	type key struct {
		calendar int64
		slot     clock.Slot
	}
	ids := make([]int64, len(calendars))
	for i, c := range calendars {
		ids[i] = c.ID
	}
	var there []*blackoutRow
	if err := tx.Where("calendar_id IN ? AND ends_at > ?", ids, micro(at)).Order("id").Find(&there).Error; err != nil {
		return err
	}
	ofPlace := map[[2]int64][]*blackoutRow{}
	for _, b := range there {
		place := [2]int64{orZero(b.SiteID), orZero(b.RoomID)}
		ofPlace[place] = append(ofPlace[place], b)
	}
	var added []*blackoutRow
	var closed []int64
	for _, p := range places {
		names := map[key]string{}
		var order []key
		for _, c := range calendars {
			if !c.calendar().Closes(p) {
				continue
			}
			for _, day := range c.Days {
				k := key{c.ID, day.Slot(p.Zone)}
				if !k.slot.End.After(at) {
					continue
				}
				if _, twice := names[k]; !twice {
					order = append(order, k)
				}
				names[k] = day.Name
			}
		}
		var gone []*blackoutRow
		for _, b := range ofPlace[[2]int64{p.SiteID, p.RoomID}] {
			k := key{*b.CalendarID, clock.Slot{Start: b.StartsAt.UTC(), End: b.EndsAt.UTC()}}
			name, stays := names[k]
			if !stays {
				gone = append(gone, b)
				continue
			}
			delete(names, k)
			if name != b.Reason {
				if err := tx.Model(&blackoutRow{}).Where("id = ?", b.ID).Updates(map[string]any{"reason": name, "version": gorm.Expr("version + 1"), "updated_at": micro(at)}).Error; err != nil {
					return err
				}
			}
		}
		if err := s.open(tx, gone, at); err != nil {
			return err
		}
		var missing []*blackoutRow
		for _, k := range order {
			if name, left := names[k]; left {
				row := &blackoutRow{StartsAt: micro(k.slot.Start), EndsAt: micro(k.slot.End), Reason: name, CalendarID: &k.calendar, Version: 1, CreatedAt: micro(at), UpdatedAt: micro(at)}
				if p.RoomID != 0 {
					row.RoomID = &p.RoomID
				} else {
					row.SiteID = &p.SiteID
				}
				missing = append(missing, row)
			}
		}
		if len(missing) == 0 {
			continue
		}
		rooms, err := closeRooms(tx, missing[0])
		if errors.Is(err, meeting.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		added, closed = append(added, missing...), append(closed, rooms...)
	}
	if len(added) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(added, 500).Error; err != nil { // of all places: a thousand rooms have some ten thousand days
		return err
	}
	return s.closeRequests(tx, closed, at)
}

// open deletes blackouts, on the terms of [Store.DeleteBlackout].
func (s *Store) open(tx *gorm.DB, blackouts []*blackoutRow, at time.Time) error {
	var ids, opened []int64
	seen := map[[2]int64]bool{}
	for _, b := range blackouts {
		place := [2]int64{orZero(b.SiteID), orZero(b.RoomID)}
		if !seen[place] {
			seen[place] = true
			query, err := roomsOf(tx, b)
			if err != nil {
				return err
			}
			var rooms []int64
			if err := query.Model(&roomRow{}).Pluck("id", &rooms).Error; err != nil {
				return err
			}
			opened = append(opened, rooms...)
		}
		ids = append(ids, b.ID)
	}
	for some := range slices.Chunk(ids, 500) {
		if err := tx.Delete(&blackoutRow{}, some).Error; err != nil {
			return err
		}
	}
	return s.closeRequests(tx, opened, at)
}
