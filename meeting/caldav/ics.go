package caldav

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// component is a part of an iCalendar, with its lines as they came.
type component struct {
	name  string // in upper case
	lines []line
	kids  []*component
}

// line is a property, unfolded.
type line struct {
	name   string // in upper case
	params string // with the leading semicolon; empty: none
	value  string
}

func (l line) String() string { return l.name + l.params + ":" + l.value }

// param returns a parameter without quotes, or "".
func (l line) param(name string) string {
	for part := range splitParams(l.params) {
		if key, value, _ := strings.Cut(part, "="); strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// setParam replaces a parameter; an empty value removes it.
func (l *line) setParam(name, value string) {
	var b strings.Builder
	for part := range splitParams(l.params) {
		if key, _, _ := strings.Cut(part, "="); !strings.EqualFold(key, name) {
			b.WriteString(";" + part)
		}
	}
	if value != "" {
		b.WriteString(";" + name + "=" + value)
	}
	l.params = b.String()
}

// splitParams yields each parameter, such as CN="Ada".
func splitParams(params string) func(func(string) bool) {
	return func(yield func(string) bool) {
		begin, quoted := 0, false
		for i := 0; i <= len(params); i++ {
			if i < len(params) && params[i] == '"' {
				quoted = !quoted
			}
			if i == len(params) || params[i] == ';' && !quoted {
				if part := params[begin:i]; part != "" && !yield(part) {
					return
				}
				begin = i + 1
			}
		}
	}
}

// parseICS reads components; [itip.Read] has checked sizes and nesting before.
func parseICS(text string) (*component, error) {
	text = strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "").Replace(text)
	top := &component{}
	open := []*component{top}
	for raw := range strings.SplitSeq(text, "\n") {
		raw = strings.TrimRight(raw, "\r")
		l, ok := parseLine(raw)
		if !ok {
			continue
		}
		at := open[len(open)-1]
		switch l.name {
		case "BEGIN":
			if len(open) > 10 {
				return nil, fmt.Errorf("components are nested too deeply")
			}
			c := &component{name: strings.ToUpper(strings.TrimSpace(l.value))}
			at.kids = append(at.kids, c)
			open = append(open, c)
		case "END":
			if len(open) == 1 || !strings.EqualFold(strings.TrimSpace(l.value), at.name) {
				return nil, fmt.Errorf("END:%s has no BEGIN", l.value)
			}
			open = open[:len(open)-1]
		default:
			at.lines = append(at.lines, l)
		}
	}
	if len(open) != 1 || len(top.kids) == 0 || top.kids[0].name != "VCALENDAR" {
		return nil, fmt.Errorf("must be one VCALENDAR")
	}
	return top.kids[0], nil
}

func parseLine(text string) (line, bool) {
	quoted := false
	params := -1
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == ';' && !quoted && params < 0:
			params = i
		case c == ':' && !quoted:
			l := line{name: strings.ToUpper(text[:i]), value: text[i+1:]}
			if params >= 0 {
				l.name, l.params = strings.ToUpper(text[:params]), text[params:i]
			}
			return l, l.name != ""
		}
	}
	return line{}, false
}

// kidsNamed returns the parts with a name.
func (c *component) kidsNamed(name string) []*component {
	var found []*component
	for _, k := range c.kids {
		if k.name == name {
			found = append(found, k)
		}
	}
	return found
}

// first returns the first property with a name.
func (c *component) first(name string) (line, bool) {
	for _, l := range c.lines {
		if l.name == name {
			return l, true
		}
	}
	return line{}, false
}

func (c *component) write(b *strings.Builder) {
	writeLine(b, "BEGIN:"+c.name)
	for _, l := range c.lines {
		writeLine(b, l.String())
	}
	for _, k := range c.kids {
		k.write(b)
	}
	writeLine(b, "END:"+c.name)
}

// writeLine folds a line at 75 bytes, between characters.
func writeLine(b *strings.Builder, text string) {
	for room := 75; len(text) > room; room = 74 {
		cut := room
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		if cut == 0 {
			cut = room
		}
		b.WriteString(text[:cut] + "\r\n ")
		text = text[cut:]
	}
	b.WriteString(text + "\r\n")
}

func (c *component) String() string {
	var b strings.Builder
	c.write(&b)
	return b.String()
}
