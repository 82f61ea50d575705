package database

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"
)

// dialector is gorm's dialector for SQLite, with a driver without cgo. Package migrations creates
// the schema, so it implements only the types that gorm asks for.
type dialector struct{ pool *splitPool }

var _ gorm.SavePointerDialectorInterface = (*dialector)(nil)

func (*dialector) Name() string { return "sqlite" }

func (d *dialector) Initialize(db *gorm.DB) error {
	db.ConnPool = d.pool
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		CreateClauses: []string{"INSERT", "VALUES", "ON CONFLICT", "RETURNING"},
		UpdateClauses: []string{"UPDATE", "SET", "FROM", "WHERE", "RETURNING"},
		DeleteClauses: []string{"DELETE", "FROM", "WHERE", "RETURNING"},
	})
	// SQLite has no row locks and needs none: writing transactions run one after another.
	db.ClauseBuilders["FOR"] = func(clause.Clause, clause.Builder) {}
	return nil
}

func (d *dialector) Migrator(db *gorm.DB) gorm.Migrator {
	return migrator.Migrator{Config: migrator.Config{DB: db, Dialector: d}}
}

func (*dialector) DataTypeOf(f *schema.Field) string {
	switch f.DataType {
	case schema.Bool:
		return "BOOLEAN"
	case schema.Int, schema.Uint:
		return "INTEGER"
	case schema.Float:
		return "REAL"
	case schema.String:
		return "TEXT"
	case schema.Time:
		return "DATETIME"
	case schema.Bytes:
		return "BLOB"
	default:
		return string(f.DataType)
	}
}

func (*dialector) DefaultValueOf(*schema.Field) clause.Expression { return clause.Expr{SQL: "NULL"} }

func (*dialector) BindVarTo(w clause.Writer, _ *gorm.Statement, _ any) { w.WriteByte('?') }

func (*dialector) QuoteTo(w clause.Writer, name string) {
	for i, part := range strings.Split(name, ".") {
		if i > 0 {
			w.WriteByte('.')
		}
		if part == "*" || strings.HasPrefix(part, "`") {
			w.WriteString(part)
			continue
		}
		w.WriteString("`" + strings.ReplaceAll(part, "`", "``") + "`")
	}
}

func (*dialector) Explain(sql string, vars ...any) string {
	return logger.ExplainSQL(sql, nil, `"`, vars...)
}

func (*dialector) SavePoint(tx *gorm.DB, name string) error {
	return tx.Exec("SAVEPOINT " + name).Error
}

func (*dialector) RollbackTo(tx *gorm.DB, name string) error {
	return tx.Exec("ROLLBACK TO SAVEPOINT " + name).Error
}
