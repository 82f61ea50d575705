package leaving

import (
	"context"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// A table is one of the database, with its texts. Erasing and exporting follow the schema, so that they
// cover tables that are added later.
type table struct {
	Name    string
	Key     []string        // columns of the primary key
	Texts   []string        // columns that hold texts or JSON
	JSON    map[string]bool // of them, those whose type is JSON
	Columns []string
	Owners  []string // columns of users without whom a row makes no sense
	Users   []string // columns that name a user
}

// skipped tables belong to other systems, or are those of this package.
var skipped = []string{"delay_jobs", "erasures", "goose_db_version"}

// naming are columns that name users.
var naming = []string{"user_id", "organizer_id", "actor_id", "decided_by", "by_user_id", "to_user_id", "deputy_id", "delegate_id", "booked_by", "joined_by"}

type columnRow struct{ TableName, ColumnName, Kind string }

// tables reads the schema, by name; users come last, because until then an address cannot be used again.
func tables(ctx context.Context, db *gorm.DB) ([]*table, error) {
	columns, keys, owners := `SELECT m.name AS table_name, c.name AS column_name, lower(c.type) AS kind FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid`,
		`SELECT m.name AS table_name, c.name AS column_name, '' AS kind FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.pk > 0 ORDER BY m.name, c.pk`,
		`SELECT m.name AS table_name, f."from" AS column_name, '' AS kind FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
			WHERE m.type = 'table' AND f."table" = 'users' AND f.on_delete = 'CASCADE'`
	if db.Name() == "postgres" {
		columns = `SELECT c.table_name, c.column_name, c.data_type AS kind FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
			WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position`
		keys = `SELECT k.table_name, k.column_name, '' AS kind FROM information_schema.table_constraints c JOIN information_schema.key_column_usage k USING (constraint_schema, constraint_name)
			WHERE c.constraint_schema = current_schema() AND c.constraint_type = 'PRIMARY KEY' ORDER BY k.table_name, k.ordinal_position`
		owners = `SELECT CAST(CAST(f.conrelid AS regclass) AS text) AS table_name, a.attname AS column_name, '' AS kind FROM pg_constraint f
			JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
			WHERE f.contype = 'f' AND f.confdeltype = 'c' AND f.confrelid = CAST('users' AS regclass)`
	}
	found := map[string]*table{}
	var all []*table
	each := func(query string, fn func(*table, columnRow)) error {
		var rows []columnRow
		if err := db.WithContext(ctx).Raw(query).Find(&rows).Error; err != nil {
			return err
		}
		for _, r := range rows {
			if slices.Contains(skipped, r.TableName) || strings.HasPrefix(r.TableName, "meeting_search") { // an index that follows meetings
				continue
			}
			t := found[r.TableName]
			if t == nil {
				t = &table{Name: r.TableName, JSON: map[string]bool{}}
				found[r.TableName] = t
				all = append(all, t)
			}
			fn(t, r)
		}
		return nil
	}
	err := each(columns, func(t *table, r columnRow) {
		t.Columns = append(t.Columns, r.ColumnName)
		if slices.Contains([]string{"text", "character varying", "json", "jsonb"}, r.Kind) {
			t.Texts = append(t.Texts, r.ColumnName)
			t.JSON[r.ColumnName] = strings.HasPrefix(r.Kind, "json")
		}
		if slices.Contains(naming, r.ColumnName) {
			t.Users = append(t.Users, r.ColumnName)
		}
	})
	if err == nil {
		err = each(keys, func(t *table, r columnRow) { t.Key = append(t.Key, r.ColumnName) })
	}
	if err == nil {
		err = each(owners, func(t *table, r columnRow) {
			if t.Name != "departures" { // it shows that the user has left
				t.Owners = append(t.Owners, r.ColumnName)
			}
		})
	}
	if i := slices.IndexFunc(all, func(t *table) bool { return t.Name == "users" }); i >= 0 {
		all = append(slices.Delete(slices.Clone(all), i, i+1), all[i])
	}
	return all, err
}
