package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

var (
	removeReminders = load("remove_reminders")

	setLapses = load("set_lapses")

	closePastReminders = load("close_past_reminders")
)

// UpdateMeeting writes only what the function changed.
func (s *Store) UpdateMeeting(ctx context.Context, id meeting.ID, fn func(*meeting.Meeting) error) (*meeting.Meeting, []meeting.Notice, error) {
	var m *meeting.Meeting
	var notices []meeting.Notice
	err := s.orConflict(ctx, func() (*meeting.Meeting, error) {
		err := s.transaction(ctx, func(tx *gorm.DB) (err error) {
			ms, err := s.lockedMeetings(tx, id)
			if err == nil && len(ms) == 0 {
				err = meeting.ErrNotFound
			}
			if err != nil {
				return fmt.Errorf("update meeting %d: %w", id, err)
			}
			m = ms[0]
			before := snapshot(m)
			if err := fn(m); err != nil {
				return err
			}
			c := change{before: before, m: m}
			if err := s.post(tx, []change{c}, nil, m.Undoable); err != nil {
				return fmt.Errorf("update meeting %d: %w", id, err)
			}
			if notices, err = s.save(tx, c); err != nil {
				return fmt.Errorf("update meeting %d: %w", id, err)
			}
			return s.keepChange(tx, before, m, notices)
		})
		return m, err
	})
	if err != nil {
		return nil, nil, err
	}
	failpoint.Reach("change.after", "")
	return m, notices, nil
}

// UpdateMeetings writes only what the function changed, with a few statements however many they are.
func (s *Store) UpdateMeetings(ctx context.Context, ids []meeting.ID, fn func(*meeting.Meeting) (changed bool, err error)) ([]meeting.Notice, error) {
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		ms, err := s.lockedMeetings(tx, ids...)
		if err != nil {
			return err
		}
		var cs []change
		for _, m := range ms {
			before := snapshot(m)
			changed, err := fn(m)
			if err != nil {
				return err
			}
			if changed {
				cs = append(cs, change{before: before, m: m})
			}
		}
		if err := s.post(tx, cs, nil, nil); err != nil {
			return err
		}
		notices, err = s.save(tx, cs...)
		return err
	})
	if errors.Is(taken(err), errTaken) {
		return nil, &meeting.ConflictError{}
	}
	if err != nil {
		return nil, fmt.Errorf("update %d meetings: %w", len(ids), err)
	}
	failpoint.Reach("change.after", "")
	return notices, nil
}

// lockedMeetings reads in a second statement, because a statement that waited for a lock sees the
// locked row as it is now but everything else as it was before. The meetings are in the order of
// their IDs, in which all callers lock them.
func (s *Store) lockedMeetings(tx *gorm.DB, ids ...meeting.ID) ([]*meeting.Meeting, error) {
	if s.dialect == postgres {
		if _, err := s.numbers(tx, lockMeetings, s.ids(ids...)); err != nil {
			return nil, err
		}
	}
	return s.readMeetings(tx, meetingsByID, s.ids(ids...))
}

// snapshot returns a deep copy of m.
func snapshot(m *meeting.Meeting) *meeting.Meeting {
	c := *m
	c.RoomIDs, c.Occupied = slices.Clone(m.RoomIDs), slices.Clone(m.Occupied)
	c.Attendees, c.Reminders = slices.Clone(m.Attendees), slices.Clone(m.Reminders)
	if m.Request != nil {
		c.Request = new(*m.Request)
	}
	for i, r := range c.Reminders {
		c.Reminders[i].Channels = slices.Clone(r.Channels)
	}
	return &c
}

// A change is a locked meeting before and after; a new one has no before.
type change struct {
	before, m *meeting.Meeting
	left      bool // the row has lost its original_start, see leavePlaces
}

// timer reports whether the only change is that a timer of a request ran. Readers do not see that,
// so it raises no version.
func (c change) timer() bool {
	was, is := c.before.Request, c.m.Request
	return was != nil && is != nil && was.Number == is.Number && c.m.Untouched(c.before)
}

