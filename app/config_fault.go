package app

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"punctual/app/audit"
)

// ConfigFault is one thing wrong with the configuration. Source is the file or the
// environment variable it came from; Line is 0 where it has none.
type ConfigFault struct {
	Source       string
	Line, Column int
	Message      string
}

func (f ConfigFault) String() string {
	if f.Line == 0 {
		return f.Source + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.Source, f.Line, f.Column, f.Message)
}

// ConfigError lists all faults of a configuration, in the order of the file.
type ConfigError struct {
	File   string
	Faults []ConfigFault
	lines  []string // of the file, secrets masked
}

// Error is one line: the first fault, and how many more there are.
func (e *ConfigError) Error() string {
	s := e.Faults[0].String()
	if n := len(e.Faults) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more: run punctual config check %s)", n, e.File)
	}
	return s
}

// Report is each fault with the lines around it.
func (e *ConfigError) Report() string {
	var b strings.Builder
	for _, f := range e.Faults {
		b.WriteString(f.String() + "\n")
		if f.Source == e.File && f.Line > 0 {
			b.WriteString(excerpt(e.lines, f.Line, f.Column))
		}
	}
	return b.String()
}

// excerpt shows two lines before and after, and a caret under the column.
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

func newConfigError(file string, src []byte, secrets []string, faults []ConfigFault) error {
	if len(faults) == 0 {
		return nil
	}
	for i := range faults {
		faults[i].Message = strings.Join(strings.Fields(hide(faults[i].Message, secrets, 6)), " ")
	}
	slices.SortStableFunc(faults, func(a, b ConfigFault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &ConfigError{File: file, Faults: faults, lines: maskLines(src, secrets)}
}

// mask stands for a secret, here as in the history.
const mask = audit.Mask

// secretValue finds what looks like a secret even in a file that is no YAML.
var secretValue = regexp.MustCompile(`(?i)(password"?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}#]+)|(://[^\s:@/]*:)[^\s@]+(@)|((?:authorization|[\w-]*(?:token|secret|key))"?\s*:\s*)("[^"]*"?|'[^']*'?|[^,}#]+)`)

// maskLines splits the file into lines fit to be shown.
func maskLines(src []byte, secrets []string) []string {
	text := secretValue.ReplaceAllString(string(src), "${1}${3}${5}"+mask+"${4}")
	return strings.Split(strings.ReplaceAll(hide(text, secrets, 2), "\r\n", "\n"), "\n")
}

// hide masks secrets of at least so many bytes; less would mask every other word.
func hide(text string, secrets []string, least int) string {
	for _, s := range secrets {
		if len(s) >= least {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	return text
}

// isConfigError is for callers that treat a refused file unlike any other failure.
func isConfigError(err error) (*ConfigError, bool) { return errors.AsType[*ConfigError](err) }
