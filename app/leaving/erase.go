package leaving

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/account"
	"punctual/account/fault"
	accountstore "punctual/account/gormstore"
	"punctual/app/audit"
	"punctual/delayjob"
	"punctual/delayjob/pause"
	"punctual/meeting"
)

// JobErase erases persons. Its key is the erasure.
const JobErase = "user.erase"

// Erasure replaces what identifies a person by neutral texts, wherever it is stored.
type Erasure struct {
	ID        int64
	UserID    int64 // 0: a guest
	Changed   int64 // rows so far
	ByName    string
	CreatedAt time.Time
	Finished  time.Time // zero: not yet

	version int64
	terms   terms
	done    string // the last table that is done; the order is that of [tables]
}

type erasureRow struct {
	ID         int64
	UserID     *int64
	Terms      string
	Done       string
	Changed    int64
	ByName     string
	Version    int64
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	FinishedAt *time.Time
}

func (erasureRow) TableName() string { return "erasures" }

func (r *erasureRow) erasure() (*Erasure, error) {
	e := &Erasure{ID: r.ID, Changed: r.Changed, ByName: r.ByName, CreatedAt: r.CreatedAt.UTC(), version: r.Version, done: r.Done}
	if r.UserID != nil {
		e.UserID = *r.UserID
	}
	if r.FinishedAt != nil {
		e.Finished = r.FinishedAt.UTC()
	}
	if r.Terms == "" {
		return e, nil
	}
	if err := json.Unmarshal([]byte(r.Terms), &e.terms); err != nil {
		return nil, fmt.Errorf("erasure %d: %w", r.ID, err)
	}
	return e, nil
}

func (e *Erasure) message() delayjob.Message {
	return delayjob.Message{Job: JobErase, Key: strconv.FormatInt(e.ID, 10), Version: e.version, Due: e.CreatedAt}
}

// Erase records that a user is to be erased who has left. It returns a [*meeting.StateError] for others.
func (s *Service) Erase(ctx context.Context, by Admin, userID int64) (*Erasure, error) {
	u, err := s.accounts.User(ctx, userID)
	if err != nil {
		return nil, err
	}
	d, err := s.store.Departure(ctx, userID, s.instant())
	switch {
	case errors.Is(err, account.ErrNotFound), err == nil && u.Active():
		return nil, &meeting.StateError{State: "active", Action: "erase"}
	case err != nil:
		return nil, err
	case d.Finished.IsZero():
		return nil, running("erase")
	}
	return s.begin(ctx, by, terms{ID: userID, Addresses: []string{u.Email}, Names: []string{u.Name}, Phones: []string{u.Phone}})
}

// EraseGuest records that a person without an account is to be erased. It returns an
// [*fault.InvalidError] if a user has the address.
func (s *Service) EraseGuest(ctx context.Context, by Admin, email string) (*Erasure, error) {
	var found fault.List
	email = fault.FoldEmail(found.Email("body.email", email))
	if err := found.Err(); err != nil {
		return nil, err
	}
	switch _, err := s.accounts.UserByEmail(ctx, email); {
	case err == nil:
		return nil, fault.Invalid("body.email", "taken", "must not be the address of a user: erase the user instead")
	case !errors.Is(err, account.ErrNotFound):
		return nil, err
	}
	return s.begin(ctx, by, terms{Addresses: []string{email}})
}

func (s *Service) begin(ctx context.Context, by Admin, t terms) (*Erasure, error) {
	e, err := s.store.BeginErasure(ctx, by, t, s.instant())
	if err != nil {
		return nil, fmt.Errorf("erase: %w", err)
	}
	if e.Finished.IsZero() {
		s.scheduler.Schedule(ctx, e.message())
	}
	return e, nil
}

// Erasures returns erasures, the latest first, before an ID; 0: from the first.
func (s *Service) Erasures(ctx context.Context, before int64, n int) ([]*Erasure, error) {
	return s.store.Erasures(ctx, before, n)
}

