package sqldump

import (
	"io"
	"slices"
	"strings"
)

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
