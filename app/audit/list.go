package audit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
)

// ErrCursor is returned for a cursor of another list.
var ErrCursor = errors.New("malformed cursor")

// Query filters entries; a zero field, except Limit, does not filter.
type Query struct {
	ActorKind meeting.ActorKind
	ActorID   int64
	Actions   []string // "room.changed", or "room.*"; one of them
	Subject   string   // kind of subject: "room"
	SubjectID string
	From, To  time.Time // half-open
	Text      string    // in the name of actor or subject, in the reason or the address, ignoring case
	Limit     int       // at least 1
	Cursor    string    // empty: starts
}

// Line is one entry as read.
type Line struct {
	ID        string
	At        time.Time
	Action    string
	Actor     Actor
	Address   string
	Subject   string
	SubjectID string
	Name      string
	Changes   map[string]Change
	Reason    string
}

// The tables that a list is read from, in the order of entries of the same instant.
const (
	ofInstallation = iota
	ofMeetings
)

// The same columns of both tables. A meeting's title is as it is now.
var sources = [...]struct{ from, columns, action string }{
	ofInstallation: {
		from:    "audit e",
		columns: "e.id, e.at, e.action, e.actor_kind, e.actor_id, e.actor_name, e.address, e.subject, e.subject_id, e.subject_name, e.changes, e.reason",
		action:  "e.action",
	},
	ofMeetings: {
		from: "history e JOIN meetings m ON m.id = e.meeting_id",
		columns: "e.id, e.at, 'meeting.' || e.action AS action, e.actor_kind, e.actor_id, e.actor_name, e.address, " +
			"'meeting' AS subject, CAST(e.meeting_id AS text) AS subject_id, m.title AS subject_name, e.changes, e.reason",
		action: "'meeting.' || e.action",
	},
}

type position struct {
	At     int64 // microseconds
	Source int
	ID     int64
}

// maxScanned limits how many entries of each table one page compares: some 50 ms of work.
const maxScanned = 10_000

// List pages through the audit log and the histories of meetings, latest first. An empty next
// cursor ends the list. A page that has compared maxScanned entries ends early, even without a
// match, and next continues the search.
func List(ctx context.Context, db *gorm.DB, q Query) (lines []Line, next string, err error) {
	var after *position
	if q.Cursor != "" {
		if after, err = decode(q.Cursor); err != nil {
			return nil, "", err
		}
	}
	type found struct {
		row
		position
	}
	var all []found
	var end *position // first position at which the scan of a table stopped
	for source := range sources {
		if !q.reaches(source) {
			continue
		}
		rows, scanned, err := q.read(db.WithContext(ctx), source, after)
		if err != nil {
			return nil, "", fmt.Errorf("list what was done: %w", err)
		}
		if scanned != nil && (end == nil || scanned.compare(*end) < 0) {
			end = scanned
		}
		for _, r := range rows {
			all = append(all, found{r, position{r.At.UnixMicro(), source, r.ID}})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return a.position.compare(b.position) })
	if end != nil {
		all = slices.DeleteFunc(all, func(f found) bool { return f.position.compare(*end) > 0 })
		next = encode(*end)
	}
	if len(all) > q.Limit {
		all = all[:q.Limit]
		next = encode(all[q.Limit-1].position)
	}
	for _, f := range all {
		l, err := f.row.line(f.Source)
		if err != nil {
			return nil, "", fmt.Errorf("entry %s: %w", l.ID, err)
		}
		lines = append(lines, l)
	}
	return lines, next, nil
}

func (p position) compare(o position) int {
	switch {
	case p.At != o.At:
		return sign(p.At > o.At)
	case p.Source != o.Source:
		return sign(p.Source < o.Source)
	case p.ID != o.ID:
		return sign(p.ID > o.ID)
	}
	return 0
}

func sign(before bool) int {
	if before {
		return -1
	}
	return 1
}

// reaches reports whether a table may hold matching entries.
func (q *Query) reaches(source int) bool {
	meetings := source == ofMeetings
	if q.Subject != "" && (q.Subject == "meeting") != meetings {
		return false
	}
	return len(q.Actions) == 0 || slices.ContainsFunc(q.Actions, func(a string) bool {
		return strings.HasPrefix(a, "meeting.") == meetings
	})
}

const latestFirst = "e.at DESC, e.id DESC"

// read reads one entry more than the limit, which shows whether there are more. It compares at most
// maxScanned entries; scanned is the last of them if others follow.
func (page *Query) read(tx *gorm.DB, source int, after *position) (rows []row, scanned *position, err error) {
	s := sources[source]
	q := page.within(tx.Table(s.from), source, after).Session(&gorm.Session{})
	all, filtered := page.matching(q, source)
	if filtered {
		if scanned, err = page.scanEnd(tx, source, after); err != nil {
			return nil, nil, err
		}
	}
	if scanned != nil {
		all = all.Where("(e.at, e.id) >= (?, ?)", time.UnixMicro(scanned.At).UTC(), scanned.ID)
	}
	return rows, scanned, all.Select(s.columns).Order(latestFirst).Limit(page.Limit + 1).Find(&rows).Error
}

