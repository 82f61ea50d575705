package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting"
)

var limitRooms = load("limit_rooms")

// limitInForce records who sees a room that was saved, by its access or that of its site. It returns the
// room as it is now.
func (s *Store) limitInForce(tx *gorm.DB, roomID, siteID int64) (*meeting.Room, error) {
	if err := lockSite(tx, siteID); err != nil {
		return nil, err
	}
	found, err := s.readRooms(tx, func(q *gorm.DB) *gorm.DB { return q.Where("rooms.id = ?", roomID) })
	if err != nil || len(found) == 0 {
		return nil, cmp.Or(err, meeting.ErrNotFound)
	}
	l, _ := found[0].Access.Limit(roomID)
	_, err = s.exec(tx, limitRooms, roomID, 0, groupText(l.Viewers), groupText(l.Readers))
	return found[0], err
}

// limitSite records who sees the rooms of a site that have no access of their own.
func (s *Store) limitSite(tx *gorm.DB, siteID int64, a meeting.Access) error {
	l, _ := a.Limit(0)
	_, err := s.exec(tx, limitRooms, 0, siteID, groupText(l.Viewers), groupText(l.Readers))
	return err
}

// lockSite keeps the access of a site from changing until a room that joins it is saved.
func lockSite(tx *gorm.DB, siteID int64) error {
	if siteID == 0 {
		return nil
	}
	var id []int64
	return tx.Model(&siteRow{}).Clauses(clause.Locking{Strength: "SHARE"}).Where("id = ?", siteID).Pluck("id", &id).Error
}

// groupText is how room_limits stores groups.
func groupText(ids []int64) string {
	if len(ids) == 0 {
		return ""
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return "," + strings.Join(texts, ",") + ","
}

func readGroups(text string) (ids []int64) {
	for part := range strings.SplitSeq(strings.Trim(text, ","), ",") {
		if id, err := strconv.ParseInt(part, 10, 64); err == nil { // an empty text has none
			ids = append(ids, id)
		}
	}
	return ids
}

var getLimits = write("SELECT room_id, viewers, readers FROM room_limits WHERE (viewers <> '' OR readers <> '') AND room_id " + amongIDs)

// limits returns the limits of rooms. Rooms that hide nothing have none.
func (s *Store) limits(tx *gorm.DB, rooms []int64) (map[int64]meeting.Limit, error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	slices.Sort(rooms)
	found := map[int64]meeting.Limit{}
	err := s.query(tx, func(rows *sql.Rows) error {
		var l meeting.Limit
		var viewers, readers string
		err := rows.Scan(&l.RoomID, &viewers, &readers)
		l.Viewers, l.Readers = readGroups(viewers), readGroups(readers)
		found[l.RoomID] = l
		return err
	}, getLimits, s.ids(slices.Compact(rooms)...))
	if err != nil {
		return nil, fmt.Errorf("who sees rooms: %w", err)
	}
	return found, nil
}

// addLimits sets the limits of meetings by one query: as a part of theirs it would take longer for each.
func (s *Store) addLimits(tx *gorm.DB, ms []*meeting.Meeting) error {
	var rooms []int64
	for _, m := range ms {
		rooms = append(append(rooms, m.RoomIDs...), changeOf(m)...)
	}
	limits, err := s.limits(tx, rooms)
	if err != nil || len(limits) == 0 {
		return err
	}
	for _, m := range ms {
		for _, id := range slices.Concat(m.RoomIDs, changeOf(m)) {
			if l, ok := limits[id]; ok {
				m.Limits = append(m.Limits, l)
			}
		}
	}
	return nil
}

// changeOf returns the rooms of a requested change.
func changeOf(m *meeting.Meeting) []int64 {
	if m.Request == nil || m.Request.Change == nil {
		return nil
	}
	return m.Request.Change.RoomIDs
}

// limitsVersion rises with each change of who sees rooms.
func (s *Store) limitsVersion(tx *gorm.DB) (version int64, err error) {
	err = tx.Table("room_limits").Select("COALESCE(sum(version), 0)").Row().Scan(&version)
	return version, err
}

// HiddenRooms returns the rooms that the actor may not see.
func (s *Store) HiddenRooms(ctx context.Context, by meeting.Actor) (ids []int64, err error) {
	if seesAll(by) {
		return nil, nil
	}
	var c conditions
	condition := s.hidden(by, &c)
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error { // one text, because thousands of rows take longer
		return rows.Scan((*idList)(&ids))
	}, write("SELECT {list l.room_id} FROM room_limits AS l WHERE "+condition+" HAVING count(*) > 0"), c.args...)
	if err != nil {
		return nil, fmt.Errorf("rooms that a user does not see: %w", err)
	}
	return ids, nil
}

