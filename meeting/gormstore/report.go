package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
	"punctual/meeting/report"
)

var getReportedRooms = write(`SELECT r.id, r.name, COALESCE(r.site_id, 0), COALESCE(s.name, ''),
		CASE WHEN r.timezone <> '' THEN r.timezone ELSE COALESCE(s.timezone, '') END, r.policy, r.active AND r.deleted_at IS NULL
	FROM rooms r LEFT JOIN sites s ON s.id = r.site_id
	WHERE CAST($1 AS bigint) IN (0, r.site_id)
	ORDER BY lower(r.name), r.id`)

// ReportedRooms decodes each distinct policy once, because many rooms share one.
func (s *Store) ReportedRooms(ctx context.Context, siteID int64) ([]report.Room, error) {
	var rooms []report.Room
	policies := map[string]*policy.Policy{}
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var r report.Room
		var stored string
		if err := rows.Scan(&r.ID, &r.Name, &r.SiteID, &r.SiteName, &r.Zone, &stored, &r.Bookable); err != nil {
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
	}, getReportedRooms, siteID)
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
	AND o.id {postgres: = ANY (ARRAY(}{sqlite: IN (SELECT id FROM (}` + heldOrNot("rooms AS r {sqlite: CROSS} JOIN occupancies AS o ON r.site_id = $4 AND "+ofRoom("r.id", "$1", "$2"), "$1", "$2") + `
	UNION ALL SELECT m.id FROM meetings m WHERE m.status IN ('cancelled', 'rejected', 'released') AND ` + recent("m", "$1", "$2") + "))"
)

// On Postgres, counting the attendees of all meetings of a span at once is fastest.
const personsOfEach = "(SELECT count(*) FROM attendees a WHERE a.meeting_id = m.id)"

var personsAtOnce = `{postgres: LEFT JOIN (SELECT meeting_id, count(*) AS n FROM attendees WHERE meeting_id IN (` +
	postgres.translate(rowsWithin("meetings", "o.id", "$1", "$2")) + `)
		GROUP BY meeting_id) AS a ON a.meeting_id = m.id}`

// effective are rows of meetings with the status that holds at an instant ($3) and from when on
// their rooms were free, if that was before their end: [meeting.Meeting.EffectiveStatus] in SQL.
func effective(meetings string) string {
	return `SELECT m.*, CASE WHEN m.status = 'released' AND m.missed THEN {least}(COALESCE(m.ended_at, m.no_show_at), m.no_show_at) ELSE m.ended_at END AS left_at
	FROM (SELECT m.id, m.visibility, m.starts_at, m.ends_at, m.no_show_at, m.checked_in_at, m.ended_at, m.missed,
			CASE WHEN m.status IN ('confirmed', 'in_progress') AND m.missed AND m.no_show_at <= $3 THEN 'released' ELSE m.status END AS status
		FROM (SELECT m.*, m.checked_in_at IS NULL AND m.no_show_at IS NOT NULL AND m.no_show_at < m.ends_at AS missed
			FROM (SELECT m.id, m.visibility, m.starts_at, m.ends_at, m.no_show_at, m.checked_in_at, m.ended_at,
					CASE WHEN m.status <> 'pending' OR m.approval_deadline > $3 THEN m.status
						WHEN NOT EXISTS (SELECT 1 FROM approvals q WHERE q.meeting_id = m.id AND q.on_timeout = 'confirmed') THEN 'rejected'
						WHEN ` + holdsRooms + ` THEN 'confirmed' ELSE m.status END AS status
				FROM (` + meetings + `) AS m` + once + `) AS m` + once + `) AS m` + once + `) AS m`
}

// once ends a subquery whose columns are computed once for each row. Without it both databases repeat
// an expression wherever its column is used, dozens of times for the status.
const once = ` {postgres: OFFSET 0}{sqlite: LIMIT -1}`

// reported are meetings as they are at an instant ($3).
func reported(meetings, persons, join string) string {
	return `(SELECT m.id, m.status, m.starts_at, m.ends_at, m.status NOT IN ('cancelled', 'rejected') AS booked,
		m.status NOT IN ('cancelled', 'rejected') AND (m.visibility <> 'private' OR CAST($5 AS boolean)) AS counted,
		CASE WHEN m.status NOT IN ('cancelled', 'rejected', 'released') AND (m.no_show_at IS NULL OR m.checked_in_at IS NOT NULL)
			THEN {least}(m.ends_at, COALESCE(m.ended_at, m.ends_at), CAST($3 AS timestamptz)) ELSE m.starts_at END AS used_until,
		CASE WHEN m.status NOT IN ('cancelled', 'rejected') AND m.left_at < m.ends_at THEN {greatest}(m.left_at, m.starts_at) ELSE m.ends_at END AS freed_at,
		{greatest}(m.starts_at, CAST($1 AS timestamptz)) AS first_at,
		1 + ` + persons + ` AS persons
	FROM (` + effective(meetings) + once + `) AS m
	` + join + `
	WHERE m.status IN ('confirmed', 'in_progress', 'ended', 'released', 'cancelled', 'rejected')` + once + `) AS m`
}

// inRooms are reported meetings by room, of a site ($4; 0: of all).
func inRooms(reported string) string {
	return ` FROM ` + reported + ` {sqlite: CROSS} JOIN meeting_rooms mr ON mr.meeting_id = m.id JOIN rooms r ON r.id = mr.room_id LEFT JOIN sites s ON s.id = r.site_id
	WHERE (CAST($4 AS bigint) = 0 OR r.site_id = $4)`
}

// useStatements aggregate by room, by site, and by meetings with the same times in one zone. There
// are few such times, and which days and hours they touch is computed without the database.
type useStatements struct{ byRoom, bySite, alike statement }

var (
	useOfAll  = useOf(reported(reportedMeetings, "{postgres: COALESCE(a.n, 0)}{sqlite: "+personsOfEach+"}", personsAtOnce))
	useOfSite = useOf(reported(reportedOfSite, personsOfEach, ""))
)

func useOf(reported string) useStatements {
	const start, end = "m.first_at", "{least}(m.ends_at, CAST($2 AS timestamptz))"
	by := func(id string) statement {
		return write(`SELECT ` + id + `,
		COALESCE(sum({seconds}(` + end + ` - ` + start + `)) FILTER (WHERE m.booked), 0),
		COALESCE(sum({seconds}({least}(m.used_until, CAST($2 AS timestamptz)) - ` + start + `)) FILTER (WHERE m.used_until > ` + start + `), 0),
		COALESCE(sum({seconds}(` + end + ` - {greatest}(m.freed_at, ` + start + `))) FILTER (WHERE m.freed_at < ` + end + `), 0),
		` + counts + inRooms(reported) + ` GROUP BY 1`)
	}
	return useStatements{
		byRoom: by("mr.room_id"),
		bySite: by("COALESCE(r.site_id, 0)"),
		alike: write(`SELECT CASE WHEN r.timezone <> '' THEN r.timezone ELSE COALESCE(s.timezone, '') END, m.starts_at, m.ends_at,
		{seconds}(m.used_until - m.starts_at), {seconds}(m.freed_at - m.starts_at), ` + counts + inRooms(reported) + ` GROUP BY 1, 2, 3, 4, 5`),
	}
}

const counts = `count(*) FILTER (WHERE m.booked), count(*) FILTER (WHERE m.status = 'released'), count(*) FILTER (WHERE m.status = 'cancelled'),
		count(*) FILTER (WHERE m.status = 'rejected'), count(*) FILTER (WHERE m.counted), COALESCE(sum(m.persons) FILTER (WHERE m.counted), 0),
		COALESCE(sum(m.persons) FILTER (WHERE m.counted AND r.capacity > 0), 0), count(*) FILTER (WHERE m.counted AND r.capacity > 0),
		COALESCE(sum(r.capacity) FILTER (WHERE m.counted), 0)`

func (s *Store) RoomUse(ctx context.Context, q report.Query, days []report.ZoneDay, at time.Time) (used []report.RoomUse, err error) {
	args := []any{micro(q.Span.Start), micro(q.Span.End), micro(at), q.SiteID, q.Private}
	use := useOfAll
	if q.SiteID != 0 {
		use = useOfSite
	}
	if q.Group == report.ByRoom || q.Group == report.BySite {
		by := use.byRoom
		if q.Group == report.BySite {
			by = use.bySite
		}
		err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
			var u report.RoomUse
			var booked, inUse, freed float64
			err := rows.Scan(append([]any{&u.ID, &booked, &inUse, &freed}, countsOf(&u)...)...)
			u.Booked, u.Used, u.Freed = seconds(booked), seconds(inUse), seconds(freed)
			used = append(used, u)
			return err
		}, by, args...)
	} else {
		by := newUseParts(q.Span, days)
		err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
			var zone string
			var slot clock.Slot
			var used, kept float64
			var n report.RoomUse
			err := rows.Scan(append([]any{&zone, &slot.Start, &slot.End, &used, &kept}, countsOf(&n)...)...)
			by.add(zone, slot, slot.Start.Add(seconds(used)), slot.Start.Add(seconds(kept)), &n)
			return err
		}, use.alike, args...)
		used = by.all()
	}
	if err != nil {
		return nil, fmt.Errorf("use of rooms: %w", err)
	}
	return used, nil
}

// countsOf returns the scan destinations of the counts of a statement.
func countsOf(u *report.RoomUse) []any {
	return []any{&u.Meetings, &u.NoShows, &u.Cancelled, &u.Rejected, &u.Counted, &u.Persons, &u.Seated, &u.SeatedMeetings, &u.Seats}
}

// seconds of a sum, to the microsecond that times are kept in.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// Punctuality of starts covers meetings that were started; that of ends covers those that ended no
// earlier than planned, because users ended the others.
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
