package doctor_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/app/database"
	"punctual/app/doctor"
	"punctual/migrations"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

// examine returns the findings of one check, one in a line.
func examine(t *testing.T, name, settings string) string {
	t.Helper()
	loaded, err := config.Parse("config.yaml", []byte(settings), nil)
	if err != nil {
		t.Fatalf("%s\n%v", settings, err)
	}
	var lines []string
	for _, c := range doctor.Of(loaded.Config) {
		if c.Name != name {
			continue
		}
		for _, f := range doctor.Examine(t.Context(), c) {
			if (f.Advice == "") != (f.Level == doctor.OK) || f.Check != name {
				t.Errorf("%+v: advice is for what is not well", f)
			}
			lines = append(lines, fmt.Sprintf("%s: %s", f.Level, f.Found))
		}
	}
	return strings.Join(lines, "\n")
}

func want(t *testing.T, found string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(found, part) {
			t.Errorf("%q is missing in\n%s", part, found)
		}
	}
	if strings.Contains(found, "geheim") {
		t.Errorf("shows a password:\n%s", found)
	}
}

func TestDoctor_database(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		url := testdb.URL(t, db.Dialect)
		settings := fmt.Sprintf("database: {url: %q}", url)
		want(t, examine(t, "database", settings), "ok: ", "is current")

		own, err := database.Open(t.Context(), url, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		exec := func(statement string) {
			if _, err := own.SQL.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
		want(t, examine(t, "database", settings), "fault: the schema has version 99999, which is newer than this program")
		exec("DELETE FROM goose_db_version WHERE version_id > 400")
		want(t, examine(t, "database", settings), "warning: ", "migrations are not applied yet")
		exec("DROP TABLE goose_db_version")
		want(t, examine(t, "database", settings), "warning: the database has no tables yet")
		if db.Dialect == migrations.Postgres {
			exec("DROP EXTENSION pg_trgm CASCADE")
			want(t, examine(t, "database", settings), "ok: Postgres", "warning: the extension pg_trgm is missing")
		}
	})
}

func TestDoctor_databaseFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data", "punctual.db")
	settings := fmt.Sprintf("database: {url: %q}", "sqlite:"+file)
	want(t, examine(t, "database", settings), "warning: "+file+" does not exist yet")
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("examining made a folder")
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, examine(t, "database", settings), "fault: ", "not a database")
}

func TestDoctor_serversDown(t *testing.T) {
	settings := `
database: {url: "postgres://punctual:geheim@127.0.0.1:1/punctual"}
queue: {url: "redis://:geheim@127.0.0.1:1/0"}
email: {driver: smtp, smtp: {host: 127.0.0.1, port: 1, username: u, password: geheim}}`
	for _, check := range []string{"database", "queue", "mail"} {
		want(t, examine(t, check, settings), "fault: ", "connection refused")
	}
	want(t, examine(t, "clock", settings), "ok: ", "no other clock")
	want(t, examine(t, "server", `http: {addr: "127.0.0.1:1"}`), "ok: no server answers")
}

func TestDoctor_queue(t *testing.T) {
	server := testenv.RedisServer(t)
	settings := fmt.Sprintf("queue: {url: %q}", server.URL())
	want(t, examine(t, "queue", settings), "ok: Redis ")
	want(t, examine(t, "queue", "queue: {url: 'memory:'}"), "ok: in memory")
	want(t, examine(t, "clock", settings), "ok: agrees with Redis")

	info := map[string]string{"redis_version": "7.0.15", "used_memory": "950000", "maxmemory": "1000000", "maxmemory_policy": "allkeys-lru", "role": "slave"}
	found := fmt.Sprint(doctor.ExamineRedis(info))
	want(t, found, "maxmemory-policy is allkeys-lru", "replica", "950.0 kB of 1.0 MB are in use")
	for version, old := range map[string]bool{"5.0.14": true, "6.0.16": true, "6.2.0": false, "8.0.1": false} {
		info["redis_version"] = version
		if got := strings.Contains(fmt.Sprint(doctor.ExamineRedis(info)), "too old"); got != old {
			t.Errorf("%s is too old: %v, want %v", version, got, old)
		}
	}
}