// eraseTables erases table after table. Each row is read once; after an interruption those of one table
// are read again.
func (s *Store) eraseTables(ctx context.Context, e *Erasure, at time.Time) error {
	all, err := tables(ctx, s.db)
	if err != nil {
		return err
	}
	for _, a := range e.terms.Addresses { // pending notifications are dropped
		if err := s.db.WithContext(ctx).Table("notifications").Where("state = 'pending' AND lower(address) = ?", strings.ToLower(a)).
			Updates(map[string]any{"state": "cancelled", "updated_at": at}).Error; err != nil {
			return err
		}
	}
	if err := s.eraseBounces(ctx, e); err != nil {
		return err
	}
	next := 0
	if e.done != "" {
		next = slices.IndexFunc(all, func(t *table) bool { return t.Name == e.done }) + 1
	}
	for _, t := range all[next:] {
		if err := s.eraseTable(ctx, t, e); err != nil {
			return fmt.Errorf("erase from %s: %w", t.Name, err)
		}
		if err := s.db.WithContext(ctx).Model(&erasureRow{}).Where("id = ?", e.ID).Updates(map[string]any{"done": t.Name, "changed": e.Changed}).Error; err != nil {
			return err
		}
	}
	if err := s.eraseBounces(ctx, e); err != nil { // a mail that was being sent may have bounced meanwhile
		return err
	}
	return s.finishErasure(ctx, e, at)
}

func (s *Store) eraseBounces(ctx context.Context, e *Erasure) error {
	for _, a := range e.terms.Addresses {
		if err := s.db.WithContext(ctx).Exec("DELETE FROM email_bounces WHERE address = ?", strings.ToLower(a)).Error; err != nil {
			return err
		}
	}
	return nil
}

// rowsAtOnce is how many rows of a table are looked at in one part.
const rowsAtOnce = 1000

func (s *Store) eraseTable(ctx context.Context, t *table, e *Erasure) error {
	for _, owner := range t.Owners {
		if e.UserID == 0 {
			break
		}
		res := s.db.WithContext(ctx).Exec("DELETE FROM "+t.Name+" WHERE "+owner+" = ?", e.UserID)
		if res.Error != nil {
			return res.Error
		}
		e.Changed += res.RowsAffected
	}
	if len(t.Key) == 0 || len(t.Texts) == 0 {
		return nil
	}
	db := s.db.WithContext(ctx)
	steps := pause.Begin()
	for after := []any(nil); ; {
		last, err := t.keyAfter(db, after)
		if err != nil {
			return err
		}
		found, err := t.find(db, after, last, &e.terms) // before it locks: most parts have no such row
		if err != nil {
			return err
		}
		if len(found) > 0 {
			var changed int64
			err := db.Transaction(func(tx *gorm.DB) (err error) {
				changed, err = t.eraseRows(tx, after, last, &e.terms)
				return err
			})
			if err != nil {
				return err
			}
			e.Changed += changed
			if err := steps.Next(ctx); err != nil {
				return err
			}
		}
		if last == nil {
			return nil
		}
		after = last
	}
}

// keyAfter is the key of the last row that the next part looks at; nil: of all that are left.
func (t *table) keyAfter(tx *gorm.DB, after []any) ([]any, error) {
	where, args := t.span(after, nil)
	keys, err := read(tx, "SELECT "+strings.Join(t.Key, ", ")+" FROM "+t.Name+where+" ORDER BY "+strings.Join(t.Key, ", ")+" LIMIT 1 OFFSET "+strconv.Itoa(rowsAtOnce-1), args)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0], nil
}

// span is the condition of rows after one key and up to another.
func (t *table) span(after, last []any) (where string, args []any) {
	key := "(" + strings.Join(t.Key, ", ") + ")"
	marks := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.Key)), ", ") + ")"
	where = " WHERE 1 = 1"
	if after != nil {
		where, args = where+" AND "+key+" > "+marks, append(args, after...)
	}
	if last != nil {
		where, args = where+" AND "+key+" <= "+marks, append(args, last...)
	}
	return where, args
}

