package sqlfile_test

import (
	"slices"
	"testing"

	"punctual/app/database"
	"punctual/app/database/sqlfile"
	"punctual/tests/testenv/testdb"
)

func TestRaw_choosesDialectAndPassesParameters(t *testing.T) {
	statements := sqlfile.Statements{
		"swap":            `SELECT CAST($2 AS bigint) UNION ALL SELECT CAST($1 AS bigint) UNION ALL SELECT CAST($2 AS bigint)`,
		"within.postgres": `SELECT x FROM unnest($1::bigint[]) AS x WHERE $1::bigint[] @> ARRAY[x]`,
		"within.sqlite":   `SELECT value FROM json_each($1)`,
	}
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		var numbers []int64
		if err := statements.Raw(db.Gorm, "swap", 7, 8).Scan(&numbers).Error; err != nil || !slices.Equal(numbers, []int64{8, 7, 8}) {
			t.Errorf("swap: %v, %v", numbers, err)
		}
		var list any = []int64{1, 2, 3}
		if db.Gorm.Name() == "sqlite" {
			list = "[1, 2, 3]"
		}
		if err := statements.Raw(db.Gorm, "within", list).Scan(&numbers).Error; err != nil || !slices.Equal(numbers, []int64{1, 2, 3}) {
			t.Errorf("within: %v, %v", numbers, err)
		}
	})
}