func TestDoctor_mail(t *testing.T) {
	server := testenv.MailWith(t, testenv.MailConfig{Username: "rooms", Password: "geheim"})
	settings := func(password, encryption string) string {
		return fmt.Sprintf("email: {driver: smtp, smtp: {host: %q, port: %d, username: rooms, password: %q, tls: %s}}", server.Host(), server.Port(), password, encryption)
	}
	want(t, examine(t, "mail", settings("geheim", "none")), "ok: ", "accepts user rooms")
	want(t, examine(t, "mail", settings("wrong", "none")), "fault: ", "535")
	want(t, examine(t, "mail", settings("geheim", "starttls")), "fault: ", "STARTTLS")
	want(t, examine(t, "mail", settings("geheim", "tls")), "fault: ", "tls")
	want(t, examine(t, "mail", "email: {driver: outbox}"), "warning: ")
	want(t, examine(t, "mail", "email: {driver: off}"), "warning: no mails are sent")
}

func TestDoctor_settings(t *testing.T) {
	want(t, examine(t, "settings", `http: {addr: "127.0.0.1:8080"}`), "ok: ")
	want(t, examine(t, "settings", `http: {addr: ":8080"}`), "warning: ", "passwords are sent unencrypted")
	want(t, examine(t, "settings", `http: {addr: ":8080", base_url: "https://rooms.example.org"}`), "warning: no proxy is trusted")
	want(t, examine(t, "settings", `http: {addr: ":8080", base_url: "https://rooms.example.org", trusted_proxies: ["10.0.0.1"]}`), "ok: ")
	want(t, examine(t, "settings", `{http: {addr: "127.0.0.1:8080"}, database: {url: "postgres://h/d"}}`), "warning: the queue is in memory")
	want(t, examine(t, "settings", `{http: {addr: "127.0.0.1:8080"}, queue: {url: "redis://h"}}`), "warning: Redis does not help on SQLite")
}

func TestDoctor_judgments(t *testing.T) {
	for lead, level := range map[time.Duration]doctor.Level{
		0: doctor.OK, 900 * time.Millisecond: doctor.OK, -2 * time.Second: doctor.Fault, time.Hour: doctor.Fault,
	} {
		if f := doctor.JudgeClock("Redis", lead, 10*time.Millisecond)[0]; f.Level != level {
			t.Errorf("%s: %+v", lead, f)
		}
	}
	if f := doctor.JudgeClock("Redis", 2*time.Second, 5*time.Second)[0]; f.Level != doctor.OK {
		t.Errorf("a slow answer proves no difference: %+v", f)
	}
	for free, level := range map[int64]doctor.Level{1 << 40: doctor.OK, 1 << 29: doctor.Warning, 1 << 20: doctor.Fault} {
		if f := doctor.JudgeSpace("data", free)[0]; f.Level != level {
			t.Errorf("%d: %+v", free, f)
		}
	}
}

// certificate writes a certificate and its key.
func certificate(t *testing.T, valid time.Duration) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(valid)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}

func TestDoctor_certificate(t *testing.T) {
	cert, key := certificate(t, 20*24*time.Hour)
	tls := config.TLS{CertFile: cert, KeyFile: key}
	for in, level := range map[time.Duration]doctor.Level{0: doctor.OK, 10 * 24 * time.Hour: doctor.Warning, 21 * 24 * time.Hour: doctor.Fault} {
		if f := doctor.ExamineCertificate(tls, time.Now().Add(in))[0]; f.Level != level {
			t.Errorf("in %s: %+v", in, f)
		}
	}
	tls.KeyFile = "gone.pem"
	if f := doctor.ExamineCertificate(tls, time.Now())[0]; f.Level != doctor.Fault {
		t.Errorf("without a key: %+v", f)
	}
}

func TestDoctor_configuration(t *testing.T) {
	_, err := config.Parse("config.yaml", []byte("quue: {}\nlog: {level: loud}"), nil)
	found := doctor.Configuration("config.yaml", []string{"PUNCTUAL_HTP_ADDR is no setting"}, err)
	if len(found) != 3 || doctor.Worst(found) != doctor.Fault || !strings.Contains(found[0].Found, "config.yaml:1:1") {
		t.Errorf("%+v", found)
	}
	if found := doctor.Configuration("x.yaml", nil, errors.New("permission denied")); doctor.Worst(found) != doctor.Fault {
		t.Errorf("%+v", found)
	}
}

// TestExamine_patience: what does not answer is a fault, and keeps nobody waiting.
func TestExamine_patience(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stuck := doctor.Check{Name: "stuck", Examine: func(context.Context) []doctor.Finding { select {} }}
	well := doctor.Check{Name: "well", Examine: func(context.Context) []doctor.Finding { cancel(); return []doctor.Finding{{Level: doctor.OK}} }}
	found := doctor.Examine(ctx, stuck, well)
	if len(found) != 2 || found[0].Check != "stuck" || found[0].Level != doctor.Fault || found[1].Check != "well" {
		t.Errorf("%+v", found)
	}
}
