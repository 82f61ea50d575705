package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"punctual/app/database/fold"
	"punctual/meeting"
)

const (
	// maxCandidates is how many meetings a search compares that its index finds: about 5 ms of work. A
	// text that more have is common enough for the pages that compare meetings by start.
	maxCandidates = 2_000
	// candidatesWithin bounds the few searches whose parts are all common, while the whole is not.
	candidatesWithin = 30 * time.Millisecond
	trigram          = 3
	maxTrigrams      = 20
	indexLookEvery   = time.Minute
)

// mentions selects meetings that have the text in what the viewer may see: the title, the
// description, or a value of a custom field. Whether they may see the meeting is up to visible.
func (c *conditions) mentions(text string, viewer *meeting.Actor) {
	pattern := "{fold}(" + c.param(containing(fold.Marks(text))) + `) ESCAPE '\'`
	audience := " AND f.value ->> 'audience' = '" + string(meeting.AudienceEveryone) + "'"
	switch {
	case viewer == nil || !viewer.Blind && viewer.MayManageRooms():
		audience = ""
	case !viewer.Blind && viewer.Kind == meeting.ActorUser:
		audience = " AND (f.value ->> 'audience' = '" + string(meeting.AudienceEveryone) + "' OR m.organizer_id = " + c.param(viewer.ID) + ")"
	}
	c.all = append(c.all, "(search_fold(m.title) LIKE "+pattern+
		" OR m.description <> '' AND search_fold(m.description) LIKE "+pattern+
		" OR m.fields IS NOT NULL AND EXISTS (SELECT 1 FROM {postgres: jsonb_array_elements(m.fields) AS f(value)}{sqlite: json_each(m.fields) AS f}"+
		" WHERE {postgres: jsonb_typeof(f.value -> 'value') <> 'boolean'}{sqlite: json_type(f.value, '$.value') NOT IN ('true', 'false')}"+audience+
		" AND search_fold(CAST(f.value ->> 'value' AS text)) LIKE "+pattern+"))")
}

// candidates returns the meetings that may have a text anywhere, in any order, and whether these are
// all. They are not if the text is too short or too common, or if there is no index.
func (s *Store) candidates(ctx context.Context, text string) (ids []int64, all bool, err error) {
	folded := fold.Text(text)
	if utf8.RuneCountInString(folded) < trigram {
		return nil, false, nil
	}
	if s.dialect == sqlite {
		ids, err = s.candidatesSQLite(ctx, folded)
	} else if indexed, e := s.SearchIndexed(ctx); !indexed {
		return nil, false, e
	} else {
		ids, err = s.candidatesPostgres(ctx, text)
	}
	if err != nil || len(ids) > maxCandidates {
		return nil, false, err
	}
	return ids, true, nil
}

const selectCandidates = `SELECT m.id FROM meetings m WHERE search_text(m.title, m.description, m.fields) LIKE lower($1) ESCAPE '\' LIMIT $2`

// candidatesPostgres returns more than maxCandidates ids if it takes too long.
func (s *Store) candidatesPostgres(ctx context.Context, text string) (ids []int64, err error) {
	// The index has no quotes and backslashes of values.
	pattern := strings.NewReplacer(`\\`, "%", `"`, "%").Replace(containing(fold.Marks(text)))
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		const settings = "SELECT set_config('statement_timeout', $1, true), set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)"
		if err := s.query(tx, func(*sql.Rows) error { return nil }, statement{postgres: settings}, candidatesWithin.String()); err != nil {
			return err
		}
		ids, err = s.numbers(tx, statement{postgres: selectCandidates}, pattern, maxCandidates+1)
		return err
	})
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "57014" && ctx.Err() == nil { // query_canceled
		return make([]int64, maxCandidates+1), nil
	}
	return ids, err
}

// candidatesSQLite returns more than maxCandidates ids if it takes too long. All parts of three
// characters must occur: the index does not know where.
func (s *Store) candidatesSQLite(ctx context.Context, folded string) ([]int64, error) {
	var parts []string
	seen := map[string]bool{}
	for runes := []rune(folded); len(runes) >= trigram && len(parts) < maxTrigrams; runes = runes[1:] {
		if part := string(runes[:trigram]); !seen[part] {
			seen[part] = true
			parts = append(parts, `"`+strings.ReplaceAll(part, `"`, `""`)+`"`)
		}
	}
	limited, cancel := context.WithTimeout(ctx, candidatesWithin)
	defer cancel()
	ids, err := s.numbers(s.db.WithContext(limited), statement{sqlite: "SELECT rowid FROM meeting_search WHERE meeting_search MATCH $1 LIMIT $2"},
		strings.Join(parts, " AND "), maxCandidates+1)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return make([]int64, maxCandidates+1), nil
	}
	return ids, err
}

// SearchIndexed reports whether searches of meetings have an index. On Postgres it needs the extension
// pg_trgm, which an administrator may have to create.
func (s *Store) SearchIndexed(ctx context.Context) (bool, error) {
	const found = -1
	last := s.searchLook.Load()
	if s.dialect == sqlite || last == found {
		return true, nil
	}
	at := time.Now()
	if last != 0 && at.Sub(time.Unix(last, 0)) < indexLookEvery {
		return false, nil
	}
	ids, err := s.numbers(s.db.WithContext(ctx), statement{postgres: "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('meetings_search') AND indisvalid"})
	if err != nil {
		return false, err
	}
	if len(ids) == 0 {
		s.searchLook.Store(at.Unix())
		return false, nil
	}
	s.searchLook.Store(found)
	return true, nil
}
