package gormstore

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// dialect is the SQL of one kind of database.
type dialect int

const (
	postgres dialect = iota
	sqlite
)

// statement is a text for each dialect.
type statement [2]string

// write translates a text for both databases. Parameters are $1, $2 ... Braces mark what differs:
//
//	{rows $1: a bigint, b timestamptz}  a table x(a, b) of the objects in the JSON array $1; see [table]
//	{by m.id: $1 id}                    to a join of {rows $1: id ...}: an index of m finds the rows, however few or many they are
//	{array}(x ORDER BY y)               a JSON array of the rows' x
//	{list x}                            the rows' x as a text, separated by commas: an [idList]
//	{micros x}                          an instant in microseconds since 1970
//	{object}('k', v)                    a JSON object
//	{json}(x)                           JSON as a part of other JSON
//	{fold}(x)                           text to be compared in either case
//	{greatest}(x, y), {least}(x, y)     of values that are not NULL
//	{seconds}(x)                        a difference of times as a number
//	{postgres: ...}, {sqlite: ...}      only there
func write(text string) statement {
	var s statement
	for d := range s {
		s[d] = dialect(d).translate(text)
	}
	return s
}

var (
	tables   = regexp.MustCompile(`\{rows (\$\d+): ([^}]*)\}`)
	byKey    = regexp.MustCompile(`\{by ([a-z_.]+): (\$\d+) ([a-z_]+)\}`)
	lists    = regexp.MustCompile(`\{list ([a-z_.]+)\}`)
	instants = regexp.MustCompile(`\{micros ([a-z_.]+)\}`)
	only     = regexp.MustCompile(`\{(postgres|sqlite): ([^}]*)\}`)
	words    = [...]*strings.Replacer{
		postgres: strings.NewReplacer("{array}", "json_agg", "{object}", "json_build_object", "{json}", "", "{fold}", "lower",
			"{greatest}", "greatest", "{least}", "least", "{seconds}(", "date_part('epoch', "),
		sqlite: strings.NewReplacer("{array}", "json_group_array", "{object}", "json_object", "{json}", "json", "{fold}", "fold",
			"{greatest}", "max", "{least}", "min", "{seconds}(", "1e-6 * ("),
	}
	names = [...]string{postgres: "postgres", sqlite: "sqlite"}
)

func (d dialect) translate(text string) string {
	text = tables.ReplaceAllStringFunc(text, func(s string) string {
		m := tables.FindStringSubmatch(s)
		return d.tableOf(m[1], m[2])
	})
	// Postgres takes any JSON array for one of 100 rows, and reads a table of some thousands as a whole to join it.
	text = byKey.ReplaceAllString(text, [...]string{
		postgres: `AND $1 = ANY (ARRAY(SELECT CAST(k ->> '$3' AS bigint) FROM jsonb_array_elements(CAST($2 AS jsonb)) AS k))`,
		sqlite:   "",
	}[d])
	text = lists.ReplaceAllString(text, [...]string{postgres: "string_agg(CAST($1 AS text), ',')", sqlite: "group_concat($1)"}[d])
	text = instants.ReplaceAllString(text, [...]string{postgres: "CAST(extract(epoch FROM $1) * 1000000 AS bigint)", sqlite: "$1"}[d])
	text = words[d].Replace(text)
	return only.ReplaceAllStringFunc(text, func(s string) string {
		if m := only.FindStringSubmatch(s); m[1] == names[d] {
			return m[2]
		}
		return ""
	})
}

func (d dialect) tableOf(param, columns string) string {
	if d == postgres {
		return "jsonb_to_recordset(" + param + "::jsonb) AS x(" + columns + ")"
	}
	fields := strings.Split(columns, ", ")
	for i, f := range fields {
		name, kind, _ := strings.Cut(f, " ")
		arrow := "->>"
		if kind == "jsonb" {
			arrow = "->"
		}
		fields[i] = "value" + arrow + "'" + name + "' AS " + name
	}
	return "(SELECT " + strings.Join(fields, ", ") + " FROM json_each(" + param + ")) AS x"
}

// row is one row of a table that is passed as a parameter.
type row map[string]any

// table is the parameter for {rows}.
func table(rows []row) string {
	if len(rows) == 0 {
		return "[]"
	}
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err) // rows hold numbers, texts and JSON only
	}
	return string(b)
}

// instant is t in a [row].
func (d dialect) instant(t time.Time) any {
	if d == sqlite {
		return t.UnixMicro()
	}
	return micro(t)
}

// readInstant is a time in JSON that a query made: text on Postgres, microseconds on SQLite.
type readInstant struct{ time.Time }

func (t *readInstant) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &t.Time); err != nil {
			return err
		}
		t.Time = t.UTC()
		return nil
	}
	var us int64
	if err := json.Unmarshal(b, &us); err != nil {
		return err
	}
	t.Time = time.UnixMicro(us).UTC()
	return nil
}
