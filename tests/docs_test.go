package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// statusOfCurl is sourced by the shell before the examples: curl does what it does, and notes
// the line of the document and the status. -w alone would write into the answer.
const statusOfCurl = `curl() { command curl -w "%{stderr}${BASH_LINENO[-2]} %{http_code}\n" "$@" 2>>"$STATUSES"; }`

var (
	docDate    = regexp.MustCompile(`\b20\d\d-\d\d-\d\d`)
	docStatus  = regexp.MustCompile(`\b[2-5]\d\d\b`)
	docRequest = regexp.MustCompile(`(^|\()(api|door|curl) `)
)

// TestDocs_api runs the examples of docs/api.md one after the other against the demonstration, as
// they say that one can: every request succeeds, but where a comment tells another status.
func TestDocs_api(t *testing.T) {
	t.Parallel()
	// All of next year can be booked, so that the dates of the document always can.
	server := demonstrationWith(t, testenv.Config{YAML: "booking: { limits: { max_advance: 20000h } }\n", Env: []string{"PUNCTUAL_BOOKING_UNDO=2m"}})
	lines := examples(t, "../docs/api.md", "http://localhost:8080", server.URL)

	dir := t.TempDir()
	script, before, statuses := filepath.Join(dir, "api.sh"), filepath.Join(dir, "before.sh"), filepath.Join(dir, "statuses")
	for file, text := range map[string]string{script: strings.Join(lines, "\n"), before: statusOfCurl, statuses: ""} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BASH_ENV="+before, "STATUSES="+statuses)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the shell: %v", err)
	}

	noted, err := os.ReadFile(statuses)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][]string{} // by line, from 1
	for note := range strings.Lines(string(noted)) {
		var line int
		var status string
		if _, err := fmt.Sscan(note, &line, &status); err != nil {
			t.Fatalf("what curl noted: %q: %v", note, err)
		}
		for line > 1 && !docRequest.MatchString(lines[line-1]) { // it was noted at the end of several lines
			line--
		}
		got[line] = append(got[line], status)
	}
	for i, text := range lines {
		_, comment, _ := strings.Cut(text, " # ")
		told := docStatus.FindAllString(comment, -1)
		for _, status := range got[i+1] {
			if status[0] != '2' && !slices.Contains(told, status) {
				t.Errorf("docs/api.md:%d: %s\n%s", i+1, status, text)
			}
		}
		if docRequest.MatchString(text) && !strings.Contains(text, "() {") && len(got[i+1]) == 0 {
			t.Errorf("docs/api.md:%d: no request was made\n%s", i+1, text)
		}
	}
	if t.Failed() {
		t.Logf("the answers:\n%s", out)
	}
}

// examples are the lines of a document, empty but for those of the blocks of sh, with an address
// replaced, and with dates that are ahead of now.
func examples(t *testing.T, path, address, with string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	inside := false
	for i, line := range lines {
		if strings.HasPrefix(line, "```") {
			inside, line = line == "```sh", ""
		}
		if !inside {
			lines[i] = ""
			continue
		}
		lines[i] = docDate.ReplaceAllStringFunc(strings.ReplaceAll(line, address, with), ahead)
	}
	return lines
}

// ahead moves a date of 2027 to the first year in which it is still to come, by whole weeks, so that
// clocks change as many days after it as they do in 2027.
func ahead(date string) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	year := time.Now().Year()
	if time.Now().YearDay() > 15 { // the first dates are in February
		year++
	}
	return day.Add(clocksForward(year).Sub(clocksForward(2027))).Format(time.DateOnly)
}

// clocksForward is the day on which Europe puts its clocks forward: the last Sunday of March.
func clocksForward(year int) time.Time {
	day := time.Date(year, 3, 31, 0, 0, 0, 0, time.UTC)
	return day.AddDate(0, 0, -int(day.Weekday()))
}

// TestDocs_names checks that docs/operations.md names every metric and job type, and that no document
// names a metric that does not exist.
func TestDocs_names(t *testing.T) {
	t.Parallel()
	read := func(pattern string) (text string) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	docs, operations, source := read("../docs/*.md")+read("../README.md"), read("../docs/operations.md"), read("../app/*.go")+read("../app/*/*.go")
	metric := regexp.MustCompile(`\b(delayjob|http_request)_[a-z_]+`)
	jobType := regexp.MustCompile(`[a-z]+\.[a-z_]+`)
	jobTypes := jobType.FindAllString(regexp.MustCompile(`var JobNames = .*`).FindString(source), -1)
	metrics := metric.FindAllString(source, -1)
	if len(metrics) < 20 || len(jobTypes) < 10 {
		t.Fatalf("found %d metrics and %d job types", len(metrics), len(jobTypes))
	}
	for _, name := range append(metrics, jobTypes...) {
		if !strings.Contains(operations, "`"+name+"`") {
			t.Errorf("docs/operations.md does not name %s", name)
		}
	}
	for _, name := range metric.FindAllString(docs, -1) {
		if !slices.Contains(metrics, name) {
			t.Errorf("the documents name %s, which does not exist", name)
		}
	}
}

// TestDocs_tests: each test that the documents name as a proof exists.
func TestDocs_tests(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", "--exclude-dir=node_modules", `^func (Test|Benchmark|Fuzz)[A-Za-z0-9_]+`, "..").Output()
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		exists[strings.TrimSpace(strings.TrimPrefix(line, "func "))] = true
	}
	for file, least := range map[string]int{"reviews.md": 100, "security.md": 60} {
		text, err := os.ReadFile("../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\b(Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9_]*`).FindAllString(string(text), -1)
		if len(names) < least {
			t.Errorf("docs/%s names only %d tests", file, len(names))
		}
		for _, name := range names {
			if !exists[name] {
				t.Errorf("docs/%s names %s, which does not exist", file, name)
			}
		}
	}
}
