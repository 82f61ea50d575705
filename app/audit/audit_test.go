package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"punctual/account"
	"punctual/app/audit"
	"punctual/app/database"
	"punctual/meeting"
	"punctual/tests/testenv/testdb"
)

type thing struct {
	ID           int64
	Name         string
	PasswordHash string
	Tags         []string `gorm:"serializer:json"`
	Version      int64
	UpdatedAt    time.Time
}

func asAda(ctx context.Context) context.Context {
	return meeting.WithClient(account.WithPrincipal(ctx, &account.Principal{UserID: 7, Name: "Ada"}), "192.0.2.1")
}

func list(t *testing.T, db *gorm.DB, q audit.Query) []audit.Line {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	lines, _, err := audit.List(t.Context(), db, q)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func actions(lines []audit.Line) (as []string) {
	for _, l := range lines {
		as = append(as, l.Action)
	}
	return as
}

func TestNote(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		var trail audit.Trail
		before := &thing{ID: 3, Name: "Old", PasswordHash: "$argon2id$before", Version: 1}
		after := &thing{ID: 3, Name: "New", PasswordHash: "$argon2id$after", Tags: []string{"a"}, Version: 2, UpdatedAt: time.Now()}
		ctx := asAda(t.Context())
		note := func(b, a []any) {
			t.Helper()
			err := db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return trail.Note(tx, "thing.changed", "3", "New", b, a) })
			if err != nil {
				t.Fatal(err)
			}
		}
		extra := func(m map[string]any) map[string]any { return m }
		note([]any{before, extra(map[string]any{"rules": map[string]any{"least": "15m", "api_token": "t1"}})},
			[]any{after, extra(map[string]any{"rules": map[string]any{"least": "30m", "api_token": "t2"}, "list": []any{map[string]any{"secret": "s", "url": "u"}}})})
		note([]any{before}, []any{&thing{ID: 3, Name: "Old", PasswordHash: "$argon2id$before", Version: 2}}) // only its version

		lines := list(t, db.Gorm, audit.Query{})
		if len(lines) != 1 {
			t.Fatalf("%d entries: %+v", len(lines), lines)
		}
		got := lines[0]
		want := audit.Line{
			ID: got.ID, At: got.At, Action: "thing.changed", Actor: audit.Actor{Kind: meeting.ActorUser, ID: 7, Name: "Ada"}, Address: "192.0.2.1",
			Subject: "thing", SubjectID: "3", Name: "New",
			Changes: map[string]audit.Change{
				"name": {From: "Old", To: "New"}, "password": {From: "***", To: "***"}, "tags": {From: nil, To: []any{"a"}},
				"rules.least": {From: "15m", To: "30m"}, "rules.api_token": {From: "***", To: "***"},
				"list": {From: nil, To: []any{map[string]any{"secret": "***", "url": "u"}}},
			},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// What a transaction does not do, it does not say either.
func TestNote_ofATransactionThatFails(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			if err := (audit.Trail{}).Note(tx, "thing.created", "1", "", nil, nil); err != nil {
				t.Fatal(err)
			}
			return context.Canceled
		})
		if err == nil || len(list(t, db.Gorm, audit.Query{})) != 0 {
			t.Errorf("%v, and there is %v", err, actions(list(t, db.Gorm, audit.Query{})))
		}
	})
}

func TestAudit_isAppendOnly(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		tx := db.Gorm.WithContext(t.Context())
		now := time.Now()
		for _, at := range []time.Time{now.AddDate(0, 0, -40), now.AddDate(0, 0, -20)} {
			if err := audit.Add(tx, audit.Entry{At: at, Action: "room.changed"}); err != nil {
				t.Fatal(err)
			}
		}
		forgeries := []string{"UPDATE audit SET actor_name = 'somebody else'", "DELETE FROM audit"}
		if db.Gorm.Dialector.Name() == "postgres" {
			forgeries = append(forgeries, "TRUNCATE audit")
		}
		for _, forged := range forgeries {
			if err := tx.Exec(forged).Error; err == nil || !strings.Contains(err.Error(), "audit_append_only") {
				t.Errorf("%s: %v", forged, err)
			}
		}
		if _, err := audit.Trim(t.Context(), db.Gorm, now.AddDate(0, 0, -30), 10); err != nil {
			t.Fatal(err)
		}
		if lines := list(t, db.Gorm, audit.Query{}); len(lines) != 1 || lines[0].At.Before(now.AddDate(0, 0, -21)) {
			t.Errorf("kept %+v", lines)
		}
	})
}

