package app

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	for i := range faults {
		faults[i].Message = strings.Join(strings.Fields(hide(faults[i].Message, secrets, 6)), " ")
	}
	for i := range faults {
		faults[i].Message = cut(faults[i].Message, maxFaultText)
	}
	slices.SortStableFunc(faults, func(a, b ConfigFault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(faults) - maxConfigFaults; more > 0 {
		last := faults[maxConfigFaults-1]
		last.Message = fmt.Sprintf("%d more faults from here on", more+1)
		faults = append(faults[:maxConfigFaults-1:maxConfigFaults-1], last)
	}
	return &ConfigError{File: file, Faults: faults, lines: maskLines(src, secrets)}
}

// Most that is shown of the faults of a file, in bytes where it is text.
const (
	maxConfigFaults = 100
	maxFaultText    = 500
	maxExcerptLine  = 200
)

// cut shortens text to at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// mask stands for a secret, here as in the history.
const mask = audit.Mask

// secretValue finds what looks like a secret even in a file that is no YAML.
var secretValue = regexp.MustCompile(`(?i)(password"?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}#]+)|(://[^\s:@/]*:)[^\s@]+(@)|((?:authorization|[\w-]*(?:token|secret|key))"?\s*:\s*)("[^"]*"?|'[^']*'?|[^,}#]+)`)

// maskLines splits the file into lines fit to be shown.
func maskLines(src []byte, secrets []string) []string {
	text := secretValue.ReplaceAllString(string(src), "${1}${3}${5}"+mask+"${4}")
	lines := strings.Split(strings.ReplaceAll(hide(text, secrets, 2), "\r\n", "\n"), "\n")
	shown := true // whether the last key's value may be
	for i, line := range lines {
		lines[i], shown = maskUnknown(line, shown)
		lines[i] = cut(lines[i], maxExcerptLine)
	}
	return lines
}

// keyed is a key and a value behind it, up to the next one in braces.
var keyed = regexp.MustCompile(`([\w.-]+)(["']?\s*:(?:\s+|$))([^,{}\[\]]*)`)

// maskUnknown hides the values of keys that are no settings, which may be misspelt secrets, and
// comments, which may hold old ones or be the rest of a secret with a # in it. A line
// without a key goes with the key before it; after reports that for the lines that follow.
func maskUnknown(line string, before bool) (masked string, after bool) {
	code, comment := line, ""
	if i := strings.Index(" "+line, " #"); i >= 0 {
		code, comment = line[:i], "# "+mask
	}
	if !keyed.MatchString(code) {
		if text := strings.TrimSpace(code); !before && text != "" {
			indent := code[:strings.Index(code, text)]
			return indent + mask + comment, false
		}
		return code + comment, before
	}
	after = true
	masked = keyed.ReplaceAllStringFunc(code, func(pair string) string {
		part := keyed.FindStringSubmatch(pair)
		if after = settingNames()[part[1]]; after || strings.TrimSpace(part[3]) == "" {
			return pair
		}
		value := strings.TrimRight(part[3], " \t")
		return part[1] + part[2] + mask + part[3][len(value):]
	})
	return masked + comment, after
}

// settingNames are the keys of all settings that are no secrets.
var settingNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, job := range strategies {
		names[job] = true
	}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer:
			walk(t.Elem())
		case reflect.Struct:
			for f := range t.Fields() {
				name, secret := f.Tag.Get("yaml"), f.Tag.Get("secret")
				if name == "" {
					continue
				}
				if secret != "true" {
					names[name] = true
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	return names
})

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
