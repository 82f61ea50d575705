package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestStories_oneOrder: a story in the browser never takes its steps from a map. What one step leaves
// behind, the language for instance, the next ones find, and a map has another order in each run.
func TestStories_oneOrder(t *testing.T) {
	files, err := filepath.Glob("page_*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("stories: %v, %v", files, err)
	}
	for _, file := range files {
		positions := token.NewFileSet()
		source, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok {
				if steps, ok := loop.X.(*ast.CompositeLit); ok {
					if _, ok := steps.Type.(*ast.MapType); ok {
						t.Errorf("%s: the steps have a random order", positions.Position(loop.Pos()))
					}
				}
			}
			return true
		})
	}
}
