// Package gormstore stores the mails of the mailroom in Postgres or SQLite.
package gormstore

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database/sqlfile"
	"punctual/delayjob"
	"punctual/meeting/mailroom"
)

//go:embed sql
var files embed.FS

var statements = sqlfile.Load(files)

// Store implements [mailroom.Store].
type Store struct {
	db    *gorm.DB
	trail Trail // nil: no audit trail
}

// Trail records a change of mails in the audit trail, in the transaction that makes it. before and
// after are the rows before and after the change.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

var _ mailroom.Store = (*Store)(nil)

// New returns a Store on db, whose dialect is "postgres" or "sqlite".
func New(db *gorm.DB) *Store { return &Store{db: db} }

// Noting returns a copy of the store that records in t what administrators do.
func (s *Store) Noting(t Trail) *Store { return &Store{db: s.db, trail: t} }

type mailRow struct {
	ID          int64
	Source      mailroom.Source
	Sender      string
	Recipient   string
	MailFrom    string
	Subject     string
	MessageID   string
	Digest      string
	UID         string
	Method      string
	Verdict     mailroom.Verdict
	Reason      string
	State       mailroom.State
	Outcome     string
	LastError   string
	Version     int64
	ReceivedAt  time.Time
	DueAt       time.Time
	ProcessedAt *time.Time
	Raw         []byte
}

func (mailRow) TableName() string { return "inbox" }

func rowOf(m *mailroom.Mail) *mailRow {
	r := &mailRow{
		ID: m.ID, Source: m.Source, Sender: m.Sender, Recipient: m.Recipient, MailFrom: m.From, Subject: m.Subject, MessageID: m.MessageID,
		Digest: m.Digest, UID: m.UID, Method: m.Method, Verdict: m.Verdict, Reason: m.Reason, State: m.State, Outcome: string(m.Outcome),
		LastError: m.LastError, Version: m.Version, ReceivedAt: micro(m.Received), DueAt: micro(m.Due), Raw: m.Raw,
	}
	if !m.Processed.IsZero() {
		r.ProcessedAt = new(micro(m.Processed))
	}
	return r
}

func (r *mailRow) mail() *mailroom.Mail {
	m := &mailroom.Mail{
		ID: r.ID, Source: r.Source, Sender: r.Sender, Recipient: r.Recipient, From: r.MailFrom, Subject: r.Subject, MessageID: r.MessageID,
		Digest: r.Digest, UID: r.UID, Method: r.Method, Verdict: r.Verdict, Reason: r.Reason, State: r.State, LastError: r.LastError,
		Version: r.Version, Received: r.ReceivedAt.UTC(), Due: r.DueAt.UTC(), Size: int64(len(r.Raw)), Raw: r.Raw,
	}
	if r.Outcome != "" {
		m.Outcome = json.RawMessage(r.Outcome)
	}
	if r.ProcessedAt != nil {
		m.Processed = r.ProcessedAt.UTC()
	}
	return m
}

// Known implements [mailroom.Store].
func (s *Store) Known(ctx context.Context, local string) (bool, error) {
	number := func(prefix string) (id int64) {
		if text, ok := strings.CutPrefix(local, prefix); ok {
			id, _ = strconv.ParseInt(text, 10, 64)
		}
		return id
	}
	site, _, _ := strings.Cut(local, "+")
	var rows []int
	err := statements.Raw(s.db.WithContext(ctx), "known", local, number("meeting-"), number("series-"), site).Find(&rows).Error
	return len(rows) > 0, wrap("look up an address", err)
}

// Put implements [mailroom.Store].
func (s *Store) Put(ctx context.Context, ms []*mailroom.Mail) error {
	return wrap("store mails", s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for _, m := range ms {
			r := rowOf(m)
			done := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "recipient"}, {Name: "digest"}}, DoNothing: true}).Create(r)
			if done.Error != nil {
				return done.Error
			}
			if done.RowsAffected > 0 {
				m.ID = r.ID
			}
		}
		return nil
	}))
}

// Update implements [mailroom.Store].
func (s *Store) Update(ctx context.Context, id int64, fn func(*mailroom.Mail) error) (m *mailroom.Mail, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var r mailRow
		if err := found(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Omit("raw").Take(&r, id).Error); err != nil {
			return err
		}
		m = r.mail()
		if err := fn(m); err != nil {
			return err
		}
		changed := rowOf(m)
		if err := tx.Omit("raw").Save(changed).Error; err != nil {
			return err
		}
		if s.trail == nil || changed.Version == r.Version { // of an administrator's doing
			return nil
		}
		return s.trail.Note(tx, "mail.processed", strconv.FormatInt(id, 10), m.Subject, []any{&r}, []any{changed})
	})
	if err != nil {
		return nil, wrap("update mail", err)
	}
	return m, nil
}

// Mail implements [mailroom.Store].
func (s *Store) Mail(ctx context.Context, id int64) (*mailroom.Mail, error) {
	var r mailRow
	if err := found(s.db.WithContext(ctx).Take(&r, id).Error); err != nil {
		return nil, wrap("read mail", err)
	}
	return r.mail(), nil
}

