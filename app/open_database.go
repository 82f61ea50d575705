package app

import (
	"context"

	"punctual/app/config"
	"punctual/app/database"
)

// OpenDatabase opens the database of a configuration.
func OpenDatabase(ctx context.Context, c config.Database) (*database.DB, error) {
	pooler := c.Pooler
	if pooler == "auto" {
		pooler = ""
	}
	return database.Open(ctx, c.URL, database.Options{Pooler: pooler})
}
