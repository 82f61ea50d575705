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

// Load reads the files in the folder sql. It panics if there is none, or if a statement contains a
// question mark, which gorm would take for a parameter.
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
		statement := strings.TrimSpace(comments.ReplaceAllString(string(text), ""))
		if strings.Contains(statement, "?") {
			panic(e.Name() + ": must not contain a question mark")
		}
		s[strings.TrimSuffix(e.Name(), ".sql")] = statement
	}
	return s
}

// Raw returns a query for Scan or Rows. Parameters reach the driver as they are: gorm expands no
// slices. It panics if there is no such statement.
func (s Statements) Raw(tx *gorm.DB, name string, args ...any) *gorm.DB {
	return tx.Raw("?", s.expr(tx, name, args))
}

// Exec is [Statements.Raw] for a statement without a result.
func (s Statements) Exec(tx *gorm.DB, name string, args ...any) *gorm.DB {
	return tx.Exec("?", s.expr(tx, name, args))
}

// expr keeps gorm from looking for named parameters, such as in the operator @>.
func (s Statements) expr(tx *gorm.DB, name string, args []any) any {
	text, ok := s[name]
	if !ok {
		if text, ok = s[name+"."+tx.Name()]; !ok {
			panic("there is no statement " + name + " for " + tx.Name())
		}
	}
	return gorm.Expr(text, args...)
}
