package database

import (
	"container/list"
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"

	"modernc.org/sqlite"
)

// openKeeping opens a pool whose connections keep the statements prepared that they ran last: to prepare one
// takes SQLite longer than to run it. SQLite itself prepares it again after a change of the schema.
func openKeeping(dsn string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(keepingConnector{c}), nil
}

type keepingConnector struct{ driver.Connector }

func (k keepingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &keepingConn{sqliteConn: c.(sqliteConn), kept: map[string]*list.Element{}}, nil
}

// sqliteStmt is a prepared statement of the driver.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// sqliteConn is a connection of the driver.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// keptStatements is how many each connection keeps: most of those that requests run. Longer texts, as of rows
// that are inserted by hundreds, are not kept: they differ each time, and take much memory.
const (
	keptStatements = 100
	longestKept    = 8 << 10
)

// keepingConn is used by one goroutine at a time, as each [driver.Conn].
type keepingConn struct {
	sqliteConn
	kept   map[string]*list.Element
	latest list.List // of *keptStatement, the latest first
}

type keptStatement struct {
	text  string
	inUse bool // its rows are being read
	stmt  sqliteStmt
}

// take returns the statement for a text. It is nil if it is not kept, or in use.
func (c *keepingConn) take(ctx context.Context, text string) (*keptStatement, error) {
	if e := c.kept[text]; e != nil {
		s := e.Value.(*keptStatement)
		if s.inUse {
			return nil, nil
		}
		c.latest.MoveToFront(e)
		s.inUse = true
		return s, nil
	}
	if !keeps(text) {
		return nil, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &keptStatement{text: text, inUse: true, stmt: prepared.(sqliteStmt)}
	c.kept[text] = c.latest.PushFront(s)
	for e := c.latest.Back(); len(c.kept) > keptStatements && e != nil; {
		last := e.Value.(*keptStatement)
		e = e.Prev()
		if !last.inUse {
			_ = c.drop(last) // it reports how it ran last, which its caller knows
		}
	}
	return s, nil
}

// keeps reports whether a text is one statement that reads or changes rows. Others are rare.
func keeps(text string) bool {
	if len(text) > longestKept || strings.Contains(text, ";") {
		return false
	}
	words := strings.FieldsFunc(text[:min(len(text), 20)], func(r rune) bool { return r <= ' ' || r == '(' })
	return len(words) > 0 && slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE"}, words[0])
}

func (c *keepingConn) drop(s *keptStatement) error {
	c.latest.Remove(c.kept[s.text])
	delete(c.kept, s.text)
	return s.stmt.Close()
}

func (c *keepingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	res, err := s.stmt.ExecContext(ctx, args)
	s.inUse = false
	return res, err
}

func (c *keepingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		s.inUse = false
		return nil, err
	}
	return &keptRows{rows.(sqliteRows), s}, nil
}

func (c *keepingConn) Close() error {
	for e := c.latest.Front(); e != nil; e = c.latest.Front() {
		_ = c.drop(e.Value.(*keptStatement))
	}
	return c.sqliteConn.Close()
}

// sqliteRows are rows of the driver.
type sqliteRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

type keptRows struct {
	sqliteRows
	of *keptStatement
}

func (r *keptRows) Close() error {
	err := r.sqliteRows.Close()
	r.of.inUse = false
	return err
}
