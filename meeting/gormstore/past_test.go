package gormstore_test

import (
	"context"
	"database/sql"
	"regexp"
	"testing"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/gormstore"
	"punctual/meeting/policy"
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

// Questions about a room read what the span holds, and not all that the room ever had.
func TestRooms_pastIsNotRead(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		const past = 1500
		f.bulk(past)
		minutes := map[string]string{
			"postgres": "timestamptz '2026-12-01T00:00:00Z' + interval '1 minute' * id",
			"sqlite":   "1764547200000000 + 60000000 * id",
		}[string(f.db.Dialect)]
		f.sql("UPDATE meetings SET starts_at = " + minutes + ", ends_at = " + minutes + " + (ends_at - starts_at) / 60, status = 'ended'")
		f.sql("INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, ?, 0 FROM meetings", f.turing.ID)
		f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, ?, starts_at, ends_at FROM meetings", f.turing.ID)
		m := f.book(slot("09:00", "10:00"), f.turing, f.hopper)
		f.sql(`INSERT INTO waitlist (user_id, state, wish, expires_at, due_at, created_at, updated_at) VALUES (?, 'waiting', '{}', ?, ?, ?, ?)`,
			f.anna.ID, at("12:00"), at("12:00"), now, now)
		f.sql("INSERT INTO waitlist_rooms (waitlist_id, room_id, starts_at, ends_at) SELECT id, ?, ?, ? FROM waitlist", f.turing.ID, at("11:00"), at("12:00"))
		if f.db.Dialect == "postgres" {
			f.sql("ANALYZE")
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
				if rows := f.rowsRead(tx) - before; rows > past/10 {
					t.Errorf("%s: read %d rows", name, rows)
				}
				if f.db.Dialect == "sqlite" {
					for q, args := range queries.args {
						searchesAll(t, tx, name, q, args)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// wholeRoom is a step of a plan that reads all occupancies of a room, or of all rooms, or all meetings.
var wholeRoom = regexp.MustCompile(`^(SEARCH \w+ (EXISTS )?USING PRIMARY KEY \(room_id=\?\)|SCAN (m|o|h|mr|meetings|occupancies|meeting_rooms)\b)`)

// searchesAll reports the steps of a query of SQLite, which counts no rows.
func searchesAll(t *testing.T, tx *gorm.DB, name, q string, args []any) {
	rows, err := tx.Statement.ConnPool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int64
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		if wholeRoom.MatchString(step) {
			t.Errorf("%s: %s in the plan of\n%s", name, step, q)
		}
	}
}

// rowsRead counts the rows that the session has read, as far as the database does.
func (f *fixture) rowsRead(tx *gorm.DB) int64 {
	if f.db.Dialect == "sqlite" {
		return 0
	}
	return rowsRead(f.TB, tx)
}
