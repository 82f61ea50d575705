package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is packages of the program as they are written, tests left out.
type source struct {
	files []*ast.File
	// Which argument of a function of that name is a code.
	codeAt map[string]int
	// Strings by the name of their constant.
	constants map[string]string
}

func readSource(t *testing.T, roots ...string) *source {
	t.Helper()
	s := &source{codeAt: map[string]int{}, constants: map[string]string{}}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			s.files = append(s.files, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if at := nameAt(n.Type.Params, "code"); at >= 0 {
				s.codeAt[n.Name.Name] = at
			}
		case *ast.ValueSpec:
			for i, value := range n.Values {
				if text, ok := literal(value); ok && i < len(n.Names) {
					s.constants[n.Names[i].Name] = text
				}
			}
		}
	})
	return s
}

func (s *source) each(visit func(ast.Node)) {
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				visit(n)
			}
			return true
		})
	}
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// codes are all that the source calls a code: what it gives to a parameter, a field or a variable of that
// name, and what functions return by it.
func (s *source) codes() map[string]bool {
	found := map[string]bool{}
	add := func(e ast.Expr) {
		text, ok := literal(e)
		if of, isSelector := e.(*ast.SelectorExpr); isSelector && lastName(of.X) != "meeting" {
			return // the field of a value
		}
		if name := lastName(e); name != "" {
			text, ok = s.constants[name]
		}
		if ok && text != "" {
			found[text] = true
		}
	}
	s.each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if at, ok := s.codeAt[called(n)]; ok && at < len(n.Args) {
				add(n.Args[at])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
				add(n.Value)
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && name.Name == "code" && i < len(n.Rhs) {
					add(n.Rhs[i])
				}
			}
		case *ast.CompositeLit: // a table with a column of codes
			list, ok := n.Type.(*ast.ArrayType)
			if !ok {
				return
			}
			if row, ok := list.Elt.(*ast.StructType); ok {
				for _, e := range n.Elts {
					values, _ := e.(*ast.CompositeLit)
					if at := nameAt(row.Fields, "code"); values != nil && at >= 0 && at < len(values.Elts) {
						add(values.Elts[at])
					}
				}
			}
		case *ast.FuncDecl:
			at := nameAt(n.Type.Results, "code")
			if at < 0 || n.Body == nil {
				return
			}
			ast.Inspect(n.Body, func(inner ast.Node) bool {
				if r, ok := inner.(*ast.ReturnStmt); ok && at < len(r.Results) {
					add(r.Results[at])
				}
				return true
			})
		case *ast.FuncLit:
			at := nameAt(n.Type.Results, "code")
			for _, step := range n.Body.List {
				if r, ok := step.(*ast.ReturnStmt); ok && at >= 0 && at < len(r.Results) {
					add(r.Results[at])
				}
			}
		}
	})
	return found
}

// of are the constants of a type.
func (s *source) of(name string) map[string]bool {
	found := map[string]bool{}
	s.each(func(n ast.Node) {
		if n, ok := n.(*ast.ValueSpec); ok {
			if typed, ok := n.Type.(*ast.Ident); ok && typed.Name == name {
				for _, value := range n.Values {
					if text, ok := literal(value); ok {
						found[text] = true
					}
				}
			}
		}
	})
	return found
}

// changed are the fields that the histories of meetings name.
func (s *source) changed() map[string]bool {
	found := map[string]bool{}
	add := func(e ast.Expr) {
		if text, ok := literal(e); ok {
			found[text] = true
		}
	}
	s.each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.IndexExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "changes" {
				add(n.Index)
			}
		case *ast.CompositeLit:
			if of, ok := n.Type.(*ast.MapType); ok {
				if lastName(of.Value) == "Change" {
					for _, e := range n.Elts {
						add(e.(*ast.KeyValueExpr).Key)
					}
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "note" {
				add(n.Args[0])
			}
		}
	})
	return found
}

// actors are those that are no people: timers, and the installation.
func (s *source) actors() map[string]bool {
	found := map[string]bool{}
	s.each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called(n) == "Timer" {
				if name := lastName(n.Args[0]); s.constants[name] != "" {
					found[s.constants[name]] = true
				}
			}
		case *ast.CompositeLit:
			if lastName(n.Type) == "Actor" {
				for _, e := range n.Elts {
					if field, ok := e.(*ast.KeyValueExpr); ok && field.Key.(*ast.Ident).Name == "Name" {
						if text, ok := literal(field.Value); ok {
							found[text] = true
						}
					}
				}
			}
		}
	})
	return found
}

