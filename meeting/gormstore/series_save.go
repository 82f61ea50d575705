package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"punctual/delayjob/failpoint"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

const seriesColumns = `organizer_id, previous_id, title, description, timezone, starts, ends, rrule, exdates, rdates,
	room_ids, attendees, reminders, default_reminders, visibility, cancelled_at, created_at, updated_at`

var (
	seriesColumnCount = len(strings.Split(seriesColumns, ","))

	insertSeries = write(`INSERT INTO series (` + seriesColumns + `) VALUES (` + placeholders(1, seriesColumnCount) + `) RETURNING id`)
	updateSeries = write(`UPDATE series SET ` + assignments(seriesColumns) + `, version = version + 1, sequence = $` + strconv.Itoa(seriesColumnCount+1) + ` WHERE id = $` + strconv.Itoa(seriesColumnCount+2))
	lockSeries   = write(`SELECT version, sequence FROM series WHERE id = $1 {postgres: FOR NO KEY UPDATE}`)

	raiseSequence = write(`UPDATE series SET sequence = sequence + 1 WHERE id = $1 RETURNING sequence`)

	// The series of dates are locked first, as [Store.SaveSeries] does, since both raise its sequence.
	lockMeetings = write(`WITH their_series AS (
			SELECT id FROM series WHERE id IN (SELECT series_id FROM meetings WHERE id ` + amongIDs + `) ORDER BY id {postgres: FOR NO KEY UPDATE})
		SELECT id FROM meetings WHERE id ` + amongIDs + ` AND (SELECT count(*) FROM their_series) >= 0 ORDER BY id {postgres: FOR NO KEY UPDATE}`)

	// Dates that move on may pass through each other's place and each other's time.
	leavePlaces = write(`UPDATE meetings SET original_start = NULL WHERE id ` + amongIDs)
	leaveRooms  = write(`DELETE FROM occupancies WHERE meeting_id ` + amongIDs)

	idsOfDates = write(`SELECT id, original_start, original_wall FROM meetings
		WHERE series_id = $1 AND original_start IS NOT NULL AND status NOT IN ('cancelled', 'rejected')`)

	addAllRooms = write(`INSERT INTO meeting_rooms (meeting_id, room_id, position)
		SELECT x.meeting_id, x.room_id, x.position FROM {rows $1: meeting_id bigint, room_id bigint, position integer}`)
	addAllOccupancies = write(`INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at, held, lapses_at)
		SELECT x.meeting_id, x.room_id, x.starts_at, x.ends_at, x.held, x.lapses_at
		FROM {rows $1: meeting_id bigint, room_id bigint, starts_at timestamptz, ends_at timestamptz, held boolean, lapses_at timestamptz} ORDER BY x.room_id, x.starts_at
		{postgres: ON CONFLICT ON CONSTRAINT occupancies_no_overlap DO NOTHING}`)
	addAllReminders = write(insertAllReminders)
	addAllHistory   = write(`INSERT INTO history (meeting_id, at, action, actor_kind, actor_id, actor_name, address, changes, reason)
		SELECT x.meeting_id, x.at, x.action, x.actor_kind, x.actor_id, x.actor_name, x.address, x.changes, x.reason
		FROM {rows $1: meeting_id bigint, position integer, at timestamptz, action text, actor_kind text, actor_id bigint, actor_name text, address text, changes jsonb, reason text}
		ORDER BY x.meeting_id, x.position`)

	// Each of the meetings $2 gets each of the people: their rows are sent once.
	addAttendeesToAll = write(strings.ReplaceAll(insertAttendees, "{meeting}",
		`{postgres: (SELECT unnest($2::bigint[]) AS id)}{sqlite: (SELECT value AS id FROM json_each($2))}`))
)

const insertAllReminders = `INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at, handled_at)
	SELECT x.meeting_id, x.before, x.offset_seconds, x.channels, x.due_at, x.handled_at
	FROM {rows $1: meeting_id bigint, before text, offset_seconds bigint, channels jsonb, due_at timestamptz, handled_at timestamptz}`

