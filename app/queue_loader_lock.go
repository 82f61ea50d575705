package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/migrations"
)

// loaderLock is the advisory lock of the loader. It only has to differ from other locks of this
// database.
const loaderLock = 0x70756e6374 // "punct"

// tryLoaderLock also lets the transaction stay idle for as long as a pass takes, unlike all others.
const tryLoaderLock = `SELECT pg_try_advisory_xact_lock(?)
	FROM (SELECT set_config('idle_in_transaction_session_timeout', '0', true)) AS unbound`

// loaderGuard lets one process at a time load; nil if there is only one. The lock belongs to a
// transaction, so it ends with a process that dies, and poolers that share sessions do no harm. A
// holder that takes longer than patience may be stuck (frozen, or cut off without the server
// noticing). Then the others load too, which only costs duplicate work.
func loaderGuard(db *database.DB, patience time.Duration, log *slog.Logger) func(context.Context, func(context.Context) error) error {
	if db.Dialect != migrations.Postgres {
		return nil
	}
	return func(ctx context.Context, pass func(context.Context) error) error {
		var stuck bool
		err := db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			var mine bool
			if err := tx.Raw(tryLoaderLock, loaderLock).Scan(&mine).Error; err != nil {
				return fmt.Errorf("lock of the loader: %w", err)
			}
			if mine {
				return pass(ctx)
			}
			held, err := loaderLockHeld(tx)
			stuck = held > patience
			return err
		})
		if err != nil || !stuck {
			return err
		}
		log.Warn("another session holds the loader lock for long, loading without it", "lock", loaderLock)
		return pass(ctx)
	}
}

func loaderLockHeld(tx *gorm.DB) (time.Duration, error) {
	var seconds float64
	err := tx.Raw(`
		SELECT coalesce(max(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change))), 0)
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND l.classid::bigint = ? AND l.objid::bigint = ? AND l.objsubid = 1`, loaderLock>>32, loaderLock&0xffffffff).Scan(&seconds).Error
	if err != nil {
		return 0, fmt.Errorf("holder of the loader's lock: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