// scanEnd returns the last entry that a page compares; nil: no limit. An index holds all that the
// statement reads.
func (page *Query) scanEnd(tx *gorm.DB, source int, after *position) (*position, error) {
	table, _, _ := strings.Cut(sources[source].from, " JOIN ")
	var ends []row
	err := page.within(tx.Table(table), source, after).Select("e.id, e.at").Order(latestFirst).Limit(2).Offset(maxScanned - 1).Find(&ends).Error
	if err != nil || len(ends) < 2 {
		return nil, err
	}
	return &position{ends[0].At.UnixMicro(), source, ends[0].ID}, nil
}

// within adds the conditions that select a range of an index.
func (page *Query) within(q *gorm.DB, source int, after *position) *gorm.DB {
	switch {
	case page.SubjectID != "" && source == ofInstallation && page.Subject != "":
		q = q.Where("e.subject = ? AND e.subject_id = ?", page.Subject, page.SubjectID)
	case page.SubjectID != "" && source == ofMeetings:
		q = q.Where("e.meeting_id = ?", meetingID(page.SubjectID))
	case page.ActorID != 0:
		q = q.Where("e.actor_id = ?", page.ActorID)
	}
	if after != nil {
		at := time.UnixMicro(after.At).UTC()
		switch {
		case source == after.Source:
			q = q.Where("(e.at, e.id) < (?, ?)", at, after.ID)
		case source < after.Source:
			q = q.Where("e.at < ?", at)
		default:
			q = q.Where("e.at <= ?", at)
		}
	}
	if !page.From.IsZero() {
		q = q.Where("e.at >= ?", page.From.UTC())
	}
	if !page.To.IsZero() {
		q = q.Where("e.at < ?", page.To.UTC())
	}
	return q
}

// matching adds the other conditions, which are compared with each entry of the range, and reports
// whether there are any.
func (page *Query) matching(q *gorm.DB, source int) (_ *gorm.DB, some bool) {
	where := func(condition string, args ...any) { q, some = q.Where(condition, args...), true }
	s := sources[source]
	if page.ActorKind != "" {
		where("e.actor_kind = ?", page.ActorKind)
	}
	if page.ActorID != 0 && page.SubjectID != "" {
		where("e.actor_id = ?", page.ActorID)
	}
	if source == ofInstallation && (page.Subject == "") != (page.SubjectID == "") {
		where("(e.subject = ? OR e.subject_id = ?)", page.Subject, page.SubjectID)
	}
	if len(page.Actions) > 0 {
		cond, values := anyAction(s.action, page.Actions)
		where(cond, values...)
	}
	if page.Text != "" {
		pattern := containing(page.Text)
		name := "e.subject_name"
		if source == ofMeetings {
			name = "m.title"
		}
		fold := "lower"
		if q.Name() == "sqlite" { // whose lower handles only ASCII
			fold = "fold"
		}
		like := func(column string) string { return fold + "(" + column + ") LIKE " + fold + `(?) ESCAPE '\'` }
		where("("+strings.Join([]string{like("e.actor_name"), like(name), like("e.reason"), like("e.address")}, " OR ")+")", pattern, pattern, pattern, pattern)
	}
	return q, some
}

func anyAction(column string, actions []string) (cond string, values []any) {
	var conds []string
	for _, a := range actions {
		if kind, all := strings.CutSuffix(a, "*"); all {
			conds = append(conds, column+` LIKE ? ESCAPE '\'`)
			values = append(values, escape(kind)+"%")
			continue
		}
		conds = append(conds, column+" = ?")
		values = append(values, a)
	}
	return "(" + strings.Join(conds, " OR ") + ")", values
}

func containing(text string) string { return "%" + escape(text) + "%" }

func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// meetingID returns -1, which no meeting has, for text that is not a number.
func meetingID(s string) int64 {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return id
}

func (r *row) line(source int) (Line, error) {
	l := Line{
		ID: fmt.Sprintf("%c%d", "am"[source], r.ID), At: r.At.UTC(), Action: r.Action,
		Actor: Actor{Kind: meeting.ActorKind(r.ActorKind), Name: r.ActorName}, Address: r.Address,
		Subject: r.Subject, SubjectID: r.SubjectID, Name: r.SubjectName, Reason: r.Reason,
	}
	if r.ActorID != nil {
		l.Actor.ID = *r.ActorID
	}
	if r.Changes == nil || *r.Changes == "" {
		return l, nil
	}
	return l, json.Unmarshal([]byte(*r.Changes), &l.Changes)
}

func encode(p position) string {
	b, _ := json.Marshal(p) // numbers cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func decode(s string) (*position, error) {
	var p position
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if year := time.UnixMicro(p.At).Year(); err != nil || year < 1 || year > 9999 || p.ID <= 0 || p.Source < 0 || p.Source >= len(sources) {
		return nil, ErrCursor
	}
	return &p, nil
}

// Trim deletes up to limit audit entries, not histories, from before an instant, and returns how many. The
// table keeps entries younger than a month in any case.
func Trim(ctx context.Context, db *gorm.DB, before time.Time, limit int) (int64, error) {
	tx := db.WithContext(ctx)
	res := tx.Where("id IN (?)", tx.Model(&row{}).Select("id").Where("at < ?", before.UTC()).Order("at, id").Limit(limit)).Delete(&row{})
	if res.Error != nil {
		return 0, fmt.Errorf("trim what was done: %w", res.Error)
	}
	return res.RowsAffected, nil
}
