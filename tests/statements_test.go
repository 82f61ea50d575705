package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// statements calls each for every SQL statement: .sql files of stores, and texts in Go that begin like one.
func statements(t *testing.T, each func(at, text string)) {
	t.Helper()
	comments := regexp.MustCompile(`(?m)^\s*--.*\n`)
	begins := regexp.MustCompile(`^(SELECT|WITH|INSERT|UPDATE|DELETE)\s`)
	n := 0
	add := func(at, text string) {
		if text = strings.TrimSpace(comments.ReplaceAllString(text, "")); begins.MatchString(text) {
			n++
			each(at, text)
		}
	}
	for _, root := range []string{"../account", "../app", "../delayjob", "../meeting", "../notify"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			switch {
			case err != nil:
				return err
			case strings.HasSuffix(path, ".sql"):
				add(path, string(text))
			case strings.HasSuffix(path, ".go"):
				file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				ast.Inspect(file, func(node ast.Node) bool {
					if l, ok := node.(*ast.BasicLit); ok && l.Kind == token.STRING {
						if text, err := strconv.Unquote(l.Value); err == nil {
							add(path, text)
						}
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 100 {
		t.Errorf("only %d statements", n)
	}
}

// On SQLite, only what begins with SELECT runs on the connections that read. Anything else waits for writers.
func TestReadsBeginWithSelect(t *testing.T) {
	writes := regexp.MustCompile(`\b(INSERT INTO|UPDATE [a-z_]+ |DELETE FROM)|\bFOR( NO KEY)? UPDATE\b`)
	statements(t, func(at, text string) {
		if strings.HasPrefix(text, "WITH") && !writes.MatchString(text) {
			t.Errorf("%s: must begin with SELECT, as in SELECT ... FROM (WITH ...): %.60s", at, text)
		}
	})
}

// The columns of a result must not change while a newer version adds one to a table: Postgres would refuse
// statements that are prepared. Within a statement, * may stand.
func TestStatementsNameTheirColumns(t *testing.T) {
	star := regexp.MustCompile(`(?s)^SELECT\s+(DISTINCT\s+)?([a-z_]+\.)?\*|^SELECT [^()]*\b[a-z_]+\.\*|RETURNING\s+([a-z_]+\.)?\*`)
	statements(t, func(at, text string) {
		if strings.HasSuffix(at, ".sql") && star.MatchString(text) {
			t.Errorf("%s: must name its columns: %.60s", at, text)
		}
	})
}