// assignments are "a = $1, b = $2" for a list of columns.
func assignments(columns string) string {
	list := strings.Split(columns, ",")
	for i, c := range list {
		list[i] = strings.TrimSpace(c) + " = $" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}

// createChunk bounds the parameters of one statement.
const createChunk = 100

func createRows(n int) statement {
	values := make([]string, n)
	for i := range values {
		values[i] = "(" + placeholders(i*columnCount+1, (i+1)*columnCount) + ")"
	}
	return write(`INSERT INTO meetings (` + meetingColumns + `) VALUES ` + strings.Join(values, ", "))
}

func (s *Store) SaveSeries(ctx context.Context, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	var saved meeting.SeriesChange
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) (err error) {
		saved = draftOf(c) // a copy: c keeps its notices for a retry
		notices, err = s.saveSeries(tx, &saved)
		return err
	})
	if errors.Is(taken(err), errTaken) {
		return nil, &meeting.ConflictError{}
	}
	if err != nil {
		return nil, fmt.Errorf("save series %d: %w", c.Series.ID, err)
	}
	failpoint.Reach("series.after", "")
	*c = saved
	return notices, nil
}

// draftOf is a copy whose series and meetings are its own.
func draftOf(c *meeting.SeriesChange) meeting.SeriesChange {
	d := meeting.SeriesChange{}
	if c.Series != nil {
		d.Series = new(*c.Series)
	}
	if c.Split != nil {
		d.Split = new(*c.Split)
	}
	copies := map[*meeting.Meeting]*meeting.Meeting{}
	copied := func(ms []*meeting.Meeting) []*meeting.Meeting {
		out := make([]*meeting.Meeting, len(ms))
		for i, m := range ms {
			out[i] = new(*m)
			copies[m] = out[i]
		}
		return out
	}
	d.Update, d.Create = copied(c.Update), copied(c.Create)
	for _, s := range []*meeting.Series{d.Series, d.Split} {
		if s != nil {
			s.FileNotices(copies)
		}
	}
	return d
}

func (s *Store) saveSeries(tx *gorm.DB, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	if c.Series == nil {
		return s.updateAll(tx, c)
	}
	if err := s.putSeries(tx, c.Series, c.RaisesSequence()); err != nil {
		return nil, err
	}
	if c.Split != nil {
		c.Split.PreviousID = c.Series.ID
		if err := s.putSeries(tx, c.Split, true); err != nil {
			return nil, err
		}
	}
	if err := s.lockQuotas(tx, append(slices.Clone(c.Update), c.Create...)...); err != nil {
		return nil, err
	}
	notices, err := s.updateAll(tx, c)
	if err != nil {
		return nil, err
	}
	some, err := s.createAll(tx, c.Target(), c.Create)
	if err != nil {
		return nil, err
	}
	failpoint.Reach("series.middle", "")
	own := c.Series.TakeNotices()
	if c.Split != nil {
		own = append(own, c.Split.TakeNotices()...)
	}
	if own = append(own, some...); len(own) > 0 {
		if err := s.outbox.Insert(tx, own); err != nil {
			return nil, err
		}
	}
	failpoint.Reach("series.before", "")
	return append(notices, own...), nil
}

// putSeries inserts a series, or saves one that has still the version that was read.
func (s *Store) putSeries(tx *gorm.DB, series *meeting.Series, raise bool) error {
	values, err := seriesValues(series)
	if err != nil {
		return err
	}
	if series.ID == 0 {
		series.Version, series.Sequence = 1, 1
		return s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&series.ID) }, insertSeries, values...)
	}
	var version int64
	if err := s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&version, &series.Sequence) }, lockSeries, series.ID); err != nil {
		return err
	}
	if version != series.Version {
		return meeting.ErrOutdated
	}
	series.Version++
	if raise {
		series.Sequence++
	}
	_, err = s.exec(tx, updateSeries, append(values, series.Sequence, series.ID)...)
	return err
}

func seriesValues(s *meeting.Series) ([]any, error) {
	attendees, reminders := make([]attendeePart, len(s.Attendees)), make([]reminderPart, len(s.Reminders))
	for i, a := range s.Attendees {
		attendees[i] = partOfAttendee(a)
	}
	for i, r := range s.Reminders {
		reminders[i] = partOfReminder(r)
	}
	texts := func(ws []recurrence.WallTime) []string {
		out := make([]string, len(ws))
		for i, w := range ws {
			out[i] = w.String()
		}
		return out
	}
	var lists []any
	for _, list := range []any{texts(s.ExDates), texts(s.RDates), s.RoomIDs, attendees, reminders} {
		b, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		lists = append(lists, string(b))
	}
	return append(append([]any{
		s.Organizer.UserID, reference(s.PreviousID), s.Title, s.Description, s.Timezone,
		s.Start.Format(clock.WallLayout), s.End.Format(clock.WallLayout), s.Rule.String(),
	}, lists...), s.DefaultReminders, string(s.Visibility), timestamp(s.CancelledAt), micro(s.CreatedAt), micro(s.UpdatedAt)), nil
}

