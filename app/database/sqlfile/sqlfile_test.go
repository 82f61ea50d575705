package sqlfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// TestFiles_nameTheirColumns: with * in the result of a statement, processes of this version would fail after a
// newer one added a column, once on each connection that has prepared the statement.
func TestFiles_nameTheirColumns(t *testing.T) {
	all := regexp.MustCompile(`(?i)(select|returning|,)\s+(\w+\.)?\*`)
	files := 0
	root := filepath.Join("..", "..", "..")
	for _, top := range []string{"account", "app", "delayjob", "meeting", "notify"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".sql") {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if found := all.Find(text); found != nil {
				t.Errorf("%s: %q: must name the columns", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files == 0 {
		t.Error("found no files")
	}
}
