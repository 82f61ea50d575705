package tests

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestBackup: a backup that was made while the program runs is restored to a new database, beside the Redis
// of before: its newer messages do not stand in the way, and what the database has is queued again.
func TestBackup(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	on.Env = []string{"PUNCTUAL_QUEUE_HORIZON=4h"} // so that the queue holds the meeting, however slow the machine is
	old := testenv.Server(t, on.Config)
	admin := old.Admin(t)
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(2 * 3600)
	m := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
		"attendees": []any{with{"email": "guest@example.org", "name": "Guest"}},
		"reminders": []any{reminder("start", time.Hour, "email")},
	}))
	admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "a", "due": time.Now().UTC().Format(time.RFC3339), "body": "hello"}, nil)

	file := filepath.Join(t.TempDir(), "punctual.backup")
	run := func(s *testenv.ServerInstance, want int, args ...string) string {
		t.Helper()
		cmd := s.Command(t, args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("punctual %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out)
		}
		return string(out)
	}
	run(old, 0, "backup", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if out := run(old, 0, "backup", "verify", file); !strings.Contains(out, "attendees") || !strings.Contains(out, "Complete: ") {
		t.Errorf("verify:\n%s", out)
	}
	// Later versions of both, which the backup does not have.
	admin.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"start": start.Add(time.Minute), "end": start.Add(time.Hour)}, nil)
	admin.Want(t, http.StatusOK, http.MethodPatch, "/topics/orders/jobs/a", with{"due": start.Add(time.Minute).Format(time.RFC3339)}, nil)
	old.Stop()

	config := on.Config
	config.Database, config.NoAdmin = testenv.Postgres(t), true
	restored := testenv.PrepareServer(t, config)
	run(restored, 0, "restore", file)
	if keys := on.redis.Do(t, "KEYS", "{punctual:*"); keys != "[]" {
		t.Errorf("Redis still has %s", keys)
	}
	if out := run(restored, 1, "restore", file); !strings.Contains(out, "not empty") {
		t.Errorf("once more: %s", out)
	}
	restored.Start(t)
	admin = restored.Admin(t)
	for job, due := range map[string]time.Time{"meeting.start": start, "meeting.remind": start.Add(-time.Hour)} {
		eventually(t, time.Now().Add(2*slack), job+" as it was backed up", func() bool {
			var messages []struct{ Due time.Time }
			if err := json.Unmarshal([]byte(run(restored, 0, "queue", "peek", job, "--json")), &messages); err != nil {
				t.Fatal(err)
			}
			return len(messages) == 1 && messages[0].Due.Equal(due)
		})
	}
	var popped struct{ Items []struct{ ID string } }
	admin.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/pop", with{"wait_ms": 30_000}, &popped)
	if len(popped.Items) != 1 || popped.Items[0].ID != "a" {
		t.Errorf("popped %+v", popped)
	}
}
