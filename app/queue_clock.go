package app

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"punctual/app/database"
	"punctual/delayjob/redisqueue"
	"punctual/migrations"
)

// clockTolerance is the difference of the clocks of Redis and the database from which the
// database's decides. It is larger than the error of a measurement, and too small to notice.
const clockTolerance = 250 * time.Millisecond

// clockWatch compares the clock of Redis, by which messages become due, with the database's,
// by which they were booked, and corrects the former where they differ. Its methods are for
// one goroutine.
type clockWatch struct {
	measure func(context.Context) (time.Duration, error) // lead of the database's clock
	correct func(time.Duration)                          // adds to Redis' clock
	offset  prometheus.Gauge
	log     *slog.Logger

	logged time.Duration // the difference in the last warning; 0: the clocks agree
}

// newClockWatch returns nil if there are no two clocks to compare: the in-memory queue and SQLite
// both use this machine's clock.
func newClockWatch(db *database.DB, client redis.UniversalClient, q Queue, log *slog.Logger) *clockWatch {
	onRedis, ok := q.(*redisqueue.Queue)
	if !ok || client == nil || db.Dialect != migrations.Postgres {
		return nil
	}
	return &clockWatch{
		measure: func(ctx context.Context) (time.Duration, error) { return measureClocks(ctx, db.SQL, client) },
		correct: onRedis.SetClockOffset,
		log:     log,
		offset: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "delayjob_clock_offset_seconds", Help: "Seconds by which the database's clock is ahead of that of Redis.",
		}),
	}
}

// look measures and corrects the difference. If it cannot measure, the last correction stays in
// effect; other users of the servers report the error.
func (w *clockWatch) look(ctx context.Context) {
	d, err := w.measure(ctx)
	if err != nil {
		w.log.Debug("comparing the clocks of Redis and the database failed", "error", err)
		return
	}
	w.offset.Set(d.Seconds())
	if d.Abs() < clockTolerance {
		w.correct(0)
		if w.logged != 0 {
			w.log.Info("the clocks of Redis and the database agree again", "offset", d)
			w.logged = 0
		}
		return
	}
	w.correct(d)
	if (d - w.logged).Abs() >= clockTolerance {
		w.log.Warn("the clocks of Redis and the database differ; the database's decides what is due", "offset", d)
		w.logged = d
	}
}

const clockRounds = 5 // enough that one or two slow answers do not move the median

func measureClocks(ctx context.Context, db *sql.DB, client redis.UniversalClient) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return measureDatabaseClock(ctx, db, func() (time.Time, error) { return client.Time(ctx).Result() })
}

func measureDatabaseClock(ctx context.Context, db *sql.DB, other func() (time.Time, error)) (time.Duration, error) {
	conn, err := db.Conn(ctx) // first, because waiting for a connection is not part of the measurement
	if err != nil {
		return 0, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close()
	return medianOffset(other,
		func() (t time.Time, err error) {
			err = conn.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&t)
			return t, err
		})
}

// medianOffset returns how far clock b is ahead of clock a. It assumes that a clock was read
// halfway between request and response. It measures durations only, so a change of this machine's
// clock does not matter.
func medianOffset(a, b func() (time.Time, error)) (time.Duration, error) {
	offsets := make([]time.Duration, clockRounds)
	for i := range offsets {
		begin := time.Now()
		atA, err := a()
		if err != nil {
			return 0, err
		}
		atB, err := b()
		if err != nil {
			return 0, err
		}
		offsets[i] = atB.Sub(atA) - time.Since(begin)/2
	}
	slices.Sort(offsets)
	return offsets[clockRounds/2], nil
}
