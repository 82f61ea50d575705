package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong with the configuration. Source is the file or the
// environment variable it came from; Line is 0 where it has none.
type Fault struct {
	Source       string
	Line, Column int
	Message      string
}

func (f Fault) String() string {
	if f.Line == 0 {
		return f.Source + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.Source, f.Line, f.Column, f.Message)
}

// Error lists all faults of a configuration, in the order of the file.
type Error struct {
	File   string
	Faults []Fault
	lines  []string // of the file, secrets masked
}

// Error returns one line: the first fault, and how many more there are.
func (e *Error) Error() string {
	s := e.Faults[0].String()
	if n := len(e.Faults) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more: run punctual config check %s)", n, e.File)
	}
	return s
}

// Report returns each fault with the lines around it.
func (e *Error) Report() string {
	var b strings.Builder
	for _, f := range e.Faults {
		b.WriteString(f.String() + "\n" + e.Excerpt(f))
	}
	return b.String()
}

// Excerpt shows the lines around a fault of the file, secrets masked. It is empty for a fault of the
// environment.
func (e *Error) Excerpt(f Fault) string {
	if f.Source != e.File || f.Line == 0 {
		return ""
	}
	return excerpt(e.lines, f.Line, f.Column)
}

func excerpt(lines []string, line, column int) string {
	var b strings.Builder
	for n := max(1, line-2); n <= min(len(lines), line+2); n++ {
		mark := " "
		if n == line {
			mark = ">"
		}
		fmt.Fprintf(&b, "%s %4d | %s\n", mark, n, lines[n-1])
		if n == line {
			fmt.Fprintf(&b, "       | %s^\n", strings.Repeat(" ", max(0, column-1)))
		}
	}
	return b.String()
}

func newError(file string, src []byte, secrets []string, faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	for i := range faults {
		faults[i].Message = strings.Join(strings.Fields(hide(faults[i].Message, secrets, 6)), " ")
	}
	for i := range faults {
		faults[i].Message = cut(faults[i].Message, maxFaultText)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(faults) - maxShownFaults; more > 0 {
		last := faults[maxShownFaults-1]
		last.Message = fmt.Sprintf("%d more faults from here on", more+1)
		faults = append(faults[:maxShownFaults-1:maxShownFaults-1], last)
	}
	return &Error{File: file, Faults: faults, lines: maskLines(src, secrets)}
}

// Limits of what is shown of a file's faults; bytes for text.
const (
	maxShownFaults = 100
	maxFaultText   = 500
	maxExcerptLine = 200
)

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
