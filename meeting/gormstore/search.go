package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
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
	maxWords         = 10

	sampled        = 128 // meetings by which a word is taken for a common one
	commonOne      = 50  // of how many have it
	indexLookEvery = time.Minute
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
		organizers := []string{c.param(viewer.ID)}
		for _, p := range viewer.Delegations() {
			organizers = append(organizers, c.param(p.UserID))
		}
		audience = " AND (f.value ->> 'audience' = '" + string(meeting.AudienceEveryone) + "' OR m.organizer_id IN (" + strings.Join(organizers, ", ") + "))"
	}
	c.all = append(c.all, "(search_fold(m.title) LIKE "+pattern+
		" OR m.description <> '' AND search_fold(m.description) LIKE "+pattern+
		" OR m.fields IS NOT NULL AND EXISTS (SELECT 1 FROM {postgres: jsonb_array_elements(m.fields) AS f(value)}{sqlite: json_each(m.fields) AS f}"+
		" WHERE {postgres: jsonb_typeof(f.value -> 'value') <> 'boolean'}{sqlite: json_type(f.value, '$.value') NOT IN ('true', 'false')}"+audience+
		" AND search_fold(CAST(f.value ->> 'value' AS text)) LIKE "+pattern+"))")
}

// searchable reports whether the index can find a text.
func searchable(text string) bool { return len(indexedWords(text)) > 0 }

// candidates returns the meetings that may have a text anywhere, in any order, and whether these are
// all. They are not if the text is too short or too common, or if there is no index.
func (s *Store) candidates(ctx context.Context, text string) (ids []int64, all bool, err error) {
	if !searchable(text) {
		return nil, false, nil
	}
	if s.dialect == sqlite {
		ids, err = s.candidatesSQLite(ctx, fold.Text(text))
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

const searched = "search_text(m.title, m.description, m.fields)"

// sampleOfMeetings are at most sampled meetings of all ages: the newest may have been imported together and
// have similar texts. Their IDs have a distance that is a power of two, so that searches read the same pages.
var sampleOfMeetings = "SELECT " + searched + ` AS body
	FROM (SELECT last, CAST(power(2, greatest(0, ceil(log(last / ` + strconv.Itoa(sampled) + `.0) / log(2.0)))) AS bigint) AS step
			FROM (SELECT greatest(1, max(id)) AS last FROM meetings) AS newest OFFSET 0) AS by,
		generate_series(0, last, step) AS at,
		LATERAL (SELECT * FROM meetings WHERE id >= at AND id < at + step ORDER BY id LIMIT 1) AS m`

// candidatesPostgres returns more than maxCandidates ids if there are, or if it takes too long. The
// index reads all entries of all parts of a word, so it is asked for rare words only: those that few
// meetings of a sample have.
func (s *Store) candidatesPostgres(ctx context.Context, text string) (ids []int64, err error) {
	many := make([]int64, maxCandidates+1)
	var sample, rare conditions
	var counts []string
	words := indexedWords(text)
	for _, word := range words {
		counts = append(counts, "CASE WHEN count(*) < "+strconv.Itoa(sampled/4)+" OR count(*) FILTER (WHERE s.body LIKE lower("+sample.param(containing(word))+`) ESCAPE '\') <= count(*) / `+strconv.Itoa(commonOne)+" THEN 1 ELSE 0 END")
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.query(tx, func(*sql.Rows) error { return nil }, statement{postgres: "SELECT set_config('statement_timeout', $1, true), set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)"}, strconv.FormatInt(s.searchFor.Milliseconds(), 10)); err != nil {
			return err
		}
		few, err := s.numbers(tx, statement{postgres: "SELECT unnest(ARRAY[" + strings.Join(counts, ", ") + "]) FROM (" + sampleOfMeetings + ") AS s"}, sample.args...)
		if err != nil {
			return err
		}
		for i, word := range words {
			if few[i] == 1 {
				rare.add(searched+` LIKE lower(?) ESCAPE '\'`, containing(word))
			}
		}
		if len(rare.all) == 0 {
			ids = many
			return nil
		}
		ids, err = s.numbers(tx, statement{postgres: "SELECT m.id FROM meetings m WHERE " + rare.String() + " LIMIT " + strconv.Itoa(maxCandidates+1)}, rare.args...)
		return err
	})
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "57014" && ctx.Err() == nil { // query_canceled
		return many, nil
	}
	return ids, err
}

// indexedWords returns the parts of a text that an index can find. The index has no quotes and
// backslashes of values.
func indexedWords(text string) (words []string) {
	for _, word := range strings.FieldsFunc(fold.Marks(text), func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\\' }) {
		if utf8.RuneCountInString(word) >= trigram && len(words) < maxWords && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
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
	limited, cancel := context.WithTimeout(ctx, s.searchFor)
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
