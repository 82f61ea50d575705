package sqldump

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
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