// save writes what differs, and brings the meetings' versions up to date.
func (s *Store) save(tx *gorm.DB, cs ...change) ([]meeting.Notice, error) {
	// This comes first, because a booking that holds the locks of its quotas waits for rooms that
	// are released here.
	if err := s.lockQuotas(tx, meetingsOf(cs)...); err != nil {
		return nil, err
	}
	seen := slices.DeleteFunc(slices.Clone(cs), change.timer)
	if err := s.checkAll(tx, seen); err != nil { // locks rooms before requests, as closeRequests does
		return nil, err
	}
	if err := s.vacate(tx, seen); err != nil {
		return nil, err
	}
	if err := s.allowed(tx, cs); err != nil {
		return nil, err
	}
	if err := s.saveApprovals(tx, cs); err != nil {
		return nil, err
	}
	if len(seen) > 0 {
		if err := s.saveMeetings(tx, seen); err != nil {
			return nil, err
		}
	}
	if len(cs) > 1 { // now they count each other
		if err := s.claimQuotasInOrder(tx, meetingsOf(cs)); err != nil {
			return nil, err
		}
	}
	return s.saveNotices(tx, cs)
}

// vacate deletes occupancies that meetings no longer have, so that others of the same change may
// take the rooms.
func (s *Store) vacate(tx *gorm.DB, cs []change) error {
	return removeOf[occupancyRow](tx, "meeting_id", idsOf(cs, func(c change) bool { return takes(c.before) && !sameTaken(c.before, c.m) }))
}

func takes(m *meeting.Meeting) bool { return len(m.Occupied)+len(heldBy(m)) > 0 }

// allowed rejects what exceeds quotas, or requests what others hold.
func (s *Store) allowed(tx *gorm.DB, cs []change) error {
	ms := meetingsOf(cs)
	if err := s.claimQuotas(tx, ms...); err != nil {
		return err
	}
	for _, m := range ms {
		if err := s.refuseTaken(tx, m); err != nil {
			return err
		}
	}
	return nil
}

func meetingsOf(cs []change) []*meeting.Meeting {
	ms := make([]*meeting.Meeting, len(cs))
	for i, c := range cs {
		ms[i] = c.m
	}
	return ms
}

func (s *Store) saveMeetings(tx *gorm.DB, cs []change) error {
	byID := make(map[meeting.ID]*meeting.Meeting, len(cs))
	for _, c := range cs {
		byID[c.m.ID] = c.m
	}
	if err := s.saveRows(tx, cs); err != nil {
		return err
	}
	if err := s.saveRooms(tx, cs); err != nil {
		return err
	}
	if err := s.saveAttendees(tx, cs); err != nil {
		return err
	}
	if err := s.saveReminders(tx, cs); err != nil {
		return err
	}
	if err := s.saveHistory(tx, cs); err != nil {
		return err
	}
	var saved []meetingRow
	if err := s.among(tx, "id", idsOf(cs, nil)).Select("id", "version", "schedule_version").Find(&saved).Error; err != nil {
		return err
	}
	for _, r := range saved {
		byID[r.ID].Version, byID[r.ID].ScheduleVersion = r.Version, r.ScheduleVersion
	}
	return nil
}

