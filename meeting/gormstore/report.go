package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
)

var getReportedRooms = write(`SELECT r.id, r.name, COALESCE(r.site_id, 0), COALESCE(s.name, ''),
		CASE WHEN r.timezone <> '' THEN r.timezone ELSE COALESCE(s.timezone, '') END, r.policy, r.active AND r.deleted_at IS NULL
	FROM rooms r LEFT JOIN sites s ON s.id = r.site_id
	ORDER BY lower(r.name), r.id`)

// ReportedRooms decodes each policy once: many rooms have the same.
func (s *Store) ReportedRooms(ctx context.Context) ([]meeting.ReportedRoom, error) {
	var rooms []meeting.ReportedRoom
	policies := map[string]*meeting.Policy{}
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var r meeting.ReportedRoom
		var policy string
		if err := rows.Scan(&r.ID, &r.Name, &r.SiteID, &r.SiteName, &r.Zone, &policy, &r.Bookable); err != nil {
			return err
		}
		if policies[policy] == nil {
			var p policyJSON
			if err := json.Unmarshal([]byte(policy), &p); err != nil {
				return fmt.Errorf("policy of room %d: %w", r.ID, err)
			}
			policies[policy] = &meeting.Policy{OpeningHours: p.OpeningHours}
		}
		r.Policy = policies[policy]
		rooms = append(rooms, r)
		return nil
	}, getReportedRooms)
	if err != nil {
		return nil, fmt.Errorf("rooms to report on: %w", err)
	}
	return rooms, nil
}

// reported are the meetings that touch a span ($1, $2), as they are at an instant ($3), found by
// the index by start; see within.
const reported = `(SELECT m.id, m.status, m.starts_at, m.ends_at, m.status <> 'cancelled' AS booked,
		CASE WHEN m.status NOT IN ('cancelled', 'released') AND (m.no_show_at IS NULL OR m.checked_in_at IS NOT NULL)
			THEN {least}(m.ends_at, COALESCE(m.ended_at, m.ends_at), CAST($3 AS timestamptz)) ELSE m.starts_at END AS used_until,
		{greatest}(m.starts_at, CAST($1 AS timestamptz)) AS first_at,
		1 + (SELECT count(*) FROM attendees a WHERE a.meeting_id = m.id) AS persons
	FROM meetings m
	WHERE m.starts_at < $2 AND m.ends_at > $1 AND m.starts_at > CAST($1 AS timestamptz) - (SELECT max(ends_at - starts_at) FROM meetings)
		AND m.status IN ('confirmed', 'in_progress', 'ended', 'released', 'cancelled')) AS m`

// roomUse by each grouping: what it groups by, and the table x of the parts of time.
var roomUse = map[meeting.Grouping]statement{
	meeting.ByRoom: useBy("r.id", "''", wholeSpan),
	meeting.BySite: useBy("COALESCE(r.site_id, 0)", "''", wholeSpan),
	meeting.ByDay: useBy("0", "x.day", `JOIN {rows $4: zone text, day text, starts_at timestamptz, ends_at timestamptz}
		ON x.zone = CASE WHEN r.timezone <> '' THEN r.timezone ELSE COALESCE(s.timezone, '') END AND x.starts_at < m.ends_at AND x.ends_at > m.starts_at`),
}

const wholeSpan = `CROSS JOIN (SELECT CAST($1 AS timestamptz) AS starts_at, CAST($2 AS timestamptz) AS ends_at) AS x`

