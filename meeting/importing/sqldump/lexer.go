package sqldump

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reader is a position in a dump.
type reader struct {
	*collector
	in           *bufio.Reader
	line, column int
	failed       error // of the input, other than its end
	delimiter    string
	escapes      bool // a backslash in '...' escapes, as in MySQL
	buffer       []byte
}

func (r *reader) syntaxError(format string, args ...any) error {
	return &SyntaxError{Line: r.line, Column: r.column, Message: fmt.Sprintf(format, args...)}
}

func (r *reader) read() (byte, error) {
	b, err := r.in.ReadByte()
	if err != nil {
		if err != io.EOF {
			r.failed = err
		}
		return 0, io.EOF
	}
	switch {
	case b == '\n':
		r.line++
		r.column = 1
	case b&0xc0 != 0x80: // no continuation of a character
		r.column++
	}
	return b, nil
}

// peek returns the next byte, 0 at the end.
func (r *reader) peek() byte { return r.peekAt(0) }

func (r *reader) peekAt(i int) byte {
	b, err := r.in.Peek(i + 1)
	if err != nil {
		if err != io.EOF {
			r.failed = err
		}
		return 0
	}
	return b[i]
}

func (r *reader) atEnd() bool {
	_, err := r.in.Peek(1)
	if err != nil && err != io.EOF {
		r.failed = err
	}
	return err != nil
}

// space skips white space and comments.
func (r *reader) space() error {
	for {
		switch c := r.peek(); {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if _, err := r.read(); err != nil {
				return err
			}
		case c == '#', c == '-' && r.peekAt(1) == '-':
			if err := r.comment(); err != nil {
				return err
			}
		case c == '/' && r.peekAt(1) == '*':
			if err := r.block(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// comment skips the rest of the line, which may say that Postgres wrote the dump.
func (r *reader) comment() error {
	line, err := r.restOfLine()
	if strings.Contains(line, "PostgreSQL database dump") {
		r.escapes = false
	}
	return err
}

// restOfLine returns at most 1,000 bytes of it. The end of the dump ends a line.
func (r *reader) restOfLine() (string, error) {
	var line []byte
	for !r.atEnd() {
		b, err := r.read()
		if err != nil {
			return "", err
		}
		if b == '\n' {
			break
		}
		if len(line) < 1_000 {
			line = append(line, b)
		}
	}
	return strings.TrimSpace(string(line)), nil
}

func (r *reader) block() error {
	start := *r
	for last := byte(0); ; {
		b, err := r.read()
		if err != nil {
			return start.syntaxError("the comment has no end")
		}
		if last == '*' && b == '/' {
			return nil
		}
		last = b
	}
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func (r *reader) word() (string, error) {
	var w []byte
	for c := r.peek(); letter(c) || c >= '0' && c <= '9' || c == '$'; c = r.peek() {
		if len(w) > 1_000 {
			return "", r.syntaxError("the name is too long")
		}
		r.read()
		w = append(w, c)
	}
	return string(w), nil
}

// dollar skips a text in dollar quotes, as in functions of Postgres, or a dollar sign.
func (r *reader) dollar() error {
	start := *r
	r.read()
	var tag []byte
	for c := r.peek(); (letter(c) || c >= '0' && c <= '9') && len(tag) < 100; c = r.peek() {
		r.read()
		tag = append(tag, c)
	}
	if r.peek() != '$' || r.escapes {
		return nil
	}
	r.read()
	end := []byte("$" + string(tag) + "$")
	var last []byte
	for {
		b, err := r.read()
		if err != nil {
			return start.syntaxError("the text in dollar quotes has no end")
		}
		if last = append(last, b); len(last) > len(end) {
			last = last[1:]
		}
		if bytes.Equal(last, end) {
			return nil
		}
	}
}

// quoted reads a text in quotes. A doubled quote stands for one.
func (r *reader) quoted(escapes, keep bool) ([]byte, error) {
	start := *r
	quote, err := r.read()
	if err != nil {
		return nil, err
	}
	out := r.buffer[:0]
	for {
		b, err := r.read()
		if err != nil {
			return nil, start.syntaxError("the text has no closing %c", quote)
		}
		switch {
		case b == quote && r.peek() == quote:
			r.read()
		case b == quote:
			r.buffer = out
			return out, nil
		case b == '\\' && escapes:
			if b, err = r.read(); err != nil {
				return nil, start.syntaxError("the text has no closing %c", quote)
			}
			if escaped, ok := mysqlEscapes[b]; ok {
				b = escaped
			}
		}
		if keep {
			if out = append(out, b); len(out) > r.limits.Value {
				return nil, start.syntaxError("the value has more than %d bytes", r.limits.Value)
			}
		}
	}
}

var mysqlEscapes = map[byte]byte{'0': 0, 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'Z': 26}

// name reads a name, quoted or not, of which schemas are left out.
func (r *reader) name() (string, error) {
	for {
		if err := r.space(); err != nil {
			return "", err
		}
		var name string
		switch c := r.peek(); {
		case c == '`' || c == '"':
			b, err := r.quoted(false, true)
			if err != nil {
				return "", err
			}
			name = text(b)
		case letter(c):
			word, err := r.word()
			if err != nil {
				return "", err
			}
			name = word
		default:
			return "", r.unexpected("a name")
		}
		if r.peek() != '.' {
			return name, nil
		}
		r.read()
	}
}

func (r *reader) unexpected(wanted string) error {
	if r.atEnd() {
		return io.EOF
	}
	ahead, _ := r.in.Peek(min(utf8.UTFMax, max(1, r.in.Buffered())))
	c, _ := utf8.DecodeRune(ahead)
	return r.syntaxError("expected %s, found %q", wanted, c)
}

func (r *reader) expect(c byte) error {
	if err := r.space(); err != nil {
		return err
	}
	if r.peek() != c {
		return r.unexpected(strconv.QuoteRune(rune(c)))
	}
	_, err := r.read()
	return err
}