// saveRows writes the columns that differ in some of the meetings, and raises the versions. Many
// meetings are one statement: a statement for each takes two to five times as long.
func (s *Store) saveRows(tx *gorm.DB, cs []change) error {
	model := &gorm.Statement{DB: tx}
	if err := model.Parse(&meetingRow{}); err != nil {
		return err
	}
	before, after := make([]reflect.Value, len(cs)), make([]reflect.Value, len(cs))
	rows := make([]row, len(cs))
	for i, c := range cs {
		before[i], after[i] = reflect.ValueOf(newMeetingRow(c.before)), reflect.ValueOf(newMeetingRow(c.m))
		rows[i] = row{"id": c.m.ID}
	}
	set, from := "version = m.version + 1", "value->>'id' AS id"
	values := map[string]any{"version": gorm.Expr("version + 1")} // of a single meeting
	for _, f := range model.Schema.Fields {
		value := func(r reflect.Value) any { v, _ := f.ValueOf(tx.Statement.Context, r); return v }
		differs := false
		for i, c := range cs {
			differs = differs || c.left && f.DBName == "original_start" || !reflect.DeepEqual(value(before[i]), value(after[i]))
		}
		if !differs {
			continue
		}
		for i := range cs {
			values[f.DBName] = value(after[i])
			rows[i][f.DBName] = s.dialect.inJSON(values[f.DBName])
		}
		set += ", " + f.DBName + " = x." + f.DBName
		from += ", value->>'" + f.DBName + "' AS " + f.DBName
	}
	if len(cs) == 1 {
		return tx.Model(&meetingRow{}).Where("id = ?", cs[0].m.ID).UpdateColumns(values).Error
	}
	if s.dialect == postgres {
		return tx.Exec("UPDATE meetings AS m SET "+set+" FROM jsonb_populate_recordset(NULL::meetings, ?::jsonb) AS x "+
			"WHERE m.id = x.id AND m.id = ANY (CAST(? AS bigint[]))", table(rows), s.list(idsOf(cs, nil))).Error
	}
	return tx.Exec("UPDATE meetings AS m SET "+set+" FROM (SELECT "+from+" FROM json_each(?)) AS x WHERE m.id = x.id", table(rows)).Error
}

// inJSON is a value of a column in a [row].
func (d dialect) inJSON(v any) any {
	switch v := v.(type) {
	case time.Time:
		return d.instant(v)
	case *time.Time:
		return d.optional(orZero(v))
	}
	return v
}

// idsOf returns the IDs of meetings for which something holds; nil: all.
func idsOf(cs []change, holds func(change) bool) []int64 {
	var ids []int64
	for _, c := range cs {
		if holds == nil || holds(c) {
			ids = append(ids, c.m.ID)
		}
	}
	return ids
}

// rowsOf returns the rows of meetings for which something holds.
func rowsOf[Row any](cs []change, holds func(change) bool, rows func(*meeting.Meeting) []Row) []Row {
	var all []Row
	for _, c := range cs {
		if holds(c) {
			all = append(all, rows(c.m)...)
		}
	}
	return all
}

// removeOf deletes the rows of a model that refer to these IDs.
func removeOf[Row any](tx *gorm.DB, column string, ids []int64) error {
	for part := range slices.Chunk(ids, 500) {
		if err := tx.Where(column+" IN ?", part).Delete(new(Row)).Error; err != nil {
			return err
		}
	}
	return nil
}

// insertRows runs a statement for rows, unless there are none.
func (s *Store) insertRows(tx *gorm.DB, q statement, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := s.exec(tx, q, table(rows))
	return err
}

// occupy inserts occupancies; errTaken if any is refused.
func occupy(tx *gorm.DB, rows []occupancyRow) error {
	if len(rows) == 0 {
		return nil
	}
	if tx.Name() == "postgres" {
		tx = tx.Clauses(clause.OnConflict{OnConstraint: noOverlap, DoNothing: true})
	}
	res := tx.CreateInBatches(byRoom(rows), 500)
	if res.Error == nil && res.RowsAffected < int64(len(rows)) {
		return errTaken
	}
	return res.Error
}

func (s *Store) saveRooms(tx *gorm.DB, cs []change) error {
	moved := func(c change) bool { return !slices.Equal(c.before.RoomIDs, c.m.RoomIDs) }
	if err := removeOf[meetingRoomRow](tx, "meeting_id", idsOf(cs, moved)); err != nil {
		return err
	}
	if err := insert(tx, rowsOf(cs, moved, roomRows)); err != nil {
		return err
	}
	if err := occupy(tx, rowsOf(cs, func(c change) bool { return !sameTaken(c.before, c.m) }, takenRows)); err != nil {
		return err
	}
	return s.insertRows(tx, setLapses, rowsOf(cs, func(c change) bool {
		return takes(c.before) && sameTaken(c.before, c.m) && !slices.EqualFunc(lapses(c.before), lapses(c.m), time.Time.Equal)
	}, s.dialect.lapseRows))
}

