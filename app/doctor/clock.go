package doctor

import (
	"context"
	"time"

	"punctual/app/config"
	"punctual/app/database"
	"punctual/delayjob/redisqueue"
	"punctual/migrations"
)

const (
	noticeableLead = time.Second // of one clock over another: meetings visibly start at the wrong time
	clockAdvice    = "Synchronize the clocks of all machines, for example with chrony."
)

// examineClocks compares this machine's clock with those of the servers. Servers that do not answer are
// the subject of other checks.
func examineClocks(ctx context.Context, c *config.Config) []Finding {
	if _, err := time.LoadLocation(c.Booking.Timezone); err != nil {
		return failure("Correct booking.timezone.", "%v", err)
	}
	var found []Finding
	compare := func(name string, read func() (time.Time, error)) {
		begin := time.Now()
		theirs, err := read()
		if err != nil {
			return
		}
		took := time.Since(begin)
		lead := theirs.Sub(begin.Add(took / 2)) // read halfway between request and answer
		found = append(found, judgeClock(name, lead, took/2)...)
	}
	if !sqlite(c.Database.URL) {
		if db, err := database.Open(ctx, c.Database.URL, database.Options{MaxConns: 2}); err == nil {
			defer db.Close()
			if db.Dialect == migrations.Postgres {
				compare("Postgres", func() (t time.Time, err error) {
					err = db.SQL.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&t)
					return t, err
				})
			}
		}
	}
	if c.Queue.URL != "memory:" {
		if client, err := redisqueue.Dial(c.Queue.URL); err == nil {
			defer client.Close()
			if client.Ping(ctx).Err() == nil { // connected before it is measured
				compare("Redis", func() (time.Time, error) { return client.Time(ctx).Result() })
			}
		}
	}
	if found == nil {
		return ok("%s, no other clock to compare with", time.Now().UTC().Format(time.RFC3339))
	}
	return found
}

// judgeClock judges by how much a clock is ahead of ours, give or take the error.
func judgeClock(name string, lead, uncertainty time.Duration) []Finding {
	rounded := lead.Round(time.Millisecond)
	switch {
	case max(lead, -lead)-uncertainty < noticeableLead:
		return ok("agrees with %s to %s", name, max(rounded, -rounded))
	case lead > 0:
		return failure(clockAdvice, "this machine is %s behind %s", rounded, name)
	default:
		return failure(clockAdvice, "this machine is %s ahead of %s", -rounded, name)
	}
}
