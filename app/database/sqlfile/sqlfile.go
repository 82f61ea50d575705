// Package sqlfile runs the SQL statements of a store from embedded .sql files.
//
// A statement that is the same for both databases is sql/name.sql. Otherwise it has the two files
// sql/name.postgres.sql and sql/name.sqlite.sql. A file begins with a comment that states its
// parameters, its result and the index that it uses. Parameters are $1, $2 and so on.
package sqlfile

import (
	"embed"
	"regexp"
	"strings"

	"gorm.io/gorm"
)

// Statements are the statements of a store, by file name without ".sql".
type Statements map[string]string

var comments = regexp.MustCompile(`(?m)^\s*--.*\n`)

// Load reads the files in the folder sql. It panics if there is none.
func Load(files embed.FS) Statements {
	entries, err := files.ReadDir("sql")
	if err != nil {
		panic(err)
	}
	s := make(Statements, len(entries))
	for _, e := range entries {
		text, err := files.ReadFile("sql/" + e.Name())
		if err != nil {
			panic(err)
		}
		s[strings.TrimSuffix(e.Name(), ".sql")] = strings.TrimSpace(comments.ReplaceAllString(string(text), ""))
	}
	return s
}

// Raw returns a query for Find, Row or Rows. Scan would write out the statement with its parameters
// for the log, whether or not it is logged. Parameters reach the driver as they are: gorm expands no
// slices. It panics if there is no such statement.
func (s Statements) Raw(tx *gorm.DB, name string, args ...any) *gorm.DB {
	text, ok := s[name]
	if !ok {
		if text, ok = s[name+"."+tx.Name()]; !ok {
			panic("there is no statement " + name + " for " + tx.Name())
		}
	}
	tx = tx.Raw("") // which would look for parameters such as @> in the text, byte by byte
	tx.Statement.SQL.WriteString(text)
	tx.Statement.Vars = args
	return tx
}

// Exec is [Statements.Raw] for a statement without a result.
func (s Statements) Exec(tx *gorm.DB, name string, args ...any) *gorm.DB {
	tx = s.Raw(tx, name, args...)
	return tx.Callback().Raw().Execute(tx)
}