// lapses returns when the meeting's occupancies and those of its change lapse; zero: never, or
// none.
func lapses(m *meeting.Meeting) []time.Time {
	var own, held time.Time
	if len(m.Occupied) > 0 {
		own = m.Lapses()
	}
	if len(heldBy(m)) > 0 {
		held = m.ChangeLapses()
	}
	return []time.Time{own, held}
}

func (d dialect) lapseRows(m *meeting.Meeting) []row {
	at := lapses(m)
	return []row{{"meeting_id": m.ID, "held": false, "lapses_at": d.optional(at[0])}, {"meeting_id": m.ID, "held": true, "lapses_at": d.optional(at[1])}}
}

// checkAll checks the rooms of many meetings, each room once.
func (s *Store) checkAll(tx *gorm.DB, cs []change) error {
	rooms := map[int64]*int64{}
	for _, c := range cs {
		for id, validated := range roomsToCheck(c.before, c.m) {
			known := rooms[id]
			switch {
			case known == nil:
				rooms[id] = validated
			case validated != nil && *validated != *known:
				return meeting.ErrRoomsChanged // between the check and now
			}
		}
	}
	return s.checkPresent(tx, rooms)
}

func (s *Store) saveAttendees(tx *gorm.DB, cs []change) error {
	differ := func(c change) bool { return !slices.Equal(c.before.Attendees, c.m.Attendees) }
	if err := removeOf[attendeeRow](tx, "meeting_id", idsOf(cs, differ)); err != nil {
		return err
	}
	var ms []*meeting.Meeting
	for _, c := range cs {
		if differ(c) {
			ms = append(ms, c.m)
		}
	}
	return s.invite(tx, ms)
}

