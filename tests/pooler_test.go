//go:build pooler

package tests

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// pgBouncer is Postgres behind a PgBouncer in transaction mode with few connections. It returns the URL of
// the database.
func pgBouncer(t *testing.T, database string, connections int) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir := testenv.Folder(t, "pgbouncer")
	port := testenv.Daemon(t, dir, func(port int) *exec.Cmd {
		password, _ := u.User.Password()
		target := fmt.Sprintf("host=%s port=%s user=%s", u.Hostname(), u.Port(), u.User.Username())
		if password != "" {
			target += " password=" + password
		}
		ini := fmt.Sprintf(`[databases]
* = %s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
`, target, port, connections)
		file := filepath.Join(dir, "pgbouncer.ini")
		if err := os.WriteFile(file, []byte(ini), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("pgbouncer", file)
		if os.Getuid() == 0 {
			cmd = exec.Command("pgbouncer", "-u", "nobody", file)
		}
		return cmd
	})
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	return u.String()
}

// TestPooler: three instances start at once on an empty database behind PgBouncer with six connections, work,
// and none waits for another. Everything happens once; a backup is made and restored.
func TestPooler(t *testing.T) {
	t.Parallel()
	mail := testenv.Mail(t)
	database := pgBouncer(t, testenv.Postgres(t), 6)
	config := testenv.Config{Database: database, Queue: testenv.RedisServer(t).URL(), Mail: mail, YAML: "log: { level: info }\n"}
	var servers []*testenv.ServerInstance
	for range 3 {
		s := testenv.PrepareServer(t, config)
		s.StartOnly(t)
		servers = append(servers, s)
	}
	for _, s := range servers {
		if err := s.AwaitReady(); err != nil {
			t.Fatalf("server: %v", err)
		}
	}
	admin := servers[0].Admin(t)
	start := inSeconds(20)
	var ids []int64
	for i := range 12 {
		room := admin.NewRoom(t, fmt.Sprintf("Room %d", i))
		ids = append(ids, admin.At(servers[i%3]).Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
			"attendees": []any{with{"email": fmt.Sprintf("guest%d@example.org", i), "name": "Guest"}},
			"reminders": []any{reminder("start", 2*time.Second, "email")},
		})).ID)
	}
	grid := "/meetings?from=" + start.Format(time.RFC3339) + "&to=" + start.Add(time.Hour).Format(time.RFC3339)
	for time.Now().Before(start.Add(time.Second)) {
		for _, s := range servers {
			if n := len(testenv.All[testenv.Meeting](t, admin.At(s), grid)); n != len(ids) {
				t.Fatalf("%d meetings", n)
			}
		}
	}
	for _, id := range ids {
		eventually(t, start.Add(slack), "started", func() bool { return len(entries(admin.History(t, id), "started")) == 1 })
		wantOnce(t, admin.History(t, id), "started", "timer", start)
	}
	eventually(t, start.Add(slack), "reminders", func() bool { return len(mail.Where("", "reminder")) >= 2*len(ids) })
	wantNothingTwice(t, mail)

	file := filepath.Join(t.TempDir(), "backup")
	for _, args := range [][]string{{"backup", file}, {"backup", "verify", file}, {"queue", "check"}, {"migrate", "status"}} {
		if out, err := servers[0].Command(t, args...).CombinedOutput(); err != nil {
			t.Errorf("punctual %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	empty := testenv.PrepareServer(t, testenv.Config{Database: pgBouncer(t, testenv.Postgres(t), 3), NoAdmin: true})
	if out, err := empty.Command(t, "restore", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "Restored") {
		t.Errorf("restore: %v\n%s", err, out)
	}
}
