package gormstore_test

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/gormstore"
	"punctual/meeting/policy"
	"punctual/meeting/report"
)

// recorder notes the queries that it passes on.
type recorder struct {
	gorm.ConnPool
	args map[string][]any // by text
}

func (r *recorder) QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	r.args[q] = args
	return r.ConnPool.QueryContext(ctx, q, args...)
}

// BeginTx implements [gorm.ConnPoolBeginner].
func (r *recorder) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := r.ConnPool.(gorm.ConnPoolBeginner).BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return &recordedTx{&recorder{tx, r.args}, tx.(gorm.TxCommitter)}, nil
}

type recordedTx struct {
	*recorder
	gorm.TxCommitter
}

// Questions about a room read what the span holds, and not all that the room ever had. Nor does one
// long meeting make a list of a day read the year before.
func TestRooms_pastIsNotRead(t *testing.T) {
	for _, past := range []int{60, 1500} { // Postgres plans differently if the past is short
		t.Run(strconv.Itoa(past), func(t *testing.T) {
			onBoth(t, func(t *testing.T, f *fixture) { pastIsNotRead(t, f, past) })
		})
	}
}

func pastIsNotRead(t *testing.T, f *fixture, past int) {
	f.bulk(past)
	minutes := map[string]string{
		"postgres": "timestamptz '2026-12-01T00:00:00Z' + interval '1 minute' * id",
		"sqlite":   "1764547200000000 + 60000000 * id",
	}[string(f.db.Dialect)]
	f.sql("UPDATE meetings SET starts_at = " + minutes + ", ends_at = " + minutes + " + (ends_at - starts_at) / 60, status = 'ended'")
	f.sql("INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, ?, 0 FROM meetings", f.turing.ID)
	f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, ?, starts_at, ends_at FROM meetings", f.turing.ID)
	m := f.book(slot("09:00", "10:00"), f.turing, f.hopper)
	long := f.book(slot("09:00", "10:00"), f.room("Long"))
	for _, row := range []string{"meetings WHERE id", "occupancies WHERE meeting_id"} {
		table, where, _ := strings.Cut(row, " ")
		f.sql("UPDATE "+table+" SET starts_at = ?, ends_at = ? "+where+" = ?", now.AddDate(-1, 0, 0), now.AddDate(0, 0, 1), long.ID)
	}
	f.sql(`INSERT INTO waitlist (user_id, state, wish, expires_at, due_at, created_at, updated_at) VALUES (?, 'waiting', '{}', ?, ?, ?, ?)`,
		f.anna.ID, at("12:00"), at("12:00"), now, now)
	f.sql("INSERT INTO waitlist_rooms (waitlist_id, room_id, starts_at, ends_at) SELECT id, ?, ?, ? FROM waitlist", f.turing.ID, at("11:00"), at("12:00"))
	if f.db.Dialect == "postgres" {
		f.vacuum() // only then do plans prefer indexes that have all columns
	}

	rooms, day := []int64{f.turing.ID, f.hopper.ID}, clock.Slot{Start: now, End: now.AddDate(0, 0, 1)}
	claim := policy.Claim{RoomID: f.turing.ID, UserID: f.anna.ID, Span: day}
	shown := []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress, meeting.Ended}
	for name, read := range map[string]func(context.Context, *gormstore.Store) (int, error){
		"busy": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, err := s.Busy(ctx, rooms, day, now)
			return len(found), err
		},
		"booked": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, err := s.Booked(ctx, rooms, day, now)
			return len(found), err
		},
		"held": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, err := s.Held(ctx, claim, 0, now)
			return len(found), err
		},
		"free-busy": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, err := s.Occupants(ctx, f.turing.ID, day)
			return len(found), err
		},
		"grid": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, _, err := s.ListMeetings(ctx, meeting.MeetingQuery{RoomIDs: rooms, Statuses: shown, From: day.Start, To: day.End, Now: now, Viewer: &f.ben, Brief: true}, meeting.Page{Limit: 5000})
			return len(found), err
		},
		"list": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, _, err := s.ListMeetings(ctx, meeting.MeetingQuery{From: day.Start, To: day.End, Now: now}, meeting.Page{Limit: 500})
			return len(found) - 1, err // the long one, too
		},
		"list of a status": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, _, err := s.ListMeetings(ctx, meeting.MeetingQuery{From: day.Start, To: day.End, Statuses: shown, Now: now}, meeting.Page{Limit: 500})
			return len(found) - 1, err
		},
		"meeting": func(ctx context.Context, s *gormstore.Store) (int, error) {
			_, err := s.Meeting(ctx, m.ID)
			return 1, err
		},
		"taken": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, err := s.Taken(ctx, m.Occupied, nil)
			return len(found), err
		},
		"lapsed": func(ctx context.Context, s *gormstore.Store) (int, error) {
			_, _, err := s.Lapsed(ctx, m.Occupied, now)
			return 1, err
		},
		"waiting list": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, err := s.FirstInLine(ctx, rooms, now, 0, 10)
			return len(found), err
		},
		"whole waiting list": func(ctx context.Context, s *gormstore.Store) (int, error) {
			found, _, err := s.FreeAndAwaited(ctx, now)
			return len(found), err
		},
	} {
		err := f.db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			if f.db.Dialect == "postgres" { // as with a table that is large
				if err := tx.Exec("SET LOCAL enable_seqscan = off").Error; err != nil {
					return err
				}
			}
			queries := &recorder{tx.Statement.ConnPool, map[string][]any{}}
			recorded := tx.Session(&gorm.Session{NewDB: true, Context: t.Context()})
			recorded.Statement.ConnPool = queries
			before := f.rowsRead(tx)
			found, err := read(t.Context(), gormstore.New(recorded, outbox{}))
			if err != nil || found == 0 {
				t.Errorf("%s: %d, %v", name, found, err)
			}
			if rows := f.rowsRead(tx) - before; rows >= 150 && (past > 150 || !strings.HasPrefix(name, "list")) { // lists read small tables as a whole
				t.Errorf("%s: read %d rows", name, rows)
			}
			if f.db.Dialect == "sqlite" && !strings.HasPrefix(name, "list") { // whose subqueries have names of tables
				for q, args := range queries.args {
					searchesAll(f, tx, name, q, args)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// vacuum repeats itself until Postgres knows that everybody sees all rows: connections that other tests are
// just opening keep it from that.
func (f *fixture) vacuum() {
	f.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		f.sql("VACUUM ANALYZE")
		var unsure []string
		err := f.db.Gorm.WithContext(f.Context()).Raw(`SELECT relname FROM pg_class
			WHERE relname IN ('meetings', 'meeting_rooms', 'occupancies', 'waitlist', 'waitlist_rooms') AND relallvisible < relpages`).Scan(&unsure).Error
		switch {
		case err != nil:
			f.Fatal(err)
		case len(unsure) == 0:
			return
		case time.Now().After(deadline):
			f.Fatalf("somebody may not see all rows of %v", unsure)
		}
	}
}

// wholeRoom is a step of a plan that reads all occupancies of a room, or of all rooms, or all meetings.
var wholeRoom = regexp.MustCompile(`^(SEARCH \w+ (EXISTS )?USING PRIMARY KEY \(room_id=\?\)|SCAN (m|o|h|mr|meetings|occupancies|meeting_rooms)\b)`)

// searchesAll reports the steps of a query of SQLite, which counts no rows.
func searchesAll(f *fixture, tx *gorm.DB, name, q string, args []any) {
	for step := range strings.Lines(f.plan(tx, q, args)) {
		if wholeRoom.MatchString(step) {
			f.Errorf("%s: %s in the plan of\n%s", name, step, q)
		}
	}
}

// plan returns the steps of a query of SQLite, one in each line.
func (f *fixture) plan(tx *gorm.DB, q string, args []any) string {
	f.Helper()
	rows, err := tx.Statement.ConnPool.QueryContext(f.Context(), "EXPLAIN QUERY PLAN "+q, args...)
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int64
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			f.Fatal(err)
		}
		plan.WriteString(step + "\n")
	}
	return plan.String()
}

