package leaving

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"punctual/account"
)

// section is one kind of data in an export: rows of a query about the user $id with the address $email. It
// leaves out what is about other people, such as attendees, network addresses and the texts of mails.
type section struct{ name, query string }

var sections = []section{
	{"profile", `SELECT id, email, name, role, phone, locale, timezone, calendar_mails, away_from, away_until, disabled_at, created_at, updated_at FROM users WHERE id = $id`},
	{"meetings_organized", `SELECT id, title, description, starts_at, ends_at, timezone, status, visibility, fields, series_id, created_at, updated_at FROM meetings WHERE organizer_id = $id`},
	{"meetings_booked_for_others", `SELECT id, organizer_id, starts_at, ends_at, created_at FROM meetings WHERE booked_by = $id AND organizer_id <> $id`},
	{"series_organized", `SELECT id, title, description, timezone, starts, ends, rrule, fields, created_at FROM series
		WHERE organizer_id = $id AND id IN (SELECT series_id FROM meetings WHERE organizer_id = $id)`},
	{"meetings_attended", `SELECT m.id, m.title, m.starts_at, m.ends_at, m.status, a.name, a.phone, a.response, a.comment FROM attendees a JOIN meetings m ON m.id = a.meeting_id WHERE lower(a.email) = $email`},
	{"groups", `SELECT g.id, g.name, g.source, g.external_id FROM group_members m JOIN groups g ON g.id = m.group_id WHERE m.user_id = $id`},
	{"waiting_list", `SELECT id, state, until_at, meeting_id, reason, created_at, updated_at FROM waitlist WHERE user_id = $id`},
	{"waiting_list_for_others", `SELECT id, user_id, state, created_at FROM waitlist WHERE joined_by = $id AND user_id <> $id`},
	{"fault_reports", `SELECT id, room_id, category, text, done_at, created_at FROM fault_reports WHERE user_id = $id`},
	{"notifications", `SELECT id, kind, channel, meeting_id, name, address, state, due_at, sent_at, created_at FROM notifications WHERE lower(address) = $email`},
	{"notification_optouts", `SELECT id, kind, created_at FROM notification_optouts WHERE address = $email`},
	{"email_bounces", `SELECT id, source, reason, bounced_at, cleared_at FROM email_bounces WHERE address = $email`},
	{"history", `SELECT id, meeting_id, at, action, changes, reason, address FROM history WHERE actor_id = $id`},
	{"audit_by_user", `SELECT id, at, action, address, subject, subject_id, subject_name, changes, reason FROM audit WHERE actor_id = $id`},
	{"audit_about_user", `SELECT id, at, action, actor_name, CASE WHEN actor_id = $id THEN address END AS address, changes, reason FROM audit
		WHERE subject = 'user' AND subject_id = $text`},
}

// Export writes all data about a user as one JSON object of lists, row by row. It returns
// [account.ErrNotFound] before it writes. What belongs to the user alone, such as sessions and tokens, is
// found by the schema, without secrets.
func (s *Service) Export(ctx context.Context, userID int64) (write func(io.Writer) error, err error) {
	u, err := s.accounts.User(ctx, userID)
	if err != nil {
		return nil, err
	}
	all, err := tables(ctx, s.store.db)
	if err != nil {
		return nil, fmt.Errorf("export user %d: %w", userID, err)
	}
	parts := sections
	for _, t := range all {
		if len(t.Owners) > 0 {
			of := strings.Join(t.Owners, " = $id OR ") + " = $id"
			parts = append(parts[:len(parts):len(parts)], section{t.Name, "SELECT " + strings.Join(t.open(), ", ") + " FROM " + t.Name + " WHERE " + of})
		}
	}
	return func(w io.Writer) error {
		out := bufio.NewWriter(w)
		fmt.Fprintf(out, `{"exported_at":%q`, s.instant().Format(time.RFC3339))
		for _, p := range parts {
			fmt.Fprintf(out, ",\n%q:[", p.name)
			if err := s.store.export(ctx, out, p, u); err != nil {
				return fmt.Errorf("export %s: %w", p.name, err)
			}
			out.WriteString("]")
		}
		out.WriteString("}\n")
		return out.Flush()
	}, nil
}

// secret are parts of names of columns that are not exported.
var secret = []string{"hash", "secret", "token", "password", "credential", "code", "seed", "key", "body", "headers", "content", "network"}

// open are the columns of a table that hold no secrets.
func (t *table) open() (columns []string) {
	for _, c := range t.Columns {
		hidden := false
		for _, word := range secret {
			hidden = hidden || strings.Contains(c, word)
		}
		if !hidden {
			columns = append(columns, c)
		}
	}
	return columns
}

func (s *Store) export(ctx context.Context, w *bufio.Writer, p section, u *account.User) (err error) {
	query, args := p.query, []any(nil)
	for i := strings.IndexByte(query, '$'); i >= 0; i = strings.IndexByte(query, '$') {
		name, value := "$id", any(u.ID)
		switch {
		case strings.HasPrefix(query[i:], "$email"):
			name, value = "$email", strings.ToLower(u.Email)
		case strings.HasPrefix(query[i:], "$text"):
			name, value = "$text", strconv.FormatInt(u.ID, 10)
		}
		query, args = query[:i]+"?"+query[i+len(name):], append(args, value)
	}
	rows, err := s.db.WithContext(ctx).Raw(query, args...).Rows()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for n := 0; rows.Next(); n++ {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		item := map[string]any{}
		for i, c := range columns {
			item[c] = exported(values[i])
		}
		b, err := json.Marshal(item)
		if err != nil {
			return err
		}
		if n > 0 {
			w.WriteString(",\n")
		}
		w.Write(b)
	}
	return rows.Err()
}

// exported is a value of a column as JSON.
func exported(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case []byte:
		return exported(string(v))
	case string:
		var inner any
		if strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
			if json.Unmarshal([]byte(v), &inner) == nil {
				return inner
			}
		}
		return v
	default:
		return v
	}
}
