package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"punctual/meeting"
	"punctual/meeting/finding"
)

// Names are searched behind blanks, with hyphens taken as such: a word's prefix is then a part
// of the text. Addresses count from their first letter alone, so that a domain finds nobody.
const (
	peopleFrom = `SELECT id, email, name FROM (WITH invited AS (
			SELECT a.email, a.name FROM meetings m JOIN attendees a ON a.meeting_id = m.id
			WHERE m.organizer_id = $1 AND m.starts_at > $2 AND a.email <> '' ORDER BY m.starts_at DESC LIMIT 10000
		), met AS (
			SELECT lower(email) AS address, max(email) AS email, max(name) AS name, count(*) AS times FROM invited GROUP BY lower(email)
		), people AS (
			SELECT u.id, u.email, u.name, coalesce(met.times, 0) AS times
			FROM users u LEFT JOIN met ON met.address = lower(u.email)
			WHERE u.disabled_at IS NULL AND u.id <> $1
			UNION ALL
			SELECT 0, met.email, met.name, met.times FROM met
			WHERE NOT EXISTS (SELECT 1 FROM users u WHERE lower(u.email) = met.address)
		)
		SELECT id, email, name, times FROM people) AS p WHERE true`
	peopleWord  = ` AND (' ' || replace({fold}(name), '-', ' ') LIKE {fold}($%[1]d) ESCAPE '\' OR {fold}(email) LIKE {fold}($%[2]d) ESCAPE '\')`
	peopleOrder = ` ORDER BY times DESC, {fold}(name), email LIMIT $3`
)

// FindPeople implements [meeting.PeopleStore].
func (s *Store) FindPeople(ctx context.Context, q finding.PeopleQuery) ([]meeting.Person, error) {
	var text strings.Builder
	text.WriteString(peopleFrom)
	args := []any{q.OrganizerID, micro(q.Since), q.Limit}
	for _, word := range q.Words {
		fmt.Fprintf(&text, peopleWord, len(args)+1, len(args)+2)
		args = append(args, containing(" "+strings.ReplaceAll(word, "-", " ")), beginning(word))
	}
	text.WriteString(peopleOrder)
	var found []meeting.Person
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var p meeting.Person
		err := rows.Scan(&p.UserID, &p.Email, &p.Name)
		found = append(found, p)
		return err
	}, write(text.String()), args...)
	if err != nil {
		return nil, fmt.Errorf("find people: %w", err)
	}
	return found, nil
}

// beginning is a pattern for LIKE ... ESCAPE '\', as [containing] is.
func beginning(text string) string { return strings.TrimPrefix(containing(text), "%") }
