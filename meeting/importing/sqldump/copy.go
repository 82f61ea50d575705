package sqldump

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

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