// seesAll reports whether no room is hidden from the actor.
func seesAll(by meeting.Actor) bool {
	return by.Delegate == nil && (by.Kind == meeting.ActorSystem || by.Kind == meeting.ActorUser && by.Role == meeting.Admin || by.Everywhere)
}

// binder collects parameters of a condition, and returns their names.
type binder interface{ param(v any) string }

// gormArgs are the parameters of a condition for gorm.
type gormArgs []any

func (a *gormArgs) param(v any) string {
	*a = append(*a, v)
	return "?"
}

// visibleRoom is the condition on the column of a room that the actor may see it: [meeting.Actor.MaySeeRoom]
// in SQL.
func (s *Store) visibleRoom(by meeting.Actor, b binder, room string) string {
	return "NOT EXISTS (SELECT 1 FROM room_limits AS l WHERE l.room_id = " + room + " AND " + s.hidden(by, b) + ")"
}

// hidden is the condition on a row l of room_limits that its room is hidden from the actor.
func (s *Store) hidden(by meeting.Actor, b binder) string {
	return "l.viewers <> '' AND NOT (" + s.member(by, b, "l.viewers") + s.orApproves(by, b, "l.room_id") + ")"
}

// unread is the condition on a row l of room_limits that the actor may not see what meetings of its room are
// about, unless they take part.
func (s *Store) unread(by meeting.Actor, b binder) string {
	readers := "false"
	if !by.Blind {
		readers = s.member(by, b, "l.readers")
	}
	return "(l.readers <> '' AND NOT (" + readers + ") OR l.viewers <> '' AND NOT (" + s.member(by, b, "l.viewers") + "))"
}

// manyGroups is how many groups SQLite compares one by one, which is faster.
const manyGroups = 100

// member is the condition that a text of groups has one of the actor's.
func (s *Store) member(by meeting.Actor, b binder, text string) string {
	switch {
	case by.IsAdmin():
		return "true"
	case by.Groups == nil || len(*by.Groups) == 0:
		return "false"
	case s.dialect == postgres: // one statement for any number of groups
		patterns := strings.ReplaceAll(strings.Trim(groupText(*by.Groups), ","), ",", `,%","%,`)
		return text + " LIKE ANY (CAST(" + b.param(`{"%,`+patterns+`,%"}`) + " AS text[]))"
	case len(*by.Groups) > manyGroups:
		return "EXISTS (SELECT 1 FROM json_each(" + b.param(textOf(*by.Groups)) + ") AS g WHERE instr(" + text + ", ',' || g.value || ',') > 0)"
	}
	each := make([]string, len(*by.Groups))
	for i, id := range *by.Groups {
		each[i] = "instr(" + text + ", '," + strconv.FormatInt(id, 10) + ",') > 0"
	}
	return "(" + strings.Join(each, " OR ") + ")"
}

// orApproves is an alternative: the actor, or a user whom they represent, approves for a room, at any level. If a
// delegate acts, they must do so too.
func (s *Store) orApproves(by meeting.Actor, b binder, room string) string {
	if by.Role != meeting.Manager || by.Delegate != nil && by.Delegate.Role != meeting.Manager {
		return ""
	}
	condition := s.approves(by, b, room)
	if by.Delegate != nil {
		condition = "(" + condition + " AND " + s.approves(*by.Delegate, b, room) + ")"
	}
	return " OR " + condition
}

func (s *Store) approves(by meeting.Actor, b binder, room string) string {
	users := "IN (SELECT value FROM json_each(%s))"
	if s.dialect == postgres {
		users = "= ANY (CAST(%s AS bigint[]))"
	}
	return "EXISTS (SELECT 1 FROM room_approvers AS ra WHERE ra.room_id = " + room + " AND ra.user_id " +
		fmt.Sprintf(users, b.param(s.list(by.DecidesAs()))) + ")"
}

