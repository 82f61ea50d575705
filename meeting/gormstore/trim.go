package gormstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting/clock"
)

// finalDates is of how many dates TrimMeetings deletes meetings at once. One meeting may be longer.
const finalDates = 20

// historyKept is how long the database keeps histories in any case.
const historyKept = 31 * 24 * time.Hour

// TrimMeetings deletes up to limit meetings that ended before an instant, the earliest first, with all
// that belongs to them, and series without remaining dates. It returns the number of meetings; if it
// is below limit there may still be more, unless it is 0. Before that it stores the sums of their days for
// good, so that reports of whole days stay as they are; zone is that of rooms for which none is named.
// A meeting with a history entry of the month before at stays.
func (s *Store) TrimMeetings(ctx context.Context, zone string, at, before time.Time, limit int) (deleted int64, err error) {
	err = s.snapshot(ctx, false, func(tx *gorm.DB) error {
		deleted = 0
		if _, err := s.exec(tx, lockReportDays); err != nil { // see AddUpDays
			return err
		}
		old, err := oldMeetings(tx, before.Add(-finalMargin), at.Add(-historyKept), limit)
		if err != nil || len(old) == 0 {
			return err
		}
		if err := s.finishDays(tx, zone, old, at); err != nil {
			return err
		}
		deleted = int64(len(old))
		return s.deleteMeetings(tx, old)
	})
	if err != nil {
		return 0, fmt.Errorf("delete old meetings: %w", err)
	}
	return deleted, nil
}

// finalMargin is how long after the end of a meeting the last of its days is over, in any zone.
const finalMargin = 50 * time.Hour

func oldMeetings(tx *gorm.DB, before, unchanged time.Time, limit int) (old []meetingRow, err error) {
	err = tx.Select("id", "starts_at", "ends_at", "series_id").
		Where("starts_at < ? AND ends_at < ?", micro(before), micro(before)).
		Where("NOT EXISTS (SELECT 1 FROM history h WHERE h.meeting_id = meetings.id AND h.at > ?)", micro(unchanged)).
		Order("starts_at, id").Limit(limit).Find(&old).Error
	if err != nil || len(old) == 0 {
		return nil, err
	}
	last := old[0].StartsAt.AddDate(0, 0, finalDates)
	n := slices.IndexFunc(old, func(m meetingRow) bool { return m.StartsAt.After(last) })
	if n > 0 {
		old = old[:n]
	}
	return old, nil
}

// finishDays makes the days of meetings final. Days that are final already keep their sums: some of
// their meetings are gone.
func (s *Store) finishDays(tx *gorm.DB, zone string, old []meetingRow, at time.Time) error {
	span := clock.Slot{Start: old[0].StartsAt, End: old[0].EndsAt}
	for _, m := range old {
		span.End = clock.Later(span.End, m.EndsAt)
	}
	var rows []reportDayRow
	err := tx.Select("starts_at", "site_id", "zone").Where("final AND starts_at > ? AND starts_at < ?", micro(span.Start.AddDate(0, 0, -2)), micro(span.End)).Find(&rows).Error
	if err != nil {
		return err
	}
	final := map[place]map[micros]bool{}
	for _, r := range rows {
		p := place{r.SiteID, r.Zone}
		if final[p] == nil {
			final[p] = map[micros]bool{}
		}
		final[p][micros(r.StartsAt.UnixMicro())] = true
	}
	days, err := s.placeDays(tx, 0, zone, span)
	if err != nil {
		return err
	}
	days = slices.DeleteFunc(days, func(d *placeDay) bool { return final[d.place][d.from] })
	var sums []*reportDayRow
	err = s.addUp(tx, days, interval{0, forever}, zone, at, func(d *placeDay, use *dayUse) {
		r := use.row(d, at)
		r.Final, r.ValidFrom, r.ValidUntil = true, r.StartsAt, interval{0, lastInstant}.slot().End
		sums = append(sums, r)
	})
	if err != nil || len(sums) == 0 {
		return err
	}
	return tx.Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(sums, 100).Error
}

func (s *Store) deleteMeetings(tx *gorm.DB, old []meetingRow) error {
	var ids, series []int64
	span := clock.Slot{Start: old[0].StartsAt, End: old[0].EndsAt}
	for _, m := range old {
		ids, span.End = append(ids, m.ID), clock.Later(span.End, m.EndsAt)
		if m.SeriesID != nil && !slices.Contains(series, *m.SeriesID) {
			series = append(series, *m.SeriesID)
		}
	}
	if err := tx.Where("meeting_id IN ?", ids).Delete(&davObjectRow{}).Error; err != nil {
		return err
	}
	if err := tx.Where("id IN ?", ids).Delete(&meetingRow{}).Error; err != nil {
		return err
	}
	for len(series) > 0 { // from the latest of those that were split off one another
		var err error
		if series, err = deleteSeries(tx, series); err != nil {
			return err
		}
	}
	// The deletion has marked days that are final.
	return tx.Exec("DELETE FROM report_marks WHERE room_id IS NOT NULL AND starts_at >= ? AND ends_at <= ?", micro(span.Start), micro(span.End)).Error
}

// deleteSeries deletes those of series that have no date and will have none. It returns those that these
// were split off.
func deleteSeries(tx *gorm.DB, ids []int64) (previous []int64, err error) {
	var rows []seriesRow
	err = tx.Select("id", "previous_id").Where("id IN ?", ids).
		Where("NOT EXISTS (SELECT 1 FROM meetings m WHERE m.series_id = series.id)").
		Where("NOT EXISTS (SELECT 1 FROM series s WHERE s.previous_id = series.id)").
		Where("NOT EXISTS (SELECT 1 FROM calendar_objects o WHERE o.series_id = series.id AND o.extend_at IS NOT NULL)").Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids = nil
	for _, r := range rows {
		if ids = append(ids, r.ID); r.PreviousID != nil {
			previous = append(previous, *r.PreviousID)
		}
	}
	if err := tx.Where("series_id IN ?", ids).Delete(&davObjectRow{}).Error; err != nil {
		return nil, err
	}
	return previous, tx.Where("id IN ?", ids).Delete(&seriesRow{}).Error
}

// TrimWaits deletes up to limit places on waiting lists that ended before an instant.
func (s *Store) TrimWaits(ctx context.Context, before time.Time, limit int) (int64, error) {
	db := s.db.WithContext(ctx)
	const isOld = "state NOT IN ('waiting', 'offered') AND updated_at < ?"
	old := db.Model(&waitRow{}).Select("id").Where(isOld, micro(before)).Order("updated_at, id").Limit(limit)
	done := db.Where("id IN (?)", old).Where(isOld, micro(before)).Delete(&waitRow{}) // again: it may have changed meanwhile
	if done.Error != nil {
		return 0, fmt.Errorf("delete old places on waiting lists: %w", done.Error)
	}
	return done.RowsAffected, nil
}

// TrimEvents deletes up to limit events of calendar programs that book nothing and ended before an instant.
func (s *Store) TrimEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	db := s.db.WithContext(ctx)
	const isOld = "meeting_id IS NULL AND series_id IS NULL AND ends_at < ?"
	old := db.Model(&davObjectRow{}).Select("id").Where(isOld, micro(before)).Order("ends_at, id").Limit(limit)
	done := db.Where("id IN (?)", old).Where(isOld, micro(before)).Delete(&davObjectRow{}) // again: it may have changed meanwhile
	if done.Error != nil {
		return 0, fmt.Errorf("delete old events of calendar programs: %w", done.Error)
	}
	return done.RowsAffected, nil
}
