package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
	"punctual/meeting/report"
)

const reportedZone = "CASE WHEN r.timezone <> '' THEN r.timezone ELSE COALESCE(s.timezone, '') END"

var (
	getReportedRooms = forSite(`SELECT r.id, r.name, COALESCE(r.site_id, 0), COALESCE(s.name, ''), ` + reportedZone + `,
		r.policy, r.active AND r.deleted_at IS NULL, 0
	FROM rooms r LEFT JOIN sites s ON s.id = r.site_id
	WHERE {of site}
	ORDER BY lower(r.name), r.id`)

	// Rooms that can be booked by what they have in common, and the sites and zones of all rooms. Both are
	// read from indexes.
	getReportedAlike = forSite(`SELECT 0, '', COALESCE(r.site_id, 0), COALESCE(s.name, ''), ` + reportedZone + `,
		one.policy, r.bookable, r.n - 1
	FROM (SELECT site_id, timezone, min(id) AS one, count(*) AS n, true AS bookable FROM rooms r WHERE active AND deleted_at IS NULL AND {of site} GROUP BY site_id, timezone, policy_key
		UNION ALL SELECT site_id, timezone, min(id), 1, false FROM rooms r WHERE {of site} GROUP BY site_id, timezone) AS r
	JOIN rooms AS one ON one.id = r.one LEFT JOIN sites s ON s.id = r.site_id`)
)

// forSite returns a function for a statement about the rooms r of a site ($1), or of all (0). These are
// two statements, so that an index finds the rooms of a site.
func forSite(text string) func(siteID int64) statement {
	one := write(strings.ReplaceAll(text, "{of site}", "r.site_id = $1"))
	all := write(strings.ReplaceAll(text, "{of site}", "CAST($1 AS bigint) = 0"))
	return func(siteID int64) statement {
		if siteID != 0 {
			return one
		}
		return all
	}
}

// ReportedRooms decodes each policy once: many rooms have the same.
func (s *Store) ReportedRooms(ctx context.Context, siteID int64, each bool) ([]report.Room, error) {
	get := getReportedAlike
	if each {
		get = getReportedRooms
	}
	var rooms []report.Room
	policies := map[string]*policy.Policy{}
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var r report.Room
		var stored string
		if err := rows.Scan(&r.ID, &r.Name, &r.SiteID, &r.SiteName, &r.Zone, &stored, &r.Bookable, &r.Alike); err != nil {
			return err
		}
		if policies[stored] == nil {
			var p policyJSON
			if err := json.Unmarshal([]byte(stored), &p); err != nil {
				return fmt.Errorf("policy of room %d: %w", r.ID, err)
			}
			policies[stored] = &policy.Policy{OpeningHours: p.OpeningHours}
		}
		r.Policy = policies[stored]
		rooms = append(rooms, r)
		return nil
	}, get(siteID), siteID)
	if err != nil {
		return nil, fmt.Errorf("rooms to report on: %w", err)
	}
	return rooms, nil
}

// A report reads the meetings that touch a span ($1, $2): all of them by start, or those of a site
// ($4) by its rooms, which is a twentieth if there are twenty sites.
const reportedColumns = "o.id, o.status, o.visibility, o.starts_at, o.ends_at, o.approval_deadline, o.no_show_at, o.checked_in_at, o.ended_at"

var (
	reportedMeetings = rowsWithin("meetings", reportedColumns, "$1", "$2")
	reportedOfSite   = "SELECT " + reportedColumns + " FROM meetings AS o WHERE " + touches("o", "$1", "$2") + `
	AND o.id {postgres: = ANY (ARRAY(}{sqlite: IN (SELECT id FROM (}` + heldOrNot("(SELECT id FROM rooms WHERE site_id = $4) AS r", "r.id", "$1", "$2") + `
	UNION ALL SELECT m.id FROM meetings m WHERE m.status IN ('cancelled', 'rejected', 'released') AND ` + recent("m", "$1", "$2") + "))"
)

// effective are rows of meetings with the status that holds at an instant ($3) and from when on
// their rooms were free, if that was before their end: [meeting.Meeting.EffectiveStatus] in SQL.
func effective(meetings string) string {
	return `SELECT m.*, CASE WHEN m.status = 'released' AND m.missed THEN {least}(COALESCE(m.ended_at, m.no_show_at), m.no_show_at) ELSE m.ended_at END AS left_at
	FROM (SELECT m.id, m.visibility, m.starts_at, m.ends_at, m.approval_deadline, m.no_show_at, m.checked_in_at, m.ended_at, m.missed, m.stored_status,
			CASE WHEN m.status IN ('confirmed', 'in_progress') AND m.missed AND m.no_show_at <= $3 THEN 'released' ELSE m.status END AS status
		FROM (SELECT m.*, m.checked_in_at IS NULL AND m.no_show_at IS NOT NULL AND m.no_show_at < m.ends_at AS missed
			FROM (SELECT m.id, m.visibility, m.starts_at, m.ends_at, m.approval_deadline, m.no_show_at, m.checked_in_at, m.ended_at, m.status AS stored_status,
					CASE WHEN m.status <> 'pending' OR m.approval_deadline > $3 THEN m.status
						WHEN NOT EXISTS (SELECT 1 FROM approvals q WHERE q.meeting_id = m.id AND q.on_timeout = 'confirmed') THEN 'rejected'
						WHEN ` + holdsRooms + ` THEN 'confirmed' ELSE m.status END AS status
				FROM (` + meetings + `) AS m` + once + `) AS m` + once + `) AS m` + once + `) AS m`
}