// invite writes the attendees of meetings. Identical lists are sent once.
func (s *Store) invite(tx *gorm.DB, ms []*meeting.Meeting) error {
	invited := map[string][]int64{}
	for _, m := range ms {
		if len(m.Attendees) > 0 {
			people := inOneParameter(attendeeRows(m))
			invited[people] = append(invited[people], m.ID)
		}
	}
	for people, ids := range invited {
		if err := statements.Exec(tx, "invite", people, s.ids(ids...)).Error; err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) saveHistory(tx *gorm.DB, cs []change) error {
	var all []historyRow
	for _, c := range cs {
		rows, err := historyRows(tx.Statement.Context, c.m.ID, c.m.TakeHistory())
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	return insert(tx, all)
}

// roomsToCheck returns the rooms to check: those new to a meeting, or all of them if it was
// validated again; those of a requested move; and those that it takes now. For each it returns the
// closures with which the meeting was validated; nil: it was not. before is nil for a new meeting.
func roomsToCheck(before, m *meeting.Meeting) map[int64]*int64 {
	rooms := map[int64]*int64{}
	if before == nil {
		for _, id := range m.RoomIDs {
			rooms[id] = validatedClosures(m, id)
		}
		return rooms
	}
	if !sameTaken(before, m) {
		for _, o := range slices.Concat(m.Occupied, heldBy(m)) {
			rooms[o.RoomID] = nil
		}
	}
	if r := m.Request; r != nil && r.Change != nil && (before.Request == nil || before.Request.Number != r.Number) {
		for _, id := range r.Change.RoomIDs {
			rooms[id] = validatedClosures(m, id)
		}
	}
	moved := !before.Slot.Start.Equal(m.Slot.Start) || !before.Slot.End.Equal(m.Slot.End)
	for _, id := range m.RoomIDs {
		if validated := validatedClosures(m, id); !slices.Contains(before.RoomIDs, id) || moved && validated != nil {
			rooms[id] = validated
		}
	}
	return rooms
}

// sameTaken reports whether both take the same occupancies, including those for a move.
func sameTaken(a, b *meeting.Meeting) bool {
	return slices.EqualFunc(a.Occupied, b.Occupied, sameOccupancy) && slices.EqualFunc(heldBy(a), heldBy(b), sameOccupancy)
}

func sameOccupancy(a, b meeting.Occupancy) bool {
	return a.RoomID == b.RoomID && a.Slot.Start.Equal(b.Slot.Start) && a.Slot.End.Equal(b.Slot.End)
}

// saveReminders lets the database move due times. A reminder that has passed when it becomes
// active, by a new time or a confirmation, is closed without being sent. One that was active and is
// about to be sent stays open.
func (s *Store) saveReminders(tx *gorm.DB, cs []change) error {
	same := func(a, b meeting.Reminder) bool {
		return a.Before == b.Before && a.Offset == b.Offset && slices.Equal(a.Channels, b.Channels)
	}
	differ := func(c change) bool { return !slices.EqualFunc(c.before.Reminders, c.m.Reminders, same) }
	if ids := idsOf(cs, differ); len(ids) > 0 {
		rows := rowsOf(cs, differ, reminderRows)
		if _, err := s.exec(tx, removeReminders, s.ids(ids...), inOneParameter(rows)); err != nil {
			return err
		}
		stays := clause.OnConflict{ // a reminder that stays keeps its state
			Columns:   []clause.Column{{Name: "meeting_id"}, {Name: "before"}, {Name: "offset_seconds"}},
			DoUpdates: clause.AssignmentColumns([]string{"channels"}),
		}
		if err := insert(tx.Clauses(stays), rows); err != nil {
			return err
		}
	}
	var past []row
	for _, c := range cs {
		var start, end meeting.Anchor // anchors that are active again
		confirmed := c.before.Status == meeting.Pending && c.m.Status != meeting.Pending
		if confirmed || !c.before.Slot.Start.Equal(c.m.Slot.Start) {
			start = meeting.BeforeStart
		}
		if confirmed || !c.before.Slot.End.Equal(c.m.Slot.End) {
			end = meeting.BeforeEnd
		}
		if start != "" || end != "" {
			past = append(past, row{"meeting_id": c.m.ID, "at": s.dialect.instant(c.m.UpdatedAt), "of_start": start, "of_end": end})
		}
	}
	return s.insertRows(tx, closePastReminders, past)
}

// saveNotices withdraws reminders and requests that are recorded but not sent, if they are no
// longer accurate. If only the end of an upcoming meeting moved, its reminders stay accurate.
func (s *Store) saveNotices(tx *gorm.DB, cs []change) ([]meeting.Notice, error) {
	untrue := idsOf(cs, func(c change) bool {
		startsAsAnnounced := c.m.Status == c.before.Status && c.before.Slot.Start.Equal(c.m.Slot.Start) &&
			slices.Equal(c.before.RoomIDs, c.m.RoomIDs) && c.before.Slot.Start.After(c.m.UpdatedAt)
		return c.m.ScheduleVersion != c.before.ScheduleVersion && !startsAsAnnounced
	})
	if len(untrue) > 0 {
		if err := s.outbox.Withdraw(tx, untrue, meeting.NoticeReminder); err != nil {
			return nil, err
		}
	}
	decided := idsOf(cs, func(c change) bool { // these requests no longer need a decision
		return c.before.Request != nil && (c.m.Request == nil || c.m.Request.Number != c.before.Request.Number)
	})
	if len(decided) > 0 {
		if err := s.outbox.Withdraw(tx, decided, meeting.NoticeApprovalRequest, meeting.NoticeApprovalReminder, meeting.NoticeEscalation); err != nil {
			return nil, err
		}
	}
	if err := s.raiseSequences(tx, cs); err != nil {
		return nil, err
	}
	var notices []meeting.Notice
	for _, c := range cs {
		notices = append(notices, c.m.TakeNotices()...)
	}
	if len(notices) == 0 {
		return nil, nil
	}
	return notices, s.outbox.Insert(tx, notices)
}

// raiseSequences raises the calendar sequence numbers of changed occurrences. It skips a series
// that was itself saved, because that save has raised its number.
func (s *Store) raiseSequences(tx *gorm.DB, cs []change) error {
	raised := map[int64]int64{}
	for _, c := range cs {
		if c.m.SeriesSequence != 0 || !c.m.RaisesSequence() {
			continue
		}
		id := c.m.SeriesID
		if raised[id] == 0 {
			var sequence int64
			if err := s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&sequence) }, raiseSequence, id); err != nil {
				return err
			}
			raised[id] = sequence
		}
		c.m.SeriesSequence = raised[id]
	}
	return nil
}
