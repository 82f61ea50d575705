package sqldump

import (
	"bufio"
	"slices"
	"strconv"
	"strings"
)

// target returns the table that rows are for, and to which of its columns their values belong; nil for
// a table that is not wanted.
func (r *reader) target() (*Table, []int, error) {
	name, err := r.name()
	if err != nil {
		return nil, nil, err
	}
	if !r.want(name) {
		return nil, nil, nil
	}
	if err := r.space(); err != nil {
		return nil, nil, err
	}
	t := r.tables[name]
	var columns []string
	if r.peek() == '(' {
		if columns, err = r.names(); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case t == nil && columns == nil:
		return nil, nil, r.syntaxError("the columns of table %s are unknown: the dump must have its CREATE TABLE before its rows", name)
	case t == nil:
		t = &Table{Name: name, Columns: columns}
		r.tables[name] = t
	case columns == nil:
		columns = t.Columns
	}
	places := make([]int, len(columns))
	for i, c := range columns {
		if places[i] = slices.Index(t.Columns, c); places[i] < 0 {
			return nil, nil, r.syntaxError("table %s has no column %s", name, c)
		}
	}
	return t, places, nil
}

func (r *reader) insert() error {
	for {
		if err := r.space(); err != nil {
			return err
		}
		ahead, _ := r.in.Peek(16)
		word, _, _ := strings.Cut(string(ahead), " ")
		if word = strings.ToUpper(word); !slices.Contains([]string{"INTO", "IGNORE", "LOW_PRIORITY", "DELAYED"}, word) {
			break
		}
		if _, err := r.word(); err != nil {
			return err
		}
		if word == "INTO" {
			break
		}
	}
	t, places, err := r.target()
	if err != nil {
		return err
	}
	if t == nil {
		return r.skipStatement()
	}
	if err := r.space(); err != nil {
		return err
	}
	word, err := r.word()
	if err != nil {
		return err
	}
	if strings.EqualFold(word, "OVERRIDING") { // SYSTEM VALUE
		for range 3 {
			if err := r.space(); err != nil {
				return err
			}
			if word, err = r.word(); err != nil {
				return err
			}
		}
	}
	if !strings.EqualFold(word, "VALUES") && !strings.EqualFold(word, "VALUE") {
		return r.syntaxError("expected VALUES after the table %s", t.Name)
	}
	for {
		if err := r.tuple(t, places); err != nil {
			return err
		}
		if err := r.space(); err != nil {
			return err
		}
		if r.peek() != ',' {
			return r.skipStatement()
		}
		r.read()
	}
}

// tuple reads one row in parentheses.
func (r *reader) tuple(t *Table, places []int) error {
	if err := r.expect('('); err != nil {
		return err
	}
	start := *r
	values := empty(len(t.Columns))
	for i := 0; ; i++ {
		v, err := r.value()
		if err != nil {
			return err
		}
		if i < len(places) {
			values[places[i]] = v
		}
		if err := r.space(); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.read()
		case ')':
			r.read()
			if i+1 != len(places) {
				return start.syntaxError("table %s has %d columns, the row has %d values", t.Name, len(places), i+1)
			}
			if err := r.add(t, values); err != nil {
				return start.syntaxError("%v", err)
			}
			return nil
		default:
			return r.unexpected("',' or ')' after a value")
		}
	}
}

func empty(n int) []Value {
	vs := make([]Value, n)
	for i := range vs {
		vs[i].Null = true
	}
	return vs
}

// value reads a literal.
func (r *reader) value() (Value, error) {
	if err := r.space(); err != nil {
		return Value{}, err
	}
	switch c := r.peek(); {
	case c == '\'':
		b, err := r.quoted(r.escapes, true)
		return Value{Text: text(b)}, err
	case c == '"' && r.escapes: // MySQL without ANSI_QUOTES
		b, err := r.quoted(true, true)
		return Value{Text: text(b)}, err
	case c == '0' && (r.peekAt(1) == 'x' || r.peekAt(1) == 'X'):
		return r.hex()
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		return r.number()
	case letter(c):
		return r.literal()
	default:
		return Value{}, r.unexpected("a value")
	}
}

func (r *reader) number() (Value, error) {
	var n []byte
	for c := r.peek(); c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; c = r.peek() {
		if len(n) > 100 {
			return Value{}, r.syntaxError("the number is too long")
		}
		r.read()
		n = append(n, c)
	}
	return Value{Text: string(n)}, nil
}

func (r *reader) hex() (Value, error) {
	start := *r
	r.read()
	r.read()
	var out []byte
	for {
		high, ok := nibble(r.peek())
		if !ok {
			return Value{Text: text(out)}, nil
		}
		r.read()
		low, ok := nibble(r.peek())
		if !ok {
			return Value{}, start.syntaxError("the hexadecimal value has an odd number of digits")
		}
		r.read()
		if out = append(out, high<<4|low); len(out) > r.limits.Value {
			return Value{}, start.syntaxError("the value has more than %d bytes", r.limits.Value)
		}
	}
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// literal reads NULL, a truth value, or a text with a prefix such as E or _binary.
func (r *reader) literal() (Value, error) {
	start := *r
	word, err := r.word()
	if err != nil {
		return Value{}, err
	}
	switch lower := strings.ToLower(word); {
	case lower == "null" || lower == "default":
		return Value{Null: true}, nil
	case lower == "true":
		return Value{Text: "1"}, nil
	case lower == "false":
		return Value{Text: "0"}, nil
	case lower == "e" && r.peek() == '\'':
		b, err := r.quoted(true, true)
		return Value{Text: text(b)}, err
	case lower == "b" && r.peek() == '\'':
		b, err := r.quoted(false, true)
		n, _ := strconv.ParseInt(string(b), 2, 64)
		return Value{Text: strconv.FormatInt(n, 10)}, err
	case lower == "x" && r.peek() == '\'', strings.HasPrefix(lower, "_"), lower == "n" && r.peek() == '\'':
		if lower != "x" {
			return r.value()
		}
		b, err := r.quoted(false, true)
		if err != nil {
			return Value{}, err
		}
		inner := *r
		inner.in, inner.buffer = bufio.NewReaderSize(strings.NewReader("0x"+string(b)), 16), nil
		return inner.hex()
	}
	return Value{}, start.syntaxError("expected a value, found %s; only literal values can be read", word)
}
