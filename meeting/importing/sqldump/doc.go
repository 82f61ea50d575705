// Package sqldump reads the tables of another program's database: from a dump of mysqldump,
// mariadb-dump or pg_dump, or from the running server. It runs no statement of a dump and changes
// nothing on a server.
package sqldump

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits bound what a source may make the program hold. Zero fields have defaults.
type Limits struct {
	Value   int // bytes of one value; default 16 MiB
	Columns int // of one table; default 1,000
	Rows    int // of all tables together; default 20 million
}

// DefaultLimits are far above what such databases hold.
var DefaultLimits = Limits{Value: 16 << 20, Columns: 1_000, Rows: 20_000_000}

func (l Limits) orDefault() Limits {
	if l.Value == 0 {
		l.Value = DefaultLimits.Value
	}
	if l.Columns == 0 {
		l.Columns = DefaultLimits.Columns
	}
	if l.Rows == 0 {
		l.Rows = DefaultLimits.Rows
	}
	return l
}

// SyntaxError reports what cannot be read and where. Line and Column count from 1, columns in characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Value of a column.
type Value struct {
	Text string // always valid UTF-8
	Null bool
}

// Table holds the rows of one table.
type Table struct {
	Name    string // without schema
	Columns []string
	Rows    [][]Value

	index map[string]int
}

// Has reports whether the table has a column.
func (t *Table) Has(column string) bool {
	_, ok := t.at()[column]
	return ok
}

func (t *Table) at() map[string]int {
	if t.index == nil {
		t.index = make(map[string]int, len(t.Columns))
		for i, c := range t.Columns {
			t.index[strings.ToLower(c)] = i
		}
	}
	return t.index
}

// All calls fn with each row. A nil table has none.
func (t *Table) All(fn func(Row)) {
	if t == nil {
		return
	}
	for i := range t.Rows {
		fn(Row{t, t.Rows[i]})
	}
}

// Row is one row of a table. Its methods return zero for NULL and for columns that do not exist.
type Row struct {
	table  *Table
	values []Value
}

// Text returns the value of a column.
func (r Row) Text(column string) string {
	if i, ok := r.table.at()[column]; ok && i < len(r.values) {
		return r.values[i].Text
	}
	return ""
}

// Null reports whether a column is NULL or does not exist.
func (r Row) Null(column string) bool {
	i, ok := r.table.at()[column]
	return !ok || i >= len(r.values) || r.values[i].Null
}

// Int returns a whole number; 0 if the value is not a number.
func (r Row) Int(column string) int64 {
	text := r.Text(column)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, _ := strconv.ParseFloat(text, 64)
		if f != f || f > 1<<53 || f < -1<<53 {
			return 0
		}
		return int64(f)
	}
	return n
}

// Bool reports whether a value is true, as either database writes it.
func (r Row) Bool(column string) bool {
	switch strings.ToLower(r.Text(column)) {
	case "", "0", "f", "false", "\x00", "n", "no":
		return false
	}
	return true
}

// Time returns a timestamp, in UTC unless it has an offset; zero if the value is not a timestamp.
func (r Row) Time(column string) time.Time {
	text := r.Text(column)
	for _, layout := range []string{"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// text makes bytes valid UTF-8. Old tables hold Latin-1.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// collector gathers the tables that a caller wants.
type collector struct {
	limits Limits
	want   func(table string) bool
	tables map[string]*Table
	rows   int
}

func newCollector(limits Limits, want func(string) bool) *collector {
	return &collector{limits: limits.orDefault(), want: want, tables: map[string]*Table{}}
}

// errTooMany is returned by add for rows beyond the limit.
func (c *collector) add(t *Table, values []Value) error {
	if c.rows++; c.rows > c.limits.Rows {
		return fmt.Errorf("there are more than %d rows", c.limits.Rows)
	}
	t.Rows = append(t.Rows, values)
	return nil
}