// ofPerson is the condition of rows that name the user.
func (t *table) ofPerson(id int64) (conditions []string, args []any) {
	if id == 0 {
		return nil, nil
	}
	for _, c := range t.Users {
		conditions, args = append(conditions, c+" = ?"), append(args, id)
	}
	switch t.Name {
	case "users":
		conditions, args = append(conditions, "id = ?"), append(args, id)
	case "audit":
		conditions, args = append(conditions, "(subject = 'user' AND subject_id = ?)"), append(args, strconv.FormatInt(id, 10))
	}
	return conditions, args
}

// folded are columns with iCalendar, whose lines may be broken within an address.
var folded = []string{"ics", "facts"}

func unfold(text string) string {
	return strings.NewReplacer("\r\n ", "", `\r\n `, "").Replace(text)
}

func (t *table) text(tx *gorm.DB, column string) string {
	text := "CAST(" + column + " AS text)"
	if slices.Contains(folded, column) {
		crlf := "char(13, 10, 32)"
		if tx.Name() == "postgres" {
			crlf = `chr(13) || chr(10) || ' '`
		}
		text = "replace(replace(" + text + ", " + crlf + `, ''), '\r\n ', '')`
	}
	return text
}

// mentioning is the condition of rows that may identify the person.
func (t *table) mentioning(tx *gorm.DB, of *terms) (string, []any) {
	conditions, args := t.ofPerson(of.ID)
	find, lower := "instr(%s, ?) > 0", "fold"
	if tx.Name() == "postgres" {
		find, lower = "strpos(%s, ?) > 0", "lower"
	}
	for _, c := range t.Texts {
		text := t.text(tx, c)
		for _, a := range of.Addresses {
			conditions, args = append(conditions, fmt.Sprintf(find, lower+"("+text+")")), append(args, strings.ToLower(a))
		}
		for _, w := range of.searched() {
			conditions, args = append(conditions, fmt.Sprintf(find, text)), append(args, w)
		}
	}
	if t.Name == "inbox" {
		for _, a := range of.Addresses {
			if tx.Name() == "postgres" {
				conditions, args = append(conditions, "position(decode(?, 'hex') IN raw) > 0"), append(args, hex.EncodeToString([]byte(a)))
			} else {
				conditions, args = append(conditions, "instr(raw, ?) > 0"), append(args, []byte(a))
			}
		}
	}
	return "(" + strings.Join(conditions, " OR ") + ")", args
}

// find returns the rows of a span that may identify the person: whether one names them, its key and its texts.
func (t *table) find(tx *gorm.DB, after, last []any, of *terms) ([][]any, error) {
	where, args := t.span(after, last)
	mentioning, more := t.mentioning(tx, of)
	named := "0"
	conditions, ids := t.ofPerson(of.ID)
	if len(conditions) > 0 {
		named = "CASE WHEN " + strings.Join(conditions, " OR ") + " THEN 1 ELSE 0 END"
	}
	texts := make([]string, len(t.Texts))
	for i, c := range t.Texts {
		texts[i] = "CAST(" + c + " AS text)"
	}
	return read(tx, "SELECT "+named+", "+strings.Join(append(slices.Clone(t.Key), texts...), ", ")+" FROM "+t.Name+where+" AND "+mentioning,
		slices.Concat(ids, args, more))
}