// pattern returns a pattern for LIKE with the escape character \.
func pattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// List implements [mailroom.Store].
func (s *Store) List(ctx context.Context, f mailroom.Filter) ([]*mailroom.Mail, error) {
	q := s.db.WithContext(ctx).Order("id DESC").Limit(f.Limit)
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if f.Before > 0 {
		q = q.Where("id < ?", f.Before)
	}
	if f.Text != "" {
		fold := "lower"
		if s.db.Name() == "sqlite" {
			fold = "fold" // SQLite's lower handles only ASCII
		}
		like := func(column string) string { return fold + "(" + column + ") LIKE " + fold + `(?) ESCAPE '\'` }
		p := pattern(f.Text)
		q = q.Where("("+like("mail_from")+" OR "+like("recipient")+" OR "+like("subject")+" OR "+like("uid")+")", p, p, p, p)
	}
	return read(q, "list mails")
}

// read leaves out the raw mails, but not their size.
func read(q *gorm.DB, what string) ([]*mailroom.Mail, error) {
	var rows []struct {
		Row  mailRow `gorm:"embedded"`
		Size int64
	}
	err := q.Model(&mailRow{}).Select(`id, source, sender, recipient, mail_from, subject, message_id, digest, uid, method, verdict, reason, state,
		outcome, last_error, version, received_at, due_at, processed_at, length(raw) AS size`).Find(&rows).Error
	if err != nil {
		return nil, wrap(what, err)
	}
	ms := make([]*mailroom.Mail, len(rows))
	for i := range rows {
		ms[i] = rows[i].Row.mail()
		ms[i].Size = rows[i].Size
	}
	return ms, nil
}

// Copies implements [mailroom.Store].
func (s *Store) Copies(ctx context.Context, m *mailroom.Mail) ([]int64, error) {
	var ids []int64
	err := s.db.WithContext(ctx).Model(&mailRow{}).
		Where("state = 'quarantined' AND verdict = ? AND digest = ? AND mail_from = ?", m.Verdict, m.Digest, m.From).
		Where("received_at BETWEEN ? AND ?", micro(m.Received.Add(-24*time.Hour)), micro(m.Received.Add(24*time.Hour))). // by its index
		Order("id").Pluck("id", &ids).Error
	return ids, wrap("look for copies of a mail", err)
}

// Ahead implements [mailroom.Store].
func (s *Store) Ahead(ctx context.Context, m *mailroom.Mail) (bool, error) {
	if m.UID == "" {
		return false, nil
	}
	var ids []int64
	err := s.db.WithContext(ctx).Model(&mailRow{}).Where("state = 'new' AND last_error = '' AND uid = ? AND id < ?", m.UID, m.ID).Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, wrap("look for older mails", err)
}

// deadLetter is true for a mail whose message is a dead letter.
const deadLetter = `EXISTS (SELECT 1 FROM job_failures f WHERE f.job = ? AND f.key = CAST(inbox.id AS text) AND f.version >= inbox.version)`

// Due implements [mailroom.Store].
func (s *Store) Due(ctx context.Context, w delayjob.Window, after *mailroom.Mail, n int) ([]*mailroom.Mail, error) {
	q := s.db.WithContext(ctx).Where("state = 'new' AND due_at <= ? AND NOT "+deadLetter, micro(w.To), mailroom.Job).Order("due_at, id").Limit(n)
	if !w.From.IsZero() {
		q = q.Where("due_at > ?", micro(w.From))
	}
	if after != nil {
		q = q.Where("(due_at, id) > (?, ?)", micro(after.Due), after.ID)
	}
	return read(q, "due mails")
}

// Bury implements [mailroom.Store].
func (s *Store) Bury(ctx context.Context) error {
	dead := s.db.WithContext(ctx).Model(&mailRow{}).Where("state = 'new' AND "+deadLetter, mailroom.Job).Session(&gorm.Session{})
	var ids []int64
	err := dead.Limit(1).Pluck("id", &ids).Error // a look does not wait for writers, and mostly there is none
	if err == nil && len(ids) > 0 {
		err = dead.Updates(map[string]any{"state": mailroom.Dead, "last_error": "the program crashed while it processed the mail"}).Error
	}
	return wrap("bury mails", err)
}

// Trim deletes up to limit processed mails received before an instant, and returns how many.
func (s *Store) Trim(ctx context.Context, before time.Time, limit int) (int64, error) {
	const isOld = "received_at < ? AND state <> 'new'"
	old := s.db.Model(&mailRow{}).Select("id").Where(isOld, micro(before)).Order("received_at").Limit(limit)
	done := s.db.WithContext(ctx).Where("id IN (?)", old).Where(isOld, micro(before)).Delete(&mailRow{}) // again: one may be processed again meanwhile
	return done.RowsAffected, wrap("delete old mails", done.Error)
}

func found(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return mailroom.ErrNotFound
	}
	return err
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
