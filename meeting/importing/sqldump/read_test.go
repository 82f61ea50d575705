package sqldump

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func every(string) bool { return true }

// shown lists all rows: table: column=value.
func shown(tables map[string]*Table, name string) (lines []string) {
	tables[name].All(func(r Row) {
		var cells []string
		for _, c := range tables[name].Columns {
			if r.Null(c) {
				cells = append(cells, c+"=NULL")
			} else {
				cells = append(cells, fmt.Sprintf("%s=%q", c, r.Text(c)))
			}
		}
		lines = append(lines, strings.Join(cells, " "))
	})
	return lines
}

func TestRead(t *testing.T) {
	t.Parallel()
	const mysql = "/*M!999999\\- enable the sandbox mode */ \n-- a comment; with 'quotes\n/*!40101 SET NAMES utf8mb4 */;\nDROP TABLE IF EXISTS `t`;\n" +
		"CREATE TABLE `t` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `name` varchar(80) DEFAULT 'a),\\'b' COMMENT 'x;y',\n  `amount` decimal(7,2) DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY `k` (`name`)\n) ENGINE=InnoDB;\n" +
		"LOCK TABLES `t` WRITE;\n"
	const postgres = "--\n-- PostgreSQL database dump\n--\n\\restrict abc\nSET standard_conforming_strings = on;\nCREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN; 'x; END $$;\n" +
		"CREATE TABLE public.t (\n    id integer NOT NULL,\n    name character varying(80) DEFAULT 'a'::character varying,\n    amount numeric(7,2),\n    CONSTRAINT c CHECK ((id > 0))\n);\n"
	for name, x := range map[string]struct{ dump, want string }{
		"mysql": {
			mysql + "INSERT INTO `t` VALUES\n(1,'O\\'Hara \\\"x\\\"\\n\\\\',-1.50),\n(2,NULL,1e3),(3,'two''quotes; ü 会议 🎉',0);\nUNLOCK TABLES;\n",
			`id="1" name="O'Hara \"x\"\n\\" amount="-1.50"` + "\n" + `id="2" name=NULL amount="1e3"` + "\n" + `id="3" name="two'quotes; ü 会议 🎉" amount="0"`,
		},
		"mysql with columns, hexadecimal and bits": {
			mysql + "INSERT IGNORE INTO db.`t` (`name`, `id`) VALUES (_binary 'abc',0x31), (0x4FC3BC, b'101'), (x'41', '7');",
			`id="1" name="abc" amount=NULL` + "\n" + `id="5" name="Oü" amount=NULL` + "\n" + `id="7" name="A" amount=NULL`,
		},
		"mysql in Latin-1":             {mysql + "REPLACE INTO t VALUES (1,'M\xfcller',2);", `id="1" name="Müller" amount="2"`},
		"mysql with triggers":          {mysql + "DELIMITER ;;\nCREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.id = 1; INSERT INTO t VALUES (9); END ;;\nDELIMITER ;\nINSERT INTO t VALUES (1,'a',2);", `id="1" name="a" amount="2"`},
		"postgres INSERT":              {postgres + "INSERT INTO public.t VALUES (1, 'back\\slash''s', true);\nINSERT INTO public.t (id, name) OVERRIDING SYSTEM VALUE VALUES (2, E'a\\nb');", `id="1" name="back\\slash's" amount="1"` + "\n" + `id="2" name="a\nb" amount=NULL`},
		"postgres COPY":                {postgres + "COPY public.t (id, name, amount) FROM stdin;\n1\ttab\\there\\\\ \\x41\\101\t\\N\n2\t\t1.5\n\\.\n\nSELECT 1;\n", `id="1" name="tab\there\\ AA" amount=NULL` + "\n" + `id="2" name="" amount="1.5"`},
		"without the schema, but with": {"INSERT INTO t (id, name) VALUES (1, 'a');", `id="1" name="a"`},
		"with a byte order mark":       {"\ufeff" + mysql + "INSERT INTO t VALUES (1,'a',2);", `id="1" name="a" amount="2"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			w.Write([]byte(x.dump))
			w.Close()
			for _, in := range []string{x.dump, packed.String()} {
				tables, err := Read(strings.NewReader(in), Limits{}, every)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(shown(tables, "t"), "\n"); got != x.want {
					t.Errorf("got\n%s\nwant\n%s", got, x.want)
				}
			}
		})
	}
}

func TestRead_faults(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE t (id int, name text);\n"
	for dump, want := range map[string]string{
		table + "INSERT INTO t VALUES\n(1,'a'),\n(2,'b',3);":              "line 4, column 2: table t has 2 columns, the row has 3 values",
		table + "INSERT INTO t VALUES (1,'a":                              "line 2, column 25: the text has no closing '",
		table + "INSERT INTO t VALUES (1,now());":                         "line 2, column 25: expected a value, found now; only literal values can be read",
		table + "INSERT INTO t VALUES (1;":                                "line 2, column 24: expected ',' or ')' after a value, found ';'",
		table + "INSERT INTO t (id, other) VALUES (1,2);":                 "line 2, column 26: table t has no column other",
		table + "COPY t (id, name) FROM stdin;\n1\ta\n2\n\\.\n":           "line 4, column 1: table t has 2 columns, the row has 1 values",
		table + "COPY t (id, name) FROM stdin;\n1\ta\n":                   "ends in the middle of a statement",
		table + "INSERT INTO t SELECT 1;":                                 "expected VALUES after the table t",
		"INSERT INTO t VALUES (1);":                                       "line 1, column 15: the columns of table t are unknown",
		"/* no end":                                                       "line 1, column 1: the comment has no end",
		"PGDMP\x01":                                                       "custom format",
		"\xff\xfeI\x00":                                                   "UTF-16",
		table + "INSERT INTO t VALUES (0x123,'a');":                       "odd number of digits",
		table + "INSERT INTO t VALUES (1,'" + strings.Repeat("x", 2000):   "more than 1000 bytes",
		"CREATE TABLE t (" + strings.Repeat("c int, ", 20) + "d int);":    "more than 10 columns",
		table + "INSERT INTO t VALUES " + strings.Repeat("(1,'a'),", 200): "more than 100 rows",
	} {
		_, err := Read(strings.NewReader(dump), Limits{Value: 1000, Columns: 10, Rows: 100}, every)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", dump, err, want)
		}
	}
}

func TestRow(t *testing.T) {
	t.Parallel()
	tables, err := Read(strings.NewReader("INSERT INTO t (n, f, yes, no, at, zone, nil) VALUES (12, '3.9', 't', 'f', '2026-11-22 04:38:32', '2026-11-22 04:38:36.5+01', NULL);"), Limits{}, every)
	if err != nil {
		t.Fatal(err)
	}
	tables["t"].All(func(r Row) {
		if r.Int("n") != 12 || r.Int("f") != 3 || r.Int("nil") != 0 || !r.Bool("yes") || r.Bool("no") || r.Bool("missing") || !r.Null("missing") || r.Null("n") {
			t.Error("values are read wrongly")
		}
		if at := r.Time("at"); !at.Equal(time.Date(2026, 11, 22, 4, 38, 32, 0, time.UTC)) {
			t.Errorf("at is %s", at)
		}
		if at := r.Time("zone"); !at.Equal(time.Date(2026, 11, 22, 3, 38, 36, 5e8, time.UTC)) {
			t.Errorf("zone is %s", at)
		}
	})
}

// FuzzRead: no dump makes the reader fail other than with an error that names a place, and what it
// reads stays within the limits.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"CREATE TABLE `t` (`a` int, b text);INSERT INTO `t` VALUES (1,'x\\'y'),(2,NULL);", "COPY t (a, b) FROM stdin;\n1\t\\N\n\\.\n", "DELIMITER ;;\nx;;\nDELIMITER ;\n",
		"-- PostgreSQL database dump\nCREATE FUNCTION f() AS $x$ ; $x$;INSERT INTO t (a) VALUES (E'\\n');", "INSERT INTO t (a) VALUES (0x41),(x'41'),(b'1'),(_utf8'a');", "/*!40101 SET x */;#c\n\\restrict\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, dump []byte) {
		tables, err := Read(bytes.NewReader(dump), Limits{Value: 1000, Columns: 20, Rows: 100}, every)
		if syntax, ok := errors.AsType[*SyntaxError](err); ok && (syntax.Line < 1 || syntax.Column < 1) {
			t.Errorf("a fault at %d:%d", syntax.Line, syntax.Column)
		}
		rows := 0
		for _, table := range tables {
			for _, values := range table.Rows {
				if rows++; len(values) != len(table.Columns) || len(values) > 20 {
					t.Errorf("a row of %d values in a table of %d columns", len(values), len(table.Columns))
				}
			}
		}
		if rows > 100 {
			t.Errorf("%d rows", rows)
		}
	})
}
