package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database/receipt"
	"punctual/app/database/transaction"
	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

func (s *Store) CreateMeeting(ctx context.Context, m *meeting.Meeting) error {
	var created meeting.Meeting
	err := s.orConflict(ctx, func() (*meeting.Meeting, error) {
		created = *m // m keeps its own notices for a retry
		return m, s.create(ctx, &created)
	})
	if err != nil {
		return fmt.Errorf("create meeting: %w", err)
	}
	failpoint.Reach("booking.after", "")
	*m = created
	return nil
}

func (s *Store) create(ctx context.Context, m *meeting.Meeting) error {
	quiet := *m                                                       // whose notices are only counted
	fresh := m.Origin == nil || m.Origin.Kind == meeting.OriginImport // else it may replace an origin, see insertOrigin
	if s.dialect == postgres && fresh && !m.Posted() && !receipt.Wanted(ctx) && !transaction.In(ctx) && len(quiet.TakeNotices()) == 0 && len(m.Claims()) == 0 && m.Request == nil && len(m.Approval.Agreed) == 0 {
		history, err := historyRows(ctx, 0, m.TakeHistory())
		if err != nil {
			return err
		}
		// One statement is a transaction of its own.
		return patiently(ctx, func() error { return s.insertMeeting(s.db.WithContext(ctx), m, history, m.Origin) })
	}
	draft := *m
	return s.transaction(ctx, func(tx *gorm.DB) (err error) {
		*m = draft
		m.Notices, err = s.insertAll(tx, m)
		return err
	})
}

// insertAll writes meetings with all their parts, and returns the notices.
func (s *Store) insertAll(tx *gorm.DB, ms ...*meeting.Meeting) ([]meeting.Notice, error) {
	cs := make([]change, len(ms))
	for i, m := range ms {
		cs[i].m = m
		if m.Posted() {
			if err := s.post(tx, cs[i:i+1], nil, m.Undoable); err != nil {
				return nil, err
			}
		}
		history, err := historyRows(tx.Statement.Context, 0, m.TakeHistory())
		if err != nil {
			return nil, err
		}
		if err := s.insertMeeting(tx, m, history, nil); err != nil {
			return nil, err
		}
		if err := s.insertOrigin(tx, m.Origin, m.ID, 0); err != nil {
			return nil, err
		}
	}
	if err := s.saveApprovals(tx, cs); err != nil {
		return nil, err
	}
	failpoint.Reach("booking.middle", "")
	var notices []meeting.Notice
	for _, m := range ms {
		notices = append(notices, m.TakeNotices()...)
	}
	if len(notices) > 0 {
		if err := s.outbox.Insert(tx, notices); err != nil {
			return nil, err
		}
	}
	failpoint.Reach("booking.before", "")
	return notices, nil
}

// insertMeeting sets m's ID and versions. With claims it must run in a transaction. origin, for Postgres
// alone, is noted in the same statement; nil: the caller notes it, if there is one.
func (s *Store) insertMeeting(tx *gorm.DB, m *meeting.Meeting, history []historyRow, origin *meeting.Origin) (err error) {
	if err := s.claimQuotas(tx, m); err != nil {
		return err
	}
	if err := s.refuseTaken(tx, m); err != nil {
		return err
	}
	if s.dialect == sqlite {
		m.ID, err = s.insertInSteps(tx, m, history)
	} else {
		m.ID, err = s.insertAtOnce(tx, m, history, origin)
	}
	if err != nil {
		return err
	}
	receipt.Created(tx, "meeting", strconv.FormatInt(int64(m.ID), 10))
	m.Version, m.ScheduleVersion = 1, 1
	return nil
}

// insertAtOnce writes a meeting in one statement, see sql/create.postgres.sql.
func (s *Store) insertAtOnce(tx *gorm.DB, m *meeting.Meeting, history []historyRow, origin *meeting.Origin) (id meeting.ID, err error) {
	var token int64
	var roles []string
	var groups []int64
	actsFor := "[]"
	if s.guard != nil {
		token, roles, groups, actsFor = s.guard.Credential(tx.Statement.Context)
	}
	args := append(newMeetingRow(m).values(), inOneParameter(roomRows(m)), inOneParameter(takenRows(m)), inOneParameter(attendeeRows(m)),
		inOneParameter(reminderRows(m)), inOneParameter(history), token, strings.Join(roles, ","), table(originRows(origin)), textOf(append([]int64{}, groups...)), actsFor)
	if err = statements.Raw(tx, "create", args...).Find(&id).Error; err != nil || id != 0 {
		return id, originTaken(err)
	}
	if err = s.check(tx); err == nil {
		err = cmp.Or(s.checkPresent(tx, roomsToCheck(nil, m)), error(meeting.ErrRoomsChanged))
	}
	return 0, err
}

// insertInSteps is for SQLite, which has no inserts inside of queries.
func (s *Store) insertInSteps(tx *gorm.DB, m *meeting.Meeting, history []historyRow) (meeting.ID, error) {
	if err := s.checkPresent(tx, roomsToCheck(nil, m)); err != nil {
		return 0, err
	}
	r := newMeetingRow(m)
	r.ID = 0
	if err := tx.Create(r).Error; err != nil {
		return 0, err
	}
	saved := *m
	saved.ID = r.ID
	for i := range history {
		history[i].MeetingID = r.ID
	}
	return r.ID, s.insertParts(tx, []*meeting.Meeting{&saved}, history)
}

// errNoRoom: a room was deleted after the service checked it.
var errNoRoom = &meeting.InvalidError{Faults: []meeting.Fault{
	{Location: "room_ids", Code: "unknown_room", Message: "must not contain a deleted room"},
}}

// checkPresent excludes [Store.DeleteRoom] and new blackouts until the end of the transaction. It
// returns errNoRoom if a room was deleted, and [meeting.ErrRoomsChanged] if its blackouts changed
// since a meeting was validated.
func (s *Store) checkPresent(tx *gorm.DB, rooms map[int64]*int64) error {
	if len(rooms) == 0 {
		return nil
	}
	var found []roomRow
	err := tx.Clauses(clause.Locking{Strength: "KEY SHARE"}).Select("id", "closures").
		Where("id IN ? AND deleted_at IS NULL", slices.Sorted(maps.Keys(rooms))).Order("id").Find(&found).Error
	if err != nil {
		return err
	}
	if len(found) < len(rooms) {
		return errNoRoom
	}
	for _, r := range found {
		if validated := rooms[r.ID]; validated != nil && *validated != r.Closures {
			return meeting.ErrRoomsChanged
		}
	}
	return nil
}
