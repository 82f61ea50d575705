package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A banned phrase marks English that was translated word for word. CONTRIBUTING.md has the glossary.
type banned struct {
	phrase  *regexp.Regexp
	instead string
}

var bannedPhrases = []banned{
	{regexp.MustCompile(`(?:^|[.:;] )Who(?:ever)? [a-z][^?]*$`), "name the actor: anyone who, the caller, the organizer"},
	{regexp.MustCompile(`(?i)\b(?:tell|tells|telling|told)\b`), "return, report, notify, store, show"},
	{regexp.MustCompile(`(?i)\bof (?:which|whom)\b`), "two sentences"},
	{regexp.MustCompile(`(?i)\bany more\b`), "no longer"},
	{regexp.MustCompile(`(?i)\bfor ever\b`), "forever, indefinitely"},
	{regexp.MustCompile(`(?i)\bwhose turn\b`), "next"},
	{regexp.MustCompile(`(?i)[,;] so (?:is|are|does|do|has|have) `), "too, also"},
	{regexp.MustCompile(`(?i)\bas well as\b`), "and"},
	{regexp.MustCompile(`(?i)\bnothing of\b`), "nothing about, none of"},
	{regexp.MustCompile(`(?i)\bsuch as (?:is|are)\b`), "those that are"},
	{regexp.MustCompile(`(?i)\bin front of\b|\bbehind (?:it|them|the|its|other|others|what|each|all)\b`), "before, after"},
	{regexp.MustCompile(`(?i)\bin line for\b|\bplace in line\b`), "waiting list"},
	{regexp.MustCompile(`(?i)\b(?:give|gives|gave|given|giving) (?:it |them |rooms? )?back\b`), "return, release"},
	{regexp.MustCompile(`(?i)\bas things are\b|\bas many as there may be\b`), "currently, at most"},
	{regexp.MustCompile(`doc:"(?:(?:Of|That|As it|By|Who|null:|Left out)\b|[^"]*\b(?:null|left out):)`), "a description that stands alone: ID of the user; null if there is none"},
}

// reviewed are the folders and files whose words are checked, as glob patterns. Go files are checked in their comments
// and strings, tests left out; other files line by line.
var reviewed = []string{
	"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "config.yaml", "account", "notify",
	"app", "meeting/*.go", "meeting/booking", "meeting/approval", "meeting/series", "meeting/waitlist", "meeting/door", "meeting/zones", "meeting/places", "meeting/public", "meeting/branding", "meeting/clock", "meeting/events", "meeting/httpapi", "meeting/jobs", "meeting/linkpages", "meeting/recurrence",
	"delayjob/topics", "delayjob/gormstore", "delayjob/admin", "delayjob/httpapi", "delayjob/lateness", "delayjob/webhook", "migrations/migrations.go",
	"web/src/lib/i18n/en", "notify/render/templates/en.tmpl",
	"delayjob/*.go", "delayjob/failpoint", "delayjob/gather", "delayjob/memqueue", "delayjob/queuetest", "delayjob/redisqueue",
}

// TestWording keeps phrases out that WRITING a translation leaves behind: in documentation, comments,
// messages, and the English of the page and of mails.
func TestWording(t *testing.T) {
	t.Parallel()
	checked := 0
	var roots []string
	for _, pattern := range reviewed {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil || len(found) == 0 {
			t.Errorf("no file matches %s (%v)", pattern, err)
		}
		roots = append(roots, found...)
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			lines, err := wordsOf(path)
			for number, text := range lines {
				for _, b := range bannedPhrases {
					if found := b.phrase.FindString(text); found != "" {
						t.Errorf("%s:%d: %q; better: %s\n\t%s", strings.TrimPrefix(path, "../"), number, strings.TrimSpace(found), b.instead, strings.TrimSpace(text))
					}
				}
				checked++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 500 {
		t.Errorf("only %d lines were checked", checked)
	}
}

// wordsOf returns what people read in a file, by line.
func wordsOf(path string) (map[int]string, error) {
	words := map[int]string{}
	switch filepath.Ext(path) {
	case ".go":
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				for i, line := range strings.Split(c.Text, "\n") {
					words[set.Position(c.Pos()).Line+i] += " " + strings.TrimSpace(strings.TrimPrefix(line, "//"))
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					words[set.Position(lit.Pos()).Line] += " " + text
				}
			}
			return true
		})
	case ".md", ".yaml", ".ts", ".svelte", ".tmpl", ".html", ".lua", ".sql", ".js", ".json":
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(text), "\n") {
			words[i+1] = line
		}
	}
	return words, nil
}

// TestWording_finds proves that the check sees what it is for.
func TestWording_finds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Who finds a room taken may wait.", "it is told of the change", "the last of which", "no room any more", "kept for ever",
		"one that is late, so is the other", "free as things are", `doc:"Of a quota: day, week or month"`, `doc:"User; null: nobody"`, "rooms in front of which", "the mails behind it", "a place in line", "they are given back",
	} {
		if !slices.ContainsFunc(bannedPhrases, func(b banned) bool { return b.phrase.MatchString(text) }) {
			t.Errorf("%q is not found", text)
		}
	}
	for _, text := range []string{"Who booked this meeting?", "anyone who books", "behind a proxy", "so is it", "give feedback"} {
		for _, b := range bannedPhrases {
			if b.phrase.MatchString(text) {
				t.Errorf("%q matches %s", text, b.phrase)
			}
		}
	}
}
