// Package table reads lists of things that people paste or export as CSV, such as rooms and
// people. Pure.
package table

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
)

// Row is one line of a list, by column.
type Row struct {
	Line  int // from 1; of a row with line breaks in quotes, the first
	Cells map[string]string
}

// SyntaxError reports text that is not CSV.
type SyntaxError struct {
	Line    int
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// Read parses text whose columns are separated by commas, semicolons or tabs, whichever its first
// line has. If the first line names a known column, it is a header, whose columns may come in any
// order; unknown ones are ignored. Otherwise the columns have the given order. Empty lines are
// skipped. Errors are of type [*SyntaxError].
func Read(text string, columns []string) ([]Row, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace = separator(text), -1, true
	var rows []Row
	var names []string
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, &SyntaxError{Line: e.Line, Message: "must be CSV: " + e.Err.Error()}
		}
		if err != nil {
			return nil, &SyntaxError{Line: 1, Message: "must be CSV"}
		}
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
		}
		if names == nil {
			if names = header(record, columns); names != nil {
				continue
			}
			names = columns
		}
		if strings.Join(record, "") == "" {
			continue
		}
		line, _ := r.FieldPos(0)
		row := Row{Line: line, Cells: map[string]string{}}
		for i, cell := range record[:min(len(record), len(names))] {
			row.Cells[names[i]] = cell
		}
		rows = append(rows, row)
	}
}

func separator(text string) rune {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	for _, sep := range []rune{'\t', ';'} {
		if strings.ContainsRune(first, sep) && (sep == '\t' || !strings.ContainsRune(first, ',') || strings.IndexRune(first, sep) < strings.IndexRune(first, ',')) {
			return sep
		}
	}
	return ','
}

// header returns the names of the columns, or nil if the record is no header.
func header(record, columns []string) []string {
	names := make([]string, len(record))
	for i, cell := range record {
		names[i] = strings.ToLower(cell)
	}
	if !slices.Contains(columns, names[0]) {
		return nil
	}
	return names
}
