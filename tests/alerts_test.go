package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAlerts_knowTheirMetrics: each metric that an alert, its test or the dashboard reads is one that the
// program has, and each runbook is a section that exists.
func TestAlerts_knowTheirMetrics(t *testing.T) {
	defined := map[string]bool{}
	sources, err := filepath.Glob("../app/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`"((?:delayjob|punctual|http)_[a-z_]+)"`)
	for _, source := range sources {
		if !strings.HasSuffix(source, "_test.go") {
			for _, m := range name.FindAllStringSubmatch(read(t, source), -1) {
				defined[m[1]] = true
			}
		}
	}
	used := regexp.MustCompile(`\b(?:delayjob|punctual|http)_[a-z_]+`)
	suffix := regexp.MustCompile(`_(?:bucket|sum|count)$`)
	for _, file := range []string{"../deploy/prometheus/punctual.rules.yml", "../deploy/prometheus/punctual.test.yml", "../deploy/grafana/punctual.json"} {
		found := used.FindAllString(read(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s reads no metric", file)
		}
		for _, metric := range found {
			if !defined[metric] && !defined[suffix.ReplaceAllString(metric, "")] {
				t.Errorf("%s reads %s, which the program does not have", file, metric)
			}
		}
	}

	operations := read(t, "../docs/operations.md")
	rules := read(t, "../deploy/prometheus/punctual.rules.yml")
	runbooks := regexp.MustCompile(`runbook: docs/operations\.md#(\S+)`).FindAllStringSubmatch(rules, -1)
	if alerts := strings.Count(rules, "- alert: "); len(runbooks) != alerts {
		t.Errorf("%d alerts, %d runbooks", alerts, len(runbooks))
	}
	for _, m := range runbooks {
		heading := "## " + strings.ToUpper(m[1][:1]) + strings.ReplaceAll(m[1][1:], "-", " ")
		if !strings.Contains(strings.ToLower(operations), strings.ToLower(heading)+"\n") {
			t.Errorf("docs/operations.md has no section %q", heading)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