// whereVisible selects rows of rooms that the viewer may see, by the column of the room. Nobody, and rows
// without a room, pass.
func (s *Store) whereVisible(db *gorm.DB, by *meeting.Actor, room string) *gorm.DB {
	if by == nil || seesAll(*by) {
		return db
	}
	var args gormArgs
	condition := s.visibleRoom(*by, &args, room)
	return db.Where(condition, args...)
}

// takesPart is the condition that the viewer sees everything of the meeting m; its request is q.
func (s *Store) takesPart(v meeting.Actor, c *conditions, at time.Time) string {
	sees := []string{
		standsFor("m.organizer_id", v, c),
		"EXISTS (SELECT 1 FROM attendees a WHERE a.meeting_id = m.id AND (" + standsFor("a.user_id", v, c) + " OR a.email <> '' AND lower(a.email) = lower(" + c.param(v.Email) + ")))",
	}
	if v.Role == meeting.Manager {
		var names []string
		for _, id := range v.DecidesAs() {
			names = append(names, c.param(id))
		}
		approved := "SELECT ra.room_id FROM room_approvers ra JOIN rooms r ON r.id = ra.room_id AND r.deleted_at IS NULL WHERE ra.user_id IN (" + strings.Join(names, ", ") + ")"
		sees = append(sees,
			"EXISTS (SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND mr.room_id IN ("+approved+"))",
			waits(c.param(micro(at)))+" AND EXISTS ("+approved+" AND ra.room_id IN ("+changeRooms+"))")
	}
	return "(" + strings.Join(sees, " OR ") + ")"
}

// standsFor is the condition on a user of the meeting m that it is the viewer, or somebody whose delegate there
// the viewer is.
func standsFor(user string, v meeting.Actor, c *conditions) string {
	private, others := []string{c.param(v.ID)}, []string{}
	for _, p := range v.Delegations() {
		if p.Private {
			private = append(private, c.param(p.UserID))
		} else {
			others = append(others, c.param(p.UserID))
		}
	}
	condition := user + " IN (" + strings.Join(private, ", ") + ")"
	if len(others) > 0 {
		condition = "(" + condition + " OR m.visibility <> 'private' AND " + user + " IN (" + strings.Join(others, ", ") + "))"
	}
	return condition
}

// visible selects meetings whose title the viewer may see at an instant: [meeting.Actor.MaySee] in SQL.
func (s *Store) visible(c *conditions, v meeting.Actor, at time.Time) {
	if v.Kind != meeting.ActorUser || v.Role == meeting.Admin && !v.Blind {
		return
	}
	open := "m.visibility <> 'private' AND (" + noLimits + " OR NOT EXISTS (SELECT 1 FROM meeting_rooms mr JOIN room_limits AS l ON l.room_id = mr.room_id WHERE mr.meeting_id = m.id AND " + s.unread(v, c) + byMeeting + "))"
	if v.Blind {
		c.all = append(c.all, open)
		return
	}
	c.all = append(c.all, "("+open+" OR "+s.takesPart(v, c, at)+")")
}

// byMeeting ends a subquery that is looked up for each meeting. Postgres may prefer to read the rooms of all meetings.
const byMeeting = "{postgres:  OFFSET 0}"

// noLimits holds if everyone sees all rooms. Databases look once for each query.
const noLimits = "NOT EXISTS (SELECT 1 FROM room_limits WHERE viewers <> '' OR readers <> '')"

// known selects meetings that the viewer may know at an instant: [meeting.Actor.MayKnow] in SQL.
func (s *Store) known(c *conditions, v meeting.Actor, at time.Time) {
	s.inVisible(c, v, at, "SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id")
}

// inVisible selects meetings in rooms that are selected from meeting_rooms mr and that the viewer may see. A viewer who takes
// part may see them all. It expects that other conditions select meetings in these rooms: to look that up once more takes longer.
func (s *Store) inVisible(c *conditions, v meeting.Actor, at time.Time, rooms string) {
	condition := noLimits + " OR EXISTS (" + rooms + " AND " + s.visibleRoom(v, c, "mr.room_id") + byMeeting + ")"
	if !v.Blind {
		condition += " OR " + s.takesPart(v, c, at)
	}
	c.all = append(c.all, "("+condition+")")
}
