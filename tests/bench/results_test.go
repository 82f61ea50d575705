package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// results are what the benchmarks of this run found, for the table and the chart.
var results struct {
	sync.Mutex
	rows   []row
	values map[string]float64
}

// A row is a line of the table in docs/benchmarks.md.
type row struct{ what, measured, aim, floor string }

// tell adds a line of the table.
func tell(what, measured, aim, floor string) {
	results.Lock()
	defer results.Unlock()
	results.rows = append(results.rows, row{what, measured, aim, floor})
}

// value notes a figure of the chart.
func value(name string, v float64) {
	results.Lock()
	defer results.Unlock()
	if results.values == nil {
		results.values = map[string]float64{}
	}
	results.values[name] = v
}

// TestMain prints the results as a table. If PUNCTUAL_BENCH_DOCS names the folder of the
// documents it also puts the table and the day into benchmarks.md there and draws
// benchmarks.svg; but only after a run in which every figure of the chart was measured.
func TestMain(m *testing.M) {
	if url := os.Getenv(holdVariable); url != "" {
		hold(url)
	}
	code := m.Run()
	if len(results.rows) > 0 {
		fmt.Printf("\n%s", table())
	}
	if docs := os.Getenv("PUNCTUAL_BENCH_DOCS"); code == 0 && docs != "" {
		if err := publish(docs); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func table() string {
	var b strings.Builder
	b.WriteString("| what | measured | aim | floor in the same run |\n| --- | --- | --- | --- |\n")
	for _, r := range results.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.measured, r.aim, r.floor)
	}
	return b.String()
}

func publish(docs string) error {
	for _, p := range panels {
		for _, o := range p.ours {
			if _, ok := results.values[o.value]; !ok {
				return fmt.Errorf("%s was not measured, so the documents stay as they are", o.value)
			}
		}
	}
	when := fmt.Sprintf("Measured on %s on a machine with %d cores (%s).\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor())
	if err := replaceBetween(filepath.Join(docs, "benchmarks.md"), "make bench", when+table()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "benchmarks.svg"), []byte(chart(results.values)), 0o644)
}

// replaceBetween replaces the part of a document that a make target writes. It stands between two lines that name it.
func replaceBetween(file, target, text string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begins, ends := "<!-- written by "+target+": begin -->\n", "<!-- written by "+target+": end -->\n"
	before, rest, ok1 := strings.Cut(string(content), begins)
	_, after, ok2 := strings.Cut(rest, ends)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s lacks the lines between which %s writes", file, target)
	}
	return os.WriteFile(file, []byte(before+begins+text+ends+after), 0o644)
}

// processor names the machine's, as Linux does.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, ok := strings.Cut(string(info), "model name")
	if !ok {
		return runtime.GOARCH
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimLeft(line, "\t :")
}

// count is a number as people read it: 1,234,567.
func count(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
