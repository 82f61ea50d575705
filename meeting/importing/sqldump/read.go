package sqldump

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Read reads the tables that want selects from a dump: INSERT statements of mysqldump, mariadb-dump
// and pg_dump --inserts, and COPY of pg_dump. The dump may be compressed with gzip. It returns a
// [*SyntaxError] for invalid statements of these kinds, and skips others.
func Read(in io.Reader, limits Limits, want func(table string) bool) (map[string]*Table, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if head, _ := buffered.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("unpack gzip: %w", err)
		}
		buffered = bufio.NewReaderSize(unzipped, 1<<16)
	}
	head, _ := buffered.Peek(5)
	switch {
	case bytes.HasPrefix(head, []byte("PGDMP")):
		return nil, errors.New("this is a dump in pg_dump's custom format; make a plain one: pg_restore --file dump.sql DUMP")
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return nil, errors.New("the dump is UTF-16; save it as UTF-8")
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		buffered.Discard(3)
	}
	r := &reader{in: buffered, line: 1, column: 1, collector: newCollector(limits, want), delimiter: ";", escapes: true}
	err := r.statements()
	if err == io.EOF {
		err = r.syntaxError("the dump ends in the middle of a statement; make it again")
	}
	if r.failed != nil {
		err = fmt.Errorf("line %d: %w", r.line, r.failed)
	}
	if err != nil {
		return nil, err
	}
	return r.tables, nil
}

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

