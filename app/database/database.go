// Package database opens the database of an installation: a Postgres server, or a SQLite file
// beside the program.
package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"punctual/migrations"
)

// DB is an open database. Safe for concurrent use. Close it when its users have stopped.
type DB struct {
	Gorm    *gorm.DB
	SQL     *sql.DB // SQLite: the single writing connection; Postgres: the pool for work
	Dialect migrations.Dialect
	File    string // SQLite only
	Pooled  bool   // Postgres only: through a pooler whose clients share sessions, see [Options]

	readers  *sql.DB // SQLite only
	watch    *watch  // SQLite only, see [DB.State]
	requests *sql.DB // of Postgres, see [ForRequest]; else nil
	heavy    *sql.DB // of Postgres, see [ForHeavy]; else nil

	openUnbounded func() *sql.DB // Postgres only: without a statement timeout, for migrations
}

// Options configure the connections; a zero field means the default given here.
type Options struct {
	MaxConns     int           // open at once for requests; 8 per processor, at least 16; half as many besides for heavy requests, and for work. Of SQLite those that read.
	MaxStatement time.Duration // of a request on Postgres; 25s. Work, migrations and commands have no limit
	Pooler       string        // of Postgres: [PoolerNone] or [PoolerTransaction]; it is detected
}

// Modes of [Options].Pooler. The zero value detects a pooler. It treats every pooler as one in transaction
// mode, because the others allow more.
const (
	PoolerNone        = "none"
	PoolerTransaction = "transaction" // such as PgBouncer with pool_mode=transaction
)

// Open connects to "postgres://user:password@host/database", with the parameters of pgx, or to
// "sqlite:FILE", which it creates with its folder if missing. It waits for the database to answer,
// at most until ctx ends. Errors do not contain the password.
//
// Times are stored as instants, to the microsecond, and returned in UTC. On SQLite writes run one
// after another, and a SELECT outside a transaction does not wait for them. A read-only transaction
// must be begun with [sql.TxOptions] ReadOnly. Errors are the driver's own.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	o.MaxConns = cmp.Or(o.MaxConns, max(16, 8*runtime.GOMAXPROCS(0)))
	o.MaxStatement = cmp.Or(o.MaxStatement, 25*time.Second)

	open := openPostgres
	switch scheme, _, _ := strings.Cut(url, ":"); scheme {
	case "postgres", "postgresql":
	case "sqlite":
		open = openSQLite
	default:
		return nil, errors.New("open the database: the URL must be sqlite:FILE or postgres://user:password@host/database")
	}
	db, dialector, err := open(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := db.connect(ctx, dialector); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), db.Close())
	}
	return db, nil
}

// connect checks that the database answers and opens gorm on it. gorm does not prepare statements:
// pgx does that itself, and on SQLite each connection keeps its own (keepingConn).
func (db *DB) connect(ctx context.Context, dialector gorm.Dialector) (err error) {
	if err := db.firstPing(ctx); err != nil {
		return err
	}
	db.Gorm, err = gorm.Open(dialector, &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		// With SELECT *, statements that are prepared would fail once on each connection after a newer version
		// added a column, while this version still runs beside it.
		QueryFields: true,
		Logger:      logger.Discard, // errors are returned
		NowFunc:     func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) },
	})
	if err != nil {
		return err
	}
	db.Gorm.ClauseBuilders["RETURNING"] = returning
	return nil
}

// returning names the columns of the model in an empty [clause.Returning], for the same reason as QueryFields.
func returning(c clause.Clause, b clause.Builder) {
	r, _ := c.Expression.(clause.Returning)
	if stmt, ok := b.(*gorm.Statement); ok && stmt.Schema != nil && len(r.Columns) == 0 {
		for _, f := range stmt.Schema.Fields {
			if f.DBName != "" && (f.Creatable || f.Updatable) {
				r.Columns = append(r.Columns, clause.Column{Name: f.DBName})
			}
		}
		c.Expression = r
	}
	c.Build(b)
}