// once ends a subquery whose columns are computed once for each row. Without it both databases repeat
// an expression wherever its column is used, dozens of times for the status.
const once = ` {postgres: OFFSET 0}{sqlite: LIMIT -1}`

// usedIn returns meetings as they are at an instant ($3), by room, on a condition. See usedRoom. Rooms are
// looked up for each meeting: for a generic plan Postgres would rather read all rooms of all meetings.
func usedIn(meetings, condition string) statement {
	instant := func(x string) string { return "{postgres: " + x + "}{sqlite: CAST(" + x + " AS integer)}" }
	return write(`SELECT r.id, COALESCE(r.site_id, 0), ` + reportedZone + `, r.capacity, m.status, m.visibility <> 'private', m.persons,
		` + instant("m.starts_at") + `, ` + instant("m.ends_at") + `, ` + instant("m.used_end") + `, ` + instant("m.freed_at") + `, ` + instant("m.changes_at") + `
	FROM (SELECT m.id, m.status, m.visibility, m.starts_at, m.ends_at,
		CASE WHEN m.status NOT IN ('cancelled', 'rejected', 'released') AND (m.no_show_at IS NULL OR m.checked_in_at IS NOT NULL)
			THEN {least}(m.ends_at, COALESCE(m.ended_at, m.ends_at)) ELSE m.starts_at END AS used_end,
		CASE WHEN m.status NOT IN ('cancelled', 'rejected') AND m.left_at < m.ends_at THEN {greatest}(m.left_at, m.starts_at) ELSE m.ends_at END AS freed_at,
		CASE WHEN m.stored_status = 'pending' THEN {greatest}(m.approval_deadline, CAST($3 AS timestamptz))
			WHEN m.status IN ('confirmed', 'in_progress') AND m.missed THEN m.no_show_at END AS changes_at,
		1 + (SELECT count(*) FROM attendees a WHERE a.meeting_id = m.id) AS persons
	FROM (` + effective(meetings) + once + `) AS m` + once + `) AS m
	CROSS JOIN {postgres: LATERAL (SELECT r.* FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id OFFSET 0) AS r}
		{sqlite: meeting_rooms mr JOIN rooms r ON mr.meeting_id = m.id AND r.id = mr.room_id}
	LEFT JOIN sites s ON s.id = r.site_id WHERE ` + condition)
}

var (
	usedOfAll  = usedIn(reportedMeetings, "true")
	usedOfSite = usedIn(reportedOfSite, "r.site_id = $4")
)

var getAnyMeeting = write("SELECT EXISTS (" + rowsWithin("meetings", "1", "$1", "$2") + ")")

// usedRooms reads the meetings of a span, as they are at an instant, of a site or of all (0). If nobody has
// booked anything then, such as in a year from now, it does not look at each room.
func (s *Store) usedRooms(tx *gorm.DB, span clock.Slot, siteID int64, at time.Time, each func(*usedRoom)) error {
	get, args := usedOfAll, []any{micro(span.Start), micro(span.End), micro(at)}
	if siteID != 0 {
		found := false
		err := s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&found) }, getAnyMeeting, args[:2]...)
		if err != nil || !found {
			return err
		}
		get, args = usedOfSite, append(args, siteID)
	}
	return s.query(tx, func(rows *sql.Rows) error {
		var m usedRoom
		err := rows.Scan(&m.room, &m.site, &m.zone, &m.capacity, &m.status, &m.public, &m.persons, &m.start, &m.end, &m.usedEnd, &m.freedAt, &m.changesAt)
		each(&m)
		return err
	}, get, args...)
}

// seconds of a sum, to the microsecond that times are kept in.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// Punctuality of starts looks at meetings that were started, that of ends at those that ended
// no earlier than they were to: others were ended by people.
func (s *Store) Punctuality(ctx context.Context, span clock.Slot, bounds []time.Duration) (started, ended report.Lateness, err error) {
	if started, err = s.lateness(ctx, "m.started_at - m.starts_at", span, bounds); err != nil {
		return started, ended, err
	}
	ended, err = s.lateness(ctx, "m.ended_at - m.ends_at", span, bounds)
	return started, ended, err
}

func (s *Store) lateness(ctx context.Context, late string, span clock.Slot, bounds []time.Duration) (report.Lateness, error) {
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
	l := report.Lateness{Counts: make([]int64, len(bounds)+1)}
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
