package itip

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// property is one content line, such as DTSTART;TZID=Europe/Berlin:20270210T090000.
type property struct {
	line   int    // where it begins, from 1
	name   string // in upper case
	params []param
	value  string // with its escapes
	long   bool   // longer than the limit; value is cut off
}

type param struct{ name, value string }

// param returns the first value of a parameter, without quotes.
func (p *property) param(name string) string {
	for _, q := range p.params {
		if q.name == name {
			return q.value
		}
	}
	return ""
}

// SyntaxError reports a file that is not iCalendar, is incomplete, or exceeds a limit.
type SyntaxError struct {
	Line    int
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// lineReader reads content lines and joins folded ones.
type lineReader struct {
	in    *bufio.Reader
	line  int // that was read last
	left  int64
	max   int    // bytes of a content line that are kept
	ahead []byte // the line after the current one
	more  bool   // ahead is set
	err   error  // at the end of the input
}

func newLineReader(r io.Reader, l Limits) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), left: l.Size, max: l.Line}
}

// physical reads a line without its end. It keeps at most max bytes of it, and one more to show that
// there were more.
func (r *lineReader) physical() ([]byte, error) {
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if r.left -= int64(len(part)); r.left < 0 {
			return nil, &SyntaxError{r.line + 1, "the file is too large"}
		}
		if room := r.max + 1 - len(text); room > 0 {
			text = append(text, part[:min(room, len(part))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0, err == nil:
			r.line++
			if r.line == 1 {
				text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			}
			return bytes.TrimRight(text, "\r\n"), nil
		default:
			return nil, err
		}
	}
}

// next returns the next content line, or io.EOF. It skips invalid lines, because some programs forget to
// fold a text.
func (r *lineReader) next() (*property, error) {
	for {
		text, at, err := r.unfolded()
		if err != nil {
			return nil, err
		}
		if p := parseProperty(text); p != nil {
			p.line, p.long = at, len(text) > r.max
			return p, nil
		}
	}
}

func (r *lineReader) unfolded() (text []byte, line int, err error) {
	if !r.more {
		if r.err != nil {
			return nil, 0, r.err
		}
		if r.ahead, r.err = r.physical(); r.err != nil {
			return nil, 0, r.err
		}
	}
	text, line, r.more = r.ahead, r.line, false
	for {
		if r.ahead, r.err = r.physical(); r.err != nil {
			if errors.Is(r.err, io.EOF) {
				return text, line, nil
			}
			return nil, 0, r.err
		}
		if len(r.ahead) == 0 || r.ahead[0] != ' ' && r.ahead[0] != '\t' {
			r.more = true
			return text, line, nil
		}
		if room := r.max + 1 - len(text); room > 0 {
			text = append(text, r.ahead[1:min(len(r.ahead), room+1)]...)
		}
	}
}

// parseProperty returns nil if the text is not a content line.
func parseProperty(text []byte) *property {
	rest := decode(text)
	end := strings.IndexAny(rest, ";:")
	if end <= 0 || strings.ContainsFunc(rest[:end], func(c rune) bool { return !isNameRune(c) }) {
		return nil
	}
	p := &property{name: strings.ToUpper(rest[:end])}
	rest = rest[end:]
	for strings.HasPrefix(rest, ";") {
		name, after, ok := strings.Cut(rest[1:], "=")
		if !ok || strings.ContainsAny(name, `:;"`) { // a parameter without a value, as in "DTSTART;:2027..."
			end := strings.IndexAny(rest[1:], ";:")
			if end < 0 {
				return nil
			}
			rest = rest[1+end:]
			continue
		}
		value, after := paramValue(after)
		p.params = append(p.params, param{strings.ToUpper(strings.TrimSpace(name)), value})
		rest = after
	}
	value, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return nil
	}
	p.value = value
	return p
}

// paramValue reads the value of a parameter up to the next ; or : outside of quotes.
func paramValue(text string) (value, rest string) {
	quoted := false
	end := len(text)
	for i := range len(text) {
		if c := text[i]; c == '"' {
			quoted = !quoted
		} else if !quoted && (c == ';' || c == ':') {
			end = i
			break
		}
	}
	if quoted && end == len(text) { // a quote that never ends: take it as a character
		if i := strings.IndexAny(text, ";:"); i >= 0 {
			end = i
		}
	}
	return caret.Replace(strings.ReplaceAll(text[:end], `"`, "")), text[end:]
}

// caret are the escapes in parameters (RFC 6868).
var caret = strings.NewReplacer("^^", "^", "^n", "\n", "^'", `"`)

func isNameRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// decode reads UTF-8, or else Latin-1.
func decode(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}

// unescape returns a text value without escapes.
func unescape(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' || i+1 == len(value) {
			b.WriteByte(value[i])
			continue
		}
		i++
		switch value[i] {
		case 'n', 'N':
			b.WriteByte('\n')
		case ',', ';', '\\', ':', '"':
			b.WriteByte(value[i])
		default:
			b.WriteByte('\\')
			b.WriteByte(value[i])
		}
	}
	return b.String()
}