func TestList(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		tx := db.Gorm.WithContext(asAda(t.Context()))
		begun := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		at := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Minute) }
		if err := tx.Exec(`INSERT INTO users (id, email, name, role, created_at, updated_at) VALUES (7, 'ada@example.org', 'Ada', 'admin', ?, ?)`, begun, begun).Error; err != nil {
			t.Fatal(err)
		}
		if err := tx.Exec(`INSERT INTO meetings (id, title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			VALUES (5, 'Design 100% review', ?, ?, 'UTC', 7, 'confirmed', 'public', ?, ?)`, at(600), at(660), begun, begun).Error; err != nil {
			t.Fatal(err)
		}
		for i, action := range []string{"created", "started", "ended"} {
			if err := tx.Exec(`INSERT INTO history (meeting_id, at, action, actor_kind, actor_name, address, reason) VALUES (5, ?, ?, 'timer', 'meeting.start', '', '')`, at(2*i), action).Error; err != nil {
				t.Fatal(err)
			}
		}
		system := &audit.Actor{Kind: meeting.ActorSystem, Name: "configuration"}
		err := audit.Add(tx,
			audit.Entry{At: at(1), Action: "room.created", ID: "12", Name: "Turing"},
			audit.Entry{At: at(2), Action: "room.changed", ID: "12", Name: "Turing"}, // at the instant of a meeting's
			audit.Entry{At: at(2), Action: "room.deleted", ID: "13", Name: "Hopper"},
			audit.Entry{At: at(3), Action: "config.changed", ID: "host", Name: "host", Actor: system, Reason: "restart", Address: "198.51.100.9"})
		if err != nil {
			t.Fatal(err)
		}
		all := []string{"meeting.ended", "config.changed", "room.deleted", "room.changed", "meeting.started", "room.created", "meeting.created"}
		for _, c := range []struct {
			name string
			q    audit.Query
			want []string
		}{
			{"all", audit.Query{}, all},
			{"of a user", audit.Query{ActorID: 7, ActorKind: meeting.ActorUser}, []string{"room.deleted", "room.changed", "room.created"}},
			{"of timers", audit.Query{ActorKind: meeting.ActorTimer}, []string{"meeting.ended", "meeting.started", "meeting.created"}},
			{"of a kind", audit.Query{Subject: "room"}, []string{"room.deleted", "room.changed", "room.created"}},
			{"of a room", audit.Query{Subject: "room", SubjectID: "12"}, []string{"room.changed", "room.created"}},
			{"of a meeting", audit.Query{Subject: "meeting", SubjectID: "5"}, []string{"meeting.ended", "meeting.started", "meeting.created"}},
			{"of no meeting", audit.Query{Subject: "meeting", SubjectID: "5x"}, nil},
			{"actions", audit.Query{Actions: []string{"meeting.started", "room.cr*"}}, []string{"meeting.started", "room.created"}},
			{"a subject's actions", audit.Query{Actions: []string{"room.*"}}, []string{"room.deleted", "room.changed", "room.created"}},
			{"a time", audit.Query{From: at(1), To: at(3)}, []string{"room.deleted", "room.changed", "meeting.started", "room.created"}},
			{"a title", audit.Query{Text: "100% R"}, []string{"meeting.ended", "meeting.started", "meeting.created"}},
			{"no wildcard", audit.Query{Text: "1__% r"}, nil},
			{"a name", audit.Query{Text: "hopp"}, []string{"room.deleted"}},
			{"an address", audit.Query{Text: "198.51"}, []string{"config.changed"}},
			{"who", audit.Query{Text: "ADA"}, []string{"room.deleted", "room.changed", "room.created"}},
			{"a reason", audit.Query{Text: "restart"}, []string{"config.changed"}},
		} {
			if d := cmp.Diff(c.want, actions(list(t, db.Gorm, c.q))); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
		for limit := 1; limit <= len(all); limit++ { // each page goes on where the one before ended
			var got []string
			q := audit.Query{Limit: limit}
			for {
				lines, next, err := audit.List(t.Context(), db.Gorm, q)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, actions(lines)...)
				if q.Cursor = next; next == "" {
					break
				}
			}
			if d := cmp.Diff(all, got); d != "" {
				t.Errorf("by pages of %d: %s", limit, d)
			}
		}
		for _, bad := range []string{"x", "e30", "bm9uZQ"} {
			if _, _, err := audit.List(t.Context(), db.Gorm, audit.Query{Limit: 1, Cursor: bad}); err == nil {
				t.Errorf("the cursor %q is one", bad)
			}
		}
	})
}

