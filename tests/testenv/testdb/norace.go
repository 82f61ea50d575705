//go:build !race

package testdb

import "punctual/migrations"

var dialects = []migrations.Dialect{migrations.SQLite, migrations.Postgres}