// audited are the actions of the trail of the installation.
func (s *source) audited() map[string]bool {
	found := map[string]bool{}
	action := regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`)
	add := func(e ast.Expr) {
		if text, ok := literal(e); ok && action.MatchString(text) {
			found[text] = true
		}
	}
	s.each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if _, method := n.Fun.(*ast.SelectorExpr); method && called(n) == "note" {
				for _, e := range n.Args {
					add(e)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Action" {
				add(n.Value)
			}
		}
	})
	return found
}

func called(c *ast.CallExpr) string { return lastName(c.Fun) }

// lastName is the name itself, without its package or value; empty for anything else.
func lastName(e ast.Expr) string {
	switch f := e.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// nameAt is the place of a name in a list of fields; -1 if it is not there.
func nameAt(list *ast.FieldList, wanted string) int {
	if list == nil {
		return -1
	}
	at := 0
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.Name == wanted {
				return at
			}
			at++
		}
	}
	return -1
}

// dictionary is what a language of the page has words for, in a group such as "meeting.fields".
func dictionary(t *testing.T, language, area, group string) map[string]bool {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("../web/src/lib/i18n", language, area+".ts"))
	if err != nil {
		t.Fatal(err)
	}
	text, indent := string(file), ""
	for _, name := range strings.Split(group, ".") {
		indent += "  "
		begin := regexp.MustCompile(`(?m)^` + indent + name + `: \{`).FindStringIndex(text)
		if begin == nil {
			t.Fatalf("%s/%s.ts has no %s", language, area, group)
		}
		text = text[begin[1]:]
		text, _, _ = strings.Cut(text, "\n"+indent+"}")
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^`+indent+`  '?([\w.]+)'?:`).FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// TestWordsOfThePage wants the page to have words, in each of its languages, for whatever the server
// names by a code: refusals and reasons, actions, changed fields, notices, and who did something by itself.
func TestWordsOfThePage(t *testing.T) {
	t.Parallel()
	rules, server := readSource(t, "meeting"), readSource(t, "meeting", "account", "app", "delayjob/httpapi", "delayjob/topics", "delayjob/gormstore", "notify")
	faults := server.codes()
	for _, code := range []string{"lease_lost", "method_not_allowed", "not_acceptable", "unsupported_media_type"} {
		delete(faults, code) // only programs meet it
	}
	delete(faults, "Accept-Encoding") // a header, whose call looks like a fault's
	type group struct{ area, name string }
	for _, c := range []struct {
		what  string
		codes map[string]bool
		least int
		in    []group
		but   []string // languages in which the server's own words do
	}{
		{"refusals", faults, 60, []group{{"app", "problem"}, {"app", "fault"}, {"reason", "reason"}}, []string{"en"}},
		{"states", rules.of("Status"), 7, []group{{"app", "status"}, {"operations", "mailroom.answers"}}, nil},
		{"actions", rules.of("Action"), 10, []group{{"meeting", "meeting.actions"}}, nil},
		{"fields", rules.changed(), 15, []group{{"meeting", "meeting.fields"}}, nil},
		{"actors", rules.actors(), 5, []group{{"meeting", "meeting.timers"}}, nil},
		{"notices", rules.of("NoticeKind"), 13, []group{{"admin", "admin.kinds"}}, nil},
		{"audited actions", server.audited(), 15, []group{{"operations", "audit.actions"}}, nil},
	} {
		if len(c.codes) < c.least {
			t.Errorf("only %d %s were found: %q", len(c.codes), c.what, slices.Sorted(maps.Keys(c.codes)))
		}
		for _, language := range []string{"en", "de", "zh"} {
			said := map[string]bool{}
			for _, g := range c.in {
				maps.Copy(said, dictionary(t, language, g.area, g.name))
			}
			for _, code := range slices.Sorted(maps.Keys(c.codes)) {
				if !said[code] && !slices.Contains(c.but, language) {
					t.Errorf("%s: the page has no words for %q in %q", c.what, code, language)
				}
			}
		}
	}
}