// rowsRead counts the rows that the session has read, as far as the database does.
func (f *fixture) rowsRead(tx *gorm.DB) int64 {
	if f.db.Dialect == "sqlite" {
		return 0
	}
	return rowsRead(f.TB, tx)
}

// What workers repeat every few seconds, and reports of times in which nobody has booked anything, do not
// read the tables of meetings.
func TestReports_readNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.bulk(10)
		f.addUpDays("UTC", now)
		queries := &recorder{f.db.Gorm.Statement.ConnPool, map[string][]any{}}
		recorded := f.db.Gorm.Session(&gorm.Session{NewDB: true, Context: t.Context()})
		recorded.Statement.ConnPool = queries
		s := gormstore.New(recorded, outbox{})
		if _, err := s.AddUpDays(t.Context(), "UTC", now, true); err != nil {
			t.Fatal(err)
		}
		far := report.Query{Group: report.ByRoom, SiteID: 1, Zone: "UTC", Span: clock.Slot{Start: now.AddDate(2, 0, 0), End: now.AddDate(2, 1, 0)}}
		if _, err := s.RoomUse(t.Context(), far, now); err != nil {
			t.Fatal(err)
		}
		for q, args := range queries.args {
			if strings.Contains(q, "occupancies") {
				t.Errorf("read occupancies:\n%s", q)
			}
			if f.db.Dialect == "sqlite" && strings.HasPrefix(q, "SELECT") && strings.Contains(f.plan(f.db.Gorm, q, args), "SCAN meetings") {
				t.Errorf("read all meetings:\n%s", q)
			}
		}
	})
}
