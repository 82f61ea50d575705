package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
)

var (
	bookedZones = load("booked_zones")
	noteClocks  = load("note_clocks")
)

func (s *Store) BookedZones(ctx context.Context, at time.Time) ([]string, error) {
	var zones []string
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var zone string
		err := rows.Scan(&zone)
		zones = append(zones, zone)
		return err
	}, bookedZones, micro(at))
	if err != nil {
		return nil, fmt.Errorf("booked zones: %w", err)
	}
	return zones, nil
}

func (s *Store) ShownStarts(ctx context.Context, at time.Time, fn func(zone string, start, shown time.Time)) error {
	shown := s.db.WithContext(ctx).Model(&meetingRow{}).Select("timezone", "starts_at", "shown_start").
		Where("starts_at > ? AND status IN ('pending', 'confirmed') AND shown_start IS NOT NULL", micro(at))
	err := scanRows(shown, func(rows *sql.Rows) error { // one by one: there can be a million
		var r meetingRow
		err := rows.Scan(&r.Timezone, &r.StartsAt, &r.ShownStart)
		if err == nil {
			fn(r.Timezone, r.StartsAt, wallTime(r.ShownStart))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("what clocks showed: %w", err)
	}
	return nil
}

type zoneRulesRow struct {
	Zone      string `gorm:"primaryKey"`
	Rules     string
	ChangedAt *time.Time
}

func (zoneRulesRow) TableName() string { return "zone_rules" }

func (s *Store) ZoneRules(ctx context.Context) ([]meeting.ZoneRules, error) {
	var rows []zoneRulesRow
	if err := s.db.WithContext(ctx).Order("zone").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("zone rules: %w", err)
	}
	var all []meeting.ZoneRules
	for _, r := range rows {
		all = append(all, meeting.ZoneRules{Zone: r.Zone, Hash: r.Rules, ChangedAt: orZero(r.ChangedAt)})
	}
	return all, nil
}

func (s *Store) SaveZoneRules(ctx context.Context, rs []meeting.ZoneRules) error {
	var rows []zoneRulesRow
	for _, r := range rs {
		rows = append(rows, zoneRulesRow{Zone: r.Zone, Rules: r.Hash, ChangedAt: optional(r.ChangedAt)})
	}
	err := s.transaction(ctx, func(tx *gorm.DB) error { return insert(tx.Clauses(clause.OnConflict{UpdateAll: true}), rows) })
	if err != nil {
		return fmt.Errorf("save zone rules: %w", err)
	}
	return nil
}

func (s *Store) Unnoted(ctx context.Context, at time.Time, after meeting.ID, limit int) ([]*meeting.Meeting, error) {
	var rows []meetingRow
	err := s.db.WithContext(ctx).Select("id", "starts_at", "ends_at", "timezone", "series_id", "original_start").
		Where("shown_start IS NULL AND ends_at > ? AND id > ?", micro(at), after).Order("id").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("meetings without noted clocks: %w", err)
	}
	ms := make([]*meeting.Meeting, len(rows))
	for i := range rows {
		ms[i] = rows[i].meeting()
	}
	return ms, nil
}

func (s *Store) NoteClocks(ctx context.Context, ms []*meeting.Meeting) error {
	rows := make([]row, len(ms))
	for i, m := range ms {
		rows[i] = row{"id": m.ID}
		for name, t := range map[string]time.Time{"shown_start": m.Shown.Start, "shown_end": m.Shown.End, "original_wall": m.OriginalWall} {
			if text := wallText(t); text != nil {
				rows[i][name] = text
			}
		}
	}
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		_, err := s.exec(tx, noteClocks, table(rows))
		return err
	})
	if err != nil {
		return fmt.Errorf("note clocks of %d meetings: %w", len(ms), err)
	}
	return nil
}

func (s *Store) SaveTogether(ctx context.Context, cs []*meeting.SeriesChange) ([]meeting.Notice, error) {
	var saved []meeting.SeriesChange
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		saved, notices = nil, nil
		var leaving []int64
		for _, c := range cs {
			saved = append(saved, draftOf(c)) // a copy: c keeps its notices for a retry
			for _, m := range c.Update {
				leaving = append(leaving, m.ID)
			}
		}
		slices.Sort(leaving)
		if _, err := s.numbers(tx, lockMeetings, s.ids(leaving...)); err != nil {
			return err
		}
		if err := removeOf[occupancyRow](tx, "meeting_id", leaving); err != nil {
			return err
		}
		for i := range saved {
			some, err := s.saveSeries(tx, &saved[i])
			if err != nil {
				return err
			}
			notices = append(notices, some...)
		}
		return nil
	})
	if errors.Is(taken(err), errTaken) {
		return nil, &meeting.ConflictError{}
	}
	if err != nil {
		return nil, fmt.Errorf("save %d changes: %w", len(cs), err)
	}
	for i := range cs {
		*cs[i] = saved[i]
	}
	return notices, nil
}