// firstPing waits while another process switches a new SQLite file to its write-ahead log. SQLite
// rejects concurrent attempts at once, whatever the busy_timeout.
func (db *DB) firstPing(ctx context.Context) error {
	patience := time.Now().Add(busyTimeout)
	for {
		err := db.SQL.PingContext(ctx)
		if err == nil {
			err = db.Ping(ctx)
		}
		if !busy(err) || time.Now().After(patience) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Ping reports whether the database answers. On SQLite it does not wait for writers.
func (db *DB) Ping(ctx context.Context) error {
	if db.readers != nil {
		var n int
		return db.readers.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n) // reads the file
	}
	return db.SQL.PingContext(ctx)
}

// Migrate migrates the schema to the newest version; see [migrations.Up].
func (db *DB) Migrate(ctx context.Context) error { return db.migrate(ctx, migrations.Up) }

// MigrateDown reverts the latest migration; see [migrations.Down].
func (db *DB) MigrateDown(ctx context.Context) error { return db.migrate(ctx, migrations.Down) }

// migrate runs a migration. No statement_timeout of the administrator applies: it is meant for
// daily work, and a new index of a large table takes longer.
func (db *DB) migrate(ctx context.Context, run func(context.Context, *sql.DB, migrations.Dialect) error) error {
	if db.openUnbounded == nil {
		return run(ctx, db.SQL, db.Dialect)
	}
	unbounded := db.openUnbounded()
	return errors.Join(run(ctx, unbounded, db.Dialect), unbounded.Close())
}

// Close closes all connections.
func (db *DB) Close() error {
	err := db.SQL.Close()
	if db.requests != nil {
		err = errors.Join(db.requests.Close(), db.heavy.Close(), err)
	}
	if db.readers != nil {
		err = errors.Join(db.watch.Close(), db.readers.Close(), err) // the writer last, because it removes the write-ahead log
	}
	return err
}

func openPostgres(ctx context.Context, url string, o Options) (*DB, gorm.Dialector, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, nil, err // pgx leaves the password out
	}
	if config.Database == "" {
		return nil, nil, errors.New("the URL names no database: postgres://user:password@host/database")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 10*time.Second)
	config.DialFunc = dialer().DialContext
	config.RuntimeParams["timezone"] = "UTC"
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "punctual"
	}
	pooled := o.Pooler == PoolerTransaction
	if o.Pooler == "" {
		if pooled, err = behindPooler(ctx, config); err != nil {
			return nil, nil, err
		}
	}
	if pooled && config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // prepares no named statement
	}
	pool := func(maxConns int, settings ...string) *sql.DB {
		p := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			if returnUTC(c); pooled {
				return nil // a setting would stay with whoever gets the session next
			}
			return prepare(ctx, c, settings...)
		}))
		o := o
		o.MaxConns = maxConns
		limit(p, o)
		return p
	}
	bound := boundStatement(o.MaxStatement)
	l := &pools{requests: pool(o.MaxConns, bound), heavy: pool(max(2, o.MaxConns/2), bound, planOnce), work: pool(max(2, o.MaxConns/2))}
	db := &DB{SQL: l.work, Dialect: migrations.Postgres, Pooled: pooled, requests: l.requests, heavy: l.heavy}
	db.openUnbounded = func() *sql.DB { return pool(4, "SET statement_timeout = 0") }
	return db, postgres.New(postgres.Config{Conn: l}), nil
}

// boundIdle limits how long a transaction may wait for its client, unless the administrator has set
// a limit. If a process freezes in a transaction, its locks are then released. Other processes take
// over its work after half that time and would wait for the locks. The limit is set on each
// connection, not as a startup parameter, because poolers reject parameters that they do not know.
// Code that keeps a transaction open on purpose sets its own limit.
const boundIdle = `SELECT set_config('idle_in_transaction_session_timeout', '5s', false)
	WHERE current_setting('idle_in_transaction_session_timeout') = '0'`

// boundStatement limits how long a statement of a request may run, unless the administrator has set
// a limit. The driver asks the server to cancel a statement whose request ended, but that message
// can be lost, or its sender killed.
func boundStatement(d time.Duration) string {
	return fmt.Sprintf(`SELECT set_config('statement_timeout', '%dms', false) WHERE current_setting('statement_timeout') = '0'`, d.Milliseconds())
}

// planOnce makes Postgres keep the plans of statements, unless the administrator has chosen. The
// statements of lists, searches and reports are long: planning the one of a grid takes 4 ms, more than
// running it. Their plans do not depend on the parameters. By default Postgres plans them each time,
// because it overestimates their cost for unknown parameters.
const planOnce = `SELECT set_config('plan_cache_mode', 'force_generic_plan', false)
	WHERE current_setting('plan_cache_mode') = 'auto'`

// noCompilation: Postgres would spend seconds on compiling a long statement, such as that of a report,
// each time it runs.
const noCompilation = `SET jit = off`

// noWorkers: starting parallel workers takes 20 ms, and statements that look up the meetings of rooms take
// 5 ms without them. Postgres estimates that these read much more. Nor should one request use all cores.
const noWorkers = `SET max_parallel_workers_per_gather = 0`

// behindPooler reports whether a pooler such as PgBouncer is between this process and Postgres: it gives its
// clients another number of the backend than the one that answers.
func behindPooler(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	c, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return false, err
	}
	var backend uint32
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&backend)
	return backend != c.PgConn().PID(), errors.Join(err, c.Close(ctx))
}

// returnUTC makes a connection return times in UTC instead of the machine's zone.
func returnUTC(c *pgx.Conn) {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
}

// prepare sets up a new connection.
func prepare(ctx context.Context, c *pgx.Conn, settings ...string) error {
	_, err := c.PgConn().Exec(ctx, strings.Join(append(settings, boundIdle, noCompilation, noWorkers), ";\n")).ReadAll()
	return err
}

func limit(pool *sql.DB, o Options) {
	pool.SetMaxOpenConns(o.MaxConns)
	pool.SetMaxIdleConns(o.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(30 * time.Minute) // so that a fail-over is noticed
}
