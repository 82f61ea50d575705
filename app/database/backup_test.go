package database_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"punctual/app/database"
	"punctual/migrations"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

func exec(t *testing.T, db *database.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.SQL.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func one[T any](t *testing.T, db *database.DB, query string) (v T) {
	t.Helper()
	if err := db.SQL.QueryRowContext(t.Context(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// now is an instant as the dialect stores it, with microseconds.
func now(db *database.DB) string {
	if db.Dialect == migrations.SQLite {
		return "1805362245123456"
	}
	return "'2027-03-18T07:17:25.123456Z'"
}

// inhabit makes rows of all kinds of values, and a room that is gone.
func inhabit(t *testing.T, db *database.DB) {
	t.Helper()
	at, bytea := now(db), "x'00ff0a22'"
	if db.Dialect == migrations.Postgres {
		bytea = `'\x00ff0a22'`
	}
	exec(t, db,
		"INSERT INTO sites (name, timezone, created_at, updated_at) VALUES ('Köln 会议 \"1\"', 'Europe/Berlin', "+at+", "+at+")",
		"INSERT INTO rooms (site_id, name, active, features, created_at, updated_at) VALUES (1, 'Turing', true, '[\"projector\", 1.5]', "+at+", "+at+"), (1, 'Gone', false, '[]', "+at+", "+at+")",
		"DELETE FROM rooms WHERE name = 'Gone'",
		"INSERT INTO users (email, name, role, password_hash, created_at, updated_at) VALUES ('a@example.org', 'A', 'admin', 'secret', "+at+", "+at+")",
		"INSERT INTO audit (at, action, actor_kind, subject) VALUES ("+at+", 'x.y', 'system', 'x'), ("+at+", 'x.z', 'system', 'x')",
		"INSERT INTO room_photos (room_id, large, small, bytes) VALUES (1, "+bytea+", "+bytea+", 4)",
	)
}

func backup(t *testing.T, db *database.DB) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := database.Backup(t.Context(), db, &b, "v1"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func restore(t *testing.T, db *database.DB, file []byte) error {
	t.Helper()
	_, err := database.Restore(t.Context(), db, bytes.NewReader(file), nil, nil)
	return err
}

// plain are the lines of a backup.
func plain(t *testing.T, file []byte) []string {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func compressed(t *testing.T, lines []string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rows are the rows of a backup with the names of their columns: databases differ in the order of columns. The
// numbers of transactions are left out.
func rows(t *testing.T, file []byte) (list []string) {
	t.Helper()
	var table string
	var columns []string
	for _, line := range plain(t, file) {
		var head struct {
			Table   string
			Columns []string
		}
		if line[0] == '{' {
			if err := json.Unmarshal([]byte(line), &head); err == nil && head.Table != "" {
				table, columns = head.Table, head.Columns
			}
			continue
		}
		var cells []any
		if err := json.Unmarshal([]byte(line), &cells); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, c := range columns {
			if c != "tx" {
				row[c] = cells[i]
			}
		}
		list = append(list, fmt.Sprint(table, row))
	}
	slices.Sort(list)
	return list
}

// TestRestore: a backup of either database gives the same rows in either, beside the tables of another
// program, and no ID is used twice.
func TestRestore(t *testing.T) {
	testdb.Each(t, func(t *testing.T, from *database.DB) {
		inhabit(t, from)
		exec(t, from, "CREATE TABLE invoices (id bigint PRIMARY KEY, secret text)", "INSERT INTO invoices VALUES (1, 'of another program')")
		file := backup(t, from)
		if text := strings.Join(plain(t, file), "\n"); strings.Contains(text, "another program") {
			t.Error("the backup contains a table of another program")
		}
		for name, url := range map[string]string{"sqlite": testenv.SQLite(t), "postgres": testenv.Postgres(t)} {
			to := open(t, url)
			exec(t, to, "CREATE TABLE invoices (id bigint PRIMARY KEY, parent bigint REFERENCES invoices (id))", "INSERT INTO invoices VALUES (1, 1)")
			if err := restore(t, to, file); err != nil {
				t.Fatalf("to %s: %v", name, err)
			}
			if diff := cmp.Diff(rows(t, file), rows(t, backup(t, to))); diff != "" {
				t.Errorf("to %s: -before +after\n%s", name, diff)
			}
			if one[int](t, to, "SELECT count(*) FROM invoices") != 1 {
				t.Errorf("to %s: the rows of another program are gone", name)
			}
			exec(t, to, "INSERT INTO rooms (name, created_at, updated_at) VALUES ('New', "+now(to)+", "+now(to)+")")
			if id := one[int](t, to, "SELECT max(id) FROM rooms"); id != 3 {
				t.Errorf("to %s: the next room has ID %d, want 3", name, id)
			}
			if _, err := to.SQL.ExecContext(t.Context(), "INSERT INTO rooms (site_id, name, created_at, updated_at) VALUES (99, 'x', "+now(to)+", "+now(to)+")"); err == nil {
				t.Errorf("to %s: foreign keys are gone", name)
			}
		}
	})
}

// TestRestore_refuses: what would overwrite or mix something is refused, and nothing is written.
func TestRestore_refuses(t *testing.T) {
	source := testdb.Open(t, migrations.SQLite)
	inhabit(t, source)
	file := backup(t, source)
	newer := plain(t, file)
	newer[0] = strings.Replace(newer[0], `"schema":`, `"schema":9`, 1)
	testdb.Each(t, func(t *testing.T, used *database.DB) {
		inhabit(t, used)
		want := func(err error, text string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("error %v, want %q", err, text)
			}
		}
		before := rows(t, backup(t, used))
		want(restore(t, used, file), "not empty: its table audit has rows")
		if diff := cmp.Diff(before, rows(t, backup(t, used))); diff != "" {
			t.Error(diff)
		}
		url := testenv.SQLite(t)
		if used.Dialect == migrations.Postgres {
			url = testenv.Postgres(t)
		}
		empty := open(t, url)
		_, err := database.Backup(t.Context(), empty, io.Discard, "")
		want(err, "nothing to back up")
		want(restore(t, empty, resummed(t, newer)), "use the newer version")
		want(restore(t, empty, file[:len(file)/2]), "truncated")
		exec(t, empty, "CREATE TABLE users (id bigint)")
		want(restore(t, empty, file), "table users of another program")
		exec(t, empty, "DROP TABLE users")
		if err := restore(t, empty, file); err != nil {
			t.Error(err)
		}
	})
}

// TestRestore_beforeCommit: the function runs when all rows are written, and nobody sees them yet. If it fails,
// restoring can be repeated.
func TestRestore_beforeCommit(t *testing.T) {
	source := testdb.Open(t, migrations.SQLite)
	inhabit(t, source)
	file := backup(t, source)
	testdb.Each(t, func(t *testing.T, to *database.DB) {
		var written, all int64
		failed := errors.New("the queue is away")
		_, err := database.Restore(t.Context(), to, bytes.NewReader(file), func(context.Context) error {
			if written == 0 || written != all {
				t.Errorf("called after %d of %d rows", written, all)
			}
			return failed
		}, func(done, total int64) { written, all = done, total })
		if !errors.Is(err, failed) {
			t.Fatalf("error %v, want %v", err, failed)
		}
		if n := one[int](t, to, "SELECT count(*) FROM users"); n != 0 {
			t.Errorf("%d users after an error, want none", n)
		}
		if err := restore(t, to, file); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

// TestRestore_twice: of two restores at once, one is refused, though the database was empty when it began.
func TestRestore_twice(t *testing.T) {
	t.Parallel()
	source := testdb.Open(t, migrations.SQLite)
	inhabit(t, source)
	file := backup(t, source)
	to := testdb.Open(t, migrations.Postgres)
	second := make(chan error, 1)
	_, err := database.Restore(t.Context(), to, bytes.NewReader(file), func(context.Context) error {
		go func() { second <- restore(t, to, file) }()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if one[int](t, to, "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") > 0 {
				return nil
			}
			if time.Now().After(deadline) {
				return errors.New("the second does not wait")
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-second; err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("the second: %v, want that the installation is not empty", err)
	}
}

// TestRestore_older: a backup of an older schema is migrated after it is restored, also into a
// database that has the schema of today.
func TestRestore_older(t *testing.T) {
	testdb.Each(t, func(t *testing.T, to *database.DB) {
		const older = 450 // before notification_preferences
		from := open(t, testenv.SQLite(t))
		if err := migrations.To(t.Context(), from.SQL, from.Dialect, older); err != nil {
			t.Fatal(err)
		}
		inhabit(t, from)
		file := backup(t, from)
		if verified, err := database.VerifyBackup(bytes.NewReader(file)); err != nil || verified.Schema != older || verified.Program != "v1" {
			t.Errorf("%+v, %v", verified, err)
		}
		if err := restore(t, to, file); err != nil {
			t.Fatal(err)
		}
		if n := one[int](t, to, "SELECT count(*) FROM notification_preferences") + one[int](t, to, "SELECT count(*) FROM rooms"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

// resummed is a backup of these lines with a last line that matches.
func resummed(t *testing.T, lines []string) []byte {
	t.Helper()
	lines = slices.Clone(lines)
	last := &lines[len(lines)-1]
	i := strings.Index(*last, `"sha256":"`) + len(`"sha256":"`)
	*last = (*last)[:i] + database.SumOfLines(lines[:len(lines)-1]) + (*last)[i+64:]
	return compressed(t, lines)
}

// TestVerifyBackup: every change of a backup is found, and the error names the place.
func TestVerifyBackup(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, migrations.SQLite)
	inhabit(t, db)
	file := backup(t, db)
	verify := func(file []byte) error {
		_, err := database.VerifyBackup(bytes.NewReader(file))
		return err
	}
	if err := verify(file); err != nil {
		t.Fatal(err)
	}
	for n := range len(file) {
		if verify(file[:n]) == nil {
			t.Errorf("the first %d bytes pass", n)
		}
		changed := bytes.Clone(file)
		changed[n] ^= 0x10
		if err := verify(changed); err == nil && !slices.Equal(plain(t, changed), plain(t, file)) {
			t.Errorf("a change of byte %d passes", n)
		}
	}
	lines := plain(t, file)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Turing") })
	edit := func(change func(lines []string) []string) []byte { return resummed(t, change(slices.Clone(lines))) }
	for want, damaged := range map[string][]byte{
		"not a backup":                 []byte("http: {}"),
		"truncated: it ends after":     compressed(t, lines[:at+1]),
		", table rooms, row 1":         compressed(t, lines[:at+1]),
		"must not follow":              compressed(t, append(slices.Clone(lines), lines[at])),
		"table rooms, row 1: damaged":  edit(func(l []string) []string { l[at] = strings.Replace(l[at], "Turing", "Turinh", 1); return l }),
		"must have 1 rows, it has 2":   edit(func(l []string) []string { return slices.Insert(l, at, l[at]) }),
		"out of place":                 edit(func(l []string) []string { return slices.Delete(l, at-1, at) }),
		"number of all rows":           edit(func(l []string) []string { return slices.Delete(l, at-1, at+2) }),
		"checksum or the number":       compressed(t, append([]string{strings.Replace(lines[0], "v1", "v2", 1)}, lines[1:]...)),
		"this program reads format 1;": edit(func(l []string) []string { l[0] = strings.Replace(l[0], `"version":1`, `"version":2`, 1); return l }),
	} {
		if err := verify(damaged); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestBackup_snapshot: a backup shows one instant, whatever is committed while it is made.
func TestBackup_snapshot(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		stop, stopped := context.WithCancel(t.Context())
		defer stopped()
		first, wrote := make(chan struct{}), make(chan error, 1)
		go func() {
			for i := 0; ; i++ {
				if i == 1 {
					close(first)
				}
				tx, err := db.SQL.BeginTx(stop, nil)
				for _, table := range []string{"sites", "rooms"} {
					if err == nil {
						_, err = tx.ExecContext(stop, fmt.Sprintf("INSERT INTO %s (name, created_at, updated_at) VALUES ('%d', %s, %s)", table, i, now(db), now(db)))
					}
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					wrote <- err
					return
				}
			}
		}()
		select {
		case <-first:
		case err := <-wrote:
			t.Fatal(err)
		}
		var counts []int64
		for len(counts) < 10 || counts[0] == counts[len(counts)-1] && len(wrote) == 0 && t.Context().Err() == nil {
			done, err := database.Backup(t.Context(), db, io.Discard, "")
			if err != nil {
				t.Fatal(err)
			}
			n := map[string]int64{}
			for _, table := range done.Tables {
				n[table.Name] = table.Rows
			}
			if n["sites"] != n["rooms"] {
				t.Errorf("%d sites, %d rooms", n["sites"], n["rooms"])
			}
			counts = append(counts, n["sites"])
		}
		if counts[0] == 0 || counts[0] == counts[len(counts)-1] {
			t.Errorf("the backups have %v sites, want more and more", counts)
		}
		select {
		case err := <-wrote:
			t.Error(err)
		default:
			stopped()
			<-wrote
		}
	})
}
