package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"punctual/meeting"
)

// inRow counts to how many of the latest dates of the series s nobody came.
const inRow = `(SELECT count(*) FROM meetings m WHERE m.series_id = s.id AND m.status = 'released' AND m.starts_at > COALESCE(
	(SELECT max(h.starts_at) FROM meetings h WHERE h.series_id = s.id AND (h.status = 'ended' OR h.status = 'in_progress' AND (h.checked_in_at IS NOT NULL OR h.no_show_at IS NULL))),
	{postgres: '-infinity'::timestamptz}{sqlite: -9223372036854775808}))`

func (s *Store) ListSeries(ctx context.Context, q meeting.SeriesQuery, p meeting.Page) (series []*meeting.Series, next string, err error) {
	after, err := readCursor("series", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	var c conditions
	c.add("s.cancelled_at IS NULL")
	if after != nil {
		c.add("s.id < ?", after.ID)
	}
	if q.OrganizerID != 0 {
		c.add("s.organizer_id = ?", q.OrganizerID)
	}
	if q.Flagged {
		c.add(inRow+" >= ?", meeting.FlaggedAfter)
	}
	text := strings.Replace(seriesText, "WHERE s.id = $1", "WHERE "+c.String(), 1) + "\nORDER BY s.id DESC LIMIT " + c.param(limit(p)+1)
	tx := s.db.WithContext(ctx)
	err = s.query(tx, func(rows *sql.Rows) error {
		found, err := scanSeries(rows)
		series = append(series, found)
		return err
	}, write(text), c.args...)
	if err != nil {
		return nil, "", fmt.Errorf("list series: %w", err)
	}
	series, next = paged(series, limit(p), func(x *meeting.Series) position { return position{List: "series", ID: x.ID} })
	if err := s.nameRooms(tx, series...); err != nil {
		return nil, "", fmt.Errorf("list series: %w", err)
	}
	return series, next, nil
}
