package sqldump

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// IsURL reports whether a source is the address of a running server, and not a file.
func IsURL(source string) bool {
	for _, scheme := range []string{"mysql://", "mariadb://", "postgres://", "postgresql://"} {
		if strings.HasPrefix(strings.ToLower(source), scheme) {
			return true
		}
	}
	return false
}

// Query reads the tables that want selects from a running MySQL, MariaDB or Postgres server, in one
// read-only transaction. Errors never contain the password.
func Query(ctx context.Context, address string, limits Limits, want func(table string) bool) (map[string]*Table, error) {
	db, quote, err := open(address)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer tx.Rollback()
	names, err := tableNames(ctx, tx, quote)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	c := newCollector(limits, want)
	for _, name := range names {
		if !want(name) {
			continue
		}
		if err := c.query(ctx, tx, name, quote); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
	}
	return c.tables, nil
}

// open returns the quote of names as well.
func open(address string) (db *sql.DB, quote string, err error) {
	u, err := url.Parse(address)
	if err != nil { // the error would contain the password
		return nil, "", fmt.Errorf("the address is no URL; it must be like mysql://user:password@host/database, with special characters of the password in %%-notation")
	}
	if strings.HasPrefix(u.Scheme, "postgres") {
		db, err = sql.Open("pgx", address)
		if err != nil {
			return nil, "", fmt.Errorf("the address cannot be used: it must be like postgres://user:password@host/database")
		}
		return db, `"`, nil
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.Trim(u.Path, "/")
	if cfg.DBName == "" {
		return nil, "", fmt.Errorf("the address names no database; it must be like mysql://user:password@host/database")
	}
	q := u.Query()
	if socket := q.Get("socket"); socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	} else {
		port := u.Port()
		if port == "" {
			port = "3306"
		}
		cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	}
	switch tls := q.Get("tls"); tls {
	case "", "true", "false", "skip-verify", "preferred":
		cfg.TLSConfig = tls
	default:
		return nil, "", fmt.Errorf("tls is %q; it must be true, false, skip-verify or preferred", tls)
	}
	cfg.Timeout = 10 * time.Second
	cfg.Params = map[string]string{"time_zone": "'+00:00'"}
	cfg.Collation = "utf8mb4_general_ci"
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("the address cannot be used: it must be like mysql://user:password@host/database")
	}
	return sql.OpenDB(connector), "`", nil
}

func tableNames(ctx context.Context, tx *sql.Tx, quote string) (names []string, err error) {
	schema := "DATABASE()"
	if quote == `"` {
		schema = "current_schema()"
	}
	rows, err := tx.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = "+schema+" AND table_type = 'BASE TABLE' ORDER BY table_name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (c *collector) query(ctx context.Context, tx *sql.Tx, name, quote string) error {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+quote+strings.ReplaceAll(name, quote, quote+quote)+quote)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	if len(columns) > c.limits.Columns {
		return fmt.Errorf("there are more than %d columns", c.limits.Columns)
	}
	t := &Table{Name: name}
	for _, column := range columns {
		t.Columns = append(t.Columns, strings.ToLower(column))
	}
	c.tables[name] = t
	cells, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		values := make([]Value, len(cells))
		for i, cell := range cells {
			values[i] = valueOf(cell)
			if len(values[i].Text) > c.limits.Value {
				return fmt.Errorf("a value of %s has more than %d bytes", columns[i], c.limits.Value)
			}
		}
		if err := c.add(t, values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// valueOf is a value of a driver as a dump has it.
func valueOf(cell any) Value {
	switch v := cell.(type) {
	case nil:
		return Value{Null: true}
	case []byte:
		return Value{Text: text(v)}
	case string:
		return Value{Text: text([]byte(v))}
	case bool:
		return Value{Text: strconv.Itoa(map[bool]int{true: 1}[v])}
	case time.Time:
		return Value{Text: v.UTC().Format(time.RFC3339Nano)}
	default:
		return Value{Text: fmt.Sprint(v)}
	}
}