func (t *table) eraseRows(tx *gorm.DB, after, last []any, of *terms) (changed int64, err error) {
	rows, err := t.find(tx, after, last, of)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		n, err := t.eraseRow(tx, row[1:1+len(t.Key)], row[1+len(t.Key):], fmt.Sprint(row[0]) == "1", of)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

func (t *table) eraseRow(tx *gorm.DB, key, texts []any, named bool, of *terms) (int64, error) {
	was := make([]string, len(texts))
	for i, v := range texts {
		text, ok := v.(string)
		if was[i] = text; !ok {
			continue
		}
		if slices.Contains(folded, t.Texts[i]) && of.mentions(unfold(text)) {
			was[i] = unfold(text)
		}
		named = named || of.mentions(text)
	}
	var sets []string
	var args []any
	for i, c := range t.Texts {
		if texts[i] == nil {
			continue
		}
		if is := of.erase(was[i], named); is != texts[i] {
			mark := "?"
			if t.JSON[c] {
				mark = "CAST(? AS jsonb)"
			}
			sets, args = append(sets, c+" = "+mark), append(args, is)
		}
	}
	if t.Name == "inbox" {
		sets, args = append(sets, "raw = ?"), append(args, []byte{})
	}
	if len(sets) == 0 {
		return 0, nil
	}
	var where []string
	for _, k := range t.Key {
		where = append(where, k+" = ?")
	}
	res := tx.Exec("UPDATE "+t.Name+" SET "+strings.Join(sets, ", ")+" WHERE "+strings.Join(where, " AND "), append(args, key...)...)
	return res.RowsAffected, res.Error
}

// read returns all rows of a query.
func read(tx *gorm.DB, query string, args []any) (all [][]any, err error) {
	rows, err := tx.Raw(query, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// BeginErasure records an erasure, or returns that of the same user.
func (s *Store) BeginErasure(ctx context.Context, by Admin, t terms, at time.Time) (e *Erasure, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := accountstore.Recheck(tx); err != nil {
			return err
		}
		if t.ID != 0 {
			var known []erasureRow
			if err := tx.Where("user_id = ?", t.ID).Find(&known).Error; err != nil {
				return err
			}
			if len(known) > 0 {
				e, err = known[0].erasure()
				return err
			}
		}
		r := erasureRow{ByName: by.Name, Version: at.UnixMicro(), CreatedAt: at}
		if t.ID != 0 {
			r.UserID = &t.ID
		}
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		t.Erasure = r.ID
		if err := t.complete(tx); err != nil {
			return err
		}
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		r.Terms = string(text)
		if err := tx.Model(&r).Update("terms", r.Terms).Error; err != nil {
			return err
		}
		if e, err = r.erasure(); err != nil {
			return err
		}
		entry := audit.Entry{Action: "user.erased", Name: erasedName, Changes: map[string]audit.Change{"erasure": {To: r.ID}}}
		if t.ID != 0 {
			entry.ID = strconv.FormatInt(t.ID, 10)
		}
		return audit.Add(tx, entry)
	})
	return e, err
}

// complete adds former names, addresses and numbers, and which names are searched for.
func (t *terms) complete(tx *gorm.DB) error {
	var changes []string
	if t.ID != 0 {
		if err := tx.Table("audit").Where("subject = 'user' AND subject_id = ? AND changes IS NOT NULL", strconv.FormatInt(t.ID, 10)).
			Order("at").Limit(1000).Pluck("CAST(changes AS text)", &changes).Error; err != nil {
			return err
		}
	}
	for _, text := range changes {
		var c map[string]struct{ From, To any }
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			continue // an entry of an earlier version
		}
		for field, to := range map[string]*[]string{"email": &t.Addresses, "name": &t.Names, "phone": &t.Phones} {
			for _, v := range []any{c[field].From, c[field].To} {
				if s, ok := v.(string); ok {
					*to = append(*to, s)
				}
			}
		}
	}
	var attended []struct{ Name, Phone string }
	if err := tx.Table("attendees").Distinct("name", "phone").Where("lower(email) = ?", t.Addresses[0]).Limit(100).Find(&attended).Error; err != nil {
		return err
	}
	for _, a := range attended {
		t.Names, t.Phones = append(t.Names, a.Name), append(t.Phones, a.Phone)
	}
	t.Addresses, t.Names, t.Phones = once(t.Addresses), once(t.Names), once(t.Phones)
	for _, n := range t.Names {
		var others int64
		if err := tx.Table("users").Where("name = ? AND id <> ?", n, t.ID).Count(&others).Error; err != nil {
			return err
		}
		if others == 0 && len(n) >= 5 && strings.Contains(n, " ") {
			t.Unique = append(t.Unique, n)
		}
	}
	return nil
}