// updateAll saves the meetings that are there, if they are still as they were read.
func (s *Store) updateAll(tx *gorm.DB, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	if len(c.Update) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(c.Update))
	for i, m := range c.Update {
		ids[i] = m.ID
	}
	now, err := s.lockedMeetings(tx, ids...)
	if err != nil {
		return nil, err
	}
	before := make(map[int64]*meeting.Meeting, len(now))
	for _, m := range now {
		before[m.ID] = m
	}
	cs := make([]change, len(c.Update))
	for i, m := range c.Update {
		was := before[m.ID]
		if was == nil || was.Version != m.Version {
			return nil, meeting.ErrOutdated
		}
		if m.SeriesID == 0 && c.Split != nil {
			m.SeriesID = c.Split.ID
		}
		if c.Series != nil {
			m.SeriesSequence = c.Series.Sequence
		}
		if c.Split != nil && m.SeriesID == c.Split.ID {
			m.SeriesSequence = c.Split.Sequence
		}
		cs[i] = change{before: was, m: m, left: true}
	}
	if _, err := s.exec(tx, leavePlaces, s.ids(ids...)); err != nil {
		return nil, err
	}
	return s.save(tx, cs...)
}

// createAll writes new meetings of a series with a few statements, however many they are, and
// returns their notices.
func (s *Store) createAll(tx *gorm.DB, series *meeting.Series, ms []*meeting.Meeting) ([]meeting.Notice, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	rooms := map[any]row{}
	for _, m := range ms {
		m.SeriesID, m.Version, m.ScheduleVersion = series.ID, 1, 1
		for _, r := range roomRows(m) {
			rooms[r["room_id"]] = r
		}
	}
	if err := s.checkPresent(tx, slices.Collect(maps.Values(rooms))); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ms, createChunk) {
		var values []any
		for _, m := range part {
			values = append(values, meetingValues(m)...)
		}
		if _, err := s.exec(tx, createRows(len(part)), values...); err != nil {
			return nil, err
		}
	}
	if err := s.findIDs(tx, series.ID, ms); err != nil {
		return nil, err
	}
	if err := s.createParts(tx, ms); err != nil {
		return nil, err
	}
	cs := make([]change, len(ms))
	for i, m := range ms {
		cs[i].m = m
	}
	if err := s.allowed(tx, cs); err != nil { // they count each other, since all are there
		return nil, err
	}
	if err := s.saveApprovals(tx, cs); err != nil {
		return nil, err
	}
	var notices []meeting.Notice
	for _, m := range ms {
		notices = append(notices, m.TakeNotices()...)
	}
	return notices, nil
}

// findIDs sets the ids of the meetings that were just written. It matches them by date, which is
// unique within a series.
func (s *Store) findIDs(tx *gorm.DB, series int64, ms []*meeting.Meeting) error {
	key := func(m *meeting.Meeting) [2]int64 { return [2]int64{m.OriginalStart.UnixMicro(), m.OriginalWall.Unix()} }
	ids := make(map[[2]int64]int64, len(ms))
	err := s.query(tx, func(rows *sql.Rows) error {
		var id int64
		var m meeting.Meeting
		err := rows.Scan(&id, &m.OriginalStart, wallTime{&m.OriginalWall})
		ids[key(&m)] = id
		return err
	}, idsOfDates, series)
	for _, m := range ms {
		m.ID = ids[key(m)]
	}
	return err
}

func (s *Store) createParts(tx *gorm.DB, ms []*meeting.Meeting) error {
	var rooms, occupancies, reminders, history []row
	for _, m := range ms {
		entries, err := s.dialect.historyRows(tx.Statement.Context, m.TakeHistory())
		if err != nil {
			return err
		}
		rooms, occupancies = append(rooms, belonging(m, roomRows(m))...), append(occupancies, belonging(m, s.dialect.takenRows(m))...)
		reminders, history = append(reminders, belonging(m, s.dialect.reminderRows(m))...), append(history, belonging(m, entries)...)
	}
	for _, part := range []struct {
		insert statement
		rows   []row
	}{{addAllRooms, rooms}, {addAllReminders, reminders}, {addAllHistory, history}} {
		if err := s.insertRows(tx, part.insert, part.rows); err != nil {
			return err
		}
	}
	if err := s.invite(tx, ms); err != nil {
		return err
	}
	return s.occupy(tx, occupancies)
}
