package app

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/topics"
	"punctual/migrations"
)

func (a *Application) newFallback() *delayjob.Fallback {
	c := a.config.Queue
	clock := newDatabaseClock(a.db, a.log)
	return delayjob.NewFallback(a.jobs, delayjob.FallbackOptions{
		NewQueue: func() delayjob.Queue { return memqueue.New(memqueue.WithClock(clock.now)) },
		Health:   a.consumer.Health(),
		Lock:     fallbackLock(a.db),
		Loader:   delayjob.LoaderOptions{Horizon: c.Horizon, Guard: a.obeyFirst, Observer: a.metrics, Logger: a.log},
		Consumer: delayjob.ConsumerOptions{
			Jobs: c.Options(), SafetyPoll: c.SafetyPoll, Grace: stopGrace, Failures: a.deadLetters,
			Middleware: a.jobMiddleware(), Observer: a.metrics, Logger: a.log,
		},
		Before: func(ctx context.Context, q delayjob.Queue) error {
			clock.look(ctx)
			return a.pauses.ApplyTo(ctx, q.(delayjob.Inspector))
		},
		Beside: func(q delayjob.Queue) ([]delayjob.DelayJob, func(context.Context)) {
			loading, pusher := a.topics.StandIn(q.(topics.Queue), delayjob.ConsumerOptions{SafetyPoll: c.SafetyPoll, Observer: a.metrics, Logger: a.log})
			return []delayjob.DelayJob{loading}, func(ctx context.Context) { _ = pusher.Run(ctx) } // it returns no error
		},
		Back:   a.loader.Trigger,
		Logger: a.log,
	})
}

// obeyFirst applies, before each pass and so within a second, pauses that were set in other
// processes to the fallback queue.
func (a *Application) obeyFirst(ctx context.Context, pass func(context.Context) error) error {
	if q := a.standIn(); q != nil {
		if err := a.pauses.ApplyTo(ctx, q); err != nil {
			return err
		}
	}
	return pass(ctx)
}

func (a *Application) fallbackQueue() delayjob.Queue { return a.fallback.Queue() }

func (a *Application) standIn() delayjob.Inspector {
	q, _ := a.fallback.Queue().(delayjob.Inspector)
	return q
}

func (a *Application) inForce() delayjob.Inspector {
	if q := a.standIn(); q != nil {
		return q
	}
	return a.queue
}

func fallbackActive(f *delayjob.Fallback) prometheus.Collector {
	return prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "delayjob_fallback_active", Help: "1 while Redis is unavailable and this process works from memory."},
		func() float64 {
			if f.Queue() != nil {
				return 1
			}
			return 0
		})
}

// databaseClock is this machine's clock corrected by the database's, which decides what is due.
// After a measurement it follows elapsed time, so that setting this machine's clock does not
// matter.
type databaseClock struct {
	db   *database.DB
	log  *slog.Logger
	wall func() time.Time // time.Now

	last atomic.Pointer[clockReading] // nil: not measured; this machine's clock applies
}

type clockReading struct{ time, local time.Time }

func newDatabaseClock(db *database.DB, log *slog.Logger) *databaseClock {
	return &databaseClock{db: db, log: log, wall: time.Now}
}

func (c *databaseClock) now() time.Time {
	r := c.last.Load()
	if r == nil {
		return c.wall()
	}
	return r.time.Add(time.Since(r.local))
}

// look measures again. If it cannot, the last measurement stays in effect. Differences below the
// tolerance are ignored.
func (c *databaseClock) look(ctx context.Context) {
	if c.db.Dialect != migrations.Postgres {
		return // it uses this machine's clock
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d, err := measureDatabaseClock(ctx, c.db.SQL, func() (time.Time, error) { return c.wall(), nil })
	if err != nil {
		c.log.Debug("comparing this machine's clock with the database's failed", "error", err)
		return
	}
	if d.Abs() < clockTolerance {
		d = 0
	}
	local := time.Now()
	c.last.Store(&clockReading{c.wall().Round(0).Add(d), local})
}

const fallbackKey = 0x70756e6375 // the loader's, and one

const fallbackPing = 500 * time.Millisecond // interval at which the holder checks its lock

// Tests on a slow machine have more patience.
var (
	fallbackPong  = 2 * time.Second // how long the answer to a check may take
	fallbackQuiet = "3s"            // then the database takes the lock from an unresponsive holder
)

// fallbackLock lets one process at a time do the work while Redis is down; nil if there is only one
// process. Like the loader's lock it belongs to a transaction, so it ends with a process that dies,
// and with a session that breaks.
func fallbackLock(db *database.DB) delayjob.Lock {
	if db.Dialect != migrations.Postgres {
		return nil
	}
	return func(ctx context.Context, hold func(context.Context)) (held bool, err error) {
		// The lock outlasts ctx, because work is still being finished when ctx ends.
		session, leave := context.WithCancel(context.WithoutCancel(ctx))
		defer leave()
		tx, err := lockFallback(session, leave, db.SQL)
		if err != nil || tx == nil {
			return false, err
		}
		defer func() { _ = tx.Rollback() }() // releases the lock; a broken session has released it already
		holding, lose := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { defer lose(); watchLock(session, tx) })
		hold(holding)
		leave()
		watching.Wait()
		return true, nil
	}
}

// lockFallback returns the transaction that has the lock; nil if another process has it. It
// calls giveUp if the database does not answer.
func lockFallback(ctx context.Context, giveUp func(), db *sql.DB) (_ *sql.Tx, err error) {
	limit := time.AfterFunc(fallbackPong, giveUp)
	defer limit.Stop()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("lock of the fall-back: %w", err)
	}
	mine := false
	_, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = '"+fallbackQuiet+"'")
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", fallbackKey).Scan(&mine)
	}
	if err == nil && mine {
		return tx, nil
	}
	_ = tx.Rollback()
	if err != nil {
		return nil, fmt.Errorf("lock of the fall-back: %w", err)
	}
	return nil, nil
}

func watchLock(ctx context.Context, tx *sql.Tx) {
	ping := time.NewTicker(fallbackPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
		}
		asking, cancel := context.WithTimeout(ctx, fallbackPong)
		_, err := tx.ExecContext(asking, "SELECT 1")
		cancel()
		if err != nil {
			return
		}
	}
}