// A page ends after 10,000 entries of a table, and all pages together miss and repeat nothing.
func TestList_pagesEndEarly(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		begun := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		at := func(each int) string {
			if db.Dialect == "sqlite" {
				return fmt.Sprintf("? + %d000000 * n.i", each)
			}
			return fmt.Sprintf("CAST(? AS timestamptz) + interval '%d seconds' * n.i", each)
		}
		for _, insert := range []string{
			`INSERT INTO users (id, email, name, role, created_at, updated_at) SELECT 7, 'ada@example.org', 'Ada', 'admin', @begun, @begun`,
			`INSERT INTO meetings (id, title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
				SELECT 5, 'Review', @begun, @later, 'UTC', 7, 'confirmed', 'public', @begun, @begun`,
			`INSERT INTO audit (at, action, actor_kind, actor_id, subject, subject_id, subject_name)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
				SELECT ` + strings.Replace(at(2), "?", "@begun", 1) + `, CASE WHEN n.i % 5000 = 7 THEN 'room.deleted' ELSE 'room.changed' END, 'user', 7, 'room', '1', CASE WHEN n.i % 5000 = 7 THEN 'Rare room' ELSE '' END FROM n`,
			`INSERT INTO history (meeting_id, at, action, actor_kind, actor_id, reason)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12500)
				SELECT 5, ` + strings.Replace(at(1), "?", "@begun", 1) + `, 'changed', 'user', 7, CASE WHEN n.i % 5000 = 7 THEN 'Rare' ELSE '' END FROM n`,
		} {
			args := map[string]any{"begun": begun, "later": begun.Add(time.Hour)}
			if err := db.Gorm.Exec(insert, args).Error; err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			name  string
			q     audit.Query
			found int
		}{
			{"an action", audit.Query{Actions: []string{"room.deleted"}}, 3},
			{"a name or a reason", audit.Query{Text: "rare"}, 6},
			{"of an actor", audit.Query{ActorID: 7, ActorKind: meeting.ActorUser, Text: "rare"}, 6},
			{"of a meeting", audit.Query{Subject: "meeting", SubjectID: "5", Text: "rare"}, 3},
			{"of a room", audit.Query{Subject: "room", SubjectID: "1", Actions: []string{"room.deleted"}}, 3},
			{"of another actor", audit.Query{Subject: "room", SubjectID: "1", ActorID: 8, ActorKind: meeting.ActorUser}, 0},
			{"a time", audit.Query{Text: "rare", From: begun.Add(time.Minute)}, 4},
		} {
			seen := map[string]bool{}
			var last time.Time
			pages := 1
			for c.q.Limit = 500; ; pages++ {
				lines, next, err := audit.List(t.Context(), db.Gorm, c.q)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range lines {
					if seen[l.ID] || !last.IsZero() && l.At.After(last) {
						t.Fatalf("%s: %s at %s is repeated or after %s", c.name, l.ID, l.At, last)
					}
					seen[l.ID], last = true, l.At
				}
				if c.q.Cursor = next; next == "" {
					break
				}
			}
			if len(seen) != c.found || pages < 2 {
				t.Errorf("%s: found %d on %d pages, want %d", c.name, len(seen), pages, c.found)
			}
		}
	})
}
