package gormstore

import (
	"context"
	"fmt"

	"punctual/meeting"
)

// inRow counts the consecutive no-shows among the latest dates of a series.
var inRow = write(`(SELECT count(*) FROM meetings m WHERE m.series_id = series.id AND m.status = 'released' AND m.starts_at > COALESCE(
	(SELECT max(h.starts_at) FROM meetings h WHERE h.series_id = series.id AND (h.status = 'ended' OR h.status = 'in_progress' AND (h.checked_in_at IS NOT NULL OR h.no_show_at IS NULL))),
	{postgres: '-infinity'::timestamptz}{sqlite: -9223372036854775808}))`)

func (s *Store) ListSeries(ctx context.Context, q meeting.SeriesQuery, p meeting.Page) (series []*meeting.Series, next string, err error) {
	after, err := readCursor("series", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	tx := s.db.WithContext(ctx)
	list := tx.Joins("Organizer").Where("series.cancelled_at IS NULL")
	if after != nil {
		list = list.Where("series.id < ?", after.ID)
	}
	if q.OrganizerID != 0 {
		list = list.Where("series.organizer_id = ?", q.OrganizerID)
	}
	if q.Flagged {
		list = list.Where(inRow[s.dialect]+" >= ?", meeting.FlaggedAfter)
	}
	var rows []*seriesRow
	if err := list.Order("series.id DESC").Limit(limit(p) + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list series: %w", err)
	}
	rows, next = paged(rows, limit(p), func(r *seriesRow) position { return position{List: "series", ID: r.ID} })
	if series, err = s.seriesOf(tx, rows); err != nil {
		return nil, "", fmt.Errorf("list series: %w", err)
	}
	return series, next, nil
}