// once leaves out empty texts, and those that were there before.
func once(all []string) (found []string) {
	for _, s := range all {
		if s != "" && !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

// Erasures returns erasures, the latest first.
func (s *Store) Erasures(ctx context.Context, before int64, n int) ([]*Erasure, error) {
	q := s.db.WithContext(ctx).Order("id DESC").Limit(n)
	if before > 0 {
		q = q.Where("id < ?", before)
	}
	return erasures(q)
}

// DueErasures returns erasures to carry out that were ordered by an instant.
func (s *Store) DueErasures(ctx context.Context, by time.Time) ([]*Erasure, error) {
	return erasures(s.db.WithContext(ctx).Where("finished_at IS NULL AND created_at <= ?", by.UTC()).Order("created_at, id").Limit(loadPage))
}

// Erasure returns one erasure, or [account.ErrNotFound].
func (s *Store) Erasure(ctx context.Context, id int64) (*Erasure, error) {
	es, err := erasures(s.db.WithContext(ctx).Where("id = ?", id))
	if err == nil && len(es) == 0 {
		err = account.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return es[0], nil
}

func erasures(q *gorm.DB) ([]*Erasure, error) {
	var rows []erasureRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, err
	}
	es := make([]*Erasure, len(rows))
	for i := range rows {
		var err error
		if es[i], err = rows[i].erasure(); err != nil {
			return nil, err
		}
	}
	return es, nil
}

// finishErasure empties the account and forgets what was looked for.
func (s *Store) finishErasure(ctx context.Context, e *Erasure, at time.Time) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if e.UserID != 0 {
			err := tx.Table("users").Where("id = ?", e.UserID).Updates(map[string]any{
				"name": erasedName, "email": e.terms.neutral(0), "phone": "", "password_hash": "", "calendar_mails": false, "away_from": nil, "away_until": nil, "deputy_id": nil,
				"version": gorm.Expr("version + 1"), "updated_at": at,
			}).Error
			if err != nil {
				return err
			}
		}
		return tx.Model(&erasureRow{}).Where("id = ?", e.ID).Updates(map[string]any{"terms": "", "changed": e.Changed, "finished_at": at}).Error
	})
}

type eraseJob struct {
	*Service
}

// EraseJob returns the delay job user.erase.
func (s *Service) EraseJob() delayjob.DelayJob { return &eraseJob{s} }

func (*eraseJob) Name() string { return JobErase }

// Options: it reads each table once, which takes as long as the largest.
func (*eraseJob) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 1, MaxRuntime: time.Hour, MaxAttempts: -1}
}

func (j *eraseJob) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		due, err := j.store.DueErasures(ctx, w.To)
		if err != nil {
			yield(delayjob.Message{}, err)
			return
		}
		for _, e := range due {
			if !yield(e.message(), nil) {
				return
			}
		}
	}
}

// Execute erases a person. It may run twice: what was replaced is not found again.
func (j *eraseJob) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid erasure key %q", m.Key))
	}
	e, err := j.store.Erasure(ctx, id)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return delayjob.Drop("no such erasure")
	case err == nil && !e.Finished.IsZero():
		return delayjob.Drop("carried out before")
	}
	if err == nil && j.Files != nil {
		err = j.Files(e.terms.mentions)
	}
	if err == nil {
		err = j.store.eraseTables(ctx, e, j.instant())
	}
	return err
}
