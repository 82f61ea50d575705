package gormstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"punctual/app/database"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/tests/testenv"
)

// durable is a fixture on a Postgres that pays for fsync.
func durable(b *testing.B) (*fixture, string) {
	b.Helper()
	url := testenv.PostgresServer(b, testenv.Durable).Database(b)
	db, err := database.Open(b.Context(), url, database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if err := db.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	return newFixture(b, db), url
}

// BenchmarkCreateMeeting compares bookings with the insertion of the same rows by pgx alone,
// one statement each in one transaction, in the same run.
func BenchmarkCreateMeeting(b *testing.B) {
	f, url := durable(b)
	rooms := make([]*meeting.Room, 50)
	for i := range rooms {
		rooms[i] = f.room(fmt.Sprint("Room ", i))
	}
	pool, err := pgxpool.New(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	for _, workers := range []int{1, 16} {
		for _, way := range []struct {
			name   string
			create func(context.Context, *meeting.Meeting) error
		}{
			{"store", f.store.CreateMeeting},
			{"pgx", func(ctx context.Context, m *meeting.Meeting) error { return insertByPgx(ctx, pool, m) }},
		} {
			b.Run(fmt.Sprintf("%s/workers=%d", way.name, workers), func(b *testing.B) {
				f.forgets()
				f.sql("TRUNCATE meetings CASCADE")
				order := rand.Perm(b.N)
				var next atomic.Int64
				var wg sync.WaitGroup
				b.ResetTimer()
				for range workers {
					wg.Go(func() {
						for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
							n := order[i]
							start := now.Add(time.Duration(n/len(rooms)) * 30 * time.Minute)
							m := bookAt(terms(clock.Slot{Start: start, End: start.Add(30 * time.Minute)}, rooms[n%len(rooms)]), f.anna, now)
							if err := way.create(b.Context(), m); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "meetings/s")
			})
		}
	}
}

func insertByPgx(ctx context.Context, pool *pgxpool.Pool, m *meeting.Meeting) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `INSERT INTO meetings (title, description, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
			m.Title, m.Description, m.Slot.Start, m.Slot.End, m.Timezone, m.Organizer.UserID, string(m.Status), string(m.Visibility), m.CreatedAt, m.UpdatedAt).Scan(&m.ID)
		if err != nil {
			return err
		}
		for i, id := range m.RoomIDs {
			if _, err := tx.Exec(ctx, `INSERT INTO meeting_rooms (meeting_id, room_id, position) VALUES ($1, $2, $3)`, m.ID, id, i); err != nil {
				return err
			}
		}
		for _, o := range m.Occupied {
			if _, err := tx.Exec(ctx, `INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) VALUES ($1, $2, $3, $4)`, m.ID, o.RoomID, o.Slot.Start, o.Slot.End); err != nil {
				return err
			}
		}
		for _, r := range m.Reminders {
			if _, err := tx.Exec(ctx, `INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at) VALUES ($1, $2, $3, $4, $5)`,
				m.ID, string(r.Before), int64(r.Offset/time.Second), r.Channels, r.Due(m)); err != nil {
				return err
			}
		}
		for _, e := range m.TakeHistory() {
			if _, err := tx.Exec(ctx, `INSERT INTO history (meeting_id, at, action, actor_kind, actor_id, actor_name) VALUES ($1, $2, $3, $4, $5, $6)`,
				m.ID, e.At, string(e.Action), string(e.Actor.Kind), e.Actor.ID, e.Actor.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkStart makes 100,000 meetings begin, in batches, by two handlers at once.
func BenchmarkStart(b *testing.B) {
	const meetings = 100_000
	f, _ := durable(b)
	for _, batch := range []int{500, 1000} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f.forgets()
				f.sql("TRUNCATE meetings CASCADE")
				f.bulk(meetings)
				var next atomic.Int64
				b.StartTimer()
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() {
						for from := next.Add(int64(batch)) - int64(batch); from < meetings; from = next.Add(int64(batch)) - int64(batch) {
							refs := make([]meeting.Ref, batch)
							for i := range refs {
								refs[i] = meeting.Ref{ID: from + int64(i) + 1, Version: 1}
							}
							if _, err := f.store.Start(b.Context(), refs, at("09:00")); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			}
			if n := f.count("history"); n != meetings {
				b.Errorf("%d entries in the history", n)
			}
		})
	}
}
