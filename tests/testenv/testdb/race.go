//go:build race

package testdb

import "punctual/migrations"

// dialects leave out SQLite, which the race detector makes some 20 times slower. Without it, all tests run on both.
var dialects = []migrations.Dialect{migrations.Postgres}