func useBy(id, day, parts string) statement {
	const counted = " FILTER (WHERE m.first_at >= x.starts_at AND m.first_at < x.ends_at AND "
	return write(`SELECT ` + id + `, ` + day + `,
		COALESCE(sum({seconds}({least}(m.ends_at, x.ends_at) - {greatest}(m.starts_at, x.starts_at))) FILTER (WHERE m.booked), 0),
		COALESCE(sum({seconds}({least}(m.used_until, x.ends_at) - {greatest}(m.starts_at, x.starts_at)))
			FILTER (WHERE m.used_until > {greatest}(m.starts_at, x.starts_at)), 0),
		count(*)` + counted + `m.booked),
		count(*)` + counted + `m.status = 'released'),
		count(*)` + counted + `m.status = 'cancelled'),
		COALESCE(sum(m.persons)` + counted + `m.booked), 0),
		COALESCE(sum(m.persons)` + counted + `m.booked AND r.capacity > 0), 0),
		count(*)` + counted + `m.booked AND r.capacity > 0),
		COALESCE(sum(r.capacity)` + counted + `m.booked), 0)
	FROM ` + reported + ` JOIN meeting_rooms mr ON mr.meeting_id = m.id JOIN rooms r ON r.id = mr.room_id LEFT JOIN sites s ON s.id = r.site_id
		` + parts + `
	GROUP BY 1, 2`)
}

func (s *Store) RoomUse(ctx context.Context, group meeting.Grouping, span meeting.Slot, days []meeting.ZoneDay, at time.Time) ([]meeting.RoomUse, error) {
	args := []any{micro(span.Start), micro(span.End), micro(at)}
	if group == meeting.ByDay {
		rows := make([]row, len(days))
		for i, d := range days {
			rows[i] = row{"zone": d.Zone, "day": d.Day, "starts_at": s.dialect.instant(d.Slot.Start), "ends_at": s.dialect.instant(d.Slot.End)}
		}
		args = append(args, table(rows))
	}
	var used []meeting.RoomUse
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var u meeting.RoomUse
		var booked, inUse float64
		err := rows.Scan(&u.ID, &u.Day, &booked, &inUse, &u.Meetings, &u.NoShows, &u.Cancelled, &u.Persons, &u.Seated, &u.SeatedMeetings, &u.Seats)
		u.Booked, u.Used = seconds(booked), seconds(inUse)
		used = append(used, u)
		return err
	}, roomUse[group], args...)
	if err != nil {
		return nil, fmt.Errorf("use of rooms: %w", err)
	}
	return used, nil
}

// seconds of a sum, to the microsecond that times are kept in.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// Punctuality of starts looks at meetings that were started, that of ends at those that ended
// no earlier than they were to: others were ended by people.
func (s *Store) Punctuality(ctx context.Context, span meeting.Slot, bounds []time.Duration) (started, ended meeting.Lateness, err error) {
	if started, err = s.lateness(ctx, "m.started_at - m.starts_at", span, bounds); err != nil {
		return started, ended, err
	}
	ended, err = s.lateness(ctx, "m.ended_at - m.ends_at", span, bounds)
	return started, ended, err
}

func (s *Store) lateness(ctx context.Context, late string, span meeting.Slot, bounds []time.Duration) (meeting.Lateness, error) {
	var bucket strings.Builder
	bucket.WriteString("CASE")
	for i, b := range bounds {
		bucket.WriteString(" WHEN late <= " + strconv.FormatFloat(b.Seconds(), 'f', -1, 64) + " THEN " + strconv.Itoa(i))
	}
	bucket.WriteString(" ELSE " + strconv.Itoa(len(bounds)) + " END")
	q := write(`SELECT ` + bucket.String() + `, count(*), max(late)
		FROM (SELECT {seconds}(` + late + `) AS late FROM meetings m
			WHERE m.starts_at >= $1 AND m.starts_at < $2 AND m.status IN ('in_progress', 'ended')) AS m
		WHERE late >= 0 GROUP BY 1`)
	l := meeting.Lateness{Counts: make([]int64, len(bounds)+1)}
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var i int
		var n int64
		var most float64
		if err := rows.Scan(&i, &n, &most); err != nil {
			return err
		}
		l.Counts[i] = n
		l.Max = max(l.Max, seconds(most))
		return nil
	}, q, micro(span.Start), micro(span.End))
	if err != nil {
		return l, fmt.Errorf("punctuality of meetings: %w", err)
	}
	return l, nil
}