func (r *reader) statements() error {
	for {
		if err := r.space(); err != nil {
			return err
		}
		if r.atEnd() {
			return nil
		}
		switch c := r.peek(); {
		case c == '\\': // a command of psql
			if _, err := r.restOfLine(); err != nil {
				return err
			}
			continue
		case !letter(c):
			if err := r.skipStatement(); err != nil {
				return err
			}
			continue
		}
		word, err := r.word()
		if err != nil {
			return err
		}
		switch strings.ToUpper(word) {
		case "DELIMITER": // a command of the mysql client
			line, err := r.restOfLine()
			if err != nil {
				return err
			}
			if line != "" {
				r.delimiter = line
			}
		case "CREATE":
			err = r.create()
		case "INSERT", "REPLACE":
			err = r.insert()
		case "COPY":
			err = r.copyFrom()
		case "SET":
			err = r.set()
		default:
			err = r.skipStatement()
		}
		if err != nil {
			return err
		}
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

// skipStatement skips to the delimiter. Strings, quoted names and comments may contain it.
func (r *reader) skipStatement() error {
	for {
		if err := r.space(); err != nil {
			return err
		}
		if r.atEnd() {
			if r.delimiter == ";" {
				return io.EOF
			}
			return nil
		}
		if ahead, _ := r.in.Peek(len(r.delimiter)); string(ahead) == r.delimiter {
			for range len(r.delimiter) {
				r.read()
			}
			return nil
		}
		switch c := r.peek(); {
		case c == '\'':
			if _, err := r.quoted(r.escapes, false); err != nil {
				return err
			}
		case c == '"' || c == '`':
			if _, err := r.quoted(c == '"' && r.escapes, false); err != nil {
				return err
			}
		case c == '$':
			if err := r.dollar(); err != nil {
				return err
			}
		case letter(c):
			word, err := r.word()
			if err != nil {
				return err
			}
			if (word == "E" || word == "e") && r.peek() == '\'' {
				if _, err := r.quoted(true, false); err != nil {
					return err
				}
			}
		default:
			r.read()
		}
	}
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

// set notes how Postgres reads backslashes.
func (r *reader) set() error {
	if err := r.space(); err != nil {
		return err
	}
	word, err := r.word()
	if err != nil {
		return err
	}
	if strings.EqualFold(word, "standard_conforming_strings") {
		for c := r.peek(); c == ' ' || c == '='; c = r.peek() {
			r.read()
		}
		value, err := r.word()
		if err != nil {
			return err
		}
		r.escapes = strings.EqualFold(value, "off")
	}
	return r.skipStatement()
}

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

// create notes the columns of a table.
func (r *reader) create() error {
	for {
		if err := r.space(); err != nil {
			return err
		}
		word, err := r.word()
		if err != nil {
			return err
		}
		switch strings.ToUpper(word) {
		case "UNLOGGED", "TEMPORARY":
			continue
		case "TABLE":
			return r.createTable()
		default:
			return r.skipStatement()
		}
	}
}

// notColumns begin what is no column in the list of CREATE TABLE.
var notColumns = []string{"PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK", "EXCLUDE", "LIKE", "PERIOD"}

func (r *reader) createTable() error {
	if err := r.space(); err != nil {
		return err
	}
	if c := r.peek(); c == 'I' || c == 'i' {
		ahead, _ := r.in.Peek(13)
		if strings.EqualFold(string(ahead), "IF NOT EXISTS") {
			r.in.Discard(13)
			r.column += 13
		}
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	if err := r.space(); err != nil {
		return err
	}
	if !r.want(name) || r.peek() != '(' { // such as PARTITION OF
		return r.skipStatement()
	}
	r.read()
	var columns []string
	for first := true; ; first = false {
		if err := r.space(); err != nil {
			return err
		}
		if r.peek() == ')' && first {
			break
		}
		bare := letter(r.peek())
		column, err := r.name()
		if err != nil {
			return err
		}
		if !bare || !slices.Contains(notColumns, strings.ToUpper(column)) {
			columns = append(columns, strings.ToLower(column))
		}
		if len(columns) > r.limits.Columns {
			return r.syntaxError("table %s has more than %d columns", name, r.limits.Columns)
		}
		more, err := r.restOfColumn()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if r.tables[name] == nil {
		r.tables[name] = &Table{Name: name, Columns: columns}
	}
	return r.skipStatement()
}

// restOfColumn skips to the comma or parenthesis after a column, and reports whether another one follows.
func (r *reader) restOfColumn() (more bool, err error) {
	for depth := 0; ; {
		if err := r.space(); err != nil {
			return false, err
		}
		switch c := r.peek(); c {
		case 0:
			if r.atEnd() {
				return false, io.EOF
			}
			r.read()
		case '\'':
			if _, err := r.quoted(r.escapes, false); err != nil {
				return false, err
			}
		case '"', '`':
			if _, err := r.quoted(false, false); err != nil {
				return false, err
			}
		case '(':
			depth++
			r.read()
		case ')', ',':
			r.read()
			if depth == 0 {
				return c == ',', nil
			}
			if c == ')' {
				depth--
			}
		default:
			r.read()
		}
	}
}

// names reads a list of names in parentheses.
func (r *reader) names() ([]string, error) {
	if err := r.expect('('); err != nil {
		return nil, err
	}
	var names []string
	for {
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		if names = append(names, strings.ToLower(name)); len(names) > r.limits.Columns {
			return nil, r.syntaxError("there are more than %d columns", r.limits.Columns)
		}
		if err := r.space(); err != nil {
			return nil, err
		}
		switch r.peek() {
		case ',':
			r.read()
		case ')':
			r.read()
			return names, nil
		default:
			return nil, r.unexpected("',' or ')'")
		}
	}
}

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

// copyFrom reads COPY table (columns) FROM stdin and the lines that follow.
func (r *reader) copyFrom() error {
	t, places, err := r.target()
	if err != nil {
		return err
	}
	line, err := r.restOfLine()
	if err != nil {
		return err
	}
	if !strings.Contains(strings.ToLower(line), "from stdin") {
		return r.syntaxError("expected FROM stdin after COPY")
	}
	if strings.Contains(strings.ToLower(line), " with") {
		return r.syntaxError("COPY must have no options, as pg_dump writes it")
	}
	for {
		if r.atEnd() {
			return io.EOF
		}
		start := *r
		raw, err := r.copyLine()
		if err != nil {
			return err
		}
		if string(raw) == `\.` {
			return nil
		}
		if t == nil {
			continue
		}
		cells := bytes.Split(raw, []byte{'\t'})
		if len(places) == 0 && len(raw) == 0 {
			cells = nil
		}
		if len(cells) != len(places) {
			return start.syntaxError("table %s has %d columns, the row has %d values", t.Name, len(places), len(cells))
		}
		values := empty(len(t.Columns))
		for i, cell := range cells {
			if string(cell) != `\N` {
				values[places[i]] = Value{Text: text(uncopied(cell))}
			}
		}
		if err := r.add(t, values); err != nil {
			return start.syntaxError("%v", err)
		}
	}
}

// copyLine returns a line without its end.
func (r *reader) copyLine() ([]byte, error) {
	start := *r
	out := r.buffer[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			r.failed = err
			return nil, io.EOF
		}
		if out = append(out, part...); len(out) > r.limits.Value {
			return nil, start.syntaxError("the row has more than %d bytes", r.limits.Value)
		}
		if err != bufio.ErrBufferFull {
			break
		}
	}
	r.line, r.column = r.line+1, 1
	r.buffer = out
	return bytes.TrimSuffix(bytes.TrimSuffix(out, []byte("\n")), []byte("\r")), nil
}

// uncopied resolves the escapes of COPY's text format.
func uncopied(cell []byte) []byte {
	if bytes.IndexByte(cell, '\\') < 0 {
		return cell
	}
	out := make([]byte, 0, len(cell))
	for i := 0; i < len(cell); i++ {
		c := cell[i]
		if c != '\\' || i+1 == len(cell) {
			out = append(out, c)
			continue
		}
		i++
		switch c = cell[i]; {
		case c == 'b':
			out = append(out, '\b')
		case c == 'f':
			out = append(out, '\f')
		case c == 'n':
			out = append(out, '\n')
		case c == 'r':
			out = append(out, '\r')
		case c == 't':
			out = append(out, '\t')
		case c == 'v':
			out = append(out, '\v')
		case c >= '0' && c <= '7':
			n := 0
			end := min(i+3, len(cell))
			for ; i < end && cell[i] >= '0' && cell[i] <= '7'; i++ {
				n = n<<3 | int(cell[i]-'0')
			}
			i--
			out = append(out, byte(n))
		case c == 'x' && i+1 < len(cell):
			n, digits := byte(0), 0
			for digits < 2 && i+1 < len(cell) {
				d, ok := nibble(cell[i+1])
				if !ok {
					break
				}
				n, digits, i = n<<4|d, digits+1, i+1
			}
			if digits == 0 {
				out = append(out, 'x')
			} else {
				out = append(out, n)
			}
		default:
			out = append(out, c)
		}
	}
	return out
}
